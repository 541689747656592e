"""How many claims have each verdict."""

from __future__ import annotations

from collections.abc import Mapping

from .theme import DARK, LIGHT, Plot, escape, layout, with_hover

#: Pixels of a bar, and of the axis below.
LINE, AXIS = 30, 48


def verdicts(counts: Mapping[str, int], *, dark: bool = False) -> Plot:
    """Draw a bar for each verdict, in their order."""
    colours = DARK if dark else LIGHT
    figure = Plot()
    names = list(counts)
    figure.add_bar(
        x=list(counts.values()),
        y=list(range(len(names))),
        orientation="h",
        text=[str(n) for n in counts.values()],
        marker={"color": colours["keep"]},
        hovertemplate="claims: %{x}<extra></extra>",
    )
    layout(figure, colours, LINE * len(names) + AXIS)
    soft = {"color": colours["soft"], "size": 13}
    figure.update_xaxes(title="Claims", title_font=soft, fixedrange=True, showgrid=True)
    figure.update_yaxes(
        range=[len(names) - 0.5, -0.5],
        tickvals=list(range(len(names))),
        ticktext=[escape(name) for name in names],
        fixedrange=True,
        showgrid=False,
        ticks="",
    )
    return with_hover(figure, colours)
