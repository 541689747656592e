"""Rows of `bench prior`: the value of a public prior."""

from __future__ import annotations

from dataclasses import dataclass

from .measurement import Measurement

#: Measures that store means of logarithms and show their exponentials.
LOGARITHMS = ("judge_perplexity",)
#: The attacker with the largest mean success at each ε.
STRONGEST = "best_attacker"


@dataclass(frozen=True)
class PriorRow:
    """A measure of a system at one ε, over texts and seeds. half: of the 95% interval over texts.

    difference, difference_half: from the compared system (``beside``) on the same texts, or None without one. p: of the
    difference, corrected over all cells of this system and measure. For a perplexity, all values are logarithms.
    """

    data: str
    system: str
    epsilon: float
    measure: str
    mean: float
    half: float
    texts: int
    seeds: int
    beside: str = ""
    difference: float | None = None
    difference_half: float | None = None
    p: float | None = None

    @property
    def significance(self) -> int:
        """Return 1 if it is significantly larger than the compared system (5%), −1 if smaller, else 0."""
        if self.p is None or self.difference is None or self.p >= 0.05:
            return 0
        return 1 if self.difference > 0 else -1


MEASUREMENT = Measurement("prior", PriorRow, "public_prior.json", digits=5)
bundled = MEASUREMENT.bundled
