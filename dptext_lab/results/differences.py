"""Compare rows of results: the difference of two rows, its interval, and the names that distinguish settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dptext_core.errors import ConfigError
from dptext_core.measure.metrics.registry import measure
from dptext_core.support.statistics import NORMAL, two_sided

from .curves import describe, title
from .paired_comparison import PairedComparison as Pair
from .paired_comparison import compare_rows
from .rows import Row

#: p-value at which a comparison is significant, for all of a claim's comparisons together; and the statistical power
#: at which the number of texts is stated.
LEVEL, POWER = 0.05, 0.8


#: Differences too small to matter, by metric; of other metrics any difference matters.
LEAST = {
    "n_w": 0.01,
    "s_w": 1.0,
    "cosine": 0.005,
    "accuracy": 0.01,
    "macro_f1": 0.01,
    "f1_static": 0.01,
    "f1_adaptive": 0.01,
    "unchanged": 0.01,
}


@dataclass(frozen=True)
class Difference:
    """One difference that a claim stands on: above 0 where it is as the claim says.

    half: of its 95% interval, 0 where it is exact. p: of no difference, from paired outcomes; None where there are
    none, and then it follows from the interval, taken as that of a normal distribution. least: what matters. n: test
    texts behind it, words where it is measured of words; 0 where that is not known.
    """

    difference: float
    half: float
    p: float | None = None
    least: float = 0.0
    metric: str = ""
    n: int = 0

    @property
    def chance(self) -> float:
        """p, given or by the normal approximation."""
        if self.p is not None:
            return self.p
        if self.half <= 0:
            return 0.0 if self.difference else 1.0
        return two_sided(self.difference / (self.half / NORMAL))

    @property
    def small(self) -> bool:
        """Shown to be too small to matter: all of the interval is."""
        return abs(self.difference) + self.half <= self.least


#: The paired comparison of two rows whose outcomes are known text by text; None for others.
Paired = Callable[[Row, Row], Pair | None]


#: What compares rows here, where nothing else is given; rows without the outcomes of their texts have None.
PAIRED: Paired = compare_rows


def difference_text(difference: float, metric: str = "") -> str:
    """Return a difference in the unit of its metric."""
    unit = measure(metric).unit
    if unit == "share":
        return f"{100 * difference:+.1f} points"
    return f"{difference:+.1f} words" if unit == "words" else f"{difference:+.3f}"


def half(row: Row) -> float:
    """Return the longer side of a row's 95% interval, which a bound may cut on the other; 0 where it has none."""
    return 0.0 if row.low is None or row.high is None else max(row.value - row.low, row.high - row.value)


def full_options(row: Row) -> dict[str, Any]:
    """Return the options of a row with the defaults of its mechanism filled in, where that is registered here."""
    try:
        return row.setting.full()
    except ConfigError:  # unprotected text, and somebody's own, whose rows were merged
        return dict(row.options)


def value_text(row: Row) -> str:
    """Return a value with its interval, in the metric's usual unit."""
    digits = measure(row.metric).digits
    shown = f"{row.value:{digits}}"
    return shown if row.low is None else f"{shown} ± {half(row):{digits}}"


def labels(rows: Sequence[Row]) -> dict[str, str]:
    """Return configuration → its mechanism's title, with what tells it from the others of that mechanism here."""
    out = {}
    for row in rows:
        rest = [r.options for r in rows if r.mechanism == row.mechanism]
        varying = {o for options in rest for o in options if any(r.get(o) != options[o] for r in rest)}
        parts = describe(row.options, row.mechanism, sorted(varying))
        out[row.setting.key()] = title(row.mechanism) + (f", {parts}" if parts else "")
    return out
