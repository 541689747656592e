"""The composition bound of bounded-range draws, against exponential mechanisms and the adaptive optimum.

The adaptive optimum is computed independently: after each outcome the adversary chooses the pair with log-ratios t and
t − ε that is the worst from there on (Dong, Durfee, Rogers 2020, reduce every bounded-range pair to such a pair).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from dptext_core.privacy.composition import optimal_epsilon


def exponential(scores: np.ndarray, base: np.ndarray, epsilon: float) -> np.ndarray:
    """Return the probabilities of an exponential mechanism: scores within [0, 1], a public base measure."""
    weights = base * np.exp(epsilon * scores / 2)
    return weights / weights.sum()


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return math.fsum(np.maximum(0.0, p - math.exp(epsilon) * q))


def random_pair(rng: np.random.Generator, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the same exponential mechanism on two texts; often with opposite scores, which are the worst."""
    n = int(rng.integers(2, 5))
    base = np.exp(rng.uniform(-epsilon / 2 - 0.2, epsilon / 2 + 0.2, n))
    if rng.random() < 0.2:
        return exponential(rng.random(n), base, epsilon), exponential(rng.random(n), base, epsilon)
    scores = np.arange(n) % 2.0
    return exponential(scores, base, epsilon), exponential(1 - scores, base, epsilon)


def worst_single(epsilon: float, at: float) -> float:
    """Return the largest δ of a single bounded-range draw."""
    return 0.0 if at >= epsilon else (1 - math.exp((at - epsilon) / 2)) ** 2 / -math.expm1(-epsilon)


@pytest.mark.parametrize("epsilon", [0.3, 1.5, 5.0])
def test_a_single_exponential_mechanism_is_within_the_worst_curve_and_reaches_it(epsilon):
    rng, nearest = np.random.default_rng(2), 0.0
    for _ in range(3000):
        p, q = random_pair(rng, epsilon)
        losses = np.log(p / q)
        assert np.ptp(losses) <= epsilon + 1e-9
        for at in (0.0, epsilon / 3, 0.8 * epsilon):
            delta, most = hockey_stick(p, q, at), worst_single(epsilon, at)
            assert delta <= most + 1e-12
            nearest = max(nearest, delta / most)
    assert nearest > 0.99
    for at in (0.1 * epsilon, 0.7 * epsilon):
        found = optimal_epsilon((epsilon,), worst_single(epsilon, at), bounded_range=True)
        assert found == pytest.approx(at, abs=0.01 * epsilon) and found >= at - 1e-9


def adaptive(rng: np.random.Generator, epsilon: float, k: int, p: np.ndarray, q: np.ndarray) -> tuple:
    """Return the joint probabilities of k draws, each of a mechanism that depends on all outcomes before it."""
    for _ in range(k):
        pairs = [random_pair(rng, epsilon) for _ in p]
        p, q = (
            np.concatenate([before * own[side] for before, own in zip(joint, pairs, strict=True)])
            for side, joint in ((0, p), (1, q))
        )
    return p, q


def greedy(rng: np.random.Generator, epsilon: float, k: int, at: float, p: float, q: float) -> float:
    """Return a large δ: of some mechanisms the one that is the worst from here on, separately after each outcome."""
    if k == 0:
        return max(0.0, p - math.exp(at) * q)
    options = [random_pair(rng, epsilon) for _ in range(3 if k > 1 else 12)]
    return max(
        sum(greedy(rng, epsilon, k - 1, at, p * a, q * b) for a, b in zip(*pair, strict=True)) for pair in options
    )


@pytest.mark.parametrize("epsilon", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("k", [2, 3])
def test_no_adaptively_chosen_exponential_mechanisms_exceed_the_bound(epsilon, k):
    rng, delta = np.random.default_rng(k), 0.06
    found = optimal_epsilon((epsilon,) * k, delta, bounded_range=True)
    worst = 0.0
    for _ in range(300):
        p, q = adaptive(rng, epsilon, k, np.ones(1), np.ones(1))
        assert p.sum() == pytest.approx(1) and q.sum() == pytest.approx(1)
        worst = max(worst, hockey_stick(p, q, found), hockey_stick(q, p, found))
    for _ in range(60 if k == 2 else 15):
        worst = max(worst, greedy(rng, epsilon, k, found, 1.0, 1.0))
    assert 0.5 * delta < worst <= delta


def adaptive_optimum(epsilons: Sequence[float], at: float, steps: int = 240) -> float:
    """Return δ of the worst adaptive adversary at ε = ``at``, from the last draw to the first, on a grid of t."""
    if not epsilons:
        return max(0.0, -math.expm1(at))
    largest = sum(epsilons)
    y = np.linspace(-largest - abs(at), largest + abs(at), 4001)
    rest = np.maximum(0.0, -np.expm1(y))
    for epsilon in reversed(epsilons[1:]):
        rest = _worst_step(epsilon, y, y, rest, steps)
    return float(_worst_step(epsilons[0], np.array([at]), y, rest, steps)[0])


def _worst_step(epsilon: float, where: np.ndarray, y: np.ndarray, rest: np.ndarray, steps: int) -> np.ndarray:
    def later(x: np.ndarray) -> np.ndarray:
        return np.where(x < y[0], -np.expm1(np.minimum(x, 0)), np.interp(x, y, rest))

    worst = np.zeros(len(where))
    for t in np.linspace(0, epsilon, steps + 1):
        high = math.expm1(epsilon - t) * math.exp(t) / math.expm1(epsilon)  # the probability of the log-ratio t
        worst = np.maximum(worst, high * later(where - t) + (1 - high) * later(where - t + epsilon))
    return worst


def fixed_optimum(epsilon: float, k: int, at: float) -> float:
    """Return δ of the worst draws that are chosen beforehand, all with the same t (Dong, Durfee, Rogers 2020)."""
    t = np.linspace(0, epsilon, 2001)[:, None]
    low = np.arange(k + 1)[None]
    q = (np.exp(-t) - math.exp(-epsilon)) / -math.expm1(-epsilon)
    ways = np.array([math.comb(k, i) for i in range(k + 1)])[None]
    gains = np.maximum(0.0, np.exp(k * t - low * epsilon) - math.exp(at))
    return float((ways * q ** (k - low) * (1 - q) ** low * gains).sum(axis=1).max())


@pytest.mark.parametrize(("epsilon", "k"), [(0.3, 2), (0.3, 6), (1.0, 3), (1.0, 8), (4.0, 2), (4.0, 5)])
@pytest.mark.parametrize("delta", [1e-4, 0.02])
def test_the_bound_is_above_the_adaptive_optimum_and_near_it(epsilon, k, delta):
    found = optimal_epsilon((epsilon,) * k, delta, bounded_range=True)
    best = adaptive_optimum((epsilon,) * k, found)
    assert max(best, fixed_optimum(epsilon, k, found)) <= delta * (1 + 1e-6)
    assert fixed_optimum(epsilon, k, found) <= 1.05 * best  # up to the grid of t
    # The optimum itself is at most 15% below: at that ε the adversary reaches more than δ.
    assert adaptive_optimum((epsilon,) * k, 0.85 * found) > delta


def test_different_epsilons_in_any_order_are_bounded():
    for spent in ((0.5, 1.5, 1.0), (1.5, 1.0, 0.5), (1.0, 0.5, 1.5)):
        for delta in (1e-3, 0.02):
            found = optimal_epsilon(spent, delta, bounded_range=True)
            assert adaptive_optimum(spent, found) <= delta * (1 + 1e-6)
            assert adaptive_optimum(spent, 0.85 * found) > delta


def test_adaptivity_costs_more_than_fixed_draws():
    """The reference of these tests separates the two, as the paper shows."""
    gaps = [adaptive_optimum((1.0,) * 3, at) / fixed_optimum(1.0, 3, at) for at in (0.6, 1.2, 1.8)]
    assert max(gaps) > 1.005
