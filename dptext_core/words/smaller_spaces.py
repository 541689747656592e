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
    """Return the space without the words at these places. everyones: by the program's list, so that all visitors of a
    server have this one. Raises ConfigError where none is left."""
    if not places:
        return space
    if len(places) >= len(space):
        raise ConfigError(
            f"The list of words that are never released leaves no word of the word space {space.name}. Take some out "
            "of the list."
        )
    return _without_public(space, places) if everyones else _without(space, places)


#: Spaces without some words that this process holds, each as large as the whole one, and how many it may hold: None
#: where whoever makes them also pays for them.
_smaller: WeakSet[WordSpace] = WeakSet()
most_smaller: int | None = None


def hold_at_most(n: int) -> None:
    """Refuse, with Busy, more than so many spaces without some words at a time: for a server that strangers use."""
    global most_smaller
    most_smaller = n


@lru_cache(maxsize=len(SPACES))
def _without_public(space: WordSpace, places: tuple[int, ...]) -> WordSpace:
    return _made_without(space, places)


@lru_cache(maxsize=2)
def _without(space: WordSpace, places: tuple[int, ...]) -> WordSpace:
    # By places, so that what is kept for the process is which public words are missing, and nothing that was typed.
    if most_smaller is not None and len(_smaller) >= most_smaller:
        _without.cache_clear()
        if len(_smaller) >= most_smaller:
            raise Busy(
                "This server holds as many lists of words that are never released as it has room for. Empty the list, "
                "or try again in some minutes."
            )
    made = _made_without(space, places)
    _smaller.add(made)
    return made


def _made_without(space: WordSpace, places: tuple[int, ...]) -> WordSpace:
    kept = np.delete(np.arange(len(space)), places)
    words = tuple(space.words[i] for i in kept.tolist())
    counts = None if space.counts is None else space.counts[kept]
    codes = None if space.codes is None else space.codes[kept]
    whole = (space, places) if space.name in SPACES else None  # a user's is not held for one that is smaller
    vectors: Any = space.vectors[kept] if space.step is None else None
    return WordSpace(space.name, space.title, words, vectors, counts, None, codes, space.bounds, whole, step=space.step)
