"""MVC against its definition in plain NumPy, and the channel of its noise."""

from __future__ import annotations

import math
from collections import OrderedDict

import numpy as np
import pytest
from scipy import stats
from small_spaces import counts_of, on, random_space, rewritten, same, words

import dptext_core as dpt
from dptext_core import NoiseStream, WordSpace
from dptext_core.mechanisms.words import mvc
from dptext_core.mechanisms.words.mvc import CURVE_DRAWS, NOISE_BLOCK, nearest_words
from dptext_core.mechanisms.words.word_space import largest_distance

SPACE = random_space(40, 6, seed=3)


def reference(space, row: int, epsilon: float, n: int, seed: int) -> np.ndarray:
    """Algorithm 1 as released code has it: normal direction, Gamma length, nearest word; counts int64 (V,)."""
    rng = np.random.default_rng(seed)
    vectors, d = space.vectors.astype(np.float64), space.vectors.shape[1]
    directions, lengths = rng.normal(size=(n, d)), rng.gamma(d, 1 / epsilon, n)
    noisy = vectors[row] + directions * (lengths / np.linalg.norm(directions, axis=1))[:, None]
    nearest = ((vectors**2).sum(axis=1)[:, None] - 2 * vectors @ noisy.T).argmin(axis=0)
    return np.bincount(nearest, minlength=len(space))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 20.0])
def test_released_words_are_those_of_the_plain_loop(epsilon):
    """2,500 draws against 5,000 at level 1e-5; half as much noise again is found."""
    m = on(SPACE, "mvc", epsilon=epsilon)
    counts = counts_of(rewritten(m, SPACE.words[7], 2500, 1), SPACE.words)
    assert same(counts, reference(SPACE, 7, epsilon, 5000, 2)) > 1e-5
    if epsilon > 1:
        assert same(counts, reference(SPACE, 7, epsilon / 1.5, 5000, 2)) < 1e-5


@pytest.mark.parametrize("epsilon", [3.0, 15.0])
def test_the_estimate_is_that_of_the_plain_loop(epsilon):
    """The estimate's noise is fresh in every process, hence the level 1e-7."""
    m = on(SPACE, "mvc", epsilon=epsilon)
    for row in (0, 21):
        d = m.channel(row).at(epsilon)
        expected = reference(SPACE, row, epsilon, 6000, row)
        assert same(np.rint(d.probs * 1000), expected) > 1e-7
        low, high = d.keep_interval(1 - 1e-7)
        assert low - 0.03 < expected[row] / 6000 < high + 0.03


def test_the_noise_is_spherical_with_a_gamma_length():
    """2,000 vectors: length against Gamma(d, 1), angles against uniform, at level 1e-5."""
    m = on(SPACE, "mvc")
    stream = NoiseStream(4)
    z = np.stack([m.noise(stream.at(i)) for i in range(2000)])
    length = np.linalg.norm(z, axis=1)
    assert stats.kstest(length, stats.gamma(6).cdf).pvalue > 1e-5
    # One coordinate of a uniform direction in d dimensions: its square is Beta(1/2, (d−1)/2).
    for axis in range(6):
        squared = np.square(z[:, axis] / length)
        assert stats.kstest(squared, stats.beta(0.5, 2.5).cdf).pvalue > 1e-5
    assert np.abs(np.corrcoef(np.sign(z), rowvar=False) - np.eye(6)).max() < 5 / np.sqrt(2000)
    assert abs(np.corrcoef(length, z[:, 0])[0, 1]) < 5 / np.sqrt(2000)
    # The same for the noise behind estimates.
    block = m.block.noise
    assert len(block) == 1000 and stats.kstest(np.linalg.norm(block, axis=1), stats.gamma(6).cdf).pvalue > 1e-7
    np.testing.assert_allclose(m.block.products, block @ SPACE.vectors.T, rtol=1e-4, atol=1e-4)


def test_the_noise_has_the_density_of_the_promise_in_many_dimensions():
    m = on(random_space(5, 300), "mvc")
    length = [np.linalg.norm(m.noise(NoiseStream(9).at(i))) for i in range(800)]
    assert stats.kstest(length, stats.gamma(300).cdf).pvalue > 1e-5


@pytest.mark.parametrize("k", [1, 2])
def test_nearest_words_are_exact(k):
    rng = np.random.default_rng(5)
    near = np.float32(rng.normal(size=(60, 8)))
    vectors = np.concatenate([near, near[:20], near[:20] * np.float32(1 + 2e-7), near[:5] + np.float32(30)])
    space = WordSpace("close", "", words(len(vectors)), vectors)
    exact = space.vectors.astype(np.float64)
    points = np.concatenate([exact[::3], rng.normal(size=(300, 8)), rng.normal(size=(50, 8)) * 500])
    rows, distances = nearest_words(space, points, k)
    for point, row, far in zip(points, rows, distances, strict=True):
        d = np.linalg.norm(exact - point, axis=1)
        assert row.tolist() == np.argsort(d, kind="stable")[:k].tolist()
        assert far == pytest.approx(d[row])


def test_words_do_not_hang_on_how_many_are_drawn_together():
    """One draw at a time, and in blocks: the same noise gives the same word."""
    m = on(SPACE, "mvc", epsilon=4.0)
    n = NOISE_BLOCK + 40
    text = " ".join(SPACE.words[i % 40] for i in range(n))
    r = m.rewrite(text, seed=3)
    for i in (0, 1, NOISE_BLOCK - 1, NOISE_BLOCK, n - 1):
        channel, stream = r.locked(i)
        assert channel.candidates[channel.draw(4.0, stream)] == r.steps[i].replacement
        noisy = SPACE.vectors[i % 40].astype(float) + m.noise(stream) / 4.0
        nearest = np.argmin(np.linalg.norm(SPACE.vectors.astype(float) - noisy, axis=1))
        assert SPACE.words[nearest] == r.steps[i].replacement


def test_the_promise_is_the_distance_of_the_vectors():
    m = on(SPACE, "mvc", epsilon=4.0)
    x = SPACE.vectors.astype(np.float64)
    assert m.distances(SPACE.words[:9]) == pytest.approx(np.linalg.norm(x[:9, None] - x[None, :9], axis=2))
    g = m.guarantee(SPACE.words[0])
    assert g.notion == "metric" and (g.metric.kind, dict(g.metric.parameters)) == ("euclidean", {"space": "small"})
    assert g.largest == pytest.approx(max(np.linalg.norm(a - b) for a in x for b in x))


@pytest.mark.slow
def test_on_the_bundled_space_it_is_the_plain_loop():
    space = dpt.word_space("minilm")
    m = dpt.get_mechanism("mvc", epsilon=90.0, recase="none")
    row = space.index("doctor")
    found = rewritten(m, "doctor", 150, 5)
    expected = reference(space, row, 90.0, 100, 6)
    top = np.zeros(2), np.zeros(2)
    for w, c in zip(*np.unique(found, return_counts=True), strict=True):
        top[0][int(w != "doctor")] += c
    top[1][:] = expected[row], 100 - expected[row]
    assert stats.fisher_exact(np.stack(top)).pvalue > 1e-5
    assert 0.05 < top[0][0] / 150 < 0.95


@pytest.mark.parametrize("near", [2, 5, 512])
@pytest.mark.parametrize("name", ["mvc", "vickrey", "mahalanobis"])
def test_the_curve_leaves_out_no_word_that_wins(name, near, monkeypatch):
    """The short way over many ε gives the word that the plain search over all words gives. near: how many words the
    others have to beat first."""
    monkeypatch.setattr(mvc, "_NEAREST", near)
    monkeypatch.setattr(mvc, "_blocks", OrderedDict())  # none of other tests
    channel = on(SPACE, name, epsilon=5.0).channel(3)
    epsilons = np.geomspace(0.5, 60.0, 9)
    plain = np.stack([channel._winners(e, channel.mechanism.block, CURVE_DRAWS) for e in epsilons], axis=1)
    assert (channel._curve(epsilons) == plain).all()
    assert len(np.unique(plain)) > 5


def test_how_far_a_noisy_point_lies_from_a_word_is_its_length():
    block = mvc._noise_block(SPACE, None)
    x, y = SPACE.vectors[3].astype(np.float64), SPACE.vectors[8].astype(np.float64)
    for epsilon in (0.7, 4.0):
        part = slice(5, 25)
        lines = epsilon * (x @ y - y @ y / 2) + block.noise[part] @ y
        plain = [np.linalg.norm(x + z / epsilon - y) for z in block.noise[part]]
        assert block.distances(x, epsilon, part, lines) == pytest.approx(plain, rel=1e-9)
    assert block.distances(x, 4.0, slice(0, 2), np.full(2, 1e9)).tolist() == [0.0, 0.0], "rounding gives no root of −1"


@pytest.mark.parametrize("row", [0, 7, 39])
def test_how_often_a_word_stays_and_how_many_come_out_is_that_of_a_plain_loop(row):
    """N_w and S_w of the draws that a picture takes, at an ε at which the word itself is among few or none of them."""
    m = on(SPACE, "mvc", epsilon=4.0)
    x = SPACE.vectors.astype(np.float64)
    for epsilon in (0.05, 4.0, 30.0):
        noise = m.block.noise[:CURVE_DRAWS]
        won = [int(np.argmin(np.linalg.norm(x - (x[row] + z / epsilon), axis=1))) for z in noise]
        left = [CURVE_DRAWS - won.count(w) for w in set(won)]
        different = sum(1 - math.comb(n, 100) / math.comb(CURVE_DRAWS, 100) for n in left)
        keep, several = m.channel(row).deniability(epsilon)
        # float32 may decide otherwise between two words that are equally far.
        assert keep == pytest.approx(won.count(row) / CURVE_DRAWS, abs=1.01 / CURVE_DRAWS)
        assert several == pytest.approx(different, abs=1.0)


def test_the_largest_distance_of_a_large_space_of_ones_own_is_bounded_through_the_middle():
    angles = np.linspace(0, 2 * np.pi, 5001)
    circle = 1.5 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    circle[0] = 3.0, 0.0
    for n, bound in ((5001, 2 * 3.0), (2, float(np.hypot(*(circle[0] - circle[1])))), (1, 0.0)):
        space = WordSpace("one's own", "", tuple(f"w{i}" for i in range(n)), circle[:n].astype(np.float32))
        assert largest_distance(space) == pytest.approx(bound, rel=2e-3)


@pytest.mark.parametrize("name", ["mvc", "vickrey"])
def test_far_words_that_win_are_among_those_that_are_compared(name, monkeypatch):
    """At an ε above 1 and over distances above 1, with few words that are looked at first."""
    monkeypatch.setattr(mvc, "_NEAREST", 5)
    space = random_space(200, 3, seed=8, scale=1.5)
    m = on(space, name, epsilon=2.0)
    channel, block = m.channel(11), m.block
    for epsilon in (0.3, 1.2, 2.5):
        plain = channel._winners(epsilon, block, CURVE_DRAWS)
        found = channel._curve(np.array([epsilon, 4.0]))[:, 0]
        # float32 may decide otherwise between two words that are equally far.
        assert (plain != found).sum() <= 1 and len(set(plain.tolist())) > (20 if epsilon < 1 else 5)


def test_the_noise_of_the_last_two_spaces_is_kept():
    a, b, c = (random_space(5, 3, seed=k) for k in range(3))
    first, second = mvc._noise_block(a, None), mvc._noise_block(b, None)
    assert mvc._noise_block(a, None) is first and mvc._noise_block(b, None) is second
    third = mvc._noise_block(c, None)
    assert mvc._noise_block(b, None) is second and mvc._noise_block(c, None) is third
    assert mvc._noise_block(a, None) is not first and not np.array_equal(mvc._noise_block(a, None).noise, first.noise)
