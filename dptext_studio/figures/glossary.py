"""What the symbols mean, in a sentence or two: the bubbles beside them. docs/glossary.md has the whole list."""

from __future__ import annotations

_SAID = {
    "ε": "The privacy budget: how much one draw may tell at most. Smaller is more private. The ε of two mechanisms may "
    "count different things, so that they cannot be compared.",
    "Total ε": "What the whole rewrite spends: the budgets of its draws, added up.",
    "N_w": "The chance of staying, the papers' own statistic: how often a word would come out as it was. Small is "
    "private.",
    "S_w": "How many different words are expected in 100 draws. Many is private.",
    "95% set": "The fewest words that together have 95% of the chance. Many is private. It is the other reading of "
    "S_w.",
    "clipping": "The model's scores are cut to this range, which does not depend on the text. ε is spread over its "
    "width Δ: in a narrow one good words are likelier, and the best can no longer be told apart.",
    "advantage": "How much more often a classifier says “the first text” of its rewrites than of those of the other: 0 "
    "is a coin, 1 is never wrong.",
    "ε at least": "With a smaller ε between these two texts so much would hardly be seen (a certainty of 95%). This is "
    "a measurement, and no promise.",
    "could show": "So large a lower bound can come of so many rewrites at most, whatever the mechanism.",
}


#: What stands in the place of a control of ε, of a mechanism that uses none.
NO_EPSILON = "ε has no effect here: this mechanism replaces what a detector flags, and copies every other word."


def definition(name: str) -> str:
    """Return what this symbol or figure means."""
    return _SAID[name]


def names() -> tuple[str, ...]:
    return tuple(_SAID)
