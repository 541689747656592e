"""Optimal composition: the total ε of many pure draws at a given δ.

Two draws of ε-DP can be distinguished no better than randomised response with the same ε. So k of them, even chosen
adaptively, have the privacy loss of k randomised responses (Kairouz, Oh, Viswanath 2015, Theorem 3.3), a sum of ±ε.

A draw of bounded range, such as one of the exponential mechanism, has log-ratios within an interval [t − ε, t], which
depends on the pair of texts. Among the draws with the same t, the one with the two log-ratios t − ε and t is the worst
(Dong, Durfee, Rogers 2020, "Optimal Differential Privacy Composition for Exponential Mechanisms"). It has the larger
one with probability (e^ε − e^t)/(e^ε − 1), so δ(ε') = (e^ε − e^t)(1 − e^(ε' − t))/(e^ε − 1), which is the largest at
t = (ε + ε')/2. That gives δ(ε') = (1 − e^((ε' − ε)/2))² / (1 − e^−ε), the curve of a privacy loss with a density
proportional to e^(x/2) on [−ε, ε] (the derivative of e^−ε'·dδ/dε' is e^−ε' times the density at ε').

A pair of distributions (P, Q) with that curve dominates every such draw, whatever its t. The composition of k such
pairs bounds k draws, even chosen adaptively (Zhu, Dong, Wang 2022, Theorem 10), by induction: what the draws from the
second one on can add after an outcome is p·D(α·q/p) with a convex, falling D, a mixture of hockey-stick divergences of
the first draw, and (P, Q) has the largest of each. This is an upper bound and not the optimum: the dominating pair has
all t at once. Against the adaptive optimum, computed backwards by the worst t after each outcome, ε is 3% to 11% larger
(20 to 200 draws, ε from 0.1 to 10, δ = 10⁻⁵). With many draws, zCDP with ρ = ε²/8 is smaller; the smaller of both is
used.

Randomised responses of one ε are exact. Several ε are rounded up to multiples of one step: an upper bound again.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

#: Multiples of the step that add up to all ε together. More multiples are more precise and slower.
_STEPS = 1 << 13
#: Number of different ε that are distinguished; more are rounded up to this many.
_LEVELS = 24
#: Below this δ, the rounding errors of a Fourier transform matter.
_LEAST_DELTA = 1e-9
#: Relative reduction of δ, so that rounding errors never make the result too small.
_SLACK = 1e-9


def optimal_epsilon(spent: Sequence[float] | Mapping[float, int], delta: float, bounded_range: bool = False) -> float:
    """Return the total ε of several draws as (ε, δ)-DP, never more than their sum.

    Parameters
    ----------
    spent : sequence of float or mapping of float to int
        ε of each draw, or how many draws spend each ε. A draw may depend on what the draws before it released.
    delta : float
        Between 0 and 1.
    bounded_range : bool
        Whether the log-ratios of each draw lie in an interval of length ε.
    """
    counts = tuple(sorted((e, n) for e, n in Counter(spent).items() if e > 0))
    return _composed(counts, delta, bounded_range)


@functools.lru_cache(maxsize=256)
def _composed(counts: tuple[tuple[float, int], ...], delta: float, bounded_range: bool) -> float:
    total = math.fsum(e * n for e, n in counts)
    bounds = [total]
    if len(counts) == 1:
        bounds.append(_randomised_response(*counts[0], delta))
    if counts and delta >= _LEAST_DELTA:
        if len(counts) > 1:
            bounds.append(_on_steps(counts, total, delta, bounded_range=False))
        if bounded_range:
            bounds.append(_on_steps(counts, total, delta, bounded_range=True))
    return min(bounds)


def _randomised_response(epsilon: float, k: int, delta: float) -> float:
    """Return the smallest ε of k randomised responses with the same ε: exact."""
    flips = np.arange(k, -1, -1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, k + 1)))])
    log_p = log_factorial[k] - log_factorial[flips] - log_factorial[k - flips]
    log_p += -flips * np.logaddexp(0.0, epsilon) - (k - flips) * np.log1p(math.exp(-epsilon))
    return _smallest(np.exp(log_p), -k * epsilon, 2 * epsilon, delta)


def _on_steps(counts: Sequence[tuple[float, int]], total: float, delta: float, bounded_range: bool) -> float:
    """Return an upper bound on ε, from losses that are multiples of one step."""
    counts = _rounded_up(counts)
    largest = counts[-1][0]
    step = largest / max(1, math.floor(_STEPS * largest / total))  # divides the largest ε
    multiples: Counter[int] = Counter()
    for epsilon, n in counts:
        multiples[math.ceil(epsilon / step * (1 - 1e-12))] += n
    most = sum(m * n for m, n in multiples.items())
    size = 1 << (2 * most).bit_length()  # at least 2 · most + 1 losses
    turned = np.ones(size // 2 + 1, np.complex128)
    for m, n in multiples.items():
        turned *= np.fft.rfft(_bounded_range(m, step) if bounded_range else _response(m, step), size) ** n
    p = np.maximum(np.fft.irfft(turned, size)[: 2 * most + 1], 0.0)
    return _smallest(p, -most * step, step, delta)


def _rounded_up(counts: Sequence[tuple[float, int]]) -> Sequence[tuple[float, int]]:
    if len(counts) <= _LEVELS:
        return counts
    levels = np.geomspace(counts[0][0], counts[-1][0], _LEVELS)
    levels[-1] = counts[-1][0]
    rounded: Counter[float] = Counter()
    for epsilon, n in counts:
        at = min(int(np.searchsorted(levels, epsilon)), _LEVELS - 1)
        rounded[max(epsilon, float(levels[at]))] += n
    return sorted(rounded.items())


def _response(m: int, step: float) -> np.ndarray:
    """Return the probabilities of the losses −m to m steps of randomised response with ε of m steps."""
    p = np.zeros(2 * m + 1)
    p[0], p[-1] = math.exp(-np.logaddexp(0.0, m * step)), 1 / (1 + math.exp(-m * step))
    return p


def _bounded_range(m: int, step: float) -> np.ndarray:
    """Return the loss probabilities of the worst draw with bounded range.

    The curve δ(e^ε') is convex. The chords between the multiples of the step are above it and are the curve of a loss
    with these values (Doroshenko et al. 2022, "Connect the Dots").
    """
    p = 2 * math.tanh(step / 4) * np.exp(np.arange(-2 * m, 1) * step / 2) / -math.expm1(-m * step)
    p[[0, -1]] /= 2
    # The mass at −ε affects no ε' above it; it completes the distribution.
    p[0] += max(0.0, 1 - p.sum())
    return p


def _smallest(p: np.ndarray, first: float, step: float, delta: float) -> float:
    """Return the smallest ε' from 0 with Σ p_j·max(0, 1 − e^(ε' − x_j)) at most δ, where x_j = first + j·step."""
    delta *= 1 - _SLACK
    losses = first + step * np.arange(len(p))

    def sums(m: int) -> tuple[float, float]:
        return float(p[m:].sum()), float((p[m:] * np.exp(losses[m] - losses[m:])).sum())

    low, high = 0, len(p) - 1  # δ at the last loss is 0
    while low < high:
        middle = (low + high) // 2
        above, weighted = sums(middle)
        low, high = (low, middle) if above - weighted <= delta else (middle + 1, high)
    above, weighted = sums(low)
    exact = losses[low] + math.log((above - delta) / weighted) if above > delta and weighted > 0 else -math.inf
    least = losses[low - 1] if low else -math.inf
    return float(max(0.0, min(losses[low], max(exact, least))))
