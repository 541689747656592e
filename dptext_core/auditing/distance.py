"""Compute the distance that a metric guarantee names from the public vectors or lists, not from the mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DPTextError
from ..mechanisms.base import Mechanism
from ..mechanisms.capabilities import by_word
from ..privacy.guarantee import Guarantee
from ..privacy.kinds import MetricKind

#: Vectors are stored in float32; distances are computed in float64.
TOLERANCE = 1e-5


def named_distances(m: Mechanism, guarantee: Guarantee, words: Sequence[str]) -> np.ndarray | None:
    """Return distances of words (n,) in the guarantee's metric, float64 (n, n); None if its kind is unknown here. NaN
    for words outside the vocabulary.
    """
    metric, stated = guarantee.metric, guarantee.metric.parameters
    if metric.kind == MetricKind.LIST_PLACES:
        by_length = stated.get("shortest") is not None  # each list has a separate γ
        distances = _places(by_word(m).vocabulary.lists, words, guarantee.largest if by_length else None)
    elif metric.kind == MetricKind.EUCLIDEAN:
        distances = _euclidean(_space(m, stated["space"]), words)
    elif metric.kind == MetricKind.MAHALANOBIS:
        distances = _euclidean(_space(m, stated["space"]), words, float(stated["lam"]))
    else:
        return None
    if metric.is_limited and guarantee.largest is not None:
        distances = np.minimum(distances, guarantee.largest)
    return distances


def _space(m: Mechanism, name: str) -> Any:
    """Return the space with this name; if it is unknown here (created in memory), the mechanism's vocabulary."""
    from ..words import word_space

    try:
        return word_space(name, language=m.language)
    except DPTextError:
        return by_word(m).vocabulary


def _euclidean(space: Any, words: Sequence[str], lam: float | None = None) -> np.ndarray:
    from scipy.spatial.distance import cdist

    at = {w.lower(): i for i, w in enumerate(space.words)}
    rows = np.array([at.get(w.lower(), -1) for w in words])
    x = space.vectors[np.maximum(rows, 0)].astype(np.float64)
    if lam is not None:
        covariance = np.atleast_2d(np.cov(space.vectors.astype(np.float64), rowvar=False))
        covariance *= len(covariance) / np.trace(covariance)
        matrix = lam * covariance + (1 - lam) * np.eye(len(covariance))
        x = np.linalg.solve(np.linalg.cholesky(matrix), x.T).T
    distances = cdist(x, x)
    distances[rows < 0] = np.nan
    distances[:, rows < 0] = np.nan
    return distances


def _places(lists: Sequence[Any], words: Sequence[str], gamma: float | None = None) -> np.ndarray:
    """Return distances in positions on lists. gamma: that of the longest list; on each list, γ is proportional to
    ln(999·(its length − 1)), as in TEM's proof."""
    out = np.zeros((len(words), len(words)))
    longest = max(len(one.words) for one in lists)
    for one in lists:
        at = {w.lower(): float(i) for i, w in enumerate(one.words)}
        places = np.array([at.get(w.lower(), np.nan) for w in words])
        apart = np.abs(places[:, None] - places[None])
        if gamma is not None and len(one.words) > 1:
            apart = np.minimum(apart, gamma * np.log(999 * (len(one.words) - 1)) / np.log(999 * (longest - 1)))
        out = np.maximum(out, apart)
    return out
