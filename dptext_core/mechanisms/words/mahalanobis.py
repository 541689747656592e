"""The regularised Mahalanobis mechanism (Xu, Aggarwal, Feyisetan, Teissier: PrivateNLP 2020; Algorithm 1).

Like MVC, but the spherical noise is multiplied by (λΣ + (1−λ)I)^½, where Σ is the covariance of the vectors scaled to
mean variance 1. Sparse directions get more noise. The guarantee is ε times the regularised Mahalanobis distance, which
is at most the Euclidean one divided by √(1−λ).

Deviations: one released version renormalises the direction after the multiplication, which undoes part of it. Here it
is as in the paper's proof. Unknown words become random words unless ``oov`` says otherwise. The root is computed once
per space.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...privacy.kinds import MetricKind
from ...privacy.terms import Metric
from ...support.cache import weak_cache
from ...support.checks import without_path
from ...words import WordSpace
from ..config import option
from .mvc import MVC, MVCConfig


@dataclass(frozen=True)
class MahalanobisConfig(MVCConfig):
    """Options of the Mahalanobis mechanism."""

    lam: float = option(
        0.2,
        label="λ, weight of the covariance",
        min=0.0,
        max=0.99,
        help="At 0 the noise is spherical (MVC); towards 1 it follows the covariance of the vectors.",
        phrase="λ = {}",
    )


class Mahalanobis(MVC):
    """Mahalanobis: noise in the shape of the space, then the nearest word."""

    name = "mahalanobis"
    references = ("xu2020mahalanobis",)
    title = "Mahalanobis"
    summary = "Like MVC, but the noise follows the covariance of the vectors."
    config_cls = MahalanobisConfig

    @cached_property
    def _root(self) -> np.ndarray | None:
        return regularised_root(self.vocabulary, self.config.lam)

    def _between(self, rows: np.ndarray) -> np.ndarray:
        if self._root is None:
            return super()._between(rows)
        from scipy.spatial.distance import cdist

        # ‖(x − x')·M^(−½)‖: the Euclidean distance after the noise is made spherical again.
        x = np.linalg.solve(self._root, self.vocabulary.vectors[rows].astype(np.float64).T).T
        return cdist(x, x)

    def _metric(self) -> Metric:
        if self._root is None:
            return super()._metric()
        return Metric(MetricKind.MAHALANOBIS, lam=self.config.lam, space=without_path(self.vocabulary.name))

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        guarantee = super().guarantee_fields(epsilon)
        if self._root is None:
            return guarantee
        stretch = 1 / np.sqrt(1 - self.config.lam)
        return guarantee | {"near": guarantee["near"] * stretch, "largest": guarantee["largest"] * stretch}


@weak_cache(4)
def regularised_root(space: WordSpace, lam: float) -> np.ndarray:
    """Return (λΣ + (1−λ)I)^½, float64 (d, d), symmetric; Σ is scaled to mean variance 1."""
    if len(space) < 2:
        return np.eye(space.vectors.shape[1])
    covariance = np.atleast_2d(np.cov(space.vectors, rowvar=False, dtype=np.float64))
    covariance /= max(np.trace(covariance) / len(covariance), np.finfo(float).tiny)
    values, axes = np.linalg.eigh(lam * covariance + (1 - lam) * np.eye(len(covariance)))
    return (axes * np.sqrt(values)) @ axes.T
