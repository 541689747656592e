"""The verdict of a claim from its comparisons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from dptext_core.measure.metrics.registry import measure
from dptext_core.support.statistics import NORMAL, holm

from ..results.differences import LEVEL, POWER, Difference, difference_text, full_options, size_text
from ..results.rows import Row

if TYPE_CHECKING:
    from .runs import Runs

#: Verdicts of claims with rows.
REPLICATED, CONTRADICTED = "replicated", "contradicted"
INCONCLUSIVE, NOT_COMPARABLE = "inconclusive (underpowered)", "not comparable"
VERDICTS = (REPLICATED, CONTRADICTED, INCONCLUSIVE, NOT_COMPARABLE)
#: The verdict of a claim without rows.
MISSING = "not measured"
#: A replicated claim may have one contradicting comparison in this many.
ONE_IN = 20
#: The outcomes of one comparison and of several.
_SUPPORT = ("supports the claim significantly", "support the claim significantly")
_CONTRADICT = ("contradicts the claim significantly", "contradict the claim significantly")
_SMALL = ("shows a difference too small to matter", "show a difference too small to matter")
_LARGER = ("shows a difference that matters", "show a difference that matters")
_OPEN = ("is not significant", "are not significant")


@dataclass
class ClaimEvidence:
    """The comparisons of a claim, or of one part of it.

    same: whether the claim states no difference. A comparison counts if it is significant after Holm's correction over
    all of them, and at least as large as the smallest effect that matters.
    """

    same: bool = False
    comparisons: list[Difference] = field(default_factory=list)
    #: Rows that were compared by ``pair``.
    rows: list[Row] = field(default_factory=list)

    @classmethod
    def join(cls, parts: Iterable[ClaimEvidence]) -> ClaimEvidence:
        """Return the comparisons of several parts together, to correct for all of them."""
        parts = list(parts)
        return cls(
            all(part.same for part in parts),
            [c for part in parts for c in part.comparisons],
            [row for part in parts for row in part.rows],
        )

    def add(self, comparison: Difference | None) -> None:
        if comparison is not None:
            self.comparisons.append(comparison)

    def pair(self, runs: Runs, more: Row | None, less: Row | None, least: float | None = None) -> None:
        """Compare two rows, ``more`` minus ``less``, unless one is missing."""
        if more is not None and less is not None:
            self.add(runs.compare(more, less, least))
            self.rows += [more, less]

    def match(
        self,
        runs: Runs,
        cell: tuple[str, str, str],
        more: Mapping[str, Any],
        less: Mapping[str, Any],
        *,
        against: str = "",
        alike: Iterable[str] = (),
        least: float | None = None,
    ) -> ClaimEvidence:
        """Compare rows of two settings of a mechanism at each ε that both have, and return this evidence.

        Parameters
        ----------
        runs
            The rows.
        cell
            Data set, metric and mechanism.
        more, less
            Options of the first setting, and those that differ in the second.
        against
            The mechanism of the second setting, if different.
        alike
            Options that must be equal in both.
        least
            The smallest difference that matters (None: the metric's).
        """
        data, metric, mechanism = cell
        for row in runs.find(data, metric, mechanism, **more):
            options = {**more, **{k: full_options(row)[k] for k in alike}, **less}
            self.pair(runs, row, runs.one(data, metric, against or mechanism, row.epsilon, **options), least)
        return self

    @property
    def n(self) -> int:
        return len(self.comparisons)

    def significant(self, sign: int) -> list[int]:
        """Return the indices of comparisons that significantly agree with the claim (1) or contradict it (−1)."""
        corrected = holm([c.chance for c in self.comparisons])
        return [
            i
            for i, (p, c) in enumerate(zip(corrected, self.comparisons, strict=True))
            if p < LEVEL and sign * c.difference > 0 and abs(c.difference) >= c.least
        ]

    def _count_significant(self, sign: int) -> int:
        return len(self.significant(sign))

    @property
    def yes(self) -> int:
        """Return how many comparisons support the claim: they are significant, or too small to matter if ``same``."""
        return self.small if self.same else self._count_significant(1)

    @property
    def no(self) -> int:
        return self._count_significant(-1) + self._count_significant(1) if self.same else self._count_significant(-1)

    @property
    def small(self) -> int:
        """Return how many differences are shown to be too small to matter."""
        return sum(c.small for c in self.comparisons)

    @property
    def power(self) -> str:
        """Return a sentence on how many texts the inconclusive comparisons need, or "".

        The number is for the smallest effect that matters. The sentence is empty if the texts are not known.
        """
        z = NormalDist().inv_cdf(1 - LEVEL / 2 / max(1, self.n)) + NormalDist().inv_cdf(POWER)
        significant = {*self.significant(1), *self.significant(-1)}
        open_ = [
            (c.n * (z * c.half / NORMAL / c.least) ** 2, i)
            for i, c in enumerate(self.comparisons)
            if i not in significant and not c.small and c.n and c.least and 0 < c.half < math.inf
        ]
        if not (open_ := sorted((needed, i) for needed, i in open_ if needed > self.comparisons[i].n)):
            return ""
        needed, i = open_[len(open_) // 2]
        c = self.comparisons[i]
        what = "words" if measure(c.metric).kind == "deniability" else "test texts"
        return (
            f" Detecting a difference of {size_text(c.least, c.metric)} with {POWER:.0%} power takes about "
            f"{float(f'{needed:.2g}'):,.0f} {what} instead of {c.n:,}, and proportionally more seeds. This is the "
            "median over the comparisons that are not significant."
        )

    @property
    def towards(self) -> int:
        """Return how many differences have the claimed direction, significant or not."""
        return sum(c.difference > 0 for c in self.comparisons)

    @property
    def verdict(self) -> str:
        """Return the verdict.

        Contradicted: more than one comparison in twenty is significantly against the claim, or half of them are shown
        to be too small to matter. Replicated: at least half significantly support it. Otherwise inconclusive: there are
        too few comparisons or texts to decide.
        """
        if not self.n:
            return MISSING
        if ONE_IN * self.no > self.n:
            return CONTRADICTED
        if 2 * self.yes >= self.n:
            return REPLICATED
        return CONTRADICTED if not self.same and 2 * self.small >= self.n else INCONCLUSIVE

    @property
    def effect(self) -> str:
        """Return the median difference, with the smallest and largest."""
        if not self.n:
            return ""
        differences = sorted(c.difference for c in self.comparisons)
        metric = self.comparisons[0].metric
        middle = difference_text(float(np.median(differences)), metric)
        ends = [difference_text(x, metric).partition(" ")[0] for x in (differences[0], differences[-1])]
        return middle if ends[0] == ends[1] else f"{middle} ({ends[0]} to {ends[1]})"

    def sentence(self, what: str) -> str:
        """Return sentences on the comparisons: how many support the claim, and how large they are."""
        if not self.n:
            return f"{what}: no comparison was measured."
        if self.n == 1:
            (one,) = self.comparisons
            wide = size_text(one.half, one.metric)
            sure = "exact" if one.half <= 0 else "p < 0.001" if one.chance < 0.001 else f"p = {one.chance:.3f}"
            return f"{what}: {difference_text(one.difference, one.metric)} ± {wide}, {sure}.{self.power}"
        return f"{what}: {self._counts()}. {self._direction()}Median difference {self.effect}.{self.power}"

    def _counts(self) -> str:
        """Return how many comparisons have each outcome, without outcomes that none has."""
        open_ = max(0, self.n - self.yes - self.no - (0 if self.same else self.small))
        outcomes = [(self.yes, _SUPPORT), (self.no, _CONTRADICT), (self.small, _SMALL), (open_, _OPEN)]
        if self.same:
            outcomes = [(self.yes, _SMALL), (self.no, _LARGER), (open_, _OPEN)]
        there = [(n, words[n != 1]) for n, words in outcomes if n]
        if len(there) == 1:
            return f"{'both' if self.n == 2 else f'all {self.n}'} comparisons {there[0][1]}"
        *first, last = (f"{n} {verb}" for n, verb in there)
        return f"of {self.n} comparisons, {', '.join(first)} and {last}"

    def _direction(self) -> str:
        """Return a sentence on the direction of the differences, unless the claim has none or all support it."""
        if self.same or self.yes == self.n:
            return ""
        return f"The difference has the claimed direction in {self.towards} of {self.n}, significant or not. "


def conjunction(*verdicts: str) -> str:
    """Return the verdict of a claim with several parts.

    It is contradicted if one part is, and replicated if all are. A part that is not comparable takes precedence over
    one that is inconclusive or missing.
    """
    distinct = set(verdicts)
    if len(distinct) == 1:
        return verdicts[0]
    order = (CONTRADICTED, NOT_COMPARABLE, INCONCLUSIVE)
    return next((verdict for verdict in order if verdict in distinct), INCONCLUSIVE)


def shared_verdict(*tallies: ClaimEvidence) -> str:
    """Return the verdict of a claim under several settings, none of which it names.

    It is not comparable if one setting replicates and another contradicts it, or if two contradict it in opposite
    directions: then the setting decides, not the mechanism. An inconclusive setting leaves the claim inconclusive.
    Settings without comparisons do not count.
    """
    there = [tally for tally in tallies if tally.n]
    verdicts = {tally.verdict for tally in there}
    sides = {sign for tally in there if tally.same for sign in (1, -1) if tally.significant(sign)}
    if not verdicts:
        return MISSING
    if len(sides) == 2 or {REPLICATED, CONTRADICTED} <= verdicts:
        return NOT_COMPARABLE
    return verdicts.pop() if len(verdicts) == 1 else INCONCLUSIVE
