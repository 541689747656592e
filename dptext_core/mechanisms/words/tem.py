"""TEM, the truncated exponential mechanism (Carvalho, Vasiloudis, Feyisetan, Wang: SDM 2023; Algorithm 1).

Words within γ of x score −d. One more outcome ⊥ represents all others with the score −γ + 2·ln(number of others)/ε; one
of them is then sampled uniformly. This is the exponential mechanism with score −min(d, γ) for every word, and it is
computed that way. γ = (2/ε)·ln((1−β)(|V|−1)/β) bounds the probability of ⊥ by β. The loss is at most ε·min(d, γ).

Deviations: one released version uses |V|/|L| instead of the number of others and rounds γ, which makes ⊥ about fifty
times too rare. Here it is as in the paper's proof. Unknown words become random words unless ``oov`` says otherwise. If
γ exceeds every distance, TEM is SanText.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...privacy.distribution import Channel, TokenDistribution, envelope, logsumexp, seen_at_least_once
from ...privacy.sampling import NoiseStream, Sampler
from ...support.task import UNWATCHED, Task
from ..config import epsilon_option, option
from . import normalisers
from .santext import exponential_limit
from .word_options import SpaceConfig
from .word_space import SpaceMechanism


@dataclass(frozen=True)
class TEMConfig(SpaceConfig):
    """Options of TEM."""

    epsilon: float | tuple[float, ...] = epsilon_option(None, 4.0, 40.0, "per word and unit of distance")
    gamma: float | None = option(
        None,
        label="Truncation distance γ",
        min=0.0,
        help="Distances above γ count as γ. Without a value, γ is computed from ε and β.",
        phrase="γ = {}",
        unset_phrase="γ from ε",
    )
    beta: float = option(
        0.001,
        label="β, largest probability of a far word",
        min=1e-9,
        max=0.5,
        advanced=True,
        help="γ is computed from β: words beyond γ are sampled with probability β or less.",
        phrase="β = {}",
    )


@dataclass(frozen=True, eq=False)
class TEMChannel(Channel):
    """P(y) ∝ exp(−ε·min(d_y, γ)/2). gamma None: γ = 2·span/ε.

    distances: float64 (V,). span: ln((1−β)(|V|−1)/β).
    """

    candidates: Sequence[str]
    distances: np.ndarray
    source: str | None
    row: int
    gamma: float | None
    span: float

    @property
    def source_index(self) -> np.ndarray:
        return np.array([self.row])

    def _weights(self, epsilon: float, distances: np.ndarray) -> np.ndarray:
        gamma = 2 * self.span / epsilon if self.gamma is None else self.gamma
        return -epsilon / 2 * np.minimum(distances, gamma)

    def at(self, epsilon: float) -> TokenDistribution:
        x = self._weights(epsilon, self.distances)
        return TokenDistribution(
            self.candidates, x - logsumexp(x), self.source, float(epsilon), None, self.source_index
        )

    def draw(self, epsilon: float, stream: NoiseStream) -> int:
        return Sampler(self._weights(epsilon, self.distances)).one(stream)

    def drawer(self, epsilon: float) -> Callable[[NoiseStream], int]:
        return Sampler(self._weights(epsilon, self.distances)).one

    def epsilon_breakpoints(self, stream: NoiseStream, low: float, high: float) -> list[tuple[float, int]]:
        g = stream.gumbel(len(self.distances))
        if self.gamma is not None:
            return envelope(-np.minimum(self.distances, self.gamma) / 2, g, low, high)
        # max(−ε·d/2, −span) + g: the lines of all words, and the highest noise minus the span, at any ε.
        far = int(np.argmax(g))
        slopes, offsets = np.append(self.distances / -2, 0.0), np.append(g, g[far] - self.span)
        out: list[tuple[float, int]] = []
        for at, w in envelope(slopes, offsets, low, high):
            word = far if w == len(g) else w
            if not out or out[-1][1] != word:
                out.append((at, word))
        return out

    def shown(self, n: int, low: float, high: float) -> np.ndarray:
        n = min(n, len(self.distances))
        part = np.argpartition(self.distances, n - 1)[:n]
        return part[np.argsort(self.distances[part], kind="stable")]

    def deniability(self, epsilon: float) -> tuple[float, float]:
        p = np.exp(self._weights(epsilon, self.distances))
        p /= p.sum()
        return float(p[self.row]), float(seen_at_least_once(p, 100).sum())

    def log_p(self, epsilons: np.ndarray, which: np.ndarray) -> np.ndarray:
        out = np.empty((len(which), len(epsilons)))
        for j, e in enumerate(epsilons):
            out[:, j] = self._weights(e, self.distances[which]) - logsumexp(self._weights(e, self.distances))
        return out


class TEM(SpaceMechanism):
    """TEM: the exponential mechanism on distances, with equally likely far words."""

    name = "tem"
    references = ("carvalho2023tem",)
    title = "TEM"
    notion = "metric"
    summary = "Like SanText, but all words beyond a distance γ are equally likely."
    steps = (
        "{n} words are compared with yours",
        "Nearer words score higher; beyond a distance, all score the same",
        "Noise of size 1/ε = {noise} is added to each score",
        "The word with the best score is released",
    )
    config_cls = TEMConfig

    @classmethod
    def _deepest(cls, config: Any, size: int, largest: float) -> float:
        """Return the largest ε. With γ(ε), no word is deeper than ln((1−β)(|V|−1)/β) + ln|V| at any ε."""
        return np.inf if config.gamma is None else exponential_limit(min(largest, config.gamma), np.log(size))

    @property
    def _span(self) -> float:
        n, beta = len(self.vocabulary.words), self.config.beta
        return float(np.log(max(2.0, (1 - beta) * (n - 1) / beta)))

    def log_likelihood(self, released: str, epsilon: float, task: Task = UNWATCHED) -> tuple[np.ndarray, float]:
        if not self._draws_as(TEM):
            return super().log_likelihood(released, epsilon, task)
        gamma, space = self._gamma(epsilon), self.vocabulary
        y = space.index(released)
        if y is None:
            return np.full(len(space), -np.inf), 0.0
        # Far words add at most β/(1−β) to a normaliser that is at least 1: with a small β, they can be ignored.
        cut = self._table_gamma(epsilon)
        log_z, error = normalisers.log_z(space, epsilon, gamma=cut, task=task)
        error += 0.0 if cut is not None else float(-np.log1p(-self.config.beta))
        return -epsilon / 2 * np.minimum(space.distance_rows([y])[0].astype(np.float64), gamma) - log_z, error

    def likelihood_ready(self, epsilon: float) -> bool:
        if not self._draws_as(TEM):
            return super().likelihood_ready(epsilon)
        return normalisers.is_ready(self.vocabulary, self._table_gamma(epsilon))

    def _table_gamma(self, epsilon: float) -> float | None:
        """Return the γ that the table of normalisers needs."""
        small = self.config.gamma is None and self.config.beta <= 1e-3 and normalisers.is_bundled(self.vocabulary)
        return None if small else self._gamma(epsilon)

    def channels(self, rows: np.ndarray) -> list[Channel]:
        words = self.vocabulary.words
        return [
            TEMChannel(words, d, words[r], r, self.config.gamma, self._span)
            for r, d in zip(rows.tolist(), self.vocabulary.distance_rows(rows), strict=True)
        ]

    def _gamma(self, epsilon: float) -> float:
        return 2 * self._span / epsilon if self.config.gamma is None else self.config.gamma

    def distances(self, words: Sequence[str]) -> np.ndarray:
        """Return min(d, γ), at the smallest ε of the config if it has several."""
        epsilon = self.config.epsilon
        return np.minimum(
            super().distances(words), self._gamma(min(epsilon) if isinstance(epsilon, tuple) else epsilon)
        )

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        # If each token has its own ε, the largest γ holds for all of them.
        given = self.config.epsilon
        least = min(given) if isinstance(given, tuple) else epsilon
        fields, gamma = super().guarantee_fields(epsilon), self._gamma(least) if epsilon else np.inf
        if gamma >= fields["largest"]:
            return fields
        cut = {"metric": fields["metric"].at_most(gamma), "distance": fields["metric"]}
        return fields | cut | {"near": min(fields["near"], gamma), "largest": gamma}
