"""Compare rows of results: the difference of two rows, its interval, and distinguishing names of settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dptext_core.errors import ConfigError
from dptext_core.measure.metrics.registry import measure
from dptext_core.privacy.numbers import with_minus
from dptext_core.support.statistics import NORMAL, two_sided

from .curves import describe, title
from .paired_comparison import PairedComparison as Pair
from .paired_comparison import compare_rows
from .rows import Row

#: Significance level for all comparisons of a claim together, and the statistical power for numbers of texts.
LEVEL, POWER = 0.05, 0.8


#: Smallest differences that matter, by metric. For other metrics, any difference matters.
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
    """One difference that a claim depends on, positive if it supports the claim.

    half: of its 95% interval, 0 if exact. p: of no difference, from paired outcomes; None if there are none, and then
    the interval gives it by the normal approximation. least: the smallest difference that matters. n: number of test
    texts (or of words); 0 if unknown.
    """

    difference: float
    half: float
    p: float | None = None
    least: float = 0.0
    metric: str = ""
    n: int = 0

    @property
    def chance(self) -> float:
        """Return p as given, or by the normal approximation."""
        if self.p is not None:
            return self.p
        if self.half <= 0:
            return 0.0 if self.difference else 1.0
        return two_sided(self.difference / (self.half / NORMAL))

    @property
    def small(self) -> bool:
        """Return whether the whole interval is too small to matter."""
        return abs(self.difference) + self.half <= self.least


#: A paired comparison of two rows and the standard deviation of one seed, or None if outcomes per text are unknown.
Paired = Callable[[Row, Row, float], Pair | None]


#: The default paired comparison.
PAIRED: Paired = compare_rows


def difference_text(difference: float, metric: str = "") -> str:
    """Return a difference in the unit of its metric."""
    unit = measure(metric).unit
    if unit == "share":
        return with_minus(f"{100 * difference:+.1f} points")
    return with_minus(f"{difference:+.1f} words" if unit == "words" else f"{difference:+.3f}")


def size_text(difference: float, metric: str = "") -> str:
    """Return the size of a difference in the unit of its metric."""
    text = difference_text(abs(difference), metric).removeprefix("+")
    return "1 point" if text == "1.0 points" else text


def half(row: Row) -> float:
    """Return the longer half of a row's 95% interval, which a bound may cut, or 0 without one."""
    return 0.0 if row.low is None or row.high is None else max(row.value - row.low, row.high - row.value)


def full_options(row: Row) -> dict[str, Any]:
    """Return the options of a row, with the defaults of its mechanism if that is registered."""
    try:
        return row.setting.full()
    except ConfigError:  # unprotected text, or a user's mechanism with merged rows
        return dict(row.options)


def value_text(row: Row) -> str:
    """Return a value with its interval, in the metric's usual unit."""
    digits = measure(row.metric).digits
    shown = with_minus(f"{row.value:{digits}}")
    return shown if row.low is None else f"{shown} ± {half(row):{digits}}"


def labels(rows: Sequence[Row]) -> dict[str, str]:
    """Return the mechanism's title by configuration, with the options that distinguish it from others in the rows."""
    out = {}
    for row in rows:
        others = [r.options for r in rows if r.mechanism == row.mechanism]
        varying = {o for options in others for o in options if any(r.get(o) != options[o] for r in others)}
        parts = describe(row.options, row.mechanism, sorted(varying))
        out[row.setting.key()] = title(row.mechanism) + (f", {parts}" if parts else "")
    return out
