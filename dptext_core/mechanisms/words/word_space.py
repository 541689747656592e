"""The shared base of mechanisms over a word space: the distance of the guarantee."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...privacy.distribution import Channel
from ...privacy.kinds import MetricKind
from ...privacy.terms import Metric
from ...support.cache import weak_cache
from ...support.checks import without_path
from ...words import WordSpace
from ...words.space_loading import SIZES
from ..configured import check_depth
from .word_level import WordMechanism


class SpaceMechanism(WordMechanism):
    """A word-level mechanism over one word space, by default with Euclidean distance."""

    @classmethod
    def resolve(cls, config: Any) -> Any:
        config = super().resolve(config)
        if (known := SIZES.get(config.space)) is not None:
            check_depth(config.epsilon, cls._whole_limit(config, *known))
        return config

    @cached_property
    def vocabulary(self) -> WordSpace:
        return self._known()

    @property
    def space(self) -> WordSpace:
        return self.vocabulary

    @cached_property
    def max_epsilon(self) -> float:
        space = self.vocabulary
        known = SIZES.get(space.name) or (len(space), largest_distance(space))
        return min(super().max_epsilon, self._whole_limit(self.config, *known))

    @classmethod
    def _whole_limit(cls, config: Any, size: int, largest: float) -> float:
        limit = cls._deepest(config, size, largest)
        return float(math.floor(limit)) if 10 <= limit < math.inf else limit

    @classmethod
    def _deepest(cls, config: Any, size: int, largest: float) -> float:
        """Return the ε from which a word of a space of this size, with this largest distance, is beyond DEPTH.

        None here: noise reaches every point of the space.
        """
        return math.inf

    def channel(self, row: int) -> Channel:
        """Return the channel by :meth:`channels`; each mechanism defines one of the two."""
        return self.channels(np.array([row]))[0]

    def distances(self, words: Sequence[str]) -> np.ndarray:
        """Return Euclidean distances of words (n,), float64 (n, n); NaN for words that the space does not contain."""
        if self.notion == "none":
            return super().distances(words)
        rows = self.vocabulary.rows(words)
        out = self._between(np.maximum(rows, 0))
        out[rows < 0] = np.nan
        out[:, rows < 0] = np.nan
        return out

    def _between(self, rows: np.ndarray) -> np.ndarray:
        """Return distances between rows (n,) of the vocabulary, float64 (n, n)."""
        parts = [self.vocabulary.distance_rows(part, rows) for part in np.array_split(rows, len(rows) // 256 + 1)]
        return np.concatenate(parts)

    def _similarities(self, row: int) -> Mapping[str, float]:
        space = self.vocabulary
        return dict(zip(space.words, space.similarities(space.words[row]).tolist(), strict=True))

    def _metric(self) -> Metric:
        return Metric(MetricKind.EUCLIDEAN, space=without_path(self.vocabulary.name))

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        return {
            "notion": "metric",
            "metric": self._metric(),
            "near": nearest_distance(self.vocabulary),
            "largest": largest_distance(self.vocabulary),
        }


@weak_cache(1)
def largest_distance(space: WordSpace) -> float:
    """Return the largest distance of two words, or a bound.

    For a reduced space it is that of the whole space; for a large user space, the distance via the middle of all words.
    """
    if space.bounds is not None:
        return space.bounds[1]
    if 1 < len(space) <= 5000:
        return space.delta[1]
    middle = space.vectors.mean(axis=0, dtype=np.float64)
    parts = np.array_split(space.vectors, len(space) // 4096 + 1)
    return 2.0 * max(float(np.linalg.norm(p.astype(np.float64) - middle, axis=1).max()) for p in parts)


@weak_cache(4)
def nearest_distance(space: WordSpace, first: int = 0) -> float:
    """Return the median Euclidean distance from a word to its nearest other word, over 400 words spread by frequency.

    first: among the words from this row on.
    """
    n = len(space) - first
    rows = first + np.unique(np.linspace(0, n - 1, min(400, n)).astype(np.int64))
    if n < 2:
        return 0.0
    if not first:
        return float(np.median(space.nearest(rows, 2)[1][:, 1]))
    others, nearest = np.arange(first, len(space)), []
    for part in np.array_split(rows, len(rows) // 64 + 1):
        distances = space.distance_rows(part, others)
        distances[np.arange(len(part)), part - first] = np.inf
        nearest.append(distances.min(1))
    return float(np.median(np.concatenate(nearest)))
