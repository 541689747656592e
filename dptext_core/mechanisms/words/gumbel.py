"""The truncated Gumbel mechanism (Xu, Aggarwal, Feyisetan, Teissier: "Density-Aware …", 2021; Algorithm 1).

k is sampled from a Poisson distribution with mean ln|V|, truncated to 1 … |V|. The k nearest words (the word itself is
the first) each get their distance plus Gumbel(0, b) noise truncated to ±Δmax, and the smallest sum is released.
b = 2Δmax / min(W(2aΔmax), ln(aΔmin)), a = (ε − 2(1 + ln|V|)/Δmin)/3, W the Lambert function.

It is implemented as published, without a guarantee: P(y|x) ≤ P(k ≥ rank of y among the neighbours of x), which no ε·d
bounds. b is positive only from about ε = (5 + 2·ln|V|)/Δmin on. Below that, the real part of W is taken, as in the
released code, which gives noise that grows with ε. Where b is then negative (the released code stops), its noise is
mirrored.

Deviations: Δmin and Δmax are the exact smallest and largest distance of two words; the released code takes them from
one random word. Unknown words become random words unless ``oov`` says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import InputError
from ...privacy.distribution import (
    CURVE_DRAWS,
    Channel,
    TokenDistribution,
    expected_distinct_of,
    search_flips,
    without_each,
)
from ...privacy.kinds import ReasonKind
from ...privacy.sampling import NoiseStream
from ...privacy.terms import Reason
from ...support.checks import without_path
from ..config import epsilon_option
from .mvc import DRAWS
from .word_options import SpaceConfig
from .word_space import SpaceMechanism

_ESTIMATE = NoiseStream()


@dataclass(frozen=True)
class GumbelConfig(SpaceConfig):
    """Options of the truncated Gumbel mechanism."""

    epsilon: float | tuple[float, ...] = epsilon_option(150.0, 20.0, 600.0, "nominal, per word")


@dataclass(frozen=True, eq=False)
class GumbelChannel(Channel):
    """The smallest noisy distance among the k nearest words. near, distances: rows and distances, nearest first."""

    mechanism: TruncatedGumbel
    row: int
    near: np.ndarray = field(repr=False)
    distances: np.ndarray = field(repr=False)
    draws: int | None = DRAWS

    @property
    def candidates(self) -> Sequence[str]:
        return self.mechanism.vocabulary.words

    @property
    def source(self) -> str:
        return self.mechanism.vocabulary.words[self.row]

    @property
    def source_index(self) -> np.ndarray:
        return np.array([self.row])

    def winners(self, epsilon: float | np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Return the rows released for uniforms (n, 1 + neighbours): the first one determines k, the others the noise.
        For one row of uniforms, at each of several ε (n,)."""
        k = 1 + np.searchsorted(self.mechanism.poisson, uniforms[:, 0])
        noise = self.mechanism.noise(epsilon, uniforms[:, 1:])
        sums = np.where(np.arange(noise.shape[1]) < k[:, None], self.distances + noise, np.inf)
        return self.near[np.argmin(sums, axis=1)]

    def _estimated(self, epsilon: float, n: int) -> np.ndarray:
        return self.winners(epsilon, _ESTIMATE.uniforms(n * (1 + len(self.near))).reshape(n, -1))

    def _counts(self, epsilon: float, n: int) -> np.ndarray:
        return np.bincount(self._estimated(epsilon, n), minlength=len(self.candidates))

    def at(self, epsilon: float) -> TokenDistribution:
        with np.errstate(divide="ignore"):
            log_p = np.log(self._counts(epsilon, DRAWS) / DRAWS)

        def sample(n: int, stream: NoiseStream) -> np.ndarray:
            return np.array([self.draw(epsilon, stream.at("fresh", k)) for k in range(n)], np.int64)

        return TokenDistribution(self.candidates, log_p, self.source, float(epsilon), DRAWS, self.source_index, sample)

    def draw(self, epsilon: float, stream: NoiseStream) -> int:
        return int(self.winners(epsilon, stream.uniforms(1 + len(self.near))[None])[0])

    def epsilon_breakpoints(self, stream: NoiseStream, low: float, high: float) -> list[tuple[float, int]]:
        uniforms = stream.uniforms(1 + len(self.near))[None]
        # Noise is not linear in ε, so a word may win on a short interval between two of another: use a fine grid.
        return search_flips(lambda some: self.winners(some, uniforms), low, high, 2000)

    def shown(self, n: int, low: float, high: float) -> np.ndarray:
        return self.near[:n]

    def deniability(self, epsilon: float) -> tuple[float, float]:
        counts = self._counts(epsilon, CURVE_DRAWS)
        return float(counts[self.row] / CURVE_DRAWS), expected_distinct_of(counts[counts > 0], 100)

    def deniability_without(self, epsilon: float, parts: int) -> np.ndarray:
        return without_each(self._estimated(epsilon, CURVE_DRAWS), self.row, parts)

    def log_p(self, epsilons: np.ndarray, which: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(np.stack([self._counts(e, CURVE_DRAWS)[which] / CURVE_DRAWS for e in epsilons], axis=1))


class TruncatedGumbel(SpaceMechanism):
    """Truncated Gumbel: noise on the distances of a random number of neighbours. A baseline without a guarantee."""

    name = "gumbel"
    references = ("xu2021gumbel",)
    title = "Truncated Gumbel"
    notion = "none"
    summary = (
        "Noise is added to the distances of a few nearest words. This published baseline has no valid guarantee."
    )
    steps = (
        "The few words nearest to yours are selected",
        "Noise of size 1/ε = {noise} is added to their distances",
        "The nearest one after noise is released",
    )
    config_cls = GumbelConfig

    @cached_property
    def poisson(self) -> np.ndarray:
        """Return P(k ≤ j) for j = 1, 2, …, float64: Poisson with mean ln|V|, truncated to 1 … |V|."""
        from scipy.stats import poisson

        n = len(self.vocabulary.words)
        # So far above the mean, k has a probability below 1e-16: all larger values are one case.
        most = min(n, int(np.log(n) + 12 * np.sqrt(np.log(n) + 1) + 40))
        mass = poisson.pmf(np.arange(1, most + 1), np.log(max(n, 2)))
        return np.cumsum(mass / mass.sum())[:-1]

    @cached_property
    def delta(self) -> tuple[float, float]:
        """Return Δmin and Δmax. Raises InputError if there is no scale for them."""
        small, large = self.vocabulary.delta
        if small == 0:
            raise InputError(
                f"Two words of the word space {without_path(self.vocabulary.name)} have the same vector, and the "
                f"noise of {self.title} is scaled by the smallest distance between words. Remove one of them, or "
                "choose another space."
            )
        return small, large

    def scale(self, epsilon: float | np.ndarray) -> np.ndarray:
        """Return b, the scale of the noise at ε (m,). Below the ε from which the paper defines it, b may be
        negative."""
        from scipy.special import lambertw

        small, large = self.delta
        a = (np.atleast_1d(epsilon) - 2 * (1 + np.log(len(self.vocabulary.words))) / small) / 3
        branch = lambertw(2 * a * large).real
        capped = np.minimum(branch, np.log(np.where(a > 0, a, 1.0) * small))
        below = np.where(a * small <= 0, branch, capped)
        return 2 * large / np.where(np.abs(below) > 1e-12, below, 1e-12)

    def noise(self, epsilon: float | np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Return Gumbel(0, b) noise truncated to ±Δmax, by the inverse of its distribution function."""
        b, large = self.scale(epsilon)[:, None], self.delta[1]
        with np.errstate(over="ignore", divide="ignore"):
            low, high = (np.exp(-np.exp(-x / b)) for x in (-large, large))
            u = low + uniforms * (high - low)
            return np.clip(-b * np.log(-np.log(u)), -large, large)

    def channels(self, rows: np.ndarray) -> list[Channel]:
        k = min(len(self.poisson) + 1, len(self.vocabulary.words))
        near, distances = self.vocabulary.nearest(rows, k)
        return [
            GumbelChannel(self, r, n, d.astype(np.float64))
            for r, n, d in zip(rows.tolist(), near, distances, strict=True)
        ]

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        small, _ = self.delta
        undefined = bool(epsilon * small <= 5 + 2 * np.log(len(self.vocabulary.words)))
        return {"notion": "none", "reason": Reason(ReasonKind.FEW_OUTPUTS, scale_undefined=undefined)}

    closed_form = False
