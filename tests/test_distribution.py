"""Score tables against brute force, and the figures a distribution gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dptext_core import ConfigError, NoiseStream, ScoreTable, TokenDistribution
from dptext_core.distribution import envelope


def table(size=500, seed=0, source="w3") -> ScoreTable:
    scores = -np.random.default_rng(seed).beta(2, 2, size) / 2
    return ScoreTable([f"w{i}" for i in range(size)], scores, source)


@pytest.mark.parametrize("epsilon", [0.01, 1, 10, 50, 250, 1400])
def test_probabilities_are_the_exponential_mechanism(epsilon):
    t = table()
    d = t.at(epsilon)
    exact = np.exp(np.longdouble(epsilon) * t.scores.astype(np.longdouble))
    exact /= exact.sum()
    assert d.probs == pytest.approx(exact.astype(float), rel=1e-10)
    assert d.probs.dtype == np.float64 and (d.probs > 0).all()


@pytest.mark.parametrize("low", [-1.0, -0.3, 0.0])
def test_log_z_on_a_grid(low):
    t = ScoreTable([f"w{i}" for i in range(3000)], np.maximum(table(3000).scores, low), "w3")
    grid = np.geomspace(0.1, 1000, 17)
    exact = [np.log(np.exp(np.longdouble(e) * t.scores.astype(np.longdouble)).sum()) for e in grid]
    assert t.log_z(grid) == pytest.approx(np.array(exact, float), abs=1e-10)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 60))
def test_flips_are_the_argmax_at_every_epsilon(seed, size):
    t = table(size, seed)
    g = NoiseStream(seed).gumbel(size)
    flips = envelope(t.scores, g, 1.0, 400.0)
    assert flips[0][0] == 1.0 and [e for e, _ in flips] == sorted(e for e, _ in flips)
    scores = [t.scores[w] for _, w in flips]
    assert scores == sorted(scores), "the released score never falls as epsilon grows"
    for e in np.geomspace(1.0, 400.0, 37):
        winner = [w for at, w in flips if at <= e][-1]
        line = e * t.scores + g
        assert line[winner] == pytest.approx(line.max(), abs=1e-9)


def test_a_locked_draw_equals_the_sampler_at_every_epsilon():
    t = table(4000, 9)
    stream = NoiseStream(4)
    flips = t.flips(stream, 1.0, 500.0)
    for e in (1.0, 5.0, 31.0, 200.0, 500.0):
        assert [w for at, w in flips if at <= e][-1] == t.at(e).sample_indices(1, stream)[0]


def distribution(probs, source="b"):
    with np.errstate(divide="ignore"):
        return TokenDistribution(["a", "b", "c", "B"][: len(probs)], np.log(probs), source)


def test_figures_of_a_small_distribution():
    d = distribution([0.5, 0.3, 0.15, 0.05])
    assert d.p_keep() == pytest.approx(0.35), "capitals do not make another word"
    assert d.support(0.05) == 3 and d.support(0.0) == 4 and d.support(0.5) == 1
    assert d.entropy() == pytest.approx(-sum(p * np.log2(p) for p in [0.5, 0.3, 0.15, 0.05]))
    assert d.expected_distinct(100) == pytest.approx(sum(1 - (1 - p) ** 100 for p in [0.5, 0.3, 0.15, 0.05]))
    assert d.top(2) == [("a", pytest.approx(0.5)), ("b", pytest.approx(0.3))]
    assert d.p("c") == pytest.approx(0.15) and d.p("zebra") == 0.0
    assert d.draws is None


def test_a_certain_word():
    d = distribution([1.0, 0.0], "b")
    assert d.support() == 1 and d.expected_distinct(100) == pytest.approx(1.0) and d.entropy() == 0.0
    assert d.p_keep() == 0.0 and d.sample(5, seed=1) == ["a"] * 5


def test_a_word_that_is_no_candidate_is_never_kept():
    assert distribution([0.5, 0.5], "zebra").p_keep() == 0.0
    assert TokenDistribution(["a"], np.zeros(1), None).p_keep() == 0.0


def test_eta_is_a_probability():
    with pytest.raises(ConfigError, match="eta"):
        distribution([1.0]).support(1.5)


def test_sampling_with_a_seed_repeats_and_without_does_not():
    d = table(2000).at(1.0)
    assert d.sample(30, seed=4) == d.sample(30, seed=4)
    assert d.sample(30) != d.sample(30)
