"""Rows of `bench prior`: what a public prior is worth."""

from __future__ import annotations

from dataclasses import dataclass

from .measurement import Measurement

#: Means of logarithms, whose exponential is shown.
LOGARITHMS = ("judge_perplexity",)
#: Of the attackers the one that finds most, by its mean at each ε.
STRONGEST = "best_attacker"


@dataclass(frozen=True)
class PriorRow:
    """A measure of a system at one ε, over texts and seeds. half: of the 95% interval over texts.

    difference, difference_half: to ``beside`` on the same texts; None where nothing is beside it. p: of the difference,
    corrected for all cells of this system and measure. Of a perplexity all of these are of its logarithm.
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
        """1 where it has more than what is beside it, −1 where it has less, 0 where that may be chance (5%)."""
        if self.p is None or self.difference is None or self.p >= 0.05:
            return 0
        return 1 if self.difference > 0 else -1


MEASUREMENT = Measurement("prior", PriorRow, "public_prior.json", digits=5)
bundled = MEASUREMENT.bundled
