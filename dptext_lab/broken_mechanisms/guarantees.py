"""Guarantees that state what the mechanism does not do: the draws and the texts are those of the sound twin, or nearly.

Mistakes that an honest author makes: a total that is composed wrongly, a range that is not bounded, an adjacency
without its conditions, and distances and groups that are others.
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
    summary = "A word stays, or becomes any other of few words."
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
    summary = "A word stays, or becomes any other of its group."
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
        """Whether words at rows (n,) are in one group, bool (n, n)."""
        group = rows // self.size
        return group[:, None] == group[None]

    def distances(self, words: Sequence[str]) -> np.ndarray:
        rows = np.array([self.places.get(w.lower(), -1) for w in words])
        alike = self._alike(rows) & (rows >= 0)[:, None] & (rows >= 0)[None]
        return np.where(alike, (rows[:, None] != rows[None]).astype(float), np.nan)


class TinyMetric(TinyResponse):
    """The exponential mechanism over few words, in a distance of its own: the Manhattan distance of four numbers."""

    name, title, notion = "tiny-metric", "A small mechanism with a distance of its own", "metric"
    summary = "A word becomes one that is near in a distance of its own."

    @cached_property
    def points(self) -> np.ndarray:
        """float64 (V, 4)"""
        from dptext_core.words import word_space

        space = word_space(self.config.space)
        return space.vectors[space.rows(self.vocabulary.words), :4].astype(np.float64) * 10

    @cached_property
    def table(self) -> np.ndarray:
        """Distances of all words, float64 (V, V)."""
        return self._between(np.abs(self.points[:, None] - self.points[None]))

    def _between(self, apart: np.ndarray) -> np.ndarray:
        """Distances from differences of coordinates (…, 4)."""
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
        own = {"near": float(np.median(nearest)), "largest": float(self.table.max())}
        return super().guarantee_fields(epsilon) | {"metric": "Manhattan distance of four numbers"} | own


# --- totals


@fault(
    "root-total",
    "A total that grows with the root of the words",
    "SanText whose total is ε times the root of the number of draws, without the δ that such a total needs.",
)
class RootSanText(SanText):
    """SanText, whose total grows with the root of the number of words, as no composition without δ does."""

    title = "SanText whose total is too small"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        g = super().guarantee(text)
        return replace(g, total=g.epsilon * math.sqrt(g.draws))


@fault(
    "capped-draws",
    "A total that counts ten draws at most",
    "A small randomised response that counts the first ten draws of a text and makes them all.",
)
class CappedResponse(TinyResponse):
    """Randomised response, which counts ten draws at most."""

    title = "A small randomised response that counts ten draws"

    def _spent(self, prepared: WordPrepared, each: list[float]) -> list[float]:
        return each[:10]


@fault(
    "free-repeats",
    "Repeated words that cost nothing",
    "SanText that counts a repeated word once, as if it were drawn once, and draws it at each place.",
)
class FreeRepeatsSanText(SanText):
    """SanText, which counts a repeated word once and draws it each time."""

    title = "SanText whose repeated words cost nothing"

    def _spent(self, prepared: WordPrepared, each: list[float]) -> list[float]:
        return each[: len(set(prepared.rows[prepared.rows >= 0].tolist()))]


@fault(
    "falling-spent",
    "Draws that are said to spend less",
    "A small randomised response that spends the same ε on each word and states less for each later one.",
)
class FallingResponse(TinyResponse):
    """Randomised response, which says that later words spend less."""

    title = "A small randomised response whose later words are said to spend less"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        g = super().guarantee(text)
        spent = tuple(e / (k + 1) for k, e in enumerate(g.spent))
        return replace(g, spent=spent, total=math.fsum(spent))


@fault(
    "large-expected",
    "An expected total above the worst case",
    "SanText whose expected total is larger than the total of its worst case.",
)
class ExpectingSanText(SanText):
    """SanText, which expects more than its worst case."""

    title = "SanText that expects more than its worst case"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        g = super().guarantee(text)
        return replace(g, expected=1.5 * g.total)


@fault(
    "one-draw", "Six draws that are counted as one", "A small mechanism that writes six words and states the ε of one."
)
class OneDrawWriter(TinyWriter):
    """The small writer, which counts its six draws as one."""

    title = "A small mechanism that counts its draws as one"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        g = super().guarantee(text)
        return replace(g, draws=1, total=g.epsilon)


@fault(
    "delta-once",
    "A δ for each draw that is counted once",
    "A small mechanism that writes six words, each with a δ, and states it once for the text.",
)
class DeltaOnceWriter(TinyWriter):
    """The small writer with a δ for each piece, which counts it once for the whole text."""

    title = "A small mechanism that counts its δ once"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        g = super().guarantee(text)
        return replace(g, notion="approx", delta=1e-3, draws=1, bounded_range=False)


# --- a range that is not bounded


@fault(
    "bounded-response",
    "A bounded range of randomised response",
    "A small randomised response that states a bounded range: its log-ratios span 2ε, so that its composition by "
    "zCDP is too small.",
)
class BoundedResponse(TinyResponse):
    """Randomised response, which states a bounded range: its log-ratios span 2ε."""

    title = "A small randomised response with a bounded range"

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        return super().guarantee_fields(epsilon) | {"bounded_range": True}


@fault(
    "bounded-laplace",
    "A bounded range of Laplace noise",
    "Laplace noise on clipped numbers that states a bounded range, which only exponential mechanisms have.",
)
class BoundedLatent(TinyLatent):
    """The small latent mechanism, which states a bounded range, as no Laplace noise has."""

    title = "A small latent mechanism with a bounded range"

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        return super().guarantee_fields(epsilon) | {"bounded_range": True}


# --- an adjacency that is too wide


@fault(
    "any-text",
    "An adjacency without conditions",
    "SanText whose guarantee says any two texts, while kept words and the number of words show.",
)
class AnyTextSanText(SanText):
    """SanText, which says that any two texts are alike."""

    title = "SanText that makes any two texts alike"

    def _adjacency(self) -> Adjacency:
        return ANY_TEXTS


@fault(
    "unknown-adjacency",
    "An adjacency without unknown words",
    "SanText whose guarantee makes unknown words alike to known ones, which are drawn otherwise.",
)
class UnknownSanText(SanText):
    """SanText, which does not say that unknown words have to stand in the same places."""

    title = "SanText that makes unknown words alike to known ones"

    def _adjacency(self) -> Adjacency:
        return self.adjacency()


@fault(
    "length-adjacency",
    "An adjacency that names the length only",
    "1-Diffractor whose guarantee names the number of words, and not the kept words and spaces that show.",
)
class SameLengthDiffractor(Diffractor):
    """1-Diffractor, which names the number of words, and not that kept words show."""

    title = "1-Diffractor that makes texts with other kept words alike"

    def _adjacency(self) -> Adjacency:
        return Adjacency(Condition(ConditionKind.TOKEN_COUNT))


@fault(
    "length-shown",
    "A length that shows",
    "A small mechanism whose guarantee says any two texts, and which writes no more words than the text has.",
    options={"epsilon": 8.0},
)
class LengthWriter(TinyWriter):
    """The small writer, which writes no more words than the original has."""

    title = "A small mechanism whose length shows"

    def _composed(self, original: str, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        return compose(drawn[: max(1, len(original.split()))], float(self.config.epsilon))


# --- distances


@fault(
    "small-largest",
    "A largest distance that is too small",
    "SanText that states a distance of typical words as the largest one, and so too small odds for the worst word.",
)
class MeanLargestSanText(SanText):
    """SanText, which states a typical distance in the place of the largest one."""

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
    """1-Diffractor, which states how near words are as a share of the list."""

    title = "1-Diffractor whose nearest word is too near"

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        guarantee = super().guarantee_fields(epsilon)
        return guarantee | {"near": guarantee["near"] / len(self.vocabulary.words)}


@fault(
    "squared-distance",
    "A distance that is none",
    "A small mechanism with squared differences, in which a detour is shorter than the straight way.",
    options={"epsilon": 0.2},
)
class SquaredMetric(TinyMetric):
    """The small mechanism with the squares of its differences, which are no distance: a detour is shorter."""

    title = "A small mechanism with a distance that is none"

    def _between(self, apart: np.ndarray) -> np.ndarray:
        return np.square(apart).sum(axis=-1)


@fault(
    "one-way-distance",
    "A distance that is longer one way",
    "A small mechanism that states distances which depend on the order of the two words.",
)
class OneWayMetric(TinyMetric):
    """The small mechanism, which states distances that are longer on the way back."""

    title = "A small mechanism whose distances are others on the way back"

    def distances(self, words: Sequence[str]) -> np.ndarray:
        return super().distances(words) * np.linspace(1.0, 2.0, len(words))[:, None]


@fault(
    "unscaled-distance",
    "A distance that nobody can check",
    "A small mechanism that states ε in a distance of its own and does not say how near or far words are.",
)
class UnscaledMetric(TinyMetric):
    """The small mechanism, which does not say how large its distances are."""

    title = "A small mechanism with a distance of no scale"

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        return super().guarantee_fields(epsilon) | {"near": None, "largest": None}


# --- groups


@fault(
    "crowded-groups", "Groups that are said to be larger", "A small mechanism with groups of 20 words that states 40."
)
class CrowdedGroups(TinyGroups):
    """The small mechanism with groups, which says that they have twice as many words."""

    title = "A small mechanism whose groups are said to be larger"

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        return super().guarantee_fields(epsilon) | {"group": frequency_group(2 * self.size)}


@fault(
    "sliding-groups",
    "Groups that overlap",
    "A small mechanism that calls any words alike that are about as frequent, while each group has its own words.",
)
class SlidingGroups(TinyGroups):
    """The small mechanism with groups, which calls any words alike that are about as frequent."""

    title = "A small mechanism whose groups overlap"

    def _alike(self, rows: np.ndarray) -> np.ndarray:
        return np.abs(rows[:, None] - rows[None]) < self.size


GUARANTEES = faults_of(__name__)
