"""Benchmark results as utility over privacy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dptext_core.errors import InputError
from dptext_core.measure.front import pareto
from dptext_core.measure.metrics.registry import measure
from dptext_core.support import extras
from dptext_lab.results import curves as c

from ..mechanism_style import mechanism_style
from ..metric_titles import metric_title
from ..theme import DARK, LIGHT, escape
from .frame import UNPROTECTED, add_frame, add_level, add_paper_entry
from .marks import add_ring, error_bars, hover_data, hover_of_spot, marker, short_labels

if TYPE_CHECKING:
    import plotly.graph_objects as go


FRONT = "Pareto front"


def plane(
    spots: Sequence[c.Spot],
    papers: Sequence[c.Spot],
    utility: str,
    privacy: str,
    *,
    baseline: float | None = None,
    chosen: str = "",
    dark: bool = False,
    height: int = 440,
    width: int = 340,
) -> go.Figure:
    """Draw utility over privacy, name the better corner, and draw our Pareto front if both metrics have a direction.

    baseline: utility of unprotected text. Raises InputError without a point.
    """
    extras.require("plotly")

    import plotly.graph_objects as go

    if not spots and not papers:
        raise InputError("There is no setting with both metrics. Pass at least one.")
    colours = DARK if dark else LIGHT
    better = (measure(privacy).better, measure(utility).better)
    figure = go.Figure()
    names = []
    if spots and 0 not in better:
        _add_front(figure, spots, better, colours)
        names.append(FRONT)
    _add_papers(figure, papers, utility, privacy, dark)
    ours = _grouped(spots)
    shorts = short_labels([(label, group[0].mechanism) for label, group in ours])
    for name, (_, group) in zip(shorts, ours, strict=True):
        colour, dash, symbol = mechanism_style(group[0].mechanism, dark, group[0].variant)
        figure.add_scatter(
            x=[s.x for s in group],
            y=[s.y for s in group],
            mode="lines+markers",
            name=escape(name),
            line={"color": colour, "width": 1, "dash": dash},
            marker=marker(colour, symbol, 9),
            error_x=error_bars([s.x_point for s in group], colour),
            error_y=error_bars([s.y_point for s in group], colour),
            **hover_data(
                [hover_of_spot(s, utility, privacy) for s in group], None, [s.y_point.row.point for s in group]
            ),
        )
        names.append(name)
        add_ring(figure, [(s.x, s.y) for s in group if chosen and s.y_point.row.point == chosen], colours)
    if papers:
        names.append(add_paper_entry(figure, colours))
    add_level(figure, baseline, UNPROTECTED, colours, "right" if better[0] < 0 else "left")
    add_frame(figure, colours, height, width, names)
    figure.update_xaxes(title_text=metric_title(privacy))
    figure.update_yaxes(title_text=metric_title(utility))
    if 0 not in better:
        _add_corner(figure, better, colours)
    return figure


def _add_front(figure: go.Figure, spots: Sequence[c.Spot], better: tuple[int, int], colours: dict[str, str]) -> None:
    """Draw the Pareto front of our points."""
    front = pareto([(s.x, s.y) for s in spots], better)
    figure.add_scatter(
        x=[spots[i].x for i in front],
        y=[spots[i].y for i in front],
        mode="lines",
        name=FRONT,
        hoverinfo="skip",
        line={"color": colours["soft"], "width": 6, "shape": "hv" if better[0] < 0 else "vh"},
        opacity=0.35,
    )


def _add_papers(figure: go.Figure, papers: Sequence[c.Spot], utility: str, privacy: str, dark: bool) -> None:
    """Draw the papers' points with hollow marks on dotted lines."""
    for label, group in _grouped(papers):
        colour, _, symbol = mechanism_style(group[0].mechanism, dark, group[0].variant)
        figure.add_scatter(
            x=[s.x for s in group],
            y=[s.y for s in group],
            mode="lines+markers",
            name=escape(label),
            showlegend=False,
            line={"color": colour, "width": 1, "dash": "dot"},
            marker=marker(colour, f"{symbol}-open", 9),
            **hover_data([hover_of_spot(s, utility, privacy) for s in group], None),
        )


def _add_corner(figure: go.Figure, better: tuple[int, int], colours: dict[str, str]) -> None:
    """Name the better corner. ``better``: 1 if more is better, -1 if less is, for the horizontal and the vertical axis.
    """
    arrow = {(-1, 1): "↖", (1, 1): "↗", (-1, -1): "↙", (1, -1): "↘"}[better]
    figure.add_annotation(
        text=f"{arrow} better" if better[0] < 0 else f"better {arrow}",
        showarrow=False,
        xref="paper",
        yref="paper",
        x=0 if better[0] < 0 else 1,
        xanchor="left" if better[0] < 0 else "right",
        y=1 if better[1] > 0 else 0,
        yanchor="bottom" if better[1] > 0 else "top",
        font={"color": colours["soft"], "size": 12},
    )


def _grouped(spots: Sequence[c.Spot]) -> list[tuple[str, list[c.Spot]]]:
    groups: dict[tuple[str, str], list[c.Spot]] = {}
    for s in spots:
        groups.setdefault((s.label, s.paper), []).append(s)
    return [(label, group) for (label, _), group in groups.items()]
