"""Optimal composition of pure draws, against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dptext_core.privacy.composition import _rounded_up, optimal_epsilon
from dptext_core.privacy.guarantee import Guarantee, zcdp_epsilon, zcdp_rho


def product(pairs: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of all joint outcomes of independent draws under both texts."""
    return tuple(np.array([math.prod(c) for c in itertools.product(*side)]) for side in zip(*pairs, strict=True))


def delta_at(epsilon: float, p: np.ndarray, q: np.ndarray) -> float:
    """Return the smallest δ at which two distributions are (ε, δ)-close."""
    return math.fsum(np.maximum(0.0, p - math.exp(epsilon) * q))


def response(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    keep, flip = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    return np.array([keep, flip]), np.array([flip, keep])


def bounded(epsilon: float, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Return two distributions with log-ratios t and t − ε: the extreme draws of bounded range."""
    q = (math.exp(-t) - math.exp(-epsilon)) / -math.expm1(-epsilon)
    other = np.array([q, 1 - q])
    return other * np.exp([t, t - epsilon]), other


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 2.0, 6.0])
@pytest.mark.parametrize("k", [1, 2, 5, 9])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.01, 0.3])
def test_equal_draws_are_exact_against_enumeration(epsilon, k, delta):
    found = optimal_epsilon((epsilon,) * k, delta)
    p, q = product([response(epsilon)] * k)
    assert delta_at(found, p, q) <= delta + 1e-14  # what enumeration itself is exact to
    if found > 0:
        assert delta_at(found - 1e-4, p, q) > delta


def test_mixed_draws_are_bounded_by_enumeration_and_close_to_it():
    spent = (0.3, 0.31, 0.5, 0.5, 0.77, 1.0, 1.2, 2.0)
    p, q = product([response(e) for e in spent])
    for delta in (1e-6, 1e-3, 0.05):
        found = optimal_epsilon(spent, delta)
        assert delta_at(found, p, q) <= delta < delta_at(found - 0.005, p, q)
    assert optimal_epsilon(spent, 1e-6) == optimal_epsilon(spent[::-1], 1e-6)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_bounded_range_holds_for_every_extreme_draw(epsilon, k):
    rng = np.random.default_rng(k)
    for delta in (1e-5, 0.01):
        found = optimal_epsilon((epsilon,) * k, delta, bounded_range=True)
        assert found < optimal_epsilon((epsilon,) * k, delta)
        largest = 0.0
        for _ in range(60):
            equal = rng.random() < 0.5
            ts = np.full(k, rng.random() * epsilon) if equal else rng.random(k) * epsilon
            largest = max(largest, delta_at(found, *product([bounded(epsilon, t) for t in ts])))
        # The worst t of a single draw, and a t that is the best for k draws at this ε.
        for t in np.linspace(0, epsilon, 80):
            largest = max(largest, delta_at(found, *product([bounded(epsilon, t)] * k)))
        assert largest <= delta
        if k == 1:
            t = (found + epsilon) / 2
            assert delta_at(found, *bounded(epsilon, t)) == pytest.approx(delta, rel=1e-3)


def test_bounded_range_holds_where_the_second_draw_depends_on_the_first():
    """Adaptive: after each outcome the worst second draw is chosen separately, which a fixed t would not cover."""
    epsilon, delta = 1.0, 0.02
    found = optimal_epsilon((epsilon, epsilon), delta, bounded_range=True)
    grid = np.linspace(0, epsilon, 201)
    seconds = [bounded(epsilon, t) for t in grid]
    worst = fixed = 0.0
    for p, q in seconds:
        each = np.array(
            [
                [np.maximum(0, a * s - math.exp(found) * b * r).sum() for s, r in seconds]
                for a, b in zip(p, q, strict=True)
            ]
        )
        worst, fixed = max(worst, each.max(axis=1).sum()), max(fixed, each.sum(axis=0).max())
    assert fixed <= worst <= delta
    assert worst > 0.8 * delta


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 10.0, 50.0, 900.0])
@pytest.mark.parametrize("k", [1, 40, 3000, 100_000])
def test_many_draws_and_large_epsilons_are_stable_and_never_larger_than_the_sum_or_zcdp(epsilon, k):
    found = [optimal_epsilon((epsilon,) * k, d) for d in (1e-12, 1e-9, 1e-5, 1e-2)]
    assert all(math.isfinite(x) for x in found) and found == sorted(found, reverse=True)
    assert found[0] <= k * epsilon
    rho = k * zcdp_rho(epsilon)
    assert all(x <= zcdp_epsilon(rho, d) for x, d in zip(found, (1e-12, 1e-9, 1e-5, 1e-2), strict=True))


def test_the_bound_agrees_with_the_gaussian_limit_of_many_small_draws():
    from scipy.stats import norm

    epsilon, k, delta = 0.01, 10_000, 1e-5
    found = optimal_epsilon((epsilon,) * k, delta)
    mu = math.sqrt(k) * epsilon  # the loss is normal with mean μ²/2 and variance μ²
    exact = norm.cdf(mu / 2 - found / mu) - math.exp(found) * norm.cdf(-mu / 2 - found / mu)
    assert exact == pytest.approx(delta, rel=0.02)


def test_no_draw_spends_nothing_and_a_large_delta_needs_no_epsilon():
    assert optimal_epsilon((), 1e-5) == 0.0 == optimal_epsilon((0.0, 0.0), 1e-5)
    assert optimal_epsilon((0.1,), 0.9) == 0.0


def test_many_different_epsilons_are_rounded_up():
    rng = np.random.default_rng(1)
    spent = tuple(rng.uniform(0.1, 0.5, 300).tolist())
    levels = _rounded_up([(epsilon, 1) for epsilon in sorted(spent)])
    assert len(levels) <= 24 and sum(n for _, n in levels) == 300
    assert sum(spent) < sum(epsilon * n for epsilon, n in levels) < 1.05 * sum(spent)
    found = optimal_epsilon(spent, 1e-5)
    equal = optimal_epsilon((float(np.sqrt(np.mean(np.square(spent)))),) * 300, 1e-5)
    assert equal < found < 1.15 * equal
    assert found <= zcdp_epsilon(sum(map(zcdp_rho, spent)), 1e-5)


def test_a_guarantee_states_it_where_it_is_smaller_by_a_fiftieth():
    many = Guarantee("pure", 0.5, "released word", "any two texts", 200, 100.0)
    assert many.optimal() == optimal_epsilon((0.5,) * 200, 1e-5) < many.zcdp() < 100
    assert many.optimal(1e-3) < many.optimal()
    assert many.to_dict()["optimal"] == {"epsilon": many.optimal(), "delta": 1e-5}
    large = Guarantee("pure", 50.0, "released word", "any two texts", 37, 1850.0)
    assert large.optimal() is None and large.extra() == "" and large.to_dict()["optimal"] is None
    exponential = Guarantee("pure", 5.0, "released word", "any two texts", 37, 185.0, bounded_range=True)
    assert exponential.zcdp() is None and exponential.optimal() == pytest.approx(151.6, abs=0.1)
    uneven = Guarantee("pure", 2.0, "released word", "any two texts", 200, 118.0, spent=(0.5,) * 188 + (2.0,) * 12)
    assert uneven.optimal() < uneven.zcdp()


@pytest.mark.parametrize("notion", ["metric", "group", "approx", "none"])
def test_only_pure_guarantees_have_it(notion):
    said = {"group": "a set", "metric": "steps", "reason": "No."}
    assert Guarantee(notion, 0.1, "released word", "any two texts", 1000, 100.0, **said).optimal() is None
