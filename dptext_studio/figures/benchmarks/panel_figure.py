"""Benchmark series in panels, one for each mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dptext_core.errors import InputError
from dptext_core.measure.metrics.registry import measure
from dptext_lab.results import curves as c

from ..metric_titles import metric_title
from ..theme import DARK, LIGHT, PAD, Plot, epsilon_ticks, escape, layout, width_of, with_hover
from .marks import add_paper_series, add_ring, add_series, epsilon_title, privacy_title

NARROW = 320  # the smallest width of a figure in pixels, on a phone


def panels(
    found: Sequence[c.Series],
    papers: Sequence[c.Series],
    metric: str,
    x: str = "epsilon",
    *,
    baseline: float | None = None,
    majority: float | None = None,
    chosen: str = "",
    dark: bool = False,
    columns: int = 2,
    height: int = 132,
) -> Plot:
    """Draw curves as ``curves`` does, with a panel of this ``height`` for each mechanism instead of a legend.

    All panels share their axes, and show the curves of the other mechanisms in grey. Raises InputError without a point.
    """
    shown = [s for s in found if s.points]
    printed = [s for s in papers if s.points]
    names = list(dict.fromkeys(s.mechanism for s in (*shown, *printed)))
    if not names:
        raise InputError("There is no point. Pass at least one.")
    colours, figure = DARK if dark else LIGHT, Plot()
    columns = min(columns, len(names))
    rows = -(-len(names) // columns)
    under = epsilon_title(names) if x == "epsilon" else privacy_title(x)
    if width_of(under, 13) > NARROW:  # it would be clipped on both sides
        under = under.replace(" (", "<br>(")
    top, bottom, between = 46, 44 + 18 * under.count("<br>"), 34
    whole = top + bottom + rows * height + (rows - 1) * between
    plot = whole - top - bottom
    every = [p.x for s in (*shown, *printed) for p in s.points]
    values = [v for s in (*shown, *printed) for p in s.points for v in (p.value, p.low, p.high) if v is not None]
    values += [v for v in (baseline, majority) if v is not None]
    across, upwards = _shared_x(every, x), _shared_y(values, measure(metric).kind == "speed")
    for k, name in enumerate(names):
        place = _add_axes(figure, k, names, columns, height, plot, between, across, upwards, colours)
        _add_background(figure, [s for s in shown if s.mechanism != name], (baseline, majority), colours, place)
        for s in (s for s in printed if s.mechanism == name):
            add_paper_series(figure, s, metric, dark, **place)
        for s in (s for s in shown if s.mechanism == name):
            add_series(figure, s, s.label, metric, dark, **place)
            add_ring(figure, [(p.x, p.value) for p in s.points if chosen and p.row.point == chosen], colours, **place)
    _add_titles(figure, metric_title(metric), under, colours)
    layout(figure, colours, whole)
    figure.update_layout(
        hovermode="closest",
        paper_bgcolor=colours["page"],
        margin={"l": 46, "r": PAD + 4, "t": top, "b": bottom, "autoexpand": False},
    )
    figure.update_xaxes(ticks="outside", showgrid=False, showline=True, automargin=False, matches="x")
    figure.update_yaxes(automargin=False, matches="y")
    return with_hover(figure, colours)


def _add_axes(
    figure: Plot,
    k: int,
    names: Sequence[str],
    columns: int,
    height: int,
    plot: int,
    between: int,
    across: dict[str, Any],
    upwards: dict[str, Any],
    colours: dict[str, str],
) -> dict[str, str]:
    """Add panel ``k`` with the name of its mechanism, and return the names of its axes.

    plot: pixels from the top of the first panel to the bottom of the last. between: pixels between two panels.
    """
    row, column = divmod(k, columns)
    axis = "" if k == 0 else str(k + 1)
    left, gap = column / columns, 0.06 if columns > 1 else 0.0
    ends = [left + (gap / 2 if column else 0), left + 1 / columns - (gap / 2 if column < columns - 1 else 0)]
    high = 1 - row * (height + between) / plot
    is_lowest = k + columns >= len(names)
    figure.update_layout(
        **{
            f"xaxis{axis}": {**across, "domain": ends, "anchor": f"y{axis}", "showticklabels": is_lowest},
            f"yaxis{axis}": {
                **upwards,
                "domain": [max(0.0, high - height / plot), min(1.0, high)],
                "anchor": f"x{axis}",
                "showticklabels": column == 0,
            },
        }
    )
    figure.add_annotation(
        text=f"<b>{escape(c.title(names[k]))}</b>",
        x=ends[0],
        y=min(1.0, high),
        xref="paper",
        yref="paper",
        xanchor="left",
        yanchor="bottom",
        showarrow=False,
        font={"size": 12, "color": colours["ink"]},
    )
    return {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}


def _add_background(
    figure: Plot,
    others: Sequence[c.Series],
    levels: Sequence[float | None],
    colours: dict[str, str],
    place: dict[str, str],
) -> None:
    """Draw the curves of the other mechanisms in grey, and the lines of unprotected text and of always guessing."""
    figure.add_scatter(
        x=[v for s in others for v in (*(p.x for p in s.points), None)],
        y=[v for s in others for v in (*(p.value for p in s.points), None)],
        mode="lines",
        line={"color": colours["bar"], "width": 1},
        opacity=0.45,
        hoverinfo="skip",
        name="others",
        **place,
    )
    for value, dash in zip(levels, ("dash", "dot"), strict=True):
        if value is not None:
            figure.add_shape(
                type="line",
                x0=0,
                x1=1,
                xref=f"{place['xaxis']} domain",
                y0=value,
                y1=value,
                yref=place["yaxis"],
                layer="below",
                line={"color": colours["soft"], "width": 1, "dash": dash},
            )


def _add_titles(figure: Plot, metric: str, under: str, colours: dict[str, str]) -> None:
    """Write the title of the metric above all panels, and that of the shared horizontal axis below them."""
    figure.add_annotation(
        text=metric,
        x=0,
        y=1,
        yshift=22,
        xref="paper",
        yref="paper",
        xanchor="left",
        yanchor="bottom",
        showarrow=False,
        font={"size": 13, "color": colours["soft"]},
    )
    figure.add_annotation(
        text=under,
        x=0.5,
        y=0,
        yshift=-24,
        xref="paper",
        yref="paper",
        yanchor="top",
        showarrow=False,
        font={"size": 13, "color": colours["soft"]},
    )


def _shared_x(every: Sequence[float], x: str) -> dict[str, Any]:
    if x != "epsilon":
        return {"range": [-0.04, 1.04], "dtick": 0.5}
    low, high = min(every), max(every)
    pad = max(0.05 * np.log10(high / low), 0.05)
    ticks = [v for v in epsilon_ticks(low, high) if len(epsilon_ticks(low, high)) < 5 or f"{v:e}"[0] == "1"]
    return {
        "type": "log",
        "tickvals": ticks,
        "ticktext": [f"{v:g}" for v in ticks],
        "range": [float(np.log10(low) - pad), float(np.log10(high) + pad)],
    }


def _shared_y(values: Sequence[float], speed: bool) -> dict[str, Any]:
    if speed:  # from hundreds to hundreds of thousands
        return {"type": "log", "dtick": 1}
    low, high = min(values), max(values)
    pad = 0.09 * (high - low) or 0.1
    return {"range": [low - pad, high + pad], "nticks": 5}
