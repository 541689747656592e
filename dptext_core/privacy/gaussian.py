"""Gaussian noise with a guarantee: its scale, and sampling that is safe in floating point.

Scale. Noise of deviation σ on a vector that may move by Δ in the ℓ2 norm is (ε, δ)-DP if and only if, with μ = Δ/σ,
Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) ≤ δ (Balle and Wang, ICML 2018, Theorem 8). Both terms are computed together: with x =
ε/μ − μ/2 and y = ε/μ + μ/2 it is y² − x² = 2ε, so that e^ε·φ(y) = φ(x) and the left side is φ(x)·(R(x) − R(y)) with
Mills' ratio R(z) = Φ(−z)/φ(z), the scaled complementary error function. No e^ε remains that could overflow.

Sampling. A vector of integers gets noise that is rounded to integers. Rounding z + σN rounds only σN, so this is the
Gaussian mechanism with rounded output, and post-processing preserves the guarantee. The rounded noise must have exactly
the probabilities P(k) = Φ((k + ½)/σ) − Φ((k − ½)/σ). It does: if float64 cannot decide to which integer a draw belongs,
more random bits and more digits are used until it is clear.
"""

from __future__ import annotations

import math
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from functools import cache

import numpy as np

from ..errors import ConfigError
from ..support.statistics import boundary
from .sampling import NoiseStream

#: Relative safety margin of δ: far more than rounding errors (tested against 60 digits).
MARGIN = 1e-8
#: The largest δ that :func:`gaussian_sigma` accepts; beyond it, more than half of the guarantees fail.
LARGEST_DELTA = 0.5
#: The largest deviation of rounded noise.
LARGEST_SIGMA = 2.0**40


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return the smallest δ with which Gaussian noise is (ε, δ)-DP if texts are at most ``mu`` deviations apart."""
    from scipy.special import ndtr

    if mu <= 0:
        return 0.0
    x, y = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    density = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    tail = density * _mills(y)
    # R grows like e^(x²/2) on the other side of 0, where Φ is near 1 and is used directly.
    return density * _mills(x) - tail if x >= 0 else float(ndtr(-x)) - tail


def _mills(z: float) -> float:
    from scipy.special import erfcx

    return math.sqrt(math.pi / 2) * float(erfcx(z / math.sqrt(2)))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest distance in deviations at which Gaussian noise is (ε, δ)-DP, rounded to the safe side."""
    if not epsilon > 0 or not 0 < delta <= LARGEST_DELTA:
        raise ConfigError(f"Gaussian noise needs ε above 0, and δ above 0 and at most {LARGEST_DELTA:g}.")
    high = 1.0
    while gaussian_delta(epsilon, high) <= delta:
        high *= 2
    keeps, _ = boundary(lambda mu: gaussian_delta(epsilon, mu) > delta * (1 - MARGIN), 0.0, high)
    return keeps


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """Return the smallest deviation of Gaussian noise that is (ε, δ)-DP for this ℓ2 sensitivity, rounded up."""
    return sensitivity / gaussian_mu(epsilon, delta)


def gaussian_epsilon(delta: float, mu: float) -> float:
    """Return the smallest ε with which Gaussian noise is (ε, δ)-DP if texts are at most ``mu`` deviations apart."""
    if gaussian_delta(0.0, mu) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(high, mu) > delta:
        high *= 2
    return boundary(lambda epsilon: gaussian_delta(epsilon, mu) <= delta, 0.0, high)[1]


def gaussian_advantage(mu: float) -> float:
    """Return the total variation between Gaussian noise and itself shifted by ``mu`` deviations: 2Φ(μ/2) − 1."""
    return math.erf(mu / math.sqrt(8.0))


def laplace_advantage(shift: np.ndarray, rate: float) -> float:
    """Bound the total variation between integer noise, P(k) ∝ e^(−rate·|k|), and itself shifted by ``shift``.

    shift: integers of any shape. By Pinsker's inequality, √(D/2), from the divergence D, which adds up over the
    numbers: with x = rate·|shift| each adds rate·(E|k − shift| − E|k|) = x − rate/sinh(rate)·(1 − e^(−x)).
    """
    x = rate * np.abs(np.asarray(shift)).astype(np.float64)
    ratio = rate / math.sinh(rate) if 0 < rate < 700 else float(rate == 0)
    return min(1.0, math.sqrt(max(0.0, float((x + ratio * np.expm1(-x)).sum())) / 2))


def rounded_gaussian(stream: NoiseStream, n: int, sigma: float) -> np.ndarray:
    """Return n independent integers, int64 (n,): normal with deviation ``sigma``, rounded, with exact probabilities.

    With the noise locked, their absolute values grow with ``sigma``.
    """
    from scipy.special import ndtri

    if not 0 < sigma <= LARGEST_SIGMA:
        raise ConfigError("The noise is too large for whole numbers of 64 bits. Choose a larger ε, or a larger δ.")
    negative = stream.at("side").words(n) >> np.uint64(63) == 1
    stream = stream.at("size")
    words = stream.words(n)
    u = stream.full_range(words)
    size = -ndtri(u / 2)
    # Far more than the error of size: that of ndtri, and the bits of u that are not read, a share of 2^-44 of it.
    slack = 1e-12 * (1 + size)
    low, high = (np.floor(sigma * np.maximum(size + side * slack, 0.0) + 0.5) for side in (-1, 1))
    deep = u < 1e-290
    out = np.where(deep, 0.0, low).astype(np.int64)
    for j in map(int, np.flatnonzero(deep | (low != high))):
        # Beyond a hundred deviations a normal variable has probability e^-5000.
        between = (0, int(sigma * 100) + 1) if deep[j] else (int(low[j]), int(high[j]) + 1)
        out[j] = _solve_exactly(stream, j, int(words[j]), Fraction(sigma), *between)
    return np.where(negative, -out, out)


def _solve_exactly(stream: NoiseStream, j: int, word: int, sigma: Fraction, low: int, high: int) -> int:
    """Return the largest integer k with P(|N| ≥ (k − ½)/σ) ≥ U, where low ≤ k < high.

    U is the j-th uniform of ``stream.words``.
    """
    bits, n, level = word, 64, 0
    while True:
        upper, lower = (int(x) for x in stream.extensions(np.array([j]), 1 << 40, level)[0])
        bits, n, level = bits << 128 | upper << 64 | lower, n + 128, level + 1
        if bits and (k := _round_exact(bits, n, sigma, low, high)) is not None:
            return k


def _round_exact(bits: int, n: int, sigma: Fraction, low: int, high: int) -> int | None:
    """Return that k if U is between ``bits`` and ``bits`` + 1 of 2^n; None if these bits do not decide it."""
    with localcontext() as context:
        context.prec = n // 3 + 40
        slack = Decimal(10) ** (20 - context.prec)
        one = Decimal(2) ** n
        least, most = Decimal(bits) / one, Decimal(bits + 1) / one
        while high - low > 1:
            k = (low + high) // 2
            inside = _inside((k - Fraction(1, 2)) / sigma)
            if 1 - inside - slack >= most:
                low = k
            elif 1 - inside + slack <= least:
                high = k
            else:
                return None
        return low


def _inside(t: Fraction) -> Decimal:
    """Return P(|N| < t), to all but the last few digits of the current context.

    It is 2φ(t)·(t + t³/3 + t⁵/(3·5) + …).
    """
    x = Decimal(t.numerator) / Decimal(t.denominator)
    square, term, total, k = x * x, x, x, 1
    while term > total.scaleb(-getcontext().prec):
        k += 2
        term = term * square / k
        total += term
    return total * (-square / 2).exp() * (2 / _pi(getcontext().prec)).sqrt()


@cache
def _pi(digits: int) -> Decimal:
    """Return π by Machin's formula, as an integer multiple of 10^−(digits + 10)."""
    unit = 10 ** (digits + 10)

    def arctan_of_one_over(x: int) -> int:
        power, total, k = unit // x, 0, 1
        while power:
            total += power // k if k % 4 == 1 else -(power // k)
            power, k = power // (x * x), k + 2
        return total

    return Decimal(4 * (4 * arctan_of_one_over(5) - arctan_of_one_over(239))) / unit
