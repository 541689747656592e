"""Mahalanobis noise against a second way to make it, its root, and its distance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist
from small_spaces import counts_of, on, random_space, rewritten, same, words

import dptext_core as dpt
from dptext_core import NoiseStream, WordSpace
from dptext_core.mechanisms.words.mahalanobis import regularised_root


def stretched(n: int = 60, d: int = 5) -> WordSpace:
    rng = np.random.default_rng(8)
    vectors = rng.normal(size=(n, d)) * np.array([3.0, 1.0, 0.5, 0.2, 0.1])[:d] @ rng.normal(size=(d, d)) * 0.5
    return WordSpace("stretched", "", words(n), vectors.astype(np.float32))


SPACE = stretched()
X = SPACE.vectors.astype(np.float64)


def matrix(lam: float) -> np.ndarray:
    """λΣ + (1−λ)I, Σ scaled to mean variance 1, by loops."""
    centred = X - X.mean(axis=0)
    sigma = sum(np.outer(x, x) for x in centred) / (len(X) - 1)
    sigma *= len(sigma) / np.trace(sigma)
    return lam * sigma + (1 - lam) * np.eye(len(sigma))


def reference(row: int, epsilon: float, lam: float, n: int, seed: int) -> np.ndarray:
    """Algorithm 1 with a Cholesky factor: for spherical noise any root of the matrix gives the same channel."""
    rng = np.random.default_rng(seed)
    factor = np.linalg.cholesky(matrix(lam))
    directions, lengths = rng.normal(size=(n, 5)), rng.gamma(5, 1 / epsilon, n)
    noisy = X[row] + directions * (lengths / np.linalg.norm(directions, axis=1))[:, None] @ factor.T
    return np.bincount(cdist(noisy, X).argmin(axis=1), minlength=len(X))


@pytest.mark.parametrize("lam", [0.0, 0.2, 0.7, 0.99])
def test_the_root(lam):
    root = regularised_root(SPACE, lam)
    assert root == pytest.approx(root.T) and root.dtype == np.float64
    assert root @ root == pytest.approx(matrix(lam), rel=1e-9, abs=1e-9)
    assert np.linalg.eigvalsh(root).min() >= np.sqrt(1 - lam) * 0.999
    assert regularised_root(SPACE, lam) is root, "computed once"


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "lam"), [(2.0, 0.2), (8.0, 0.9)])
def test_released_words_are_those_of_the_plain_loop(epsilon, lam):
    """2,500 draws against 5,000 at level 1e-5; spherical noise in the place of λ = 0.9 is found."""
    m = on(SPACE, "mahalanobis", epsilon=epsilon, lam=lam)
    counts = counts_of(rewritten(m, SPACE.words[5], 2500, 1), SPACE.words)
    expected = reference(5, epsilon, lam, 5000, 2)
    assert same(counts, expected) > 1e-5
    if lam == 0.9:
        assert same(counts, reference(5, epsilon, 0.0, 5000, 2)) < 1e-5
    d = m.channel(5).at(epsilon)
    assert same(np.rint(d.probs * 1000), expected) > 1e-7


def test_the_noise_has_its_covariance_and_its_length_in_the_metric():
    """3,000 vectors: E[z zᵀ] = (d+1)·M, each entry within six deviations; ‖M^(−½)z‖ is Gamma(d)."""
    lam = 0.8
    m = on(SPACE, "mahalanobis", lam=lam)
    z = np.stack([m.noise(NoiseStream(3).at(i)) for i in range(3000)])
    expected = 6 * matrix(lam)
    deviation = np.std(np.einsum("ni,nj->nij", z, z), axis=0) / np.sqrt(3000)
    assert (np.abs(z.T @ z / 3000 - expected) < 6 * deviation).all()
    length = np.sqrt(np.einsum("ni,ij,nj->n", z, np.linalg.inv(matrix(lam)), z))
    assert stats.kstest(length, stats.gamma(5).cdf).pvalue > 1e-5


def test_lambda_0_is_mvc():
    plain, shaped = on(SPACE, "mvc", epsilon=5.0), on(SPACE, "mahalanobis", epsilon=5.0, lam=0.0)
    text = " ".join(SPACE.words)
    assert shaped.rewrite(text, seed=4).text == plain.rewrite(text, seed=4).text
    assert shaped.noise(NoiseStream(1)) == pytest.approx(plain.noise(NoiseStream(1)))
    assert shaped.distances(SPACE.words) == pytest.approx(plain.distances(SPACE.words))


@pytest.mark.parametrize("lam", [0.2, 0.9])
def test_the_distance_of_the_promise(lam):
    m = on(SPACE, "mahalanobis", epsilon=2.0, lam=lam)
    inverse = np.linalg.inv(matrix(lam))
    expected = np.array([[np.sqrt((a - b) @ inverse @ (a - b)) for b in X] for a in X])
    found, plain = m.distances(SPACE.words), on(SPACE, "mvc").distances(SPACE.words)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert (found <= plain / np.sqrt(1 - lam) + 1e-9).all()
    assert np.isnan(m.distances(["nosuchword", SPACE.words[1]])[0]).all()
    g = m.guarantee(SPACE.words[0])
    assert g.largest >= found.max() - 1e-6 and g.metric.parameters.get("lam", 0) == lam
    assert g.largest == pytest.approx(plain.max() / np.sqrt(1 - lam), rel=1e-6)
    nearest = np.median(np.sort(plain, axis=1)[:, 1])
    assert g.near == pytest.approx(nearest / np.sqrt(1 - lam), rel=1e-6)


def test_the_density_ratio_of_the_noise_is_the_promise():
    """ln of the density ratio of the noisy vector under two words, 2,000 times: ε·d bounds it, nearly met."""
    lam, epsilon = 0.6, 3.0
    m = on(SPACE, "mahalanobis", epsilon=epsilon, lam=lam)
    inverse, d = np.linalg.inv(matrix(lam)), m.distances(SPACE.words[:2])[0, 1]
    points = np.stack([X[0] + m.noise(NoiseStream(6).at(i)) / epsilon for i in range(2000)])
    a, b = (np.sqrt(np.einsum("ni,ij,nj->n", points - x, inverse, points - x)) for x in X[:2])
    loss = epsilon * (b - a)
    assert np.abs(loss).max() <= epsilon * d + 1e-9 and loss.max() > 0.9 * epsilon * d


def test_a_flat_space_has_noise_in_all_directions():
    """Vectors in a plane: Σ has no spread across it, (1−λ)I still gives noise there."""
    vectors = np.zeros((20, 4))
    vectors[:, :2] = np.random.default_rng(1).normal(size=(20, 2))
    space = WordSpace("flat", "", words(20), vectors.astype(np.float32))
    root = regularised_root(space, 0.99)
    assert np.linalg.eigvalsh(root).min() == pytest.approx(0.1)
    m = on(space, "mahalanobis", epsilon=1.0, lam=0.99)
    assert (np.std([m.noise(NoiseStream(2).at(i)) for i in range(200)], axis=0) > 0.05).all()


def test_on_the_bundled_space():
    space = dpt.word_space("minilm")
    root = regularised_root(space, 0.2)
    assert np.trace(root @ root) == pytest.approx(space.vectors.shape[1])
    assert random_space().vectors.shape == (40, 6)
