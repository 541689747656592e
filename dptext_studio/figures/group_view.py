"""The group of words that share an output set, as a figure."""

from __future__ import annotations

import numpy as np

from dptext_core.explain import GroupView, same_word
from dptext_core.privacy.numbers import percent, with_minus

from .labelled_rows import add_heading, labelled_rows, row_bars
from .theme import DARK, LIGHT, PAD, Plot, escape, shorten, width_of

#: The number of rows of words; the others are one hatched bar.
MAX_ROWS = 24


def group_figure(view: GroupView, dark: bool = False, height: int = 300, width: int = 450) -> Plot:
    """Draw two columns of bars, with the most similar word on top; words beyond 24 rows are one hatched bar."""
    colours = DARK if dark else LIGHT
    shown, rest = _rows(view)
    paint, labels, hover = _labels(view, shown, colours)
    head, foot, least = 22, 22, 17
    height = max(height, 2 * PAD + head + foot + (len(shown) + bool(rest)) * least)
    similar, chance = view.similarities[shown], view.probs[shown]
    figure = Plot()
    common = row_bars(len(shown), paint, hover)
    figure.add_bar(
        x=similar,
        text=[with_minus(f"{v:.2f}") for v in similar],
        name="similarity",
        xaxis="x",
        **common,
        hovertemplate="<b>%{customdata}</b><br>similarity %{x:.3f}<extra></extra>",
    )
    figure.add_bar(
        x=chance,
        text=[percent(p) for p in chance],
        name="probability",
        xaxis="x2",
        **common,
        hovertemplate="<b>%{customdata}</b><br>probability %{text}<extra></extra>",
    )
    if rest:
        labels.append(
            f"<span style='color:{colours['soft']}'>{len(rest):,} others</span> "
            "<span style='color:rgba(0,0,0,0)'>●</span>"
        )
        _add_others(figure, float(view.probs[rest].sum()), len(shown), colours)
    room = max(width_of(shorten(view.words[i], 16), 13) for i in shown) + 22
    low = min(0.0, float(similar.min()))
    high = max(float(similar.max()), low + 1e-9)
    top = max(float(chance.max()), float(view.probs[rest].sum()) if rest else 0.0) or 1.0
    figure.update_layout(
        xaxis={"domain": [0, 0.47], "range": [low, low + (high - low) * 1.32]},
        xaxis2={"domain": [0.53, 1], "range": [0, top * 1.4], "anchor": "y"},
        barmode="overlay",
        hovermode="closest",
    )
    for text, axis, x in (("similarity", "x", min(low, 0.0)), ("probability at this ε", "x2", 0.0)):
        add_heading(figure, text, axis, x, colours)
    _add_key(figure, view, colours)
    return labelled_rows(figure, colours, labels, height, {"l": room, "r": PAD, "t": PAD + head, "b": PAD + foot})


def _rows(view: GroupView) -> tuple[list[int], list[int]]:
    """Return the words with separate rows, most similar first, and the others."""
    order = np.argsort(-view.similarities, kind="stable")
    marked = [i for i in order if same_word(view.words[i], view.source) or same_word(view.words[i], view.released_word)]
    shown = [int(i) for i in order]
    if len(shown) <= MAX_ROWS:
        return shown, []
    listed = set(marked) | set([i for i in shown if i not in marked][: MAX_ROWS - 1 - len(marked)])
    return [i for i in shown if i in listed], [i for i in shown if i not in listed]


def _labels(view: GroupView, shown: list[int], colours: dict[str, str]) -> tuple[list[str], list[str], list[str]]:
    """Return the colours, labels and hover texts of the rows. A dot marks the words that share the output set."""
    crowd = {w.lower() for w in view.crowd}
    paint, labels, hover = [], [], []
    for i in shown:
        word = view.words[i]
        source, released = same_word(word, view.source), same_word(word, view.released_word)
        colour = colours["keep"] if source else colours["new"] if released else colours["bar"]
        paint.append(colour)
        text = escape(shorten(word, 16))
        if source or released:
            text = f"<b><span style='color:{colour}'>{text}</span></b>"
        dot = f" <span style='color:{colours['soft']}'>●</span>"
        labels.append(text + (dot if word.lower() in crowd else " <span style='color:rgba(0,0,0,0)'>●</span>"))
        hover.append(escape(word))
    return paint, labels, hover


def _add_others(figure: Plot, total: float, row: int, colours: dict[str, str]) -> None:
    """Draw the words without separate rows as one hatched bar."""
    figure.add_bar(
        x=[total],
        y=[row],
        orientation="h",
        text=[percent(total)],
        textposition="outside",
        xaxis="x2",
        constraintext="none",
        width=0.62,
        cliponaxis=False,
        name="others",
        hovertemplate="all others: %{text}<extra></extra>",
        marker={
            "color": "rgba(0,0,0,0)",
            "line": {"width": 1, "color": colours["bar"]},
            "pattern": {"shape": "/", "fgcolor": colours["bar"], "size": 5},
        },
    )


def _add_key(figure: Plot, view: GroupView, colours: dict[str, str]) -> None:
    """Explain the dot below the bars."""
    key = (
        "● unique: no other word has this output set"
        if view.alone
        else (f"● in the group: the {len(view.crowd):,} words that share this output set")
    )
    figure.add_annotation(
        x=1,
        xref="paper",
        y=0,
        yref="paper",
        yshift=-4,
        text=key,
        showarrow=False,
        xanchor="right",
        yanchor="top",
        font={"size": 12, "color": colours["new"] if view.alone else colours["soft"]},
    )
