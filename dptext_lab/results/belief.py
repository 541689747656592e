"""Rows of `bench belief`: the optimal reader's certainty of one fact, and what a release preserves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dptext_core.measure.metrics.registry import measure
from dptext_core.mechanisms.setting import Setting
from dptext_core.support.statistics import NORMAL, standard_error

from .curves import title
from .measurement import Measurement
from .paired_comparison import unpack
from .rows import Row, six_digits
from .summary import Results

#: The privacy metric of these rows, and the level at which mechanisms are compared.
METRIC, LEVEL = "belief", 0.5
LEVELS = (0.3, 0.5, 0.7)


@dataclass(frozen=True, slots=True)
class BeliefRow:
    """A mechanism at one ε on a data set.

    texts: the number of texts, which all mechanisms share. releases: per text, to estimate the certainty; 0 if it is
    enumerated. seeds: rewrites of each text that are judged. certainty: expected success of the optimal reader. cosine:
    to the original. label: share of rewrites whose label a classifier trained on original texts recognises. The last
    three are means; their plurals store the value of every text, packed by ``paired_comparison.pack``."""

    mechanism: str
    options: dict[str, Any]
    data: str
    epsilon: float
    texts: int
    releases: int
    seeds: int
    certainty: float
    cosine: float
    label: float
    certainties: str
    cosines: str
    labels: str


MEASUREMENT = Measurement("belief", BeliefRow, "belief.json")
bundled = MEASUREMENT.bundled


def as_results(rows: Iterable[BeliefRow]) -> Results:
    """Return the rows as a summary: the certainty, the cosine and the utility of each setting."""
    rows_of_metrics = []
    for row in rows:
        setting = Setting(row.mechanism, row.options, row.epsilon).ordered()
        point = f"belief-{row.mechanism}-{row.epsilon:g}"
        for metric, value, packed, seeds in (
            (METRIC, row.certainty, row.certainties, 1),
            ("cosine", row.cosine, row.cosines, row.seeds),
            ("label_kept", row.label, row.labels, row.seeds),
        ):
            half = NORMAL * (standard_error(unpack(packed)) or 0.0)
            ends = min(value, six_digits(value - half)), max(value, six_digits(value + half))
            kind = measure(metric).task
            rows_of_metrics.append(
                Row(setting, row.data, kind, metric, value, *ends, row.texts, seeds, point, (), packed)
            )
    return Results({}, (), tuple(rows_of_metrics))


def certainty_ranges(rows: Iterable[BeliefRow], data: str) -> dict[str, tuple[float, float]]:
    """Return the smallest and the largest measured certainty of each mechanism on a data set."""
    ranges: dict[str, tuple[float, float]] = {}
    for row in rows:
        if row.data == data:
            low, high = ranges.get(row.mechanism, (1.0, 0.0))
            ranges[row.mechanism] = min(low, row.certainty), max(high, row.certainty)
    return ranges


def outside(rows: Iterable[BeliefRow], data: str, at: float = LEVEL) -> str:
    """Return a sentence on mechanisms that never have this certainty, with their nearest one, or ""."""
    parts = []
    for name, (low, high) in certainty_ranges(rows, data).items():
        if low > at:
            parts.append(f"{title(name)} (never below {low:.0%})")
        elif high < at:
            parts.append(f"{title(name)} (never above {high:.0%})")
    return f"Outside this level at every measured ε: {', '.join(parts)}." if parts else ""


def refusals() -> dict[str, str]:
    """Return the reason for each mechanism that has no such rows."""
    return dict(MEASUREMENT.whole().get("about", {}).get("refused", {}))
