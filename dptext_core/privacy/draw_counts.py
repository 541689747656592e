"""Draws of many releases, counted by their ε, and their total under optimal composition."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from .guarantee import Guarantee, optimal_total
from .kinds import Notion
from .numbers import bound, scientific
from .sentences import DELTA


@dataclass
class DrawCounts:
    """The number of draws per ε. Only pure draws have an optimal composition.

    Attributes
    ----------
    counts : Counter of float
        The number of draws for each ε.
    is_pure : bool
        Whether every draw is pure DP.
    bounded_range : bool
        Whether the log-ratios of every draw lie in an interval of length ε.
    """

    counts: Counter[float] = field(default_factory=Counter)
    is_pure: bool = True
    bounded_range: bool = True

    @classmethod
    def of(cls, g: Guarantee) -> DrawCounts:
        """Return the draws of one release."""
        counts = cls()
        counts.add(g)
        return counts

    def add(self, g: Guarantee) -> None:
        """Count the draws of one more release."""
        self.is_pure &= g.notion is Notion.PURE
        if g.draws and self.is_pure:
            self.bounded_range &= g.bounded_range
            self.counts.update(g.spent or {g.epsilon: g.draws})

    def join(self, other: DrawCounts) -> None:
        """Count the draws of another count too."""
        self.is_pure &= other.is_pure
        self.bounded_range &= other.bounded_range
        self.counts.update(other.counts)

    def within(self, total: float) -> DrawCounts:
        """Return the draws of some of the releases, which spend ``total`` together; not pure if ε differs."""
        (epsilon,) = self.counts if len(self.counts) == 1 else (0.0,)
        if not epsilon:
            return DrawCounts(is_pure=False)
        draws = math.ceil(total / epsilon * (1 - 1e-12))
        return DrawCounts(Counter({epsilon: draws}), self.is_pure, self.bounded_range)

    def optimal(self, total: float, delta: float = DELTA) -> float | None:
        """Return the total ε as (ε, δ)-DP; None unless the draws are pure and it is at least 2% below ``total``."""
        return optimal_total(self.counts, total, self.bounded_range, delta) if self.is_pure and self.counts else None


def optimal_note(epsilon: float | None) -> str:
    """Return a note in brackets for a total; empty if optimal composition is not smaller."""
    if epsilon is None:
        return ""
    return f" (by optimal composition ε = {bound(epsilon)} with δ = {scientific(DELTA)})"
