"""TEM against Algorithm 1 as printed, with its outcome ⊥, by plain loops."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from small_spaces import on, random_space

import dptext_core as dpt

SPACE = random_space(40, 5, seed=2)
D = np.array([[math.dist(a, b) for b in SPACE.vectors.astype(float)] for a in SPACE.vectors.astype(float)])
LARGEST = D.max()


def printed(x: int, epsilon: float, gamma: float) -> tuple[np.ndarray, float]:
    """Algorithm 1 in closed form: words within γ, and ⊥ which is then one of the others; and the chance of ⊥."""
    near = [y for y in range(len(D)) if D[x, y] <= gamma]
    others = len(D) - len(near)
    weights = {y: math.exp(-epsilon * D[x, y] / 2) for y in near}
    bottom = math.exp(epsilon / 2 * (-gamma + 2 * math.log(others) / epsilon)) if others else 0.0
    total = sum(weights.values()) + bottom
    probs = np.array([weights[y] / total if y in weights else bottom / others / total for y in range(len(D))])
    return probs, bottom / total


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 15.0])
@pytest.mark.parametrize("gamma", [0.0, 0.6, 1.2, 10.0])
def test_with_a_given_gamma_it_is_the_form_with_one_outcome_for_all_far_words(epsilon, gamma):
    m = on(SPACE, "tem", epsilon=epsilon, gamma=gamma)
    for x in (0, 11, 39):
        expected, bottom = printed(x, epsilon, gamma)
        found = m.channel(x).at(epsilon).probs
        assert found == pytest.approx(expected, rel=1e-5)
        far = D[x] > gamma
        assert found[far].sum() == pytest.approx(bottom, rel=1e-5, abs=1e-15)


@pytest.mark.parametrize("beta", [0.001, 0.05, 0.5])
@pytest.mark.parametrize("epsilon", [2.0, 8.0, 60.0, 400.0])
def test_the_default_gamma_makes_far_words_rarer_than_beta(epsilon, beta):
    m = on(SPACE, "tem", epsilon=epsilon, beta=beta)
    gamma = 2 / epsilon * math.log((1 - beta) * 39 / beta)
    reached = 0.0
    for x in range(40):
        expected, bottom = printed(x, epsilon, gamma)
        assert m.channel(x).at(epsilon).probs == pytest.approx(expected, rel=1e-5, abs=1e-300)
        assert bottom <= beta * (1 + 1e-12)
        reached = max(reached, bottom)
    if epsilon == 400.0:
        assert reached > 0.9 * beta, "where the word is far from all others the bound is nearly reached"


def test_with_a_gamma_beyond_the_largest_distance_it_is_santext():
    san = on(SPACE, "santext", epsilon=3.0)
    for m in (on(SPACE, "tem", epsilon=3.0, gamma=float(LARGEST) * 1.01), on(SPACE, "tem", epsilon=3.0)):
        assert 2 / 3.0 * math.log(0.999 * 39 / 0.001) > LARGEST
        for x in range(40):
            assert m.channel(x).at(3.0).log_probs == pytest.approx(san.channel(x).at(3.0).log_probs)
        text = " ".join(SPACE.words)
        assert m.rewrite(text, seed=2).text == san.rewrite(text, seed=2).text
        assert m.distances(SPACE.words) == pytest.approx(D)


@pytest.mark.parametrize(
    ("epsilon", "options"), [(0.5, {}), (4.0, {}), (30.0, {}), (4.0, {"gamma": 0.9}), (30.0, {"gamma": 0.0})]
)
def test_the_loss_is_at_most_epsilon_times_the_truncated_distance(epsilon, options):
    m = on(SPACE, "tem", epsilon=epsilon, **options)
    table = np.stack([m.channel(i).at(epsilon).log_probs for i in range(40)])
    gamma = options.get("gamma", 2 / epsilon * math.log(0.999 * 39 / 0.001))
    claim = m.distances(SPACE.words)
    assert claim == pytest.approx(np.minimum(D, gamma))
    loss = (table[:, None] - table[None]).max(axis=2)
    assert (loss <= epsilon * claim + epsilon * 2e-6).all()
    g = m.guarantee(SPACE.words[0])
    assert g.largest == pytest.approx(min(LARGEST, gamma), rel=1e-6) and g.near <= g.largest
    assert g.metric.is_limited == (gamma < LARGEST) and g.metric.parameters.get("limit", gamma) == pytest.approx(gamma)


@pytest.mark.parametrize("options", [{}, {"beta": 0.2}, {"gamma": 0.9}, {"gamma": 0.0}])
def test_what_is_said_of_a_word_is_said_of_its_distribution(options):
    """Curves, figures and locked draws, at every ε."""
    m = on(SPACE, "tem", epsilon=4.0, **options)
    for x in (0, 11, 39):
        channel, grid, which = m.channel(x), np.array([0.5, 8.0, 60.0]), np.array([x, 3, 17, 38])
        expected = np.stack([channel.at(e).log_probs[which] for e in grid], axis=1)
        assert channel.log_p(grid, which) == pytest.approx(expected, rel=1e-9)
        for e in grid:
            d = channel.at(e)
            assert channel.deniability(e) == pytest.approx((d.p_keep(), d.expected_distinct(100)), rel=1e-9)
        for n in (1, 2, 5, 40, 99):
            shown = channel.shown(n, 0.5, 60.0)
            assert shown[0] == x and sorted(D[x])[: min(n, 40)] == pytest.approx(D[x][shown], rel=1e-5)
        for seed in range(6):
            flips = channel.epsilon_breakpoints(dpt.NoiseStream(seed), 0.5, 200.0)
            drawer = [channel.drawer(float(e))(dpt.NoiseStream(seed)) for e in np.geomspace(0.51, 199.0, 40)]
            assert drawer == [channel.draw(float(e), dpt.NoiseStream(seed)) for e in np.geomspace(0.51, 199.0, 40)]
            assert drawer == [[w for at, w in flips if at <= e][-1] for e in np.geomspace(0.51, 199.0, 40)]
            assert all(a[1] != b[1] for a, b in pairwise(flips))


def test_over_a_list_of_epsilons_the_claim_is_that_of_the_smallest():
    several = on(SPACE, "tem", epsilon=(20.0, 60.0))
    assert several.distances(SPACE.words) == pytest.approx(on(SPACE, "tem", epsilon=20.0).distances(SPACE.words))


def test_the_stated_error_of_a_likelihood_covers_the_far_words_that_it_leaves_out(monkeypatch):
    """With a normaliser over all words, exact here: what is left is the share β of far words, nearly reached."""
    from dptext_core.mechanisms.words import normalisers

    def exactly(space, epsilon, *, gamma=None, **_):
        weights = np.exp(-epsilon / 2 * np.minimum(D, np.inf if gamma is None else gamma))
        return np.log(weights.sum(axis=1)), 0.0

    monkeypatch.setattr(normalisers, "is_bundled", lambda space: True)
    monkeypatch.setattr(normalisers, "log_z", exactly)
    m = on(SPACE, "tem", epsilon=400.0)
    released = SPACE.words[7]
    found, error = m.log_likelihood(released, 400.0)
    exact = m.likelihood_of(released, 400.0, np.arange(40))
    off = np.abs(found - exact).max()
    assert 0.0009 < off <= error * (1 + 1e-9) and error < 0.0011
    given, error = on(SPACE, "tem", epsilon=400.0, gamma=0.4).log_likelihood(released, 400.0)
    exact = on(SPACE, "tem", epsilon=400.0, gamma=0.4).likelihood_of(released, 400.0, np.arange(40))
    assert given == pytest.approx(exact, rel=1e-5) and error == 0


def test_on_the_bundled_space_it_is_santext_below_epsilon_21():
    """γ = (2/ε)·ln(0.999·21,718/0.001) is 1.572 at 21.5; the largest distance of two words is 1.567 here."""
    space = dpt.word_space("minilm")
    row = space.index("doctor")
    tem, san = dpt.get_mechanism("tem"), dpt.get_mechanism("santext")
    crossing = 2 * math.log(0.999 * (len(space) - 1) / 0.001) / space.delta[1]
    assert crossing == pytest.approx(21.5, abs=0.15)
    assert tem.channel(row).at(21.0).log_probs == pytest.approx(san.channel(row).at(21.0).log_probs)
    assert not dpt.get_mechanism("tem", epsilon=21.0).guarantee("doctor").metric.is_limited
    at_40 = tem.channel(row).at(40.0)
    assert np.abs(at_40.log_probs - san.channel(row).at(40.0).log_probs).max() > 1
    far = space.distances("doctor") > 2 / 40 * math.log(0.999 * (len(space) - 1) / 0.001)
    assert 0 < at_40.probs[far].sum() <= 0.001


def test_with_an_epsilon_a_token_the_largest_window_is_promised():
    space = random_space(30, 4, seed=1)
    m = on(space, "tem", epsilon=(40.0, 10.0))
    a, b = space.words[:2]
    g = m.guarantee(f"{a} {b}")
    assert g.epsilon == 40.0 and m.distances(space.words).max() <= g.largest
    assert g.largest == pytest.approx(on(space, "tem", epsilon=10.0).guarantee(a).largest)


def test_a_window_as_narrow_as_a_float_can_be_bounds_no_epsilon():
    m = dpt.get_mechanism("tem", gamma=2.2e-311)
    assert m.max_epsilon == dpt.get_mechanism("tem", gamma=1e-9).max_epsilon, "that of every TEM, and no overflow"
