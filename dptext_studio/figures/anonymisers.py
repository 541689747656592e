"""All anonymisers on one plot: the certainty of the optimal reader over the meaning preserved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dptext_core.errors import InputError
from dptext_core.mechanisms.registry import mechanism_class
from dptext_core.privacy.numbers import number, percent, with_minus
from dptext_core.privacy.sentences import NOTIONS
from dptext_core.support.checks import pluralize
from dptext_lab.results.anonymisers import ALTERNATIVES, IDENTIFYING, AnonymiserRow

from .epsilon_curves import add_frame
from .mechanism_style import mechanism_style
from .theme import DARK, LIGHT, Plot, escape, with_hover

#: The guarantee of a tool that states none.
NO_GUARANTEE = "none stated"
AXES = {
    IDENTIFYING: "Certainty of the optimal reader: identifying word, %",
    "other": "Certainty of the optimal reader: another word, %",
}


@dataclass(frozen=True)
class ScoredTool:
    """The scores of another tool on its own texts, each with its 95% interval.

    meaning: the mean cosine. recovered_share: the share of words recovered by attackers who know no mechanism.
    unchanged_share: the share of identifying words that are unchanged.
    """

    name: str
    texts: int
    meaning: tuple[float, float, float]
    recovered_share: tuple[float, float, float]
    unchanged_share: tuple[float, float, float]


def anonymisers(
    rows: Sequence[AnonymiserRow],
    fact: str = IDENTIFYING,
    tools: Sequence[ScoredTool] = (),
    *,
    dark: bool = False,
    height: int = 400,
    width: int = 450,
) -> Plot:
    """Draw the rows of one data set: a mark for each ε, a line for each anonymiser, and a star for each tool without a
    guarantee.

    Parameters
    ----------
    rows
        Those of one data set.
    fact
        What the reader is asked about: "identifying" or "other".
    tools
        Other tools, of which a lower bound is known.
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
    if not rows:
        raise InputError("There are no rows. Pass at least one.")
    colours, figure = DARK if dark else LIGHT, Plot()
    names = list(dict.fromkeys(row.title for row in rows))
    for name in names:
        _add_anonymiser(figure, [row for row in rows if row.title == name], fact, dark)
    for tool in tools:
        _add_tool(figure, tool, fact, colours["ink"])
    names += [tool.name for tool in tools]
    add_frame(figure, names, colours, height, width)
    soft = {"color": colours["soft"], "size": 13}
    for axis, text in (
        (figure.update_xaxes, "Meaning preserved (cosine to the original)"),
        (figure.update_yaxes, AXES[fact]),
    ):
        axis(title={"text": text, "standoff": 6}, title_font=soft, fixedrange=True, showgrid=True)
    figure.update_yaxes(automargin=False)
    # The same ends for every data set and both facts, so that only marks move.
    figure.update_xaxes(range=[0, 1.02])
    figure.update_yaxes(range=[0, 103])
    chance = 100 / ALTERNATIVES
    line = {"color": colours["soft"], "width": 1, "dash": "dot"}
    figure.add_shape(type="line", xref="x domain", x0=0, x1=1, y0=chance, y1=chance, line=line)
    note = {"showarrow": False, "font": {"color": colours["soft"], "size": 12}}
    figure.add_annotation(x=0, xref="x domain", xanchor="left", y=chance, yanchor="top", text=" guessing", **note)
    figure.add_annotation(x=1, xref="x domain", xanchor="right", y=0, yanchor="bottom", text="better ↘ ", **note)
    figure.update_layout(dragmode=False)
    return with_hover(figure, colours)


def _add_anonymiser(figure: Plot, rows: Sequence[AnonymiserRow], fact: str, dark: bool) -> None:
    """Draw one anonymiser, dotted and hollow if it runs after surrogates, in the colour of its mechanism."""
    first, rows = rows[0], sorted(rows, key=lambda row: row.epsilon or 0.0)
    colour, dash, symbol = mechanism_style(first.mechanism, dark)
    figure.add_scatter(
        x=[row.cosine for row in rows],
        y=[100 * row.value(fact) for row in rows],
        error_x=_bars([row.interval("cosine") for row in rows], [row.cosine for row in rows], 1, colour),
        error_y=_bars([row.interval(fact) for row in rows], [row.value(fact) for row in rows], 100, colour),
        mode="lines+markers",
        name=escape(first.title),
        line={"color": colour, "dash": "dot" if first.surrogates else dash, "width": 2},
        marker={
            "color": colour,
            "symbol": f"{symbol}-open" if first.surrogates else symbol,
            "size": 13 if first.epsilon is None else 9,
            "line": {"color": colour, "width": 1.5},
        },
        cliponaxis=False,
        customdata=[[row.mechanism, row.epsilon, _hover_text(row, fact)] for row in rows],
        hovertemplate="%{customdata[2]}<extra></extra>",
    )


def _add_tool(figure: Plot, tool: ScoredTool, fact: str, colour: str) -> None:
    identifying = fact == IDENTIFYING
    (x, *x_ends), (y, *y_ends) = tool.meaning, tool.unchanged_share if identifying else tool.recovered_share
    which = "identifying words left unchanged:" if identifying else "attackers recover at least"
    text = (
        f"<b>{escape(tool.name)}</b><br>meaning {x:.2f} ({x_ends[0]:.2f} to {x_ends[1]:.2f})<br>{which} {percent(y)} "
        f"({percent(y_ends[0])} to {percent(y_ends[1])})<br>{pluralize(tool.texts, 'text')}<br>"
        f"guarantee: {NO_GUARANTEE}"
    )
    figure.add_scatter(
        x=[x],
        y=[100 * y],
        error_x=_bars([(x_ends[0], x_ends[1])], [x], 1, colour),
        error_y=_bars([(y_ends[0], y_ends[1])], [y], 100, colour),
        mode="markers",
        name=escape(tool.name),
        marker={"color": colour, "symbol": "star", "size": 15},
        cliponaxis=False,
        customdata=[["", None, text]],
        hovertemplate="%{customdata[2]}<extra></extra>",
    )


def _bars(ends: Sequence[tuple[float, float]], at: Sequence[float], scale: float, colour: str) -> dict:
    return {
        "type": "data",
        "symmetric": False,
        "array": [scale * (high - x) for (_, high), x in zip(ends, at, strict=True)],
        "arrayminus": [scale * (x - low) for (low, _), x in zip(ends, at, strict=True)],
        "width": 0,
        "thickness": 1,
        "color": colour,
    }


def _hover_text(row: AnonymiserRow, fact: str) -> str:
    (low, high), ends = row.interval(fact), row.interval("cosine")
    epsilon = "" if row.epsilon is None else f", ε = {number(row.epsilon)}"
    command = row.command.replace(" --sets", "<br>  --sets").replace(" --lines", "<br>  --lines")
    attacked = []
    if row.attacker:
        shown = f"{percent(row.recovered)} ({percent(row.recovered_low)} to {percent(row.recovered_high)})"
        attacked = [f"replaced words that the strongest<br>  attacker recovers: {shown}"]
    return "<br>".join(
        (
            f"<b>{escape(row.title)}</b>{epsilon}",
            f"certainty {percent(row.value(fact))} (95% CI {percent(low)} to {percent(high)})",
            with_minus(f"meaning {row.cosine:.2f} ({ends[0]:.2f} to {ends[1]:.2f})"),
            *attacked,
            f"{pluralize(row.texts, 'text')}, {pluralize(row.seeds, 'rewrite')} of each",
            f"guarantee: {NOTIONS[mechanism_class(row.mechanism).notion]}",
            command,
        )
    )
