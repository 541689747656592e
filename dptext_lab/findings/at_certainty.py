"""Compare two mechanisms where an optimal reader is as certain about a word."""

from __future__ import annotations

from ..results import belief
from ..results.data_titles import in_sentence
from ..results.rows import Row
from .evidence import ClaimEvidence
from .runs import Runs


def at_no_greater_certainty(name: str, other: str) -> tuple[ClaimEvidence, str]:
    """Compare the cosine of ``name`` at each measured ε, minus that of ``other``, and return a sentence on the points.
    The rows are those of the cosine and of the certainty.

    ``other`` has the largest measured ε at which the reader's mean certainty is no greater, so the comparison favours
    ``name``. Points below every certainty of ``other`` are omitted.
    """
    runs, tally, points = Runs(belief.as_results(belief.bundled()).rows), ClaimEvidence(), []
    for data in dict.fromkeys(row.data for row in belief.bundled()):
        beside = runs.find(data, belief.METRIC, other)
        for row in runs.find(data, belief.METRIC, name):
            if not (reached := [r for r in beside if r.value <= row.value]):
                continue
            below = max(reached, key=lambda r: r.value)
            tally.pair(runs, runs.at_same_point(row, "cosine"), runs.at_same_point(below, "cosine"))
            tally.rows += [row, below]
            points.append((data, row, below))
    if not points:
        return tally, ""
    data, row, below = points[0]
    return tally, (
        f"For example, on {in_sentence(data)}: certainty {row.value:.0%} at ε = {row.epsilon:g}, and {below.value:.0%} "
        f"at ε = {below.epsilon:g}; cosine {_cosine(runs, row)} and {_cosine(runs, below)}."
    )


def _cosine(runs: Runs, row: Row) -> str:
    found = runs.at_same_point(row, "cosine")
    return "unknown" if found is None else f"{found.value:.2f}"
