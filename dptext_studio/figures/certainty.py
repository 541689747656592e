"""A utility metric over the certainty of the optimal reader, as curves."""

from __future__ import annotations

from collections.abc import Sequence

from dptext_core.errors import InputError
from dptext_lab.results.belief import METRIC, BeliefRow, as_results
from dptext_lab.results.curves import title

from .epsilon_curves import add_frame
from .mechanism_style import mechanism_style
from .metric_titles import metric_title
from .theme import DARK, LIGHT, Plot, escape, with_hover


def certainty(
    rows: Sequence[BeliefRow], metric: str = "cosine", *, dark: bool = False, height: int = 380, width: int = 450
) -> Plot:
    """Draw a metric over the certainty of the optimal reader: a line for each mechanism, a mark for each ε.

    Parameters
    ----------
    rows
        Those of one data set.
    metric
        "cosine" or "label_kept".
    dark
        Whether the page is dark.
    height, width
        Pixels without the legend, and those that it may take.

    Returns
    -------
    Plot

    Raises
    ------
    InputError
        There are no rows.
    """
    colours = DARK if dark else LIGHT
    points = _points(rows)
    if not points:
        raise InputError("There are no rows. Pass at least one.")
    figure = Plot()
    mechanisms = tuple(dict.fromkeys(mechanism for mechanism, _ in points))
    for name in mechanisms:
        mine = sorted((at[METRIC], at[metric], e) for (m, e), at in points.items() if m == name and metric in at)
        _add_line(figure, mine, title(name), metric, mechanism_style(name, dark))
    add_frame(figure, [title(name) for name in mechanisms], colours, height, width)
    soft = {"color": colours["soft"], "size": 13}
    figure.update_xaxes(
        title={"text": "Certainty of the optimal reader, %", "standoff": 6},
        title_font=soft,
        range=[0, 102],
        fixedrange=True,
        showgrid=True,
    )
    figure.update_yaxes(
        title={"text": metric_title(metric), "standoff": 8},
        title_font=soft,
        automargin=False,
        fixedrange=True,
        showgrid=True,
    )
    figure.add_vline(12.5, line={"color": colours["soft"], "width": 1, "dash": "dot"})
    figure.update_layout(dragmode=False)
    return with_hover(figure, colours)


#: A mean and half the width of its interval.
_Value = tuple[float, float]


def _points(rows: Sequence[BeliefRow]) -> dict[tuple[str, float], dict[str, _Value]]:
    """Return the values of each metric, by mechanism and ε."""
    points: dict[tuple[str, float], dict[str, _Value]] = {}
    for row in as_results(rows).rows:
        half = max((row.high or row.value) - row.value, 0.0)
        points.setdefault((row.mechanism, row.epsilon or 0.0), {})[row.metric] = row.value, half
    return points


def _add_line(
    figure: Plot,
    points: Sequence[tuple[_Value, _Value, float]],
    name: str,
    metric: str,
    style: tuple[str, str, str],
) -> None:
    """Add the line of a mechanism through its points: certainty, metric, ε."""
    colour, dash, symbol = style
    figure.add_scatter(
        x=[100 * x for (x, _), _, _ in points],
        y=[y for _, (y, _), _ in points],
        error_x={"type": "data", "array": [100 * h for (_, h), _, _ in points], "width": 0, "thickness": 1},
        error_y={"type": "data", "array": [h for _, (_, h), _ in points], "width": 0, "thickness": 1},
        customdata=[e for _, _, e in points],
        mode="lines+markers",
        name=escape(name),
        line={"color": colour, "dash": dash, "width": 2},
        marker={"color": colour, "symbol": symbol, "size": 8},
        hovertemplate=f"<b>{escape(name)}</b>, ε %{{customdata:g}}<br>certainty %{{x:.0f}}%<br>"
        f"{escape(metric_title(metric))} %{{y:.2f}}<extra></extra>",
    )
