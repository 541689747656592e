"""The rows of a text's words in a public vocabulary."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

import numpy as np

from ...support.cache import weak_cache
from ...text.lexicon import Lexicon

UNKNOWN = -1
KEPT = -2
MASK = "[MASK]"


class Vocabulary(Hashable, Protocol):
    """Words in a fixed order, each once, ignoring case: a word space, or the words on one-dimensional lists."""

    @property
    def words(self) -> tuple[str, ...]: ...


@weak_cache(3)
def _codes(vocabulary: Vocabulary, stop: Lexicon | None) -> dict[str, int]:
    """Map each lower-case word to its row, or to KEPT for a stop word of the vocabulary. Contains public words only."""
    rows = {w.lower(): i for i, w in enumerate(vocabulary.words)}
    if stop is not None:
        rows |= dict.fromkeys((w for w in rows if w in stop), KEPT)
    return rows


def places_of(candidates: Sequence[str], word: str) -> np.ndarray:
    """Return the indices of a word among candidates, ignoring case."""
    key = word.lower()
    return np.flatnonzero([c.lower() == key for c in candidates])
