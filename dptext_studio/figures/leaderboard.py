"""A leaderboard at equal measured privacy (``dptext_lab.results.leaderboard``): a dot with its interval for each
setting.
"""

from __future__ import annotations

from dptext_core.measure.metrics.registry import measure
from dptext_lab.results.leaderboard import Board
from dptext_lab.results.leaderboard_text import with_interval

from .mechanism_style import mechanism_style
from .metric_titles import metric_title
from .theme import DARK, LIGHT, Plot, escape, layout, shorten, with_hover

#: Pixels of a line, and of the axis below.
LINE, AXIS = 30, 48


def leaderboard(board: Board, *, dark: bool = False, narrow: int = 36) -> Plot:
    """Draw settings with the best at the top.

    The first, and settings without a significant difference from it, have the colour of their mechanism. Grey:
    significantly less. Hollow: interpolated between two points. Dotted line: the original text. narrow: the largest
    number of characters of a name.
    """
    colours = DARK if dark else LIGHT
    entries = board.entries
    unit = 100 if measure(board.judge).unit == "share" else 1
    figure = Plot()
    colour = [colours["bar"] if e.is_significant else mechanism_style(e.mechanism, dark)[0] for e in entries]
    up = [0.0 if e.high is None else unit * (e.high - e.value) for e in entries]
    down = [0.0 if e.low is None else unit * (e.value - e.low) for e in entries]
    # A trace for each, because an interval has the colour of its trace.
    for i, e in enumerate(entries):
        where = f"interpolated between ε {e.between[0]:g} and {e.between[1]:g}" if e.between else f"at ε {e.epsilon:g}"
        known = "significantly less than the first" if e.is_significant else "no significant difference from the first"
        message = "" if e.p is None else f"<br>{known}"
        seeds = "one seed" if e.seeds == 1 else f"{e.seeds} seeds"
        message = f"{escape(e.label)}: {with_interval(e, board.judge)}<br>{where}, {seeds}{message}"
        figure.add_scatter(
            x=[unit * e.value],
            y=[i],
            mode="markers",
            hovertemplate=f"{message}<extra></extra>",
            name=escape(e.label),
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [up[i]],
                "arrayminus": [down[i]],
                "thickness": 2,
                "width": 0,
                "color": colour[i],
            },
            marker={
                "size": 11,
                "color": colours["page"] if e.between else colour[i],
                "line": {"width": 2, "color": colour[i]},
            },
        )
    if board.whole is not None:
        figure.add_vline(unit * board.whole.value, line={"color": colours["soft"], "width": 1, "dash": "dot"})
    layout(figure, colours, LINE * len(entries) + AXIS)
    figure.update_xaxes(
        title=metric_title(board.judge) + (", %" if unit == 100 else ""),
        title_font={"color": colours["soft"], "size": 13},
        fixedrange=True,
        showgrid=True,
    )
    figure.update_yaxes(
        range=[len(entries) - 0.5, -0.5],
        tickvals=list(range(len(entries))),
        fixedrange=True,
        showgrid=False,
        ticktext=[escape(shorten(e.label, narrow)) for e in entries],
        ticks="",
    )
    figure.update_layout(dragmode=False)
    return with_hover(figure, colours)
