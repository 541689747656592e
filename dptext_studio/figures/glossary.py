"""Definitions of symbols in one or two sentences, for tooltips. docs/glossary.md has the whole list."""

from __future__ import annotations

_SAID = {
    "ε": "The privacy budget, which limits how much one draw can reveal: smaller is more private. Mechanisms have "
         "different units of ε, so their values are not comparable.",
    "Total ε": "The budget of the whole rewrite: the sum over all its draws.",
    "N_w": "The probability that a word is unchanged, a statistic from the papers. Smaller values are more private.",
    "S_w": "The expected number of different words in 100 draws. Larger values are more private.",
    "95% set": "The smallest number of words with a total probability of 95%: larger is more private. It is an "
               "alternative definition of S_w.",
    "clipping": "The model's scores are clipped to this range: a narrow one makes good words more likely but gives "
                "the best ones equal scores.",
    "advantage": "True-positive rate minus false-positive rate of a classifier that recognises the first text. "
                 "0 is guessing; 1 is always right.",
    "ε at least": "A lower bound on ε between these two texts, with 95% confidence. This is a measurement, not a "
                  "guarantee.",
    "detectable ε": "The largest lower bound that this number of rewrites can show for any mechanism.",
}


#: Replaces the control of ε for a mechanism that uses none.
NO_EPSILON = "ε has no effect: this mechanism replaces flagged words and copies all others."


def definition(name: str) -> str:
    """Return the definition of a symbol or measure."""
    return _SAID[name]


def names() -> tuple[str, ...]:
    return tuple(_SAID)
