"""What is preserved over the certainty of the optimal reader, as curves."""

from __future__ import annotations

from collections.abc import Sequence

from dptext_core.errors import InputError
from dptext_core.measure.metrics.registry import measure
from dptext_lab.results.belief import METRIC, BeliefRow, as_results
from dptext_lab.results.curves import title

from .epsilon_curves import add_frame
from .mechanism_style import mechanism_style
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
    found: dict[tuple[str, float], dict[str, tuple[float, float]]] = {}
    for row in as_results(rows).rows:
        half = max((row.high or row.value) - row.value, 0.0)
        found.setdefault((row.mechanism, row.epsilon or 0.0), {})[row.metric] = row.value, half
    if not found:
        raise InputError("There are no rows to draw.")
    figure = Plot()
    for name in dict.fromkeys(m for m, _ in found):
        points = sorted((at[METRIC], at[metric], e) for (m, e), at in found.items() if m == name and metric in at)
        colour, dash, symbol = mechanism_style(name, dark)
        figure.add_scatter(
            x=[100 * x for (x, _), _, _ in points],
            y=[y for _, (y, _), _ in points],
            error_x={"type": "data", "array": [100 * h for (_, h), _, _ in points], "width": 0, "thickness": 1},
            error_y={"type": "data", "array": [h for _, (_, h), _ in points], "width": 0, "thickness": 1},
            customdata=[e for _, _, e in points],
            mode="lines+markers",
            name=escape(title(name)),
            line={"color": colour, "dash": dash, "width": 2},
            marker={"color": colour, "symbol": symbol, "size": 8},
            hovertemplate=f"<b>{escape(title(name))}</b>, ε %{{customdata:g}}<br>certainty %{{x:.0f}}%<br>"
            f"{escape(measure(metric).title)} %{{y:.2f}}<extra></extra>",
        )
    add_frame(figure, [title(name) for name in dict.fromkeys(m for m, _ in found)], colours, height, width)
    soft = {"color": colours["soft"], "size": 13}
    figure.update_xaxes(
        title={"text": "Certainty of the optimal reader, %", "standoff": 6},
        title_font=soft,
        automargin=False,
        range=[0, 102],
        fixedrange=True,
        showgrid=True,
    )
    figure.update_yaxes(
        title={"text": measure(metric).title, "standoff": 8},
        title_font=soft,
        automargin=False,
        fixedrange=True,
        showgrid=True,
    )
    figure.add_vline(12.5, line={"color": colours["soft"], "width": 1, "dash": "dot"})
    figure.update_layout(dragmode=False)
    return with_hover(figure, colours)
