"""The distribution of one word in one of several rewrites, with the same candidates in each. Plain plotly dictionaries.
"""

from __future__ import annotations

from typing import Any

from dptext_core.privacy.numbers import percent

from .side_by_side import WordComparison
from .theme import DARK, FONT, LIGHT, escape, shorten

OTHERS = "all others"


def word_bars(word: WordComparison, which: int, *, dark: bool = False) -> dict[str, Any]:
    """Draw the probabilities of the shared candidates in rewrite number ``which``, on an axis that all rewrites share.

    The original word is striped, and the sampled one is named at its bar.
    """
    colours = DARK if dark else LIGHT
    mine = word.each[which]
    names = [*word.words, OTHERS]
    values = [*mine.probabilities, mine.rest]
    released = mine.released_word.casefold()
    yours = word.word.casefold()
    said = []
    for n, p, possible in zip(names, values, (*mine.possible, True), strict=True):
        never = "not in the vocabulary" if n.casefold() == yours and not mine.known else "impossible output"
        said.append((percent(p) if possible else never) + (" ← sampled" if n.casefold() == released else ""))
    most = max(max((*c.probabilities, c.rest)) for c in word.each if c.probabilities)
    fill = [colours["keep"] if n.casefold() == yours else colours["new"] for n in names[:-1]] + [colours["bar"]]
    labels = [f"{shorten(n, 16)} (yours)" if n.casefold() == yours else shorten(n, 18) for n in names]
    # Two shortened words may be equal: positions distinguish them, with their names as tick labels.
    places = list(range(len(names)))
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "x": values,
                "y": places,
                "text": said,
                "textposition": "outside",
                "cliponaxis": False,
                "customdata": [escape(n) for n in names],
                "textfont": {"color": colours["ink"], "size": 12},
                "marker": {
                    "color": fill,
                    "line": {"width": 0},
                    "pattern": {
                        "shape": ["/" if n.casefold() == yours else "" for n in names],
                        "solidity": 0.35,
                        "fgcolor": colours["page"],
                    },
                },
                "hovertemplate": "%{customdata}: %{x:.2%}<extra></extra>",
            }
        ],
        "layout": _layout([escape(n) for n in labels], places, most, colours),
    }


def _layout(labels: list[str], places: list[int], most: float, colours: dict[str, str]) -> dict[str, Any]:
    """Return the layout with a row for each label; ``most``: the longest bar of all rewrites."""
    return {
        "height": 26 * len(labels) + 12,
        "margin": {"l": 0, "r": 4, "t": 4, "b": 4},
        "showlegend": False,
        "bargap": 0.25,
        "dragmode": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": colours["ink"], "size": 12, "family": FONT},
        "xaxis": {"visible": False, "range": [0, 1.75 * most], "fixedrange": True},
        "yaxis": {
            "range": [len(labels) - 0.4, -0.6],
            "automargin": True,
            "fixedrange": True,
            "zeroline": False,
            "tickvals": places,
            "ticktext": labels,
            "showgrid": False,
        },
        "hoverlabel": {"bgcolor": colours["page"], "font": {"color": colours["ink"], "family": FONT}},
    }
