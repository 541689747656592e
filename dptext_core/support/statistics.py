"""Intervals, bounds, corrections and searches, each defined once for all measurements.

They use ``scipy.special``, which ``scipy.stats`` is based on: it imports in a third of the time, and only on first use.
The tests compare them with ``scipy.stats``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

#: The 97.5% quantile of the normal distribution, with the digits used for every stored interval.
NORMAL = 1.96
#: Number of halvings after which no float64 lies between any two others.
_EVERY = 2200


def student(n: int, confidence: float = 0.95) -> float:
    """Return the half-width of a two-sided interval in standard errors.

    It is the quantile of Student's t for n > 1 values, with n − 1 degrees of freedom.
    """
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 1 - (1 - confidence) / 2))


def standard_error(values: ArrayLike) -> float | None:
    """Return the standard error of the mean of independent values (n,); None for fewer than two."""
    x = np.asarray(values, float)
    return float(x.std(ddof=1)) / math.sqrt(len(x)) if len(x) > 1 else None


def half_width(values: ArrayLike) -> float:
    """Return half of the 95% interval of a mean, by the normal approximation; 0 for fewer than two values."""
    return NORMAL * (standard_error(values) or 0.0)


def two_sided(z: float) -> float:
    """Return the probability that a standard normal variable is at least as far from 0 as z."""
    return math.erfc(abs(z) / math.sqrt(2))


# --- shares ---------------------------------------------------------------------------------------------------------


def lower_limit(hits: ArrayLike, n: int, level: float) -> NDArray[np.float64]:
    """Return a lower bound on a probability after ``hits`` (any shape) in n draws, wrong with probability ≤ ``level``.

    Clopper and Pearson 1934; 0 for no hit.
    """
    from scipy.special import betaincinv

    hits = np.asarray(hits)
    return np.where(hits > 0, betaincinv(np.where(hits > 0, hits, 1), n - hits + 1, level), 0.0)


def upper_limit(hits: ArrayLike, n: int, level: float) -> NDArray[np.float64]:
    """Return the upper bound that matches :func:`lower_limit`; 1 if all hit."""
    from scipy.special import betaincinv

    hits = np.asarray(hits)
    return np.where(hits < n, betaincinv(hits + 1, np.where(hits < n, n - hits, 1), 1 - level), 1.0)


def clopper_pearson(hits: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact two-sided interval of a probability, given ``hits`` in ``n`` draws."""
    tail = (1 - confidence) / 2
    return float(lower_limit(hits, n, tail)), float(upper_limit(hits, n, tail))


def smaller_tail(hits: ArrayLike, n: int, p: ArrayLike) -> NDArray[np.float64]:
    """Return the smaller tail probability of ``hits`` among n draws of probability p: at least so many, or at most."""
    from scipy.special import bdtr, bdtrc

    hits = np.asarray(hits)
    return np.minimum(bdtrc(hits - 1, n, p), bdtr(hits, n, p))


def chance_for(hits: int, n: int, power: float = 0.95) -> float:
    """Return the probability per draw with which n draws hit at least so often (1 to n times) with that power."""
    from scipy.special import betaincinv

    return float(betaincinv(hits, n - hits + 1, power))


def holm(ps: Sequence[float]) -> list[float]:
    """Return p-values corrected for multiple tests (Holm 1979), in the given order."""
    x = np.asarray(ps, float)
    order = np.argsort(x, kind="stable")
    out = np.empty(len(x))
    out[order] = np.maximum.accumulate(np.minimum(1.0, (len(x) - np.arange(len(x))) * x[order]))
    return out.tolist()


# --- searches -------------------------------------------------------------------------------------------------------


def boundary(
    holds: Callable[[float], Any], low: float, high: float, steps: int = _EVERY, geometric: bool = False
) -> tuple[float, float]:
    """Search where a condition that is false at ``low`` and true at ``high`` changes.

    Returns the last point at which it is false, and the first at which it is true; by default no float64 lies between
    them. steps: maximum number of halvings. geometric: split at the middle of the logarithms; both ends are above 0.
    """
    for _ in range(steps):
        middle = (low * high) ** 0.5 if geometric else (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
