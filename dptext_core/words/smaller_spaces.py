"""Word spaces without the words of a blocklist."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from weakref import WeakSet

import numpy as np

from ..errors import Busy, ConfigError
from .space import WordSpace
from .space_loading import SPACES


def without_words(space: WordSpace, places: tuple[int, ...], everyones: bool = False) -> WordSpace:
    """Return the space without the words at these indices.

    everyones: True for the program's list, whose space all sessions of a server share. Raises ConfigError if no word
    remains.
    """
    if not places:
        return space
    if len(places) >= len(space):
        raise ConfigError(
            f"The blocklist leaves no word of the word space {space.name}. Shorten the blocklist."
        )
    return _without_public(space, places) if everyones else _without(space, places)


#: Reduced spaces in this process, each as large as the whole one, and their maximum number. None: no limit, because the
#: caller who makes them also provides the memory.
_smaller: WeakSet[WordSpace] = WeakSet()
most_smaller: int | None = None


def hold_at_most(n: int) -> None:
    """Refuse, with Busy, more than n reduced spaces at a time: for a server that strangers use."""
    global most_smaller
    most_smaller = n


@lru_cache(maxsize=len(SPACES))
def _without_public(space: WordSpace, places: tuple[int, ...]) -> WordSpace:
    return _made_without(space, places)


@lru_cache(maxsize=2)
def _without(space: WordSpace, places: tuple[int, ...]) -> WordSpace:
    # By indices, so that the process stores which public words are missing, and nothing that was typed.
    if most_smaller is not None and len(_smaller) >= most_smaller:
        _without.cache_clear()
        if len(_smaller) >= most_smaller:
            raise Busy(
                "This server has no memory for another blocklist. Empty the list, or try again in a few minutes."
            )
    reduced = _made_without(space, places)
    _smaller.add(reduced)
    return reduced


def _made_without(space: WordSpace, places: tuple[int, ...]) -> WordSpace:
    remaining = np.delete(np.arange(len(space)), places)
    words = tuple(space.words[i] for i in remaining.tolist())
    counts = None if space.counts is None else space.counts[remaining]
    codes = None if space.codes is None else space.codes[remaining]
    base = (space, places) if space.name in SPACES else None  # a user's space is not dropped for one that is smaller
    vectors: Any = space.vectors[remaining] if space.step is None else None
    return WordSpace(space.name, space.title, words, vectors, counts, None, codes, space.bounds, base, step=space.step)
