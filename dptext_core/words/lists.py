"""One-dimensional word lists: the words of a space in one sequence (1-Diffractor, Meisenbacher et al. 2024, Algorithm
1).

A list starts at a random word and always continues with the nearest remaining word. The distance of two words is then
that of their indices. The bundled lists (``word_lists``) are one of the whole space minilm, and two of each bundled
space on the words common to all of them. ``SPACE@SEED`` builds one of any other space.

The file contains only indices of words. The words come with the spaces, and their SHA-256 shows whether the file was
made for them. Torch is not needed.
"""

from __future__ import annotations

import lzma
import re
import threading
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, overload

import numpy as np

from ..errors import ConfigError, InputError, ModelUnavailable
from ..support.assets import assets_folder
from ..support.checks import check_whole_number, shorten_repr
from ..support.task import UNWATCHED, Task
from ..text.language import Language
from ..text.languages import ENGLISH
from .space_loading import common_vocabulary, space_file, word_space, words_sha256

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


FULL = "minilm-full"
LIST_SPACES = ("minilm", "minilm-input", "word2vec", "fasttext", "cooccurrence")
# L0 and L1: one list, and two, of each of five embeddings; L2: one list of one embedding (Section 4.1.3).
CONFIGURATIONS: dict[str, tuple[str, ...]] = {
    "L0": tuple(f"{space}-1" for space in LIST_SPACES),
    "L1": tuple(f"{space}-{i}" for space in LIST_SPACES for i in (1, 2)),
    "L2": (FULL,),
}

_NEIGHBOURS = 32
# Numbers in one block of bounds: 48 MB in float32.
_BLOCK = 12_000_000
_FOLDS = 8
# One search over all remaining words costs about as much as the neighbours of this many words in a block.
_SEARCH_COST = 8
# Covers underflow in float32, where the longest centred vector has length 1.
_TINY = 1e-30
# The squares of these numbers, and of their inverses, are normal numbers in float64.
_LARGE = 1e100


@dataclass(frozen=True, eq=False)
class WordList(Sequence[str]):
    """The words of a space in the order of a one-dimensional list; used like a tuple.

    ``space`` is the name of the word space.
    """

    name: str
    space: str
    words: tuple[str, ...] = field(repr=False)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word.lower(): i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...

    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        return self.words[place]

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.index(word) is not None

    def index(self, word: str) -> int | None:  # type: ignore[override]
        """Return the index of a word, ignoring case; None without an error if the list does not contain it."""
        return self._places.get(word.lower())


def without_words(words: WordList, places: tuple[int, ...]) -> WordList:
    """Return the list without the words at these indices; later ones move up. Raises ConfigError if none remains."""
    if not places:
        return words
    if len(places) >= len(words):
        raise ConfigError(
            f"The blocklist leaves no word of the word list {words.name}. Shorten the blocklist."
        )
    return _without_words(words, places)


@lru_cache(maxsize=24)
def _without_words(words: WordList, places: tuple[int, ...]) -> WordList:
    # By indices: nothing that was typed is kept in the process.
    gone = set(places)
    return WordList(words.name, words.space, tuple(w for i, w in enumerate(words.words) if i not in gone))


def word_lists() -> tuple[str, ...]:
    """Return the names of the bundled lists, the list of the whole default space first."""
    return (FULL, *CONFIGURATIONS["L1"])


def list_space(name: str) -> str:
    """Return the name or path of the word space of the list ``name`` without loading it.

    Raises ConfigError if the name is neither one of ``word_lists()`` nor ``SPACE@SEED``.
    """
    return _parse(name)[0]


def word_list(name: str = FULL, task: Task | None = None, language: Language = ENGLISH) -> WordList:
    """Return a one-dimensional word list by name.

    Parameters
    ----------
    name : str
        One of ``word_lists()``, or ``SPACE@SEED`` (``glove-840b@1``, ``/path/vectors.txt@7``), which is built on first
        use (see ``user_list``).
    task : Task, optional
        Receives the progress of the build, and may cancel it.
    language : Language

    Returns
    -------
    WordList

    Raises
    ------
    ConfigError
        The name is unknown.
    ModelUnavailable
        The file is missing, or was made for other words.
    """
    space, seed = _parse(name)
    return _load(name) if seed is None else user_list(space, seed, task or UNWATCHED, language)


def _parse(name: str) -> tuple[str, int | None]:
    """Return the space of a list, and the seed of a list that is not bundled."""
    if not isinstance(name, str):
        raise ConfigError(f"The name of a word list must be a str, not {shorten_repr(name)}.")
    if name in word_lists():
        return name.rpartition("-")[0], None
    parts = re.fullmatch(r"(.+)@([0-9]{1,18})", name)
    if parts is None:
        raise ConfigError(
            f"Unknown word list {shorten_repr(name)}. Use one of {', '.join(word_lists())}, or SPACE@SEED. SPACE is a "
            "word space (name or path); SEED, a number, selects the first word (glove-840b@1)."
        )
    return parts[1], int(parts[2])


def check_list(name: str) -> None:
    """Check that ``word_list`` knows this name, without reading or building anything. Raises the same errors."""
    space, seed = _parse(name)
    if seed is not None:
        space_file(space)


_built: dict[tuple[str, int, Language], tuple[object, WordList]] = {}
_building = threading.Lock()


def user_list(space: str, start_seed: int, task: Task = UNWATCHED, language: Language = ENGLISH) -> WordList:
    """Return the list ``SPACE@SEED``: all words of a space (name or path), starting at the word that the seed selects.

    Cached in the process until the file changes; one list is built at a time. The start is public, so a seed does not
    weaken a mechanism's guarantee. ``task`` as in ``build_list``, ``language`` as in ``word_space``. Raises ConfigError
    for a negative seed, and the errors of ``word_space``.
    """
    start_seed = check_whole_number("The seed of a word list", start_seed, least=0)
    file, key = space_file(space), (space, start_seed, language)
    while not _building.acquire(timeout=0.1):
        task.check()
    try:
        if key not in _built or _built[key][0] != file:
            full_space = word_space(space, language=language)
            start = int(np.random.default_rng(start_seed).integers(len(full_space)))
            order = build_list(full_space.vectors, start, task)
            words = WordList(f"{space}@{start_seed}", space, tuple(full_space.words[i] for i in order))
            _built[key] = file, words
        return _built[key][1]
    finally:
        _building.release()


@cache
def _load(name: str) -> WordList:
    path = assets_folder() / "words" / "lists.npz"
    words = word_space("minilm").words if name == FULL else common_vocabulary()
    damaged = ModelUnavailable(
        f"The word lists words/{path.name} are missing from the folder 'assets' or damaged. Restore the file from the "
        "repository, or build it with tools/build_word_lists.py."
    )
    try:
        with np.load(path, allow_pickle=False) as file:
            order = file[name].astype(np.int64)
            digest = str(file["full_sha256" if name == FULL else "common_sha256"])
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error, lzma.LZMAError) as error:
        raise damaged from error
    if digest != words_sha256(words):
        raise ModelUnavailable(
            f"The word list {name} was built for other words than those of the word spaces on this machine. Restore "
            "the folder 'assets' from the repository, or build the lists with tools/build_word_lists.py."
        )
    if not np.array_equal(np.sort(order), np.arange(len(words))):
        raise damaged
    return WordList(name, list_space(name), tuple(words[i] for i in order))


def build_list(vectors: ArrayLike, start: int, task: Task = UNWATCHED) -> NDArray[np.int64]:
    """Return the order of rows by Algorithm 1: from row ``start`` always the nearest remaining row; int64 (n,).

    vectors: (n, d), n ≥ 1, finite, of any length. Distances are Euclidean in float64 (``numpy.linalg.norm`` of the
    difference), and ties go to the smaller row. The algorithm as printed removes a word from the vocabulary only after
    the search from it, so that a word would be its own nearest neighbour. Here it is removed before the search, as
    intended. task: counts 2n steps: n words whose neighbours are computed, n words placed. Raises InputError for
    unusable vectors or an unusable start, Cancelled once ``task`` is cancelled.
    """
    return build(vectors, start, task)[0]


def build(vectors: ArrayLike, start: int, task: Task = UNWATCHED) -> tuple[NDArray[np.int64], int]:
    """Return the list, and how many of its words required a search over all remaining words."""
    points = np.asarray(vectors)
    if points.dtype != np.float32:
        points = points.astype(np.float64)
    if points.ndim != 2 or not len(points) or not float(np.abs(points).max(initial=0.0)) < _LARGE:
        raise InputError(
            f"A word list needs one vector per word, of finite numbers below {_LARGE:g}, but got an array of shape "
            f"{points.shape}."
        )
    n = len(points)
    if not 0 <= start < n:
        raise InputError(f"There is no word {start} to start from. Choose a number from 0 to {n - 1}.")

    def report(done: int) -> None:
        task.check()
        task.report(done, 2 * n)

    remaining = _RemainingRows(points)
    remaining.find_neighbours(report)
    report(n)
    order = np.empty(n, dtype=np.int64)
    order[0] = start
    remaining.take(start)
    for i in range(1, n):
        if i % 256 == 0:
            report(n + i)
        if remaining.searched * _SEARCH_COST > len(remaining.rows):
            remaining.find_neighbours(lambda _: task.check())
        order[i] = remaining.nearest(int(order[i - 1]))
        remaining.take(int(order[i]))
    report(2 * n)
    return order, remaining.searches


class _RemainingRows:
    """The rows that are not yet placed, and bounds on each one's neighbours.

    Squared distances come from float32 matrix products of the centred rows, less the largest possible rounding error.
    So they are lower bounds, and only rows whose bound does not exceed the exact distance of one row can be nearer. For
    each row the _NEIGHBOURS rows with the smallest bounds are stored. No other row is below the last of these, even
    after some were placed. If the nearest of them is not below it, all remaining rows are searched.
    """

    def __init__(self, points: NDArray) -> None:
        n, d = points.shape
        self.points = points
        centred = points.astype(np.float64)
        centred -= centred.mean(axis=0)
        scale = float(np.sqrt(np.einsum("ij,ij->i", centred, centred).max()))
        # Below this, squares underflow: scaled by 1, all rows are within _TINY and are compared exactly.
        self.scale = scale if scale * _LARGE > 1.0 else 1.0
        centred /= self.scale
        # |fl(x·y) − x·y| ≤ d u |x||y| and 2|x||y| ≤ |x|² + |y|²: twice that, plus a few single roundings.
        slack = (d + 8) * 2.0**-23
        self.squares = ((1.0 - slack) * np.einsum("ij,ij->i", centred, centred)).astype(np.float32)
        self.centred = centred.astype(np.float32)
        self.free = np.ones(n, dtype=bool)
        self.near = np.empty((n, 0), dtype=np.int32)
        self.bounds = np.empty((n, 0), dtype=np.float32)
        # The remaining rows without gaps, as of the last time that gaps were closed.
        self.rows, self.left_centred, self.left_squares = np.arange(n), self.centred, self.squares
        self.exports = self.searched = self.searches = 0

    def take(self, row: int) -> None:
        self.free[row] = False
        self.exports += 1

    def find_neighbours(self, report: Callable[[int], None]) -> None:
        """Compute the neighbours of all remaining rows among themselves."""
        self._close_gaps()
        self.searched = 0
        rows, k = self.rows, _NEIGHBOURS
        if len(rows) <= _FOLDS * k:
            return
        if not self.near.size:
            self.near = np.empty((len(rows), k), dtype=np.int32)
            self.bounds = np.empty((len(rows), k), dtype=np.float32)
        width = -(-len(rows) // _FOLDS)
        height = max(1, _BLOCK // (_FOLDS * width))
        buffer = np.full((height, _FOLDS * width), np.inf, dtype=np.float32)
        for begin in range(0, len(rows), height):
            report(begin)
            end = min(begin + height, len(rows))
            inside = np.arange(end - begin)[:, None]
            lower = buffer[: end - begin, : len(rows)]
            np.matmul(-2.0 * self.left_centred[begin:end], self.left_centred.T, out=lower)
            lower += self.left_squares
            # The k smallest are in the k columns with the smallest minima: faster than a search of all.
            folded = buffer[: end - begin].reshape(-1, _FOLDS, width)
            columns = np.argpartition(folded.min(axis=1), k, axis=1)[:, :k]
            places = (columns[:, None, :] + width * np.arange(_FOLDS)[:, None]).reshape(len(inside), -1)
            values = buffer[inside, places]
            order = np.argsort(values, axis=1)[:, :k]
            self.near[rows[begin:end]] = rows[places[inside, order]]
            self.bounds[rows[begin:end]] = values[inside, order] + self.left_squares[begin:end, None]

    def nearest(self, row: int) -> int:
        """Return the nearest remaining row, exactly."""
        near = self.near[row]
        free = self.free[near]
        if free.any():
            bounds = self.bounds[row]
            index, distance = self._exact(row, near[free], bounds[free])
            if (distance / self.scale) ** 2 < float(bounds[-1]) - _TINY:
                return index
        return self._search(row)

    def _search(self, row: int) -> int:
        """Return the nearest of all remaining rows."""
        self.searched += 1
        self.searches += 1
        if self.exports * 8 > len(self.rows):
            self._close_gaps()
        lower = self.left_centred @ (-2.0 * self.centred[row])
        lower += self.left_squares
        lower += self.squares[row]
        lower[~self.free[self.rows]] = np.inf
        return self._exact(row, self.rows, lower)[0]

    def _exact(self, row: int, others: NDArray, lower: NDArray) -> tuple[int, float]:
        """Return the nearest of ``others``, and its distance; ``lower`` contains bounds of the squared distances."""
        from_here = self.points[row].astype(np.float64)
        guess = np.linalg.norm(self.points[others[lower.argmin()]].astype(np.float64) - from_here)
        rivals = others[lower <= (guess / self.scale) ** 2 + _TINY]
        distances = np.linalg.norm(self.points[rivals].astype(np.float64) - from_here, axis=1)
        nearest = distances.min()
        return int(rivals[distances == nearest].min()), float(nearest)

    def _close_gaps(self) -> None:
        if not self.exports:
            return
        self.rows = np.flatnonzero(self.free)
        self.left_centred, self.left_squares = self.centred[self.rows], self.squares[self.rows]
        self.exports = 0
