"""Gaussian noise: how much of it, held against published values and many digits; its rounded draws, against chances."""

from __future__ import annotations

import math
from decimal import localcontext
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.privacy import gaussian

mpmath.mp.dps = 60


def exact_delta(epsilon: float, mu: float) -> mpmath.mpf:
    """Theorem 8 of Balle and Wang, as it is printed, with 60 digits."""
    e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
    return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize(
    ("sigma", "sensitivity", "epsilon", "delta"),
    [
        # Google's differential-privacy library, tests of its Gaussian noise.
        (20.0, 2.0, 0.1, 0.008751768145810),
        (10.0, 5.0, math.log(3), 0.004159742234000802),
        (0.5, 1.0, 0.0, 0.6826894921370859),
        # What the code released with the paper of Balle and Wang gives for ε = 1, δ = 1e-5.
        (3.730631634944469, 1.0, 1.0, 1e-5),
    ],
)
def test_published_values(sigma, sensitivity, epsilon, delta):
    assert gaussian.gaussian_delta(epsilon, sensitivity / sigma) == pytest.approx(delta, rel=1e-9)
    if epsilon and delta <= gaussian.LARGEST_DELTA:
        assert gaussian.gaussian_sigma(epsilon, delta, sensitivity) == pytest.approx(sigma, rel=1e-7)


@pytest.mark.parametrize("epsilon", [1e-3, 0.05, 1.0, 12.0, 300.0, 1e4, 1e6])
@pytest.mark.parametrize("delta", [1e-12, 1e-7, 1e-2, 0.5])
def test_the_deviation_keeps_the_promise_and_is_not_larger_than_it_must_be(epsilon, delta):
    sigma = gaussian.gaussian_sigma(epsilon, delta, 3.0)
    assert exact_delta(epsilon, mpmath.mpf(3) / mpmath.mpf(sigma)) <= delta
    assert exact_delta(epsilon, mpmath.mpf(3) / mpmath.mpf(sigma * (1 - 1e-6))) > delta
    mu = 3.0 / sigma
    assert abs(gaussian.gaussian_delta(epsilon, mu) / exact_delta(epsilon, mu) - 1) < gaussian.MARGIN / 4


def test_epsilon_of_a_distance_is_the_other_way_round():
    for epsilon, delta in ((0.01, 1e-10), (1.0, 1e-5), (500.0, 1e-5), (1e4, 0.1)):
        mu = gaussian.gaussian_mu(epsilon, delta)
        assert gaussian.gaussian_epsilon(delta, mu) == pytest.approx(epsilon, rel=1e-6)
        assert gaussian.gaussian_epsilon(delta, mu) <= epsilon
        assert gaussian.gaussian_epsilon(delta, mu * 1.001) > epsilon > gaussian.gaussian_epsilon(delta, mu * 0.999)
    assert gaussian.gaussian_epsilon(1e-5, 0.0) == 0.0 == gaussian.gaussian_delta(1.0, 0.0)


@pytest.mark.parametrize("delta", [1e-10, 1e-5, 1e-2, 0.4])
def test_the_epsilon_that_is_stated_of_a_distance_keeps_its_delta(delta):
    """Never the float below, whose δ is larger."""
    for mu in (0.003, 0.7, 3.0, 41.0, 1e3):
        epsilon = gaussian.gaussian_epsilon(delta, mu)
        assert gaussian.gaussian_delta(epsilon, mu) <= delta
        assert epsilon == 0 or gaussian.gaussian_delta(math.nextafter(epsilon, 0), mu) > delta


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-5), (-1.0, 1e-5), (math.nan, 1e-5), (1.0, 0.0), (1.0, 0.6)])
def test_what_no_noise_can_promise_is_refused(epsilon, delta):
    with pytest.raises(dpt.ConfigError, match="Gaussian noise needs"):
        gaussian.gaussian_mu(epsilon, delta)


@pytest.mark.parametrize("sigma", [0.4, 3.0])
def test_rounded_draws_have_their_chances(sigma):
    """A share that is off by 0.003 would be more than 5 deviations away in 200,000 draws."""
    n = 200_000
    found = gaussian.rounded_gaussian(dpt.NoiseStream(11), n, sigma)
    assert found.dtype == np.int64
    for k in range(-6, 7):
        p = float(mpmath.ncdf((k + 0.5) / sigma) - mpmath.ncdf((k - 0.5) / sigma))
        assert abs(np.mean(found == k) - p) < 5 * math.sqrt(p * (1 - p) / n) + 1e-9


def test_the_size_of_large_noise_and_no_dependence_between_its_numbers():
    """In 40,000 draws the deviation is known to 0.36%, and a correlation of 0.025 is 5 deviations."""
    x = gaussian.rounded_gaussian(dpt.NoiseStream(5), 40_000, 1e6) / 1e6
    assert abs(x.std() - 1) < 0.018 and abs(x.mean()) < 0.025
    assert abs(np.mean(np.abs(x) > 2) - 0.0455) < 0.0053
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 0.025 and abs(np.corrcoef(np.abs(x[::2]), x[1::2])[0, 1]) < 0.036


def test_locked_noise_grows_with_its_deviation():
    draws = [gaussian.rounded_gaussian(dpt.NoiseStream(2), 500, s) for s in (0.5, 5.0, 5e3, 2.0**38)]
    for a, b in pairwise(draws):
        assert np.all(np.abs(a) <= np.abs(b)) and np.all(a * b.astype(float) >= 0)
    assert np.allclose(draws[2] / 5e3, draws[3] / 2.0**38, atol=1e-3)


def test_many_digits_decide_as_float64_does_where_that_is_clear():
    stream = dpt.NoiseStream(8)
    found = np.abs(gaussian.rounded_gaussian(stream, 30, 7.0))
    inner = stream.at("size")
    for j, word in enumerate(inner.words(30)):
        assert gaussian._solve_exactly(inner, j, int(word), Fraction(7), 0, 100) == found[j]


def test_a_draw_on_the_edge_takes_more_bits_until_it_is_clear():
    """U within 2^-64 of the edge between 1 and 2: 64 bits leave it open, 192 do not."""
    edge = int(mpmath.floor(mpmath.erfc(mpmath.mpf(3) / 2 / mpmath.sqrt(2)) * mpmath.mpf(2) ** 64))
    assert gaussian._round_exact(edge, 64, Fraction(1), 1, 3) is None
    for below, k in ((0, 2), ((1 << 128) - 1, 1)):
        assert gaussian._round_exact(edge << 128 | below, 192, Fraction(1), 1, 3) == k


@pytest.mark.parametrize(("rest", "size"), [(0, 2), (2**64 - 1, 1)])
def test_where_float64_cannot_tell_the_draw_itself_takes_more_bits(rest, size):
    """Every number lies on the edge between 1 and 2, and only its bits beyond the 64th tell on which side."""
    edge = int(mpmath.floor(mpmath.erfc(mpmath.mpf(3) / 2 / mpmath.sqrt(2)) * mpmath.mpf(2) ** 64))

    class OnTheEdge(dpt.NoiseStream):
        __slots__ = ()

        def at(self, *path):
            return self

        def words(self, n):
            return np.full(n, edge, np.uint64)

        def extensions(self, index, draw=0, level=0):
            return np.full((len(index), 2), rest, np.uint64)

    assert gaussian.rounded_gaussian(OnTheEdge(0), 3, 1.0).tolist() == [size] * 3


def test_a_draw_too_far_out_for_float64_is_solved_exactly():
    class FarOut(dpt.NoiseStream):
        """U = 2^-1102: eight extensions of zeros before its first bit."""

        __slots__ = ()

        def at(self, *path):
            return self

        def words(self, n):
            return np.zeros(n, np.uint64)

        def extensions(self, index, draw=0, level=0):
            return np.full((len(index), 2), (1 << 50) * (level >= 8), np.uint64)

    (k,) = map(int, gaussian.rounded_gaussian(FarOut(0), 1, 3.0))
    at_least = [mpmath.erfc(mpmath.mpf(x - 0.5) / 3 / mpmath.sqrt(2)) for x in (k, k + 1)]
    assert k > 100 and at_least[0] >= mpmath.mpf(2) ** -1102 > at_least[1]


def test_the_normal_distribution_to_sixty_digits():
    with localcontext() as context:
        context.prec = 55
        for t in (Fraction(1, 7), Fraction(5, 2), Fraction(9), Fraction(40)):
            off = mpmath.mpf(str(gaussian._inside(t))) - mpmath.erf(
                mpmath.mpf(t.numerator) / t.denominator / mpmath.sqrt(2)
            )
            assert abs(off) < mpmath.mpf(10) ** -50


def test_noise_beyond_whole_numbers_is_refused():
    with pytest.raises(dpt.ConfigError, match="too large for whole numbers"):
        gaussian.rounded_gaussian(dpt.NoiseStream(1), 3, 2.0**41)
