"""The attacker's prior knowledge: public word frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import InputError
from ..mechanisms.base import Mechanism
from ..mechanisms.config import keeps_stop_words, stop_list
from ..support.cache import weak_cache
from ..support.checks import text_list
from ..text.lexicon import Lexicon
from ..text.lexicons import stop_words
from ..words import WordSpace, word_space


@dataclass(frozen=True, eq=False)
class Prior:
    """Prior probabilities of words. words: (V,), lower or mixed case, each once. p: float64 (V,), summing to 1; 0 for
    an impossible word.
    """

    words: tuple[str, ...] = field(repr=False)
    p: np.ndarray = field(repr=False)

    @property
    def chance(self) -> float:
        """Return how often a guess without the output is right: the probability of the most frequent word."""
        return float(self.p.max())

    @property
    def guess(self) -> str:
        """Return the most frequent word: the best guess without the output."""
        return self.words[int(self.p.argmax())]

    def chance_of(self, k: int) -> float:
        """Return how often the original is among the k most frequent words."""
        return float(np.sort(self.p)[::-1][:k].sum())

    def only(self, words: Sequence[str]) -> Prior:
        """Return the prior over these words alone. Raises InputError if none of them is possible."""
        wanted = {w.lower() for w in text_list(words, "words")}
        p = np.where([w.lower() in wanted for w in self.words], self.p, 0.0)
        if not p.sum() > 0:
            raise InputError("This mechanism samples none of these words. Give words of its vocabulary.")
        return Prior(self.words, p / p.sum())


def public_prior(mechanism: Mechanism, smoothing: float = 1.0) -> Prior:
    """Return the public frequencies of the words that the mechanism samples. ``smoothing`` is added to each count, so
    that no word is excluded. A vocabulary without counts uses those of the default word space. If the mechanism keeps
    stop words, they count 0: only those that are written as a name or a number are replaced.
    """
    if not smoothing > 0:
        raise InputError(f"The smoothing must be above 0, so that every word remains possible; it is {smoothing:g}.")
    config = mechanism.config
    by_word = mechanism.by_word
    vocabulary = word_space() if by_word is None else by_word.vocabulary
    keeps = keeps_stop_words(config)
    return _prior(vocabulary, stop_words(stop_list(config), mechanism.language) if keeps else None, smoothing)


@weak_cache(2)
def _prior(vocabulary, stop: Lexicon | None, smoothing: float) -> Prior:
    words = tuple(vocabulary.words)
    counts = vocabulary.counts if isinstance(vocabulary, WordSpace) else None
    if counts is None:
        space = word_space()
        assert space.counts is not None
        rows = space.rows(words)
        counts = np.where(rows >= 0, space.counts[rows], 0)
    weights = counts.astype(np.float64) + smoothing
    if stop is not None:
        weights[[w.lower() in stop for w in words]] = smoothing
    return Prior(words, weights / weights.sum())
