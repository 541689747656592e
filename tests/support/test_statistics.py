"""The one module of statistics, against scipy.stats and against what defines each of its figures."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from dptext_core.support import statistics as s


@pytest.mark.parametrize("n", [2, 3, 5, 10, 11, 12, 31, 1000])
def test_students_t_is_scipys_for_every_number_of_values(n):
    assert s.student(n) == pytest.approx(stats.t.ppf(0.975, n - 1), rel=1e-12)


def test_ten_degrees_of_freedom_as_tables_print_them():
    assert round(s.student(11), 3) == 2.228 and s.student(10**7) == pytest.approx(s.NORMAL, abs=1e-4)


def test_the_error_of_a_mean_is_scipys():
    x = np.random.default_rng(1).normal(size=40)
    assert s.standard_error(x) == pytest.approx(stats.sem(x), rel=1e-12)
    low, high = stats.norm.interval(0.95, x.mean(), stats.sem(x))
    assert s.half_width(x) == pytest.approx((high - low) / 2, rel=1e-4), "the quantile has three digits"
    assert s.standard_error([3.0]) is None and s.half_width([3.0]) == 0.0


@pytest.mark.parametrize("z", [0.0, 0.5, -1.96, 4.0, -30.0])
def test_a_two_sided_chance_is_twice_a_tail_of_the_normal_distribution(z):
    assert s.two_sided(z) == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-12)


@pytest.mark.parametrize(("hits", "n"), [(0, 40), (1, 40), (20, 40), (39, 40), (40, 40), (7, 2000)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99999])
def test_the_interval_of_a_share_is_clopper_and_pearsons(hits, n, confidence):
    """Against SciPy's, and against its definition: at each end, as many or more extreme hits have half of the rest."""
    low, high = s.clopper_pearson(hits, n, confidence)
    exact = stats.binomtest(hits, n).proportion_ci(confidence, method="exact")
    assert (low, high) == pytest.approx((exact.low, exact.high), rel=1e-6, abs=1e-12)
    tail = (1 - confidence) / 2
    assert low == 0 or stats.binom.sf(hits - 1, n, low) == pytest.approx(tail, rel=1e-6)
    assert high == 1 or stats.binom.cdf(hits, n, high) == pytest.approx(tail, rel=1e-6)


def test_bounds_of_many_shares_at_once_are_those_of_each():
    hits = np.array([[0, 1], [7, 20]])
    for bound, end in ((s.lower_limit, "low"), (s.upper_limit, "high")):
        each = [[getattr(stats.binomtest(k, 20).proportion_ci(0.9), end) for k in row] for row in hits.tolist()]
        assert bound(hits, 20, 0.05) == pytest.approx(np.array(each), rel=1e-6)
    # A share of hits that is no whole number, as attackers with tied guesses have: between those beside it.
    assert 0 < s.clopper_pearson(0.5, 20)[0] < s.clopper_pearson(1, 20)[0]


@pytest.mark.parametrize(("n", "p"), [(1, 0.5), (30, 0.2), (500, 0.99)])
def test_the_smaller_tail_is_that_of_the_binomial_distribution(n, p):
    hits = np.arange(n + 1)
    either = np.minimum(stats.binom.sf(hits - 1, n, p), stats.binom.cdf(hits, n, p))
    assert s.smaller_tail(hits, n, p) == pytest.approx(either, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("hits", "n", "power"), [(1, 1, 0.95), (1, 20, 0.95), (12, 40, 0.5), (40, 40, 0.95)])
def test_draws_of_the_chance_for_so_many_hits_have_them_with_that_power(hits, n, power):
    assert stats.binom.sf(hits - 1, n, s.chance_for(hits, n, power)) == pytest.approx(power, rel=1e-9)


def test_holm_by_hand():
    assert s.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert s.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert s.holm([0.5, 0.9]) == [1.0, 1.0] and s.holm([]) == []


def test_a_boundary_lies_between_neighbours():
    low, high = s.boundary(lambda x: x * x >= 2, 0.0, 2.0)
    assert low * low < 2 <= high * high and np.nextafter(low, 2) == high
    low, high = s.boundary(lambda x: x >= 1e-300, 0.0, 1e300)
    assert low < 1e-300 <= high and np.nextafter(low, 1) == high


def test_a_boundary_is_halved_as_often_as_is_said():
    asked: list[float] = []
    low, high = s.boundary(lambda x: asked.append(x) or x >= 3, 0.01, 1000.0, 5, geometric=True)
    assert len(asked) == 5 and low < 3 <= high
    assert high / low == pytest.approx((1000 / 0.01) ** (1 / 32))


def test_importing_it_loads_no_scipy():
    code = "import sys, dptext_core.support.statistics; print([m for m in sys.modules if m.startswith('scipy')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
