"""The frame of benchmark figures: axes, legend, horizontal lines, and the legend entry of papers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dptext_lab.results import curves as c

from ..epsilon_curves import legend_below
from ..theme import PAD, layout, width_of, with_hover
from .marks import marker

if TYPE_CHECKING:
    import plotly.graph_objects as go


#: The legend of the papers' marks: one entry for all, because their colours and marks match ours.
PAPERS = "hollow: papers"
UNPROTECTED = "unprotected"
GUESS = "always guessing"


def add_paper_entry(figure: go.Figure, colours: dict[str, str]) -> str:
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="lines+markers",
        name=PAPERS,
        marker=marker(colours["soft"], "circle-open", 8),
        line={"color": colours["soft"], "width": 1, "dash": "dot"},
    )
    return PAPERS


def add_level(figure: go.Figure, value: float | None, name: str, colours: dict[str, str], side: str = "right") -> None:
    """Draw a horizontal line with its name.

    The name of unprotected text is above the axes, because marks and their bars come near both ends of its line. The
    name of guessing is below its line, where there are almost no marks.
    """
    if value is None:
        return
    figure.add_hline(y=value, line={"color": colours["soft"], "width": 1, "dash": "dash"}, layer="below")
    above = name == UNPROTECTED
    figure.add_annotation(
        text=f"{'╌╌ ' if above else ''}{name}: {c.score_text(value)}",
        x=1.0 if side == "right" else 0.0,
        xref="paper",
        xanchor=side,
        showarrow=False,
        font={"color": colours["soft"], "size": 11},
        **({"y": 1, "yref": "paper", "yanchor": "bottom"} if above else {"y": value, "yanchor": "top"}),
    )


def add_frame(figure: go.Figure, colours: dict[str, str], height: int, width: int, names: Sequence[str]) -> None:
    """Draw axes with a legend below, with as many columns as a figure of this width has."""
    layout(figure, colours, height)
    entry = max(width_of(name, 12) for name in names) + 48
    columns = max(1, min(len(names), int((width - 58 - PAD) // entry)))
    figure.update_layout(
        height=height + 20 * -(-len(names) // columns) + 6,
        hovermode="closest",
        showlegend=True,
        paper_bgcolor=colours["page"],
        margin={"l": 58, "r": PAD + 4, "t": 22, "b": PAD},
        legend={**legend_below(entry - 36, colours), "itemsizing": "constant"},
    )
    titles = {"title_font": {"color": colours["soft"], "size": 13}}
    figure.update_xaxes(ticks="outside", showgrid=False, showline=True, title_standoff=4, **titles)
    figure.update_yaxes(title_standoff=6, nticks=7, automargin=False, **titles)
    with_hover(figure, colours)
