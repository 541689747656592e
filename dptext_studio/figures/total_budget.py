"""Utility and privacy over the total ε of a text, as curves."""

from __future__ import annotations

from collections.abc import Sequence

from dptext_core.errors import InputError
from dptext_lab.results.total_budget import MEASURES, BudgetRow

from .epsilon_curves import Curve, curves
from .mechanism_style import system_styles
from .theme import Plot, escape

#: The upper end of the vertical axis, unless the data determine it.
_TOPS = {"cosine": 0.85, "task": 1.0, "linked": 1.0, "named": 1.0}


def total_budget(
    rows: Sequence[BudgetRow], measure: str = "cosine", *, dark: bool = False, height: int = 380, width: int = 760
) -> Plot:
    """Draw a measure over the total ε of a text, a curve with its 95% interval for each system.

    Parameters
    ----------
    rows
        Those of one data set. What a system releases without looking at a text is a thin line across.
    measure
        One of ``MEASURES``.
    dark
        Whether the page is dark.
    height, width
        Pixels without the legend, and those that it may take.

    Returns
    -------
    Plot
        The figure.

    Raises
    ------
    InputError
        There is no row of this measure with a total.
    """
    rows = [r for r in rows if r.measure == measure]
    systems = list(dict.fromkeys(r.system for r in rows if r.total))
    if not systems:
        raise InputError("There is no total ε. Pass at least one row with one.")
    styles = system_styles({r.system: r.mechanism for r in rows if r.total}, dark)
    lines: dict[str, Curve] = {}
    for system in systems:
        points = sorted((r for r in rows if r.system == system and r.total), key=lambda r: r.total)
        low, high = ([r.value + side * (r.half or 0.0) for r in points] for side in (-1, 1))
        lines[system] = ([r.total for r in points], [r.value for r in points], low, high)
    figure = curves(
        lines,
        MEASURES[measure],
        x_title="Total ε of a text",
        top=_TOPS.get(measure),
        dark=dark,
        height=height,
        width=width,
        styles=styles,
    )
    least, most = min(r.total for r in rows if r.total), max(r.total for r in rows)
    for r in rows:
        if not r.total and r.system in systems:
            name = escape(r.system)
            figure.add_scatter(
                x=[least, most],
                y=[r.value, r.value],
                mode="lines",
                showlegend=False,
                legendgroup=name,
                opacity=0.6,
                line={"color": styles[r.system][0], "width": 1, "dash": "dot"},
                hovertemplate=f"<b>{name}</b><br>text-independent baseline: {r.value:.3g}<extra></extra>",
            )
    return figure
