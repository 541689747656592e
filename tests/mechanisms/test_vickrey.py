"""Vickrey against a plain loop, its rule for two words, and t = 0."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from small_spaces import counts_of, on, random_space, rewritten, same, words

from dptext_core import NoiseStream, WordSpace
from dptext_core.mechanisms.words.vickrey import first_chance

SPACE = random_space(40, 6, seed=4)
X = SPACE.vectors.astype(np.float64)


def reference(row: int, epsilon: float, t: float, n: int, seed: int, factor=None) -> np.ndarray:
    rng = np.random.default_rng(seed)
    factor = np.eye(6) if factor is None else factor
    directions, lengths = rng.normal(size=(n, 6)), rng.gamma(6, 1 / epsilon, n)
    noisy = X[row] + directions * (lengths / np.linalg.norm(directions, axis=1))[:, None] @ factor.T
    d = cdist(noisy, X)
    first, second = np.argsort(d, axis=1)[:, :2].T
    near, far = t * d[np.arange(n), first], (1 - t) * d[np.arange(n), second]
    return np.bincount(np.where(rng.random(n) < far / (near + far), first, second), minlength=40)


@pytest.mark.parametrize(("epsilon", "t"), [(2.0, 0.75), (15.0, 0.3)])
def test_released_words_are_those_of_the_plain_loop(epsilon, t):
    """2,500 draws against 5,000 at level 1e-5; another t is found."""
    m = on(SPACE, "vickrey", epsilon=epsilon, t=t)
    counts = counts_of(rewritten(m, SPACE.words[5], 2500, 1), SPACE.words)
    expected = reference(5, epsilon, t, 5000, 2)
    assert same(counts, expected) > 1e-5
    if epsilon == 15.0:
        assert same(counts, reference(5, epsilon, abs(t - 0.15), 5000, 2)) < 1e-5
    d = m.channel(5).at(epsilon)
    assert same(np.rint(d.probs * 1000), expected) > 1e-7


def test_with_noise_in_the_shape_of_the_space():
    m = on(SPACE, "vickrey", epsilon=10.0, noise="mahalanobis", lam=0.9, t=0.6)
    sigma = np.cov(X, rowvar=False)
    factor = np.linalg.cholesky(0.9 * sigma / np.trace(sigma) * 6 + 0.1 * np.eye(6))
    counts = counts_of(rewritten(m, SPACE.words[5], 2500, 1), SPACE.words)
    assert same(counts, reference(5, 10.0, 0.6, 5000, 2, factor)) > 1e-5
    shaped = on(SPACE, "mahalanobis", lam=0.9)
    assert m.distances(SPACE.words) == pytest.approx(shaped.distances(SPACE.words))
    assert m.noise(NoiseStream(1)) == pytest.approx(shaped.noise(NoiseStream(1)))
    assert on(SPACE, "vickrey").distances(SPACE.words) == pytest.approx(on(SPACE, "mvc").distances(SPACE.words))


@pytest.mark.parametrize("noise", ["mvc", "mahalanobis"])
def test_t_0_releases_the_nearest_word(noise):
    m, plain = on(SPACE, "vickrey", epsilon=5.0, t=0.0, noise=noise), on(SPACE, noise, epsilon=5.0)
    text = " ".join(SPACE.words)
    assert m.rewrite(text, seed=4).text == plain.rewrite(text, seed=4).text
    for row in (0, 9):
        assert (
            m.channel(row).epsilon_breakpoints(NoiseStream(3), 1.0, 40.0)[0][1]
            == plain.channel(row).epsilon_breakpoints(NoiseStream(3), 1.0, 40.0)[0][1]
        )
        # Their estimates share their noise too.
        assert m.channel(row).at(5.0).probs == pytest.approx(plain.channel(row).at(5.0).probs, abs=0.003)


@pytest.mark.parametrize("t, noise", [(0.75, "mvc"), (0.2, "mahalanobis"), (1.0, "mvc")])
def test_every_stretch_of_a_word_is_found_however_short(t, noise):
    """In the middle of each stretch, and just before and behind each flip, a draw gives the word. Some are shorter than
    a step of 160 from 1 to 400, on which they could be searched."""
    m = on(SPACE, "vickrey", t=t, noise=noise)
    short = 0
    for seed in range(50):
        channel, stream = m.channel(seed % 40), NoiseStream(seed).at(0)
        flips = channel.epsilon_breakpoints(stream, 1.0, 400.0)
        edges = np.array([e for e, _ in flips] + [400.0])
        for k, (start, word) in enumerate(flips):
            ratio = edges[k + 1] / start
            # Draws compare float32 lines: at a large ε, a flip is exact to 0.3%.
            near = min(0.4, max(0.001, 0.003 / np.log(ratio)))
            inside = start * ratio ** np.array([near, 0.5, 1 - near])
            assert [channel.draw(float(e), stream) for e in inside] == [word] * 3
            short += ratio < 400 ** (1 / 160)
    assert short > 5


def test_the_chance_of_the_nearest():
    near, far = np.array([0.0, 0.5, 1.0, 2.0]), np.array([1.0, 1.0, 1.0, 8.0])
    assert first_chance(near, far, 0.75) == pytest.approx([1.0, 0.25 / 0.625, 0.25, 2.0 / 3.5])
    assert first_chance(near, far, 0.0) == pytest.approx(1.0)
    assert first_chance(near[1:], far[1:], 1.0) == pytest.approx(0.0)
    assert float(first_chance(0.0, 0.0, 0.75)) == 1.0 and float(first_chance(0.0, 1.0, 1.0)) == 1.0


def test_two_words():
    """With little noise the second nearest of two words is the other one."""
    space = WordSpace("two", "", words(2), np.eye(2, 9, dtype=np.float32))
    m = on(space, "vickrey", epsilon=400.0, t=1.0)
    assert set(rewritten(m, space.words[0], 50, 1)) == {space.words[1]}
    assert m.channel(0).at(400.0).probs == pytest.approx([0.0, 1.0])
    assert m.channel(0).epsilon_breakpoints(NoiseStream(1), 100.0, 1000.0) == [(100.0, 1)]


def test_more_words_move_than_by_the_nearest():
    plain, m = on(SPACE, "mvc", epsilon=30.0), on(SPACE, "vickrey", epsilon=30.0)
    keep = [np.mean([w == SPACE.words[5] for w in rewritten(x, SPACE.words[5], 800, 2)]) for x in (plain, m)]
    assert keep[1] < keep[0] - 0.1
