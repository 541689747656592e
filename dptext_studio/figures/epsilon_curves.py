"""Statistics of words over ε as curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dptext_core.errors import InputError

from .theme import (
    DARK,
    LIGHT,
    PAD,
    Plot,
    Style,
    epsilon_ticks,
    escape,
    layout,
    line_style,
    translucent,
    width_of,
    with_hover,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

N_W = "N_w: probability that a word is unchanged"
S_W = "S_w: different words in 100 draws"

#: One curve: ε (m,), its values (m,), and the ends of its interval (m,) or None for both.
Curve = tuple["ArrayLike", "ArrayLike", "ArrayLike | None", "ArrayLike | None"]


def curves(
    lines: Mapping[str, Curve],
    y_title: str = N_W,
    *,
    x_title: str = "ε per word",
    top: float | None = None,
    dark: bool = False,
    height: int = 340,
    width: int = 450,
    styles: Mapping[str, Style] | None = None,
) -> Plot:
    """Draw values over ε, one curve for each label, with a shaded interval if its ends are given.

    ε is on a logarithmic axis. lines: label → (epsilons, mean, low, high), with low and high both None or both given.
    y_title: ``N_W``, ``S_W``, or any other title. x_title: what one ε covers. top: the upper end of the vertical axis;
    1 for ``N_W``, otherwise that of the data. The legend is below these ``height`` pixels, in as many columns as fit
    ``width`` pixels. styles: colour, dash and symbol of each label. Raises InputError if lengths differ or an ε is not
    positive.
    """
    colours = DARK if dark else LIGHT
    figure = Plot()
    highest, ends = 0.0, []
    for j, (label, (epsilons, mean, low, high)) in enumerate(lines.items()):
        x, y, band = _checked(label, epsilons, mean, low, high)
        style, name = styles[label] if styles else line_style(j, dark), escape(label)
        highest = max(highest, float(y.max()), 0.0 if band is None else float(band[1].max()))
        ends += [float(x.min()), float(x.max())]
        _add_curve(figure, style, name, x, y, band)
    if not lines:
        raise InputError("There is no curve. Pass at least one.")
    if top is None:
        top = 1.0 if y_title == N_W else highest or 1.0
    add_frame(figure, list(lines), colours, height, width)
    _add_axes(figure, (x_title, y_title), (min(ends), max(ends)), top, colours)
    return with_hover(figure, colours)


def _checked(
    label: str, epsilons: ArrayLike, mean: ArrayLike, low: ArrayLike | None, high: ArrayLike | None
) -> tuple[NDArray, NDArray, NDArray | None]:
    """Return ε, values and the ends of the interval of a curve as arrays. Raise InputError if they do not match."""
    x, y = np.asarray(epsilons, dtype=np.float64), np.asarray(mean, dtype=np.float64)
    band = None if low is None or high is None else np.array([low, high], dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or not len(x) or (band is not None and band.shape != (2, len(x))):
        raise InputError(f"The curve “{label}” needs one value for each ε, and at least one.")
    if (low is None) != (high is None) or not (np.all(x > 0) and np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
        raise InputError(f"The curve “{label}” needs positive ε, finite values, and both ends of an interval or none.")
    return x, y, band


def _add_curve(
    figure: Plot, style: tuple[str, str, str], name: str, x: NDArray, y: NDArray, band: NDArray | None
) -> None:
    """Draw a curve with its interval."""
    colour, dash, symbol = style
    if band is not None:
        figure.add_scatter(
            x=np.concatenate([x, x[::-1]]),
            y=np.concatenate([band[1], band[0][::-1]]),
            fill="toself",
            mode="lines",
            line={"width": 0},
            fillcolor=translucent(colour, 0.18),
            hoverinfo="skip",
            showlegend=False,
            legendgroup=name,
            name=name,
        )
    said = [f"{v:.3g}" for v in y]
    if band is not None:
        said = [f"{v} ({a:.3g} to {b:.3g})" for v, a, b in zip(said, *band, strict=True)]
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines+markers" if len(x) <= 40 else "lines",
        name=name,
        legendgroup=name,
        line={"color": colour, "width": 2, "dash": dash},
        marker={"color": colour, "symbol": symbol, "size": 6, "maxdisplayed": 9},
        customdata=said,
        hovertemplate=f"<b>{name}</b><br>ε = %{{x:.3g}}<br>%{{customdata}}<extra></extra>",
    )


def add_frame(
    figure: Plot,
    labels: Sequence[str],
    colours: dict[str, str],
    height: int,
    width: int,
) -> None:
    """Set up a figure with a legend below the axes.

    The height has room for as many columns as fit ``width`` pixels, the narrowest page. On wider pages the legend has
    fewer lines, and the axes use the rest.
    """
    layout(figure, colours, height)
    entry = max(width_of(label, 12) for label in labels) + 52
    columns = max(1, min(len(labels), int((width - 64) // entry)))
    figure.update_layout(
        height=height + 20 * -(-len(labels) // columns),
        hovermode="closest",
        showlegend=True,
        margin={"l": 52, "r": PAD + 4, "t": PAD + 4, "b": PAD},
        legend=legend_below(entry - 40, colours),
    )


def legend_below(entry: float, colours: dict[str, str]) -> dict[str, Any]:
    """Return a legend at the bottom of a figure; plotly reserves space for it below the axes. entry: pixels of one
    entry.
    """
    return {
        "orientation": "h",
        "x": 0,
        "y": 0,
        "yref": "container",
        "yanchor": "bottom",
        "entrywidth": entry,
        "tracegroupgap": 0,
        "bgcolor": "rgba(0,0,0,0)",
        "font": {"size": 12, "color": colours["ink"]},
    }


def _add_axes(
    figure: Plot, titles: tuple[str, str], ends: tuple[float, float], top: float, colours: dict[str, str]
) -> None:
    """Set up a logarithmic axis for ε between its ``ends``, and a vertical one up to ``top``."""
    low_end, high_end = ends
    pad = max(0.02 * np.log10(high_end / low_end), 0.02)
    ticks = epsilon_ticks(low_end, high_end)
    figure.update_xaxes(
        type="log",
        title={"text": titles[0], "standoff": 6},
        title_font={"color": colours["soft"], "size": 13},
        tickvals=ticks,
        ticktext=[f"{v:g}" for v in ticks],
        ticks="outside",
        showgrid=False,
        showline=True,
        range=[np.log10(low_end) - pad, np.log10(high_end) + pad],
    )
    figure.update_yaxes(
        title={"text": titles[1], "standoff": 8},
        title_font={"color": colours["soft"], "size": 13},
        automargin=False,
        range=[-0.02 * top, 1.04 * top],
    )
