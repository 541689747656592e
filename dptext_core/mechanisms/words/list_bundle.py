"""Several one-dimensional word lists as one: the position of each word in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ...errors import ConfigError
from ...text.language import Language
from ...text.languages import ENGLISH
from ...words.lists import WordList, without_words, word_list
from ..blocklist import Blocklist


@dataclass(frozen=True, eq=False)
class Bundle:
    """Lists that are used together.

    words: those on every list (rows count in them). outputs: those on any list. places: int64 (lists, words), the
    position of each word. order: for each list, the output at each place.
    """

    lists: tuple[WordList, ...]
    words: tuple[str, ...]
    outputs: tuple[str, ...]
    places: np.ndarray
    order: tuple[np.ndarray, ...]

    @cached_property
    def place_of(self) -> dict[str, int]:
        """Return the index of each lower-case word among the outputs."""
        return {w.lower(): i for i, w in reversed(list(enumerate(self.outputs)))}

    @cached_property
    def where(self) -> np.ndarray:
        """Return int64 (lists, outputs): the position of each output, −1 if a list lacks it."""
        positions = np.full((len(self.order), len(self.outputs)), -1, np.int64)
        for row, order in zip(positions, self.order, strict=True):
            row[order] = np.arange(len(order))
        return positions

    @cached_property
    def output_of(self) -> np.ndarray:
        """Return int64 (words,): the output index of each row."""
        return self.order[0][self.places[0]]

    @cached_property
    def nearest(self) -> float:
        """Return the median distance of a word from its nearest other word, over 400 evenly spread words.

        Distances are positions on the list on which the two words are farthest apart."""
        n = len(self.words)
        if len(self.lists) == 1 or n < 2:
            return 1.0
        nearest = []
        for row in np.unique(np.linspace(0, n - 1, min(400, n)).astype(np.int64)):
            distances = np.abs(self.places - self.places[:, [row]]).max(0)
            nearest.append(np.delete(distances, row).min())
        return float(np.median(nearest))

    @cached_property
    def lengths(self) -> np.ndarray:
        """Return the length of each list, int64 (lists,)."""
        return np.array([len(o) for o in self.order])


def bundle(names: tuple[str, ...], language: Language = ENGLISH, never: Blocklist | None = None) -> Bundle:
    """Return the bundle of the lists with these names, without words on the blocklist."""
    lists = [word_list(n, language=language) for n in names]
    return _bundled(tuple(one if not never else without_words(one, never.places(one.words)) for one in lists))


@lru_cache(maxsize=16)
def _bundled(lists: tuple[WordList, ...]) -> Bundle:
    # Keyed by content, not by name: a list over a user's file changes with the file.
    lowered = [[w.lower() for w in one] for one in lists]
    shared = set(lowered[0]).intersection(*lowered[1:])
    if not shared:
        raise ConfigError("These lists have no word in common. Choose lists over the same words.")
    words = tuple(w for w in lowered[0] if w in shared)
    outputs = tuple(dict.fromkeys(w for one in lowered for w in one))
    at = {w: i for i, w in enumerate(outputs)}
    order = tuple(np.array([at[w] for w in one], np.int64) for one in lowered)
    places = np.empty((len(lists), len(words)), np.int64)
    for row, one in zip(places, lowered, strict=True):
        place = {w: i for i, w in enumerate(one)}
        row[:] = [place[w] for w in words]
    return Bundle(lists, words, outputs, places, order)
