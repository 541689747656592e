"""SanText and SanText+ against their formulas, worked out by plain loops, and their bounds over all pairs of words."""

from __future__ import annotations

import math

import numpy as np
import pytest
from guarantee_terms import entries
from small_spaces import fit, on, random_space

from dptext_core import NoiseStream
from dptext_core.privacy.sampling import DEPTH
from dptext_core.words import WordSpace

SPACE = random_space(30, 5, seed=1)
X = SPACE.vectors.astype(np.float64)
#: Distances are float32: a bound of ε·d holds up to their rounding.
ROUNDING = 2e-6


def log_table(m, epsilon: float) -> np.ndarray:
    """ln P(y|x) for all pairs, float64 (V, V)."""
    return np.stack([m.channel(i).at(epsilon).log_probs for i in range(len(m.vocabulary))])


def brute(x: int, epsilon: float, outputs) -> np.ndarray:
    weights = [math.exp(-epsilon * math.dist(X[x], X[y]) / 2) if y in outputs else 0.0 for y in range(30)]
    return np.array(weights) / sum(weights)


@pytest.mark.parametrize("epsilon", [0.1, 3.0, 20.0])
def test_santext_is_its_formula(epsilon):
    m = on(SPACE, "santext", epsilon=epsilon)
    for x in (0, 7, 29):
        assert m.distribution(SPACE.words[x], 0).probs == pytest.approx(brute(x, epsilon, range(30)), rel=1e-5)


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 30.0])
def test_the_loss_of_santext_is_at_most_epsilon_times_the_distance(epsilon):
    m = on(SPACE, "santext", epsilon=epsilon)
    table, d = log_table(m, epsilon), m.distances(SPACE.words)
    assert d == pytest.approx(np.array([[math.dist(a, b) for b in X] for a in X]))
    loss = (table[:, None] - table[None]).max(axis=2)
    assert (loss <= epsilon * d + epsilon * ROUNDING).all()
    # Of two words one keeps itself with half of the bound or more.
    off = ~np.eye(30, dtype=bool)
    assert (np.maximum(loss, loss.T)[off] >= epsilon * (d[off] / 2 - ROUNDING)).all()
    assert np.isnan(m.distances(["nosuchword", SPACE.words[0]])[0]).all()


@pytest.mark.parametrize(
    ("epsilon", "p", "share"), [(0.5, 0.3, 0.5), (6.0, 0.3, 0.7), (6.0, 1.0, 0.5), (20.0, 0.01, 0.9)]
)
def test_santext_plus_is_its_formula(epsilon, p, share):
    m = on(SPACE, "santext-plus", epsilon=epsilon, p=p, sensitive=share)
    sensitive = range(30 - round(30 * share), 30)
    for x in range(30):
        expected = brute(x, epsilon, sensitive)
        if x not in sensitive:
            expected = p * expected
            expected[x] += 1 - p
        found = m.channel(x).at(epsilon).probs
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-15)
        assert m.channel(x).at(epsilon).p_keep() == pytest.approx(expected[x], rel=1e-5)


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 20.0])
def test_the_bounds_of_santext_plus(epsilon):
    p = 0.3
    m = on(SPACE, "santext-plus", epsilon=epsilon, p=p, sensitive=0.6)
    first = 12
    assert m.first_sensitive == first
    table = log_table(m, epsilon)
    claim, d = m.distances(SPACE.words), on(SPACE, "santext").distances(SPACE.words)
    assert np.isnan(claim[:first]).all() and np.isnan(claim[:, :first]).all()
    assert np.array_equal(claim[first:, first:], d[first:, first:])
    among = claim[first:, first:] + np.diag(np.full(18, np.inf))
    near = m.guarantee(SPACE.words[first]).near
    assert near == pytest.approx(np.median(among.min(1)), rel=1e-5), "among the words that the promise compares"
    drawn = table[:, first:]  # outputs that can be drawn: the sensitive words
    loss = np.abs(drawn[:, None] - drawn[None]).max(axis=2)
    assert (loss[first:, first:] <= epsilon * d[first:, first:] + epsilon * ROUNDING).all()
    assert (loss <= epsilon * d + math.log(1 / p) + epsilon * ROUNDING).all()
    if epsilon < 5:
        assert (loss[:first, first:] > epsilon * d[:first, first:]).any(), "to a common word ε·d alone does not hold"
    assert np.isneginf(table[first:, :first]).all(), "a sensitive word never becomes a common one"


@pytest.mark.parametrize("p", [1e-3, 1.0])
def test_at_the_largest_epsilon_the_farthest_word_of_a_common_one_can_be_drawn(p):
    """A common word where a sensitive one stands, and another at the largest distance: ln p lies deeper still."""
    vectors = np.zeros((12, 3), np.float32)
    vectors[:, 1] = np.linspace(0, 1e-4, 12)
    vectors[6, 1], vectors[11, 0], vectors[:, 2] = 0.0, 4.0, 1.0
    m = on(WordSpace("far", "", SPACE.words[:12], vectors), "santext-plus", sensitive=0.5, p=p)
    assert m.first_sensitive == 6
    epsilon = m.max_epsilon
    least = m.channel(0).at(epsilon).log_probs[11]
    assert -DEPTH <= least < -DEPTH + 2 * math.log(12), "and is not refused much earlier than it must be"


def test_what_passes_through_is_said():
    g = on(SPACE, "santext-plus", epsilon=2.0, p=0.25, sensitive=0.6).guarantee(SPACE.words[0])
    assert entries(g, "common-words") == [{"share": pytest.approx(0.4), "p": 0.25}]
    last = g.adjacency.conditions[-1]
    assert (last.kind, last.parameters["share"]) == ("sensitive-words", 0.6)


def test_all_words_sensitive_is_santext():
    plus, plain = on(SPACE, "santext-plus", sensitive=1.0, epsilon=3.0), on(SPACE, "santext", epsilon=3.0)
    assert log_table(plus, 3.0) == pytest.approx(log_table(plain, 3.0))
    text = " ".join(SPACE.words)
    assert plus.rewrite(text, seed=1).text == plain.rewrite(text, seed=1).text
    assert np.array_equal(plus.distances(SPACE.words), plain.distances(SPACE.words))


@pytest.mark.parametrize("p", [0.3, 1.0])
def test_draws_of_a_common_word_follow_what_is_stated_of_it(p):
    """Chi-square at 1e-5 over 20,000 draws: a chance of 1/10 that is off by 0.015 is seen with power > 0.99."""
    channel = on(SPACE, "santext-plus", epsilon=4.0, p=p, sensitive=0.6).channel(3)
    d = channel.at(4.0)
    drawn = np.bincount(d.sample_indices(20_000, NoiseStream(5)), minlength=30)
    one_by_one = np.bincount([channel.draw(4.0, NoiseStream(5).at(k)) for k in range(1500)], minlength=30)
    drawer = channel.drawer(4.0)
    assert [drawer(NoiseStream(5).at(k)) for k in range(50)] == [
        channel.draw(4.0, NoiseStream(5).at(k)) for k in range(50)
    ]
    assert fit(drawn, d.probs) > 1e-5 and fit(one_by_one, d.probs) > 1e-5
    assert fit(drawn, channel.at(1.0).probs) < 1e-5


@pytest.mark.parametrize("p", [0.3, 1.0])
def test_what_is_said_of_a_common_word_is_said_of_its_distribution(p):
    """Curves, likelihoods and locked draws of a word that may pass through, at every ε."""
    m = on(SPACE, "santext-plus", epsilon=4.0, p=p, sensitive=0.6)
    channel, grid, which = m.channel(3), np.array([0.5, 4.0, 20.0]), np.array([2, 3, 4, 15, 29])
    expected = np.stack([channel.at(e).log_probs[which] for e in grid], axis=1)
    assert channel.log_p(grid, which) == pytest.approx(expected, rel=1e-9)
    for released in (2, 3, 15, 29):
        found, error = m.log_likelihood(SPACE.words[released], 4.0)
        exact = m.likelihood_of(SPACE.words[released], 4.0, np.arange(30))
        finite = np.isfinite(exact)
        assert np.array_equal(finite, np.isfinite(found))
        assert found[finite] == pytest.approx(exact[finite], abs=error + 1e-6)
    for seed in range(20):
        flips = channel.epsilon_breakpoints(NoiseStream(seed), 0.5, 20.0)
        for e in np.geomspace(0.51, 19.9, 25):
            assert [w for at, w in flips if at <= e][-1] == channel.draw(float(e), NoiseStream(seed))
    shown = channel.shown(6, 0.5, 20.0).tolist()
    assert shown[0] == 3 and len(set(shown)) == 6 and set(shown[1:]) <= set(range(12, 30))


@pytest.mark.parametrize("prior", ["none", "frequency"])
def test_a_released_common_word_was_the_original_one(prior):
    """It is impossible under every other word, so that whoever reads it knows."""
    m = on(SPACE, "santext-plus", epsilon=4.0, p=0.3, sensitive=0.6, prior=prior)
    found, error = m.log_likelihood(SPACE.words[3], 4.0)
    assert found[3] == pytest.approx(math.log(0.7)) and error == 0
    assert np.isneginf(np.delete(found, 3)).all()


def test_one_pass_is_locked_at_every_epsilon():
    """Whether a common word passes does not depend on ε: under one coin it passes at all or at none."""
    m = on(SPACE, "santext-plus", p=0.5, sensitive=0.5, epsilon=1.0)
    channel, passed = m.channel(3), 0
    for seed in range(60):
        kept = {channel.draw(e, NoiseStream(seed)) == 3 for e in (0.1, 1.0, 50.0)}
        assert len(kept) == 1
        passed += kept.pop()
    assert 15 < passed < 45
