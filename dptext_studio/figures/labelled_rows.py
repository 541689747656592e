"""Two columns of horizontal bars with a row for each word: the frame of the group and proposal views."""

from __future__ import annotations

from typing import Any

from .theme import Plot, layout, with_hover


def row_bars(rows: int, paint: list[str], hover: list[str]) -> dict[str, Any]:
    """Return the properties that both columns of bars share."""
    return {
        "orientation": "h",
        "y": list(range(rows)),
        "textposition": "outside",
        "cliponaxis": False,
        "width": 0.62,
        "marker": {"color": paint, "line": {"width": 0}},
        "customdata": hover,
        "constraintext": "none",
    }


def add_heading(figure: Plot, text: str, axis: str, x: float, colours: dict[str, str]) -> None:
    """Write the heading above a column."""
    figure.add_annotation(
        x=x,
        xref=axis,
        y=1,
        yref="paper",
        text=text,
        showarrow=False,
        xanchor="left",
        yanchor="bottom",
        font={"size": 12, "color": colours["soft"]},
    )


def labelled_rows(
    figure: Plot, colours: dict[str, str], labels: list[str], height: int, margin: dict[str, float]
) -> Plot:
    """Set up horizontal bars without axes, with a row for each label from the top down."""
    layout(figure, colours, height)
    figure.update_layout(margin=margin)
    figure.update_xaxes(visible=False, fixedrange=True)
    figure.update_yaxes(
        automargin=False,
        range=[len(labels) - 0.5, -0.5],
        tickvals=list(range(len(labels))),
        ticktext=labels,
        showgrid=False,
        showline=False,
        ticks="",
        fixedrange=True,
    )
    figure.update_traces(textfont={"size": 12, "color": colours["soft"]})
    return with_hover(figure, colours)
