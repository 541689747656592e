"""Word spaces: a public vocabulary with one vector a word.

The bundled space ``minilm`` encodes each of the 21,719 whole words of all-MiniLM-L6-v2's vocabulary as a sentence with
that model. Its file holds the vectors, rotated to their principal axes and rounded (both leave angles and distances as
they are, the rounding nearly; ``tools/build_word_space.py`` prints how nearly), and the order of the words; the words
themselves come with the model. Torch is not needed.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np

from .._assets import assets_folder
from ..errors import ConfigError, InputError, ModelUnavailable
from .vocabulary import read_pieces, whole_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPACES = {"minilm": "all-MiniLM-L6-v2, 21,719 words"}
WORD_METRICS = ("cosine", "euclidean")


@dataclass(frozen=True, eq=False)
class WordSpace:
    """Words in order of public frequency (most frequent first) and their vectors, float32 (n, d), each of length 1.

    The arrays are read-only, so a space can be shared between threads. Raises InputError where the numbers of words and
    vectors differ, a word comes twice, or a vector has no direction.
    """

    name: str
    title: str
    words: tuple[str, ...] = field(repr=False)
    vectors: NDArray[np.float32] = field(repr=False)

    def __post_init__(self) -> None:
        words = tuple(self.words)
        vectors = np.array(self.vectors, dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(words):
            raise InputError(f"A word space needs one vector a word: {len(words)} words, vectors {vectors.shape}.")
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.all(np.isfinite(length)) or np.any(length == 0):
            raise InputError("A word space needs finite vectors that are not zero.")
        vectors /= length
        vectors.setflags(write=False)
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "vectors", vectors)
        if len(self._indices) != len(words):
            raise InputError("A word space has each word once, case ignored.")

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {word.lower(): i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.index(word) is not None

    def index(self, word: str) -> int | None:
        """The place of a word, case ignored; None where the space does not have it."""
        return self._indices.get(word.lower())

    def similarities(self, word: str) -> NDArray[np.float32]:
        """Cosine of a word with every word of the space, float32 (n,), in the order of ``words``."""
        return np.clip(self.vectors @ self.vectors[self._place(word)], -1.0, 1.0)

    def distances(self, word: str) -> NDArray[np.float32]:
        """Euclidean distance of a word to every word of the space, float32 (n,), in the order of ``words``."""
        place = self._place(word)
        # In float64: 1 - cosine of near neighbours loses its digits in float32.
        cosine = self.vectors.astype(np.float64) @ self.vectors[place].astype(np.float64)
        distances = np.sqrt(np.maximum(0.0, 2.0 - 2.0 * cosine)).astype(np.float32)
        distances[place] = 0.0
        return distances

    def neighbours(self, word: str, k: int, metric: str = "cosine") -> tuple[tuple[str, float], ...]:
        """The k nearest other words, nearest first, by exact search; ties go to the more frequent word.

        Each comes with its cosine similarity, or with its distance where ``metric`` is "euclidean".
        """
        if metric not in WORD_METRICS:
            raise ConfigError(f"Unknown metric of a word space {metric!r}: use one of {', '.join(WORD_METRICS)}.")
        if k < 0:
            raise ConfigError(f"The number of neighbours must not be negative, and is {k}.")
        values = self.similarities(word) if metric == "cosine" else self.distances(word)
        order = np.argsort(-values if metric == "cosine" else values, kind="stable")
        chosen: Sequence[int] = order[order != self._place(word)][:k]
        return tuple((self.words[i], float(values[i])) for i in chosen)

    def _place(self, word: str) -> int:
        place = self.index(word)
        if place is None:
            raise InputError(f"The word space {self.name} has no such word: look it up with index() first.")
        return place


def word_space(name: str = "minilm") -> WordSpace:
    """A word space by name, kept for the process. Raises ConfigError for an unknown name, ModelUnavailable for a file
    that is missing or belongs to another vocabulary."""
    if name not in SPACES:
        raise ConfigError(f"Unknown word space {name!r}: use one of {', '.join(SPACES)}.")
    return _load(name)


@cache
def _load(name: str) -> WordSpace:
    path = assets_folder() / "words" / f"{name}.npz"
    try:
        with np.load(path, allow_pickle=False) as file:
            order, codes = file["order"], file["codes"]
            step, digest = float(file["step"]), str(file["words_sha256"])
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ModelUnavailable(
            f"The word space words/{path.name} is missing from the folder 'assets' or damaged: take it from the "
            "repository again, or build it with tools/build_word_space.py."
        ) from error
    vocabulary = whole_words(read_pieces())
    if digest != words_sha256(vocabulary):
        raise ModelUnavailable(
            f"The word space {name} was built for another vocabulary than that of the installed model. Install the "
            "version in requirements.txt, or build the space again with tools/build_word_space.py."
        )
    # The codes lie axis by axis, which packs smaller.
    vectors = codes.T.astype(np.float32) * np.float32(step)
    return WordSpace(name, SPACES[name], tuple(vocabulary[i] for i in order), vectors[order])


def words_sha256(words: Sequence[str]) -> str:
    """SHA-256 of a list of words, one a line: tells vocabularies apart."""
    return hashlib.sha256("\n".join(words).encode("utf-8")).hexdigest()
