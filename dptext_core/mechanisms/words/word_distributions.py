"""The distribution of each word of a public vocabulary, independent of its context."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...privacy.distribution import Channel, logsumexp
from ...support.assets import bundled, read_json
from ...support.task import UNWATCHED, Task
from ..base import Mechanism
from .word_codes import Vocabulary, places_of

if TYPE_CHECKING:
    from ...words import WordSpace

#: Number of words for which a pass over all of them is fast enough.
SHORT = 3000


class WordDistributions(Mechanism):
    """Sample every word of a vocabulary from its own distribution (see :meth:`channel`)."""

    @classmethod
    def epsilon_range(cls, options: Mapping[str, Any] | None = None) -> tuple[float, float, float]:
        """Return the range in which ε matters on this vocabulary: from N_w 0.02 to 0.98.

        Measured by ``bench deniability`` for bundled vocabularies; else a wide axis with the default of the default
        vocabulary.
        """
        measured = _ranges().get(cls.name, {})
        if measured_range := measured.get(cls.range_key(options or {})):
            return measured_range["low"], measured_range["high"], measured_range["default"]
        low, high, default = super().epsilon_range(options)
        return low, high, measured[cls.range_key({})]["default"] if cls.range_key({}) in measured else default

    @classmethod
    def range_key(cls, options: Mapping[str, Any]) -> str:
        """Return the options that determine that range, as the key of the measured ranges."""
        return str(options.get("space", "minilm"))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Return its words, without those on the blocklist; rows count in them."""
        return self._known()

    def _known(self) -> WordSpace:
        from ...words import word_space
        from ...words.smaller_spaces import without_words

        full_space = word_space(self.config.space, language=self.language)
        return without_words(full_space, self.never.places(full_space.words), everyones=not self.never.own)

    @abstractmethod
    def channel(self, row: int) -> Channel:
        """Return the distribution of the word at ``row`` of the vocabulary."""

    def channels(self, rows: np.ndarray) -> list[Channel]:
        """Return the channels of several words; mechanisms that compute them jointly override this."""
        return [self.channel(int(r)) for r in rows]

    @property
    def space(self) -> WordSpace:
        """Return the word space for distances between its words: the default one, if it has none of its own."""
        from ...words import word_space

        return word_space()

    def likelihood_of(self, released: str, epsilon: float, rows: np.ndarray) -> np.ndarray:
        """Return ln p(released | word) of the words at ``rows``, float64 (n,), exactly."""
        out, places, last = np.empty(len(rows)), np.empty(0, np.int64), None
        for i, channel in enumerate(self.channels(rows)):
            if channel.candidates is not last:
                last, places = channel.candidates, places_of(channel.candidates, released)
            out[i] = logsumexp(channel.at(epsilon).log_probs[places]) if len(places) else -np.inf
        return out

    def log_likelihood(self, released: str, epsilon: float, task: Task = UNWATCHED) -> tuple[np.ndarray, float]:
        every, step = np.arange(len(self.vocabulary.words)), 256
        out = np.empty(len(every))
        for start in range(0, len(every), step):
            task.check()
            rows = every[start : start + step]
            out[rows] = self.likelihood_of(released, epsilon, rows)
            task.report(int(rows[-1]) + 1, len(every))
        return out, 0.0

    def likelihood_ready(self, epsilon: float) -> bool:
        return len(self.vocabulary.words) <= SHORT

    def words_alike(self, words: Sequence[str], n: int) -> list[str] | None:
        return None


def _ranges() -> dict[str, dict[str, dict[str, float]]]:
    return bundled("benchmarks/deniability.json", _read_ranges, {})


def _read_ranges(path: Path) -> dict[str, dict[str, dict[str, float]]]:
    return read_json(path)["ranges"]
