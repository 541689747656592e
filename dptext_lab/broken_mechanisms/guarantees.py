"""Wrong guarantees for sound mechanisms: the samples and texts are (almost) those of the sound twin.

These are mistakes of an honest author: a wrongly composed total, an unbounded range, an adjacency without its
conditions, and wrong distances and groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dptext_core.mechanisms.base import Prepared
from dptext_core.mechanisms.config import epsilon_option
from dptext_core.mechanisms.words.diffractor import Diffractor
from dptext_core.mechanisms.words.santext import SanText
from dptext_core.mechanisms.words.word_level import WordMechanism
from dptext_core.mechanisms.words.word_options import SpaceConfig
from dptext_core.mechanisms.words.word_trace import WordPrepared
from dptext_core.privacy.distribution import Channel, ScoreTable
from dptext_core.privacy.guarantee import Guarantee
from dptext_core.privacy.kinds import ConditionKind, GroupKind
from dptext_core.privacy.sampling import DEPTH
from dptext_core.privacy.terms import ANY_TEXTS, Adjacency, Condition, Group
from dptext_core.result import Release

from .base import fault, faults_of
from .stated import TinyLatent
from .text import TinyWriter, compose

# --- small sound mechanisms


@dataclass(frozen=True)
class TinyConfig(SpaceConfig):
    """Options of the small word mechanisms."""

    epsilon: float | tuple[float, ...] = epsilon_option(2.0, 0.1, 8.0)


@dataclass(frozen=True)
class TinyWords:
    """The public words that can be released, the most frequent first."""

    words: tuple[str, ...]


class TinyResponse(WordMechanism):
    """Randomised response over few words."""

    name, title, notion = "tiny-response", "A small randomised response", "pure"
    summary = "A word is unchanged, or becomes one of a few other words."
    config_cls = TinyConfig
    most: ClassVar[int] = 300

    @cached_property
    def vocabulary(self) -> TinyWords:
        from dptext_core.words import word_space

        return TinyWords(self.never.left(word_space(self.config.space).words)[: self.most])

    @property
    def max_epsilon(self) -> float:
        return DEPTH / 8.0

    def channel(self, row: int) -> Channel:
        words = self.vocabulary.words
        return ScoreTable(words, (np.arange(len(words)) == row).astype(float), words[row], np.array([row]))


def frequency_group(size: int) -> Group:
    """Return the group of a word by its frequency."""
    return Group(GroupKind.CUSTOM, text=f"the {size} words that are about as frequent", size=size)


class TinyGroups(TinyResponse):
    """Randomised response within groups of twenty words."""

    name, title, notion = "tiny-groups", "A small mechanism with groups", "group"
    summary = "A word is unchanged, or becomes another word of its group."
    size: ClassVar[int] = 20

    @cached_property
    def places(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.vocabulary.words)}

    def channel(self, row: int) -> Channel:
        start = row // self.size * self.size
        words = self.vocabulary.words[start : start + self.size]
        return ScoreTable(words, (np.arange(len(words)) == row - start).astype(float), words[row - start])

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        return super().guarantee_fields(epsilon) | {"group": frequency_group(self.size)}

    def leaks(self) -> tuple[str, ...]:
        return ("the group of each word: about how frequent it is",)

    def _alike(self, rows: np.ndarray) -> np.ndarray:
        """Return whether words at rows (n,) are in one group, bool (n, n)."""
        group = rows // self.size
        return group[:, None] == group[None]

    def distances(self, words: Sequence[str]) -> np.ndarray:
        rows = np.array([self.places.get(w.lower(), -1) for w in words])
        alike = self._alike(rows) & (rows >= 0)[:, None] & (rows >= 0)[None]
        return np.where(alike, (rows[:, None] != rows[None]).astype(float), np.nan)


class TinyMetric(TinyResponse):
    """The exponential mechanism over few words, with the Manhattan distance of four numbers."""

    name, title, notion = "tiny-metric", "A small mechanism with a custom distance", "metric"
    summary = "A word becomes one that is close in a custom distance."

    @cached_property
    def points(self) -> np.ndarray:
        """Return the coordinates of all words, float64 (V, 4)."""
        from dptext_core.words import word_space

        space = word_space(self.config.space)
        return space.vectors[space.rows(self.vocabulary.words), :4].astype(np.float64) * 10

    @cached_property
    def table(self) -> np.ndarray:
        """Return the distances of all words, float64 (V, V)."""
        return self._between(np.abs(self.points[:, None] - self.points[None]))

    def _between(self, apart: np.ndarray) -> np.ndarray:
        """Return distances from differences of coordinates (…, 4)."""
        return apart.sum(axis=-1)

    def channel(self, row: int) -> Channel:
        return ScoreTable(self.vocabulary.words, -self.table[row] / 2, self.vocabulary.words[row], np.array([row]))

    def distances(self, words: Sequence[str]) -> np.ndarray:
        at = {word: row for row, word in enumerate(self.vocabulary.words)}
        rows = np.array([at.get(w.lower(), -1) for w in words])
        out = self.table[np.ix_(rows, rows)].copy()
        out[rows < 0] = np.nan
        out[:, rows < 0] = np.nan
        return out

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        nearest = np.where(np.eye(len(self.table), dtype=bool), np.inf, self.table).min(axis=1)
        distances = {"near": float(np.median(nearest)), "largest": float(self.table.max())}
        return super().guarantee_fields(epsilon) | {"metric": "Manhattan distance of four numbers"} | distances


# --- totals


@fault(
    "root-total",
    "A total that grows with the square root of the number of words",
    "SanText whose total is ε times the square root of the number of draws, without the δ that such a total needs.",
)
class RootSanText(SanText):
    """SanText with a total that grows with the square root of the number of words, which needs a δ."""

    title = "SanText whose total is too small"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        g = super().guarantee(text)
        return replace(g, total=g.epsilon * math.sqrt(g.draws))


@fault(
    "capped-draws",
    "A total that counts at most ten draws",
    "A small randomised response that counts only the first ten draws of a text.",
)
class CappedResponse(TinyResponse):
    """Randomised response that counts at most ten draws."""

    title = "A small randomised response that counts at most ten draws"

    def _spent(self, prepared: WordPrepared, each: list[float]) -> list[float]:
        return each[:10]


@fault(
    "free-repeats",
    "Repeated words that cost nothing",
    "SanText that counts a repeated word once, but samples it at each position.",
)
class FreeRepeatsSanText(SanText):
    """SanText that counts a repeated word once and samples it each time."""

    title = "SanText whose repeated words cost nothing"

    def _spent(self, prepared: WordPrepared, each: list[float]) -> list[float]:
        return each[: len(set(prepared.rows[prepared.rows >= 0].tolist()))]


@fault(
    "falling-spent",
    "Draws that spend more than stated",
    "A small randomised response that spends the same ε on each word, but states less for later ones.",
)
class FallingResponse(TinyResponse):
    """Randomised response that states less ε for later words."""

    title = "A small randomised response that states less ε for later words"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        g = super().guarantee(text)
        spent = tuple(e / (k + 1) for k, e in enumerate(g.spent))
        return replace(g, spent=spent, total=math.fsum(spent))


@fault(
    "large-expected",
    "An expected total above the worst case",
    "SanText with an expected total that exceeds its worst case.",
)
class ExpectingSanText(SanText):
    """SanText with an expected total above its worst case."""

    title = "SanText with an expected total above its worst case"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        g = super().guarantee(text)
        return replace(g, expected=1.5 * g.total)


@fault(
    "one-draw", "Six draws that are counted as one", "A small mechanism that writes six words and states the ε of one."
)
class OneDrawWriter(TinyWriter):
    """The small writer that counts its six draws as one."""

    title = "A small mechanism that counts its draws as one"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        g = super().guarantee(text)
        return replace(g, draws=1, total=g.epsilon)


@fault(
    "delta-once",
    "A δ that is counted once for six draws",
    "A small mechanism that writes six words with a δ for each, and states it once for the text.",
)
class DeltaOnceWriter(TinyWriter):
    """The small writer with a δ for each word that counts it once for the whole text."""

    title = "A small mechanism that counts its δ once"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        g = super().guarantee(text)
        return replace(g, notion="approx", delta=1e-3, draws=1, bounded_range=False)


# --- a range that is not bounded


@fault(
    "bounded-response",
    "A bounded range of randomised response",
    "A small randomised response that states a bounded range. Its log-ratios span 2ε, so its zCDP total is "
    "too small.",
)
class BoundedResponse(TinyResponse):
    """Randomised response that states a bounded range, although its log-ratios span 2ε."""

    title = "A small randomised response with a bounded range"

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        return super().guarantee_fields(epsilon) | {"bounded_range": True}


@fault(
    "bounded-laplace",
    "A bounded range of Laplace noise",
    "Laplace noise on clipped numbers that states a bounded range, which only exponential mechanisms have.",
)
class BoundedLatent(TinyLatent):
    """The small latent mechanism that states a bounded range, which Laplace noise does not have."""

    title = "A small latent mechanism with a bounded range"

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        return super().guarantee_fields(epsilon) | {"bounded_range": True}


# --- an adjacency that is too wide


@fault(
    "any-text",
    "An adjacency without conditions",
    "SanText with a guarantee for any two texts, although kept words and the number of words are visible.",
)
class AnyTextSanText(SanText):
    """SanText that calls any two texts adjacent."""

    title = "SanText that calls any two texts adjacent"

    def _adjacency(self) -> Adjacency:
        return ANY_TEXTS


@fault(
    "unknown-adjacency",
    "An adjacency without unknown words",
    "SanText that calls texts with unknown words adjacent to others, although it treats unknown words differently.",
)
class UnknownSanText(SanText):
    """SanText with an adjacency that ignores the positions of unknown words."""

    title = "SanText whose adjacency ignores unknown words"

    def _adjacency(self) -> Adjacency:
        return self.adjacency()


@fault(
    "length-adjacency",
    "An adjacency that names the length only",
    "1-Diffractor whose guarantee names the number of words, but not the visible kept words and spaces.",
)
class SameLengthDiffractor(Diffractor):
    """1-Diffractor that names the number of words, but not the visible kept words."""

    title = "1-Diffractor whose adjacency ignores kept words"

    def _adjacency(self) -> Adjacency:
        return Adjacency(Condition(ConditionKind.TOKEN_COUNT))


@fault(
    "length-shown",
    "A visible length",
    "A small mechanism with a guarantee for any two texts, although it writes no more words than the text has.",
    options={"epsilon": 8.0},
)
class LengthWriter(TinyWriter):
    """The small writer that writes no more words than the original has."""

    title = "A small mechanism that reveals the length"

    def _composed(self, original: str, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        return compose(drawn[: max(1, len(original.split()))], float(self.config.epsilon))


# --- distances


@fault(
    "small-largest",
    "A largest distance that is too small",
    "SanText that states a typical distance as the largest one, so the odds for the worst word are too small.",
)
class MeanLargestSanText(SanText):
    """SanText that states a typical distance instead of the largest one."""

    title = "SanText whose largest distance is too small"

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        guarantee = super().guarantee_fields(epsilon)
        return guarantee | {"largest": 1.2 * guarantee["near"]}


@fault(
    "small-near",
    "A nearest distance in another unit",
    "1-Diffractor that states the distance to the nearest word as a share of the list.",
)
class NearDiffractor(Diffractor):
    """1-Diffractor that states the distance to the nearest word as a share of the list."""

    title = "1-Diffractor with a nearest distance in the wrong unit"

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        guarantee = super().guarantee_fields(epsilon)
        return guarantee | {"near": guarantee["near"] / len(self.vocabulary.words)}


@fault(
    "squared-distance",
    "A function that is not a distance",
    "A small mechanism with squared differences, which violate the triangle inequality.",
    options={"epsilon": 0.2},
)
class SquaredMetric(TinyMetric):
    """The small mechanism with squared differences, which violate the triangle inequality."""

    title = "A small mechanism without a triangle inequality"

    def _between(self, apart: np.ndarray) -> np.ndarray:
        return np.square(apart).sum(axis=-1)


@fault(
    "one-way-distance",
    "A distance that is not symmetric",
    "A small mechanism with stated distances that depend on the order of the two words.",
)
class OneWayMetric(TinyMetric):
    """The small mechanism with asymmetric stated distances."""

    title = "A small mechanism with asymmetric distances"

    def distances(self, words: Sequence[str]) -> np.ndarray:
        return super().distances(words) * np.linspace(1.0, 2.0, len(words))[:, None]


@fault(
    "unscaled-distance",
    "A distance without a scale",
    "A small mechanism that states ε in a custom distance, and does not say how large distances are.",
)
class UnscaledMetric(TinyMetric):
    """The small mechanism that does not state how large its distances are."""

    title = "A small mechanism without a scale of distance"

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        return super().guarantee_fields(epsilon) | {"near": None, "largest": None}


# --- groups


@fault(
    "crowded-groups", "Groups that are smaller than stated", "A small mechanism with groups of 20 words that states 40."
)
class CrowdedGroups(TinyGroups):
    """The small mechanism with groups that states twice their size."""

    title = "A small mechanism that overstates its groups"

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        return super().guarantee_fields(epsilon) | {"group": frequency_group(2 * self.size)}


@fault(
    "sliding-groups",
    "Groups that overlap",
    "A small mechanism that calls words of similar frequency adjacent, although they may be in different groups.",
)
class SlidingGroups(TinyGroups):
    """The small mechanism with groups that calls words adjacent if their frequencies are close."""

    title = "A small mechanism whose groups overlap"

    def _alike(self, rows: np.ndarray) -> np.ndarray:
        return np.abs(rows[:, None] - rows[None]) < self.size


GUARANTEES = faults_of(__name__)
