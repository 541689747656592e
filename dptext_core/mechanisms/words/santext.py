"""SanText and SanText+ (Yue, Du, Wang, Li, Sun, Chow: Findings of ACL 2021; Sections 3 and 4).

SanText samples P(y|x) ∝ exp(−ε·d(x,y)/2) over the whole vocabulary, with d Euclidean. This is metric DP: the log-ratio
for two words is at most ε·d(x,x'). SanText+ always samples sensitive words; it copies other words with probability 1−p.

Deviations from the released code:

* SanText+ samples only sensitive words, as the paper's proof needs. Sampling from all words breaks the bound between a
  sensitive and another word.
* The sensitive words are the rarest share of a public vocabulary by public counts, not of the private texts.
* Words outside the vocabulary become random words unless ``oov`` says otherwise; the released code samples sensitive
  words for them.
* ``prior`` starts from a public proposal (``word_prior``), which the paper does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...privacy.distribution import Channel, ScoreTable, TokenDistribution, logsumexp
from ...privacy.kinds import ConditionKind, NotProtectedKind
from ...privacy.sampling import DEPTH, NoiseStream, draw
from ...privacy.terms import Condition, NotProtected
from ...support.task import UNWATCHED, Task
from ..config import epsilon_option, keep_stopwords_option, option, with_presets
from . import normalisers
from .word_options import SpaceConfig
from .word_prior import PriorMechanism, prior_option
from .word_space import nearest_distance


@dataclass(frozen=True)
class SanTextConfig(SpaceConfig):
    """Options of SanText."""

    epsilon: float | tuple[float, ...] = epsilon_option(None, 4.0, 40.0, "per word and unit of distance")
    keep_stopwords: bool = keep_stopwords_option({"paper": False, "benchmark": False})
    prior: str = prior_option()


@dataclass(frozen=True)
class SanTextPlusConfig(SanTextConfig):
    """Options of SanText+."""

    oov: str = with_presets(SanTextConfig, "oov", benchmark="keep")
    sensitive: float = option(
        0.9,
        label="Share of sensitive words",
        min=0.01,
        max=1.0,
        help="The rarest words by public counts are always sampled; the others are mostly unchanged.",
        phrase="{} of the words sensitive",
    )
    p: float = option(
        0.3,
        label="Probability that a common word is sampled (p)",
        min=0.001,
        max=1.0,
        help="A word that is not sensitive is unchanged with probability 1 − p.",
        phrase="p = {}",
    )


def exponential_limit(largest: float, log_extra: float) -> float:
    """Return the ε at which exp(−ε·d/2), over distances up to ``largest``, and ``rest`` more nats reach DEPTH."""
    return 2.0 * (DEPTH - float(log_extra)) / float(largest) if largest > 0 else np.inf


class SanText(PriorMechanism):
    """SanText: the exponential mechanism over the whole vocabulary with the distance as score."""

    name = "santext"
    references = ("yue2021santext",)
    title = "SanText"
    notion = "metric"
    summary = "Each word becomes a word of the vocabulary; nearer words are more likely (exponential mechanism)."
    steps = (
        "{n} words are compared with yours",
        "Nearer words score higher",
        "Noise of size 1/ε = {noise} is added to each score",
        "The word with the best score is released",
    )
    config_cls = SanTextConfig

    @classmethod
    def _deepest(cls, config: Any, size: int, largest: float) -> float:
        return exponential_limit(largest, np.log(size) + cls._rest(config))

    def log_likelihood(self, released: str, epsilon: float, task: Task = UNWATCHED) -> tuple[np.ndarray, float]:
        if not self._draws_as(SanText):
            return super().log_likelihood(released, epsilon, task)
        return normalisers.log_distances(self.vocabulary, released, epsilon, 0, task)

    def likelihood_ready(self, epsilon: float) -> bool:
        return (self._draws_as(SanText) and normalisers.is_ready(self.vocabulary)) or super().likelihood_ready(epsilon)

    def channels(self, rows: np.ndarray) -> list[Channel]:
        return self._with_frequencies([*self._tables(rows)])

    def _tables(self, rows: np.ndarray) -> list[ScoreTable]:
        distances = self.vocabulary.distance_rows(rows)
        words = self.vocabulary.words
        return [
            ScoreTable(words, d / -2.0, words[r], np.array([r])) for r, d in zip(rows.tolist(), distances, strict=True)
        ]

    def _from(self, channel: Channel, log_base: np.ndarray) -> Channel:
        if isinstance(channel, PassThrough):
            return replace(channel, table=self._based(channel.table, log_base))
        assert isinstance(channel, ScoreTable)
        return self._based(channel, log_base)

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        return (*super().variants(), {"prior": "frequency"}, {"prior": "skeleton"})


@dataclass(frozen=True, eq=False)
class PassThrough(Channel):
    """The word itself with probability 1 − p, else a sample from a table without it.

    table: scores of the whole vocabulary, −inf for words that are not sensitive. row: the index of the word in it.
    """

    table: ScoreTable
    row: int
    p: float

    @property
    def candidates(self):
        return self.table.candidates

    @property
    def source(self):
        return self.table.source

    @property
    def source_index(self) -> np.ndarray:
        return self.table.source_index

    def at(self, epsilon: float) -> TokenDistribution:
        x = self.table.log_weights(epsilon)
        log_p = x - logsumexp(x) + np.log(self.p)
        if self.p < 1:
            log_p[self.row] = np.log1p(-self.p)
        return TokenDistribution(
            candidates=self.candidates,
            log_probs=log_p,
            source=self.source,
            epsilon=float(epsilon),
            draws=None,
            _keep=self.source_index,
            _sampler=lambda n, stream: self._sample(epsilon, n, stream),
        )

    def _sample(self, epsilon: float, n: int, stream: NoiseStream) -> np.ndarray:
        passes = stream.at("pass").uniforms(n) >= self.p
        out = np.full(n, self.row)
        out[~passes] = draw(self.table.log_weights(epsilon), stream, n)[~passes]
        return out

    def _passes(self, stream: NoiseStream) -> bool:
        return bool(stream.at("pass").uniforms(1)[0] >= self.p)

    def draw(self, epsilon: float, stream: NoiseStream) -> int:
        return self.row if self._passes(stream) else self.table.draw(epsilon, stream)

    def drawer(self, epsilon: float) -> Callable[[NoiseStream], int]:
        drawn = self.table.drawer(epsilon)
        return lambda stream: self.row if self._passes(stream) else drawn(stream)

    def epsilon_breakpoints(self, stream: NoiseStream, low: float, high: float) -> list[tuple[float, int]]:
        return [(float(low), self.row)] if self._passes(stream) else self.table.epsilon_breakpoints(stream, low, high)

    def shown(self, n: int, low: float, high: float) -> np.ndarray:
        return np.append([self.row], self.table.shown(n - 1, low, high))

    def log_p(self, epsilons: np.ndarray, which: np.ndarray) -> np.ndarray:
        out = self.table.log_p(epsilons, which) + np.log(self.p)
        if self.p < 1:
            out[which == self.row] = np.log1p(-self.p)
        return out


class SanTextPlus(SanText):
    """SanText+: rare words are always sampled, common ones are copied with probability 1 − p."""

    name = "santext-plus"
    title = "SanText+"
    summary = "Rare words are always sampled, common words rarely; an unchanged common word is not protected."
    config_cls = SanTextPlusConfig

    @classmethod
    def _deepest(cls, config: Any, size: int, largest: float) -> float:
        return exponential_limit(largest, np.log(size) - np.log(config.p) + cls._rest(config))

    @cached_property
    def first_sensitive(self) -> int:
        """Return the first sensitive row: from here on are the rarest words."""
        n = len(self.vocabulary.words)
        return n - max(1, round(n * self.config.sensitive))

    def log_likelihood(self, released: str, epsilon: float, task: Task = UNWATCHED) -> tuple[np.ndarray, float]:
        """Return log-probabilities: sensitive words come from the table; only the word itself can release a common
        word."""
        if not self._draws_as(SanTextPlus):
            return super().log_likelihood(released, epsilon, task)
        space, first, p = self.vocabulary, self.first_sensitive, self.config.p
        y = space.index(released)
        if y is not None and y < first:
            out = np.full(len(space), -np.inf)
            if p < 1:
                out[y] = np.log1p(-p)
            return out, 0.0
        out, error = normalisers.log_distances(space, released, epsilon, first, task)
        out[:first] += np.log(p)
        return out, error

    def likelihood_ready(self, epsilon: float) -> bool:
        if not self._draws_as(SanTextPlus):
            return super().likelihood_ready(epsilon)
        return normalisers.is_ready(self.vocabulary, first=self.first_sensitive)

    def channels(self, rows: np.ndarray) -> list[Channel]:
        out: list[Channel] = []
        for row, table in zip(rows.tolist(), self._tables(rows), strict=True):
            table.scores[: self.first_sensitive] = -np.inf
            out.append(table if row >= self.first_sensitive else PassThrough(table, row, self.config.p))
        return self._with_frequencies(out)

    def distances(self, words) -> np.ndarray:
        """Return distances between sensitive words only: a common word that is copied is not protected."""
        out = super().distances(words)
        common = self.vocabulary.rows(words) < self.first_sensitive
        out[common] = np.nan
        out[:, common] = np.nan
        return out

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        return super().guarantee_fields(epsilon) | {
            "near": nearest_distance(self.vocabulary, self.first_sensitive),
            "adjacency": self._adjacency().where(Condition(ConditionKind.SENSITIVE_WORDS, share=self.config.sensitive)),
        }

    def leaks(self) -> tuple[str, ...]:
        share = 1 - self.config.sensitive
        return (NotProtected(NotProtectedKind.COMMON_WORDS, share=share, p=self.config.p),)
