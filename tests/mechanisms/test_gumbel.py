"""Truncated Gumbel against a plain loop of Algorithm 1, its scale, and that it promises nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats
from small_spaces import counts_of, on, random_space, rewritten, same, words

import dptext_core as dpt
from dptext_core import WordSpace
from dptext_core.mechanisms.words.gumbel import TruncatedGumbel

SPACE = random_space(40, 6, seed=5)
X = SPACE.vectors.astype(np.float64)
D = np.linalg.norm(X[:, None] - X[None], axis=2)
SMALL, LARGE = D[D > 0].min(), D.max()
#: From here on the paper defines its scale.
DEFINED = (5 + 2 * np.log(40)) / SMALL


def lambert(x: float) -> float:
    """W(x) for x > 0 by Newton's steps: w·e^w = x."""
    w = np.log1p(x)
    for _ in range(60):
        w -= (w * np.exp(w) - x) / (np.exp(w) * (w + 1))
    return float(w)


def scale(epsilon: float) -> float:
    a = (epsilon - 2 * (1 + np.log(40)) / SMALL) / 3
    return 2 * LARGE / min(lambert(2 * a * LARGE), np.log(a * SMALL))


def reference(row: int, b: float, n: int, seed: int) -> np.ndarray:
    """Algorithm 1: k by rejection, noise by rejection, the smallest noisy distance of the k nearest words."""
    rng = np.random.default_rng(seed)
    order = np.argsort(D[row], kind="stable")
    k = rng.poisson(np.log(40), n)
    while (wrong := (k < 1) | (k > 40)).any():
        k[wrong] = rng.poisson(np.log(40), wrong.sum())
    most = k.max()
    noise = rng.gumbel(0, abs(b), (n, most))
    while (wrong := np.abs(noise) > LARGE).any():
        noise[wrong] = rng.gumbel(0, abs(b), wrong.sum())
    noisy = np.where(np.arange(most) < k[:, None], D[row][order[:most]] + np.sign(b) * noise, np.inf)
    return np.bincount(order[noisy.argmin(axis=1)], minlength=40)


@pytest.mark.slow
@pytest.mark.parametrize("times", [1.02, 4.0])
def test_released_words_are_those_of_the_plain_loop(times):
    """2,000 draws against 2,500 at level 1e-5."""
    epsilon = float(DEFINED * times)
    m = on(SPACE, "gumbel", epsilon=epsilon)
    counts = counts_of(rewritten(m, SPACE.words[5], 2000, 1), SPACE.words)
    expected = reference(5, scale(epsilon), 2500, 2)
    assert same(counts, expected) > 1e-5
    assert same(np.rint(m.channel(5).at(epsilon).probs * 1000), expected) > 1e-7
    if times > 1.1:
        assert same(counts, reference(5, scale(epsilon) / 8, 2500, 2)) < 1e-5, "the test has no power"


@pytest.mark.parametrize("times", [0.1, 0.8])
def test_below_the_defined_range_the_noise_is_as_stated(times):
    """The real part of W, mirrored where it is negative."""
    m = on(SPACE, "gumbel", epsilon=float(DEFINED * times))
    (b,) = m.scale(m.config.epsilon)
    assert np.isfinite(b)
    counts = counts_of(rewritten(m, SPACE.words[5], 1500, 1), SPACE.words)
    assert same(counts, reference(5, b, 3000, 2)) > 1e-5


def test_the_scale():
    m = on(SPACE, "gumbel")
    assert m.vocabulary.delta == pytest.approx((SMALL, LARGE))
    for times in (1.001, 1.2, 3.0, 30.0):
        assert m.scale(DEFINED * times) == pytest.approx(scale(DEFINED * times))
        assert m.scale(DEFINED * times) > 0
    assert m.scale(DEFINED * 0.999) < 0
    shrinking = [m.scale(DEFINED * t) for t in (1.1, 2.0, 10.0)]
    assert shrinking == sorted(shrinking, reverse=True)


def test_the_noise_is_a_truncated_gumbel_variable():
    m = on(SPACE, "gumbel")
    for times in (1.2, 5.0):
        epsilon, b = DEFINED * times, scale(DEFINED * times)
        u = np.random.default_rng(3).random(20_000)
        noise = m.noise(epsilon, u)[0]
        base = stats.gumbel_r(0, b)
        low, high = base.cdf([-LARGE, LARGE])
        assert (
            stats.kstest(noise, lambda x, low=low, high=high, base=base: (base.cdf(x) - low) / (high - low)).pvalue
            > 1e-4
        )
        assert np.abs(noise).max() <= LARGE
        extremes = m.noise(epsilon, np.array([5e-324, 1e-300, 1 - 2**-53]))[0]
        assert np.isfinite(extremes).all() and (np.diff(extremes) >= 0).all()


def test_how_many_words_take_part():
    m = on(SPACE, "gumbel")
    k = np.arange(1, 41)
    expected = np.cumsum(stats.poisson.pmf(k, np.log(40)))
    expected /= expected[-1]
    assert m.poisson == pytest.approx(expected[: len(m.poisson)]) and len(m.poisson) <= 39
    assert (np.diff(m.poisson) >= 0).all() and m.poisson[-1] <= 1


def test_two_words_by_integration():
    """P(keep) = P(k = 1) + P(k = 2)·P(g₁ ≤ d + g₂) with truncated Gumbel noise."""
    space = WordSpace("two", "", words(2), np.array([[1.0, 0.0], [0.0, 1.0]], np.float32))
    m = on(space, "gumbel", epsilon=9.0)
    d = float(np.sqrt(2))
    a = (9.0 - 2 * (1 + np.log(2)) / d) / 3
    base = stats.gumbel_r(0, 2 * d / min(lambert(2 * a * d), np.log(a * d)))
    low, high = base.cdf([-d, d])
    below = lambda x: np.clip((base.cdf(np.minimum(x, d)) - low) / (high - low), 0, 1)  # noqa: E731
    win = integrate.quad(lambda g: base.pdf(g) / (high - low) * below(d + g), -d, d)[0]
    p1, p2 = np.log(2), np.log(2) ** 2 / 2
    keep = (p1 + p2 * win) / (p1 + p2)
    out = rewritten(m, space.words[0], 3_000, 3)
    assert out.count(space.words[0]) / 3_000 == pytest.approx(keep, abs=5 * np.sqrt(keep * (1 - keep) / 3_000))


def test_it_promises_nothing_and_says_why():
    for times in (0.05, 0.3, 0.6, 0.75, 0.9, 0.99, 1.01, 2.0):
        epsilon = float(DEFINED * times)
        m = on(SPACE, "gumbel", epsilon=epsilon)
        g = m.guarantee(SPACE.words[0])
        assert g.notion == "none" and TruncatedGumbel.notion == "none"
        assert np.isnan(m.distances(SPACE.words[:4])).all()
        assert g.reason.kind == "few-outputs", "a word becomes one of a few, whatever ε is"
        assert g.reason.parameters["scale_undefined"] == (times < 1), f"ε at {times} of where the scale is defined"


def test_some_outputs_are_impossible_however_large_the_noise():
    """Why no ε·d holds: with k words taking part the word ranked beyond k is never released."""
    m = on(SPACE, "gumbel", epsilon=float(DEFINED * 1.01))
    order = np.argsort(D[5], kind="stable")
    ranks = np.argsort(order)
    seen = counts_of(rewritten(m, SPACE.words[5], 1500, 4), SPACE.words)
    for rank in (8, 12):
        assert seen[ranks >= rank].sum() / 1500 <= stats.poisson.sf(rank, np.log(40)) * 1.2 + 0.01


def test_on_the_bundled_space_the_scale_is_defined_from_about_125():
    m = dpt.get_mechanism("gumbel")
    n, small = len(m.vocabulary), m.vocabulary.delta[0]
    limit = (5 + 2 * np.log(n)) / small
    assert 110 < limit < 130
    assert m.scale(limit * 1.001) > 0 > m.scale(limit * 0.999)


def test_two_equal_vectors_have_no_scale():
    vectors = np.array([[1, 0], [0, 1], [1, 0]], np.float32)
    m = on(WordSpace("twins", "", words(3), vectors), "gumbel")
    for call in (lambda: m.rewrite(words(3)[0]), lambda: m.guarantee("x"), lambda: m.distribution(words(3)[1], 0)):
        with pytest.raises(dpt.InputError, match=r"twins have the same vector.*Remove one of them"):
            call()
