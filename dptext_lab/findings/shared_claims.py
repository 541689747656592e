"""Claims that more than one of the papers makes."""

from __future__ import annotations

from itertools import pairwise

from ..results.curves import title
from ..results.differences import value_text
from .base import TITLES, UTILITY, ClaimOutcome, claim
from .evidence import ClaimEvidence, conjunction
from .runs import Runs, paper_records, paper_values


@claim()
def rises_with_epsilon(runs: Runs) -> ClaimOutcome:
    tally, cosines, rows, falls = ClaimEvidence(), ClaimEvidence(), [], []
    for data, metric in UTILITY.items():
        for line in runs.lines(data, metric):
            first, last = line[0], line[-1]
            tally.add(comparison := runs.compare(last, first))
            rows += [first, last]
            if comparison is not None and comparison.difference < -comparison.half:
                falls.append(f"{title(first.mechanism)} on {TITLES[data]}")
        for line in runs.lines(data, "cosine"):
            for low, high in pairwise(line):
                cosines.pair(runs, high, low)
    numbers = [tally.sentence("Utility at the largest minus the smallest ε, for each mechanism and data set")]
    numbers.append(cosines.sentence("Cosine at each ε minus that at the previous ε"))
    if falls:
        numbers.append(f"Significant falls before Holm's correction: {', '.join(falls)}.")
    return ClaimOutcome(
        conjunction(tally.verdict, cosines.verdict),
        tally.effect,
        tuple(numbers),
        rows=(*rows, *cosines.rows),
    )


@claim()
def adaptive_beats_static(runs: Runs) -> ClaimOutcome | None:
    tally, worst = ClaimEvidence(), None
    for data in ("reviews", "authors"):
        for static in runs.find(data, "f1_static"):
            adaptive = runs.at_same_point(static, "f1_adaptive")
            if adaptive is None or static.epsilon is None:
                continue
            tally.pair(runs, adaptive, static)
            gap = adaptive.value - static.value
            if worst is None or gap > worst[0]:
                worst = gap, static, adaptive
    if worst is None:
        return None
    _, static, adaptive = worst
    numbers = [
        tally.sentence("F1 of the author, adaptive minus static"),
        f"Largest gap: {title(static.mechanism)} at ε {static.epsilon:g} on {TITLES[static.data]}, static "
        f"{value_text(static)}, adaptive {value_text(adaptive)}.",
    ]
    for data in ("yelp", "trustpilot"):
        static_of, adaptive_of = (
            {
                row.epsilon: x
                for x, row in paper_values("DP-MLM", "Table 3", data, "dp-mlm", f"f1_{kind}")
                if row.epsilon
            }
            for kind in ("static", "adaptive")
        )
        higher = sum(adaptive_of[e] > static_of[e] for e in static_of)
        numbers.append(f"The paper, DP-MLM on {data.capitalize()}: adaptive higher at {higher} of {len(static_of)} ε.")
    return ClaimOutcome(
        tally.verdict,
        tally.effect,
        tuple(numbers),
        rows=tuple(tally.rows),
        records=tuple(
            record
            for data in ("yelp", "trustpilot")
            for kind in ("static", "adaptive")
            for record in paper_records("DP-MLM", "Table 3", data, "dp-mlm", f"f1_{kind}")
        ),
    )
