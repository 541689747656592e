"""Word spaces: a public vocabulary with one vector per word.

Five are bundled. ``minilm`` encodes each of the 21,719 whole words of all-MiniLM-L6-v2's vocabulary as a sentence with
that model, and ``minilm-input`` uses the rows of that model's input embeddings unchanged. The others were trained on a
public corpus of 4.2 million words, for the words that occur in it at least five times: ``word2vec`` (skip-gram,
negative sampling), ``fasttext`` (the same over character n-grams) and ``cooccurrence`` (factorised positive PMI,
retrofitted with synonyms). The files contain vectors, the order of the words and their counts in the corpus. The
vectors are rotated to their principal axes, which preserves angles and distances, and rounded, which nearly does: the
build tools print the error. The words themselves come with the model. Torch is not needed.

Other spaces are read from a user's files, see ``files``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ConfigError, InputError
from ..support.checks import check_whole_number, shorten_repr
from ..support.device import best_device

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

WORD_METRICS = ("cosine", "euclidean")

# Numbers in one block of distances: 64 MB in float64.
_BLOCK = 8_000_000
#: Values per part of a long row; at first, only the lowest of each part is considered.
_PART = 64
#: Up to this many words, the distances to all others are few rows of a product.
_FEW = 16
#: How far beyond the last requested cosine float32 values are checked, so that no float64 value is missed.
_ROUGHLY = np.float32(1e-4)
# Words on one side of a block of approximate distances, which fits into the cache.
_ROUGH = 2048
# A squared distance from products is used if it exceeds its rounding error by this factor, else the difference.
_DIGITS = 1e8


@dataclass(frozen=True, eq=False)
class WordSpace:
    """Words in order of public frequency (most frequent first) and their vectors, float32 (n, d), raw or of length 1.

    The mechanisms use the vectors as stored: of length 1 in minilm, word2vec, fasttext and cooccurrence, unscaled in
    minilm-input and in a user's files. The arrays are read-only, so a space can be shared between threads.

    Attributes
    ----------
    name, title : str
    words : tuple of str
    vectors : float32, shape (n, d)
        If None, they are computed from ``codes`` and ``step`` on first use of all of them: see ``vectors_at``.
    counts : int64, shape (n,), or None
        Count of each word in the public corpus, if known.
    known_delta : (float, float) or None
        ``delta``, if known.
    codes : int8, shape (n, d), or None
        If set, the vectors are these integers scaled to length 1: their products are exact in float32, at half the cost
        of float64.
    known_bounds : (float, float) or None
        Lower and upper bound of all distances of two words, if ``delta`` itself is unknown.
    smaller_than : (WordSpace, tuple of int) or None
        For a reduced space: the bundled space, and the indices of the words removed from it.
    step : float or None
        The factor of the codes before they are scaled to length 1, if the vectors are computed from them.

    Raises
    ------
    InputError
        The numbers of words, vectors and counts differ, counts are negative or ascending, a word is repeated, or a
        vector is zero or not finite.
    """

    name: str
    title: str
    words: tuple[str, ...] = field(repr=False)
    vectors: NDArray[np.float32] = field(repr=False)  # or None, which no reader sees
    counts: NDArray[np.int64] | None = field(default=None, repr=False)
    known_delta: tuple[float, float] | None = field(default=None, repr=False)
    codes: NDArray[np.int8] | None = field(default=None, repr=False)
    known_bounds: tuple[float, float] | None = field(default=None, repr=False)
    smaller_than: tuple[WordSpace, tuple[int, ...]] | None = field(default=None, repr=False)
    step: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        words = tuple(self.words)
        is_lazy = self.vectors is None
        vectors: NDArray[Any]
        if is_lazy:
            assert self.codes is not None and self.step is not None
            vectors = self.codes
        else:
            vectors = np.array(self.vectors, dtype=np.float32, order="C")
        if vectors.ndim != 2 or len(vectors) != len(words) or not words:
            raise InputError(f"A word space needs one vector per word, but there are {len(words)} words and vectors of "
                             f"shape {vectors.shape}.")
        if not np.all(np.isfinite(vectors)) or not np.all(np.any(vectors, axis=1)):
            raise InputError("A word space needs finite vectors that are not zero.")
        object.__setattr__(self, "words", words)
        if is_lazy:
            del self.__dict__["vectors"]  # _all_vectors computes them
        else:
            vectors.setflags(write=False)
            object.__setattr__(self, "vectors", vectors)
        if len(self._indices) != len(words):
            raise InputError("A word space must contain each word only once, ignoring case.")
        if self.counts is not None:
            counts = np.array(self.counts, dtype=np.int64)
            if counts.shape != (len(words),) or np.any(counts < 0) or np.any(np.diff(counts) > 0):
                raise InputError("The counts of a word space must be one per word, none negative, in descending order.")
            counts.setflags(write=False)
            object.__setattr__(self, "counts", counts)

    def _all_vectors(self) -> NDArray[np.float32]:
        vectors = self.vectors_at(slice(None))
        vectors.setflags(write=False)
        return vectors

    def vectors_at(self, rows: slice | NDArray[np.int64]) -> NDArray[np.float32]:
        """Return ``vectors[rows]``, the same bits, without computing all the others from codes."""
        if self.codes is None or self.step is None or "vectors" in self.__dict__:
            return self.vectors[rows]
        vectors = self.codes[rows].astype(np.float32)
        vectors *= np.float32(self.step)
        vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
        return vectors

    @property
    def width(self) -> int:
        """Return the length of a vector."""
        return (self.vectors if self.codes is None else self.codes).shape[1]

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {word.lower(): i for i, word in enumerate(self.words)}

    @cached_property
    def _squares(self) -> NDArray[np.float64]:
        """Return squared lengths of the vectors, float64 (n,)."""
        return np.concatenate([np.einsum("ij,ij->i", block, block) for _, block in self._blocks()])

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Return lengths of the vectors, float64 (n,)."""
        return np.concatenate([np.linalg.norm(block, axis=1) for _, block in self._blocks()])

    @cached_property
    def _whole(self) -> tuple[NDArray[np.float32], NDArray[np.float64]] | None:
        """Return the codes in float32 and their lengths; a product of two codes is below 2^24 and therefore exact."""
        if self.codes is None:
            return None
        lengths = np.linalg.norm(self.codes.astype(np.float64), axis=1)
        return (self.codes.astype(np.float32), lengths) if lengths.max() ** 2 < 1 << 24 else None

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.index(word) is not None

    def index(self, word: str) -> int | None:
        """Return the index of a word, ignoring case; None if the space does not contain it."""
        if not isinstance(word, str):
            raise InputError(f"A word must be a str, not {type(word).__name__}.")
        return self._indices.get(word.lower())

    def rows(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Return the indices of many words, ignoring case, int64 (m,); -1 if the space does not contain the word."""
        return np.array([self._indices.get(word.lower(), -1) for word in words], dtype=np.int64)

    def similarities(self, word: str) -> NDArray[np.float32]:
        """Return the cosine of a word with every word of the space, float32 (n,), in the order of ``words``."""
        place = self._place(word)
        if self._unit:
            return np.clip(self.vectors @ self.vectors[place], -1.0, 1.0)
        return self._values(np.array([place]), "cosine")[0].astype(np.float32)

    def distances(self, word: str) -> NDArray[np.float32]:
        """Return Euclidean distances of a word to every word, float32 (n,), in the order of ``words``."""
        return self.distance_rows(np.array([self._place(word)]))[0].astype(np.float32)

    def distance_rows(self, rows: ArrayLike, columns: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return Euclidean distances of the words ``rows`` (m,) to every word, float64 (m, n), or only to ``columns``.

        Computed by one matrix product, exactly or in float64, and by differences where products cancel. So near
        neighbours keep their precision, however long the vectors are. A word's distance to itself is 0. Raises
        InputError for an index that the space does not have, including -1.
        """
        places = self._checked(rows)
        if columns is None:
            distances = self._values(places, "euclidean")
            distances[np.arange(len(places)), places] = 0.0
        else:
            others = self._checked(columns)
            distances = self._values(places, "euclidean", columns=others)
            distances[places[:, None] == others] = 0.0
        return distances

    def nearest(
        self, rows: ArrayLike, k: int, metric: str = "euclidean"
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the k nearest words of each given word, by exact search.

        Works in blocks, never with all distances in memory, and on a GPU if torch is loaded and has one.

        Parameters
        ----------
        rows : array_like of int, shape (m,)
            Indices of the words.
        k : int
            Number of neighbours, at most the number of words.
        metric : {"euclidean", "cosine"}

        Returns
        -------
        places : int64, shape (m, k)
            The word itself first, then nearest first; ties go to the more frequent word.
        distances or cosines : float32, shape (m, k)

        Raises
        ------
        InputError
            The space does not have one of the indices.
        ConfigError
            The metric is unknown, or k is below 1.
        """
        places = self._checked(rows)
        _check_metric(metric)
        k = min(check_whole_number("k, the number of nearest words,", k, least=1), len(self))
        chosen, values = np.empty((len(places), k), np.int64), np.empty((len(places), k), np.float32)
        device, sign = _cuda(), 1.0 if metric == "euclidean" else -1.0
        step = max(1, _BLOCK // len(self))
        for start in range(0, len(places), step):
            block = places[start : start + step]
            exact = device is not None or self._whole is None
            keys = sign * self._values(block, metric, device) if exact else self._rough_keys(block)
            # Ascending, and the word itself before all others.
            keys[np.arange(len(block)), block] = -np.inf
            limits = kth_bound(keys, k)
            if not exact:
                limits += _ROUGHLY
            for i, (place, row, limit) in enumerate(zip(block, keys, limits, strict=True), start):
                near = np.flatnonzero(row <= limit)
                columns = row[near] if exact else sign * self._values(place[None], metric, None, near)[0]
                columns[near == place] = -np.inf
                order = np.argsort(columns, kind="stable")[:k]
                chosen[i], values[i] = near[order], columns[order]
        values[:, 0] = 0.0 if metric == "euclidean" else -1.0
        return chosen, values if metric == "euclidean" else -values

    @cached_property
    def delta(self) -> tuple[float, float]:
        """Return (Δmin, Δmax): the smallest and the largest Euclidean distance between two different words.

        Stored in the bundled files; otherwise computed in blocks on first use. That takes some seconds for 20,000
        words, growing with the square of their number. Raises InputError for a space of one word.
        """
        if self.known_delta is not None:
            return self.known_delta
        if len(self) < 2:
            raise InputError("A space of one word has no distances. Use a larger one.")
        middle, squares = self._centre
        step = max(1, _BLOCK // len(self))
        least, most, farthest = np.inf, -np.inf, (0, 1)
        left_factors, right, scale, slack = self._rough(middle, squares)
        for start in range(0, len(self), step):
            end = min(start + step, len(self))
            block = None
            for first in (start, *range(end, len(self), _ROUGH)):
                last = end if first == start else first + _ROUGH
                if first > start:
                    rough = left_factors[start:end] @ right[first:last].T
                    error = slack[start:end].max() + slack[first:last].max()
                    # Entries that are not numbers are checked too.
                    if scale * (rough.min() - error) >= least**2 and scale * (rough.max() + error) <= most:
                        continue
                if block is None:
                    block = self.vectors_at(slice(start, end)).astype(np.float64) - middle
                others = self.vectors_at(slice(first, last)).astype(np.float64) - middle
                total = squares[start:end, None] + squares[first:last]
                squared = total - 2.0 * (block @ others.T)
                total *= self._rounding
                low = squared - total  # a lower bound on the square
                if first == start:
                    # A pair counts once, and a word is not paired with itself.
                    lower = np.tri(end - start, dtype=bool)
                    low[lower], squared[lower] = np.inf, -np.inf
                a, b = np.unravel_index(low.argmin(), low.shape)
                if low[a, b] < least**2:
                    least = min(least, float(self._exact(start + a, first + b)[0]))
                    rivals = np.nonzero(low < least**2)
                    least = min(least, float(self._exact(start + rivals[0], first + rivals[1]).min(initial=np.inf)))
                a, b = np.unravel_index(squared.argmax(), squared.shape)
                if squared[a, b] > most:
                    most, farthest = squared[a, b], (start + int(a), first + int(b))
        return least, float(self._exact(*farthest)[0])

    def _rough(
        self, middle: NDArray[np.float64] | float, squares: NDArray[np.float64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], float, NDArray[np.float64]]:
        """Return factors that approximate squared distances at half the cost: a (n, d + 2), b (n, d + 2), scale, slack
        (n,).

        The squared distance of i and j is scale·(a_i·b_j), off by scale·(slack_i + slack_j) at most.
        """
        scale = float(squares.max()) or 1.0
        a = np.empty((len(self), self.width + 2), np.float32)
        b = np.empty_like(a)
        half = squares / scale
        for first, block in self._blocks():
            part = (block - middle) / math.sqrt(scale)
            a[first : first + len(block), :-2] = part
            b[first : first + len(block), :-2] = -2.0 * part
        a[:, -2], a[:, -1], b[:, -2], b[:, -1] = half, 1.0, 1.0, half
        # The sum of d + 2 products is bounded by 2·|x|·|y| + |x|² + |y|² ≤ 2·(|x|² + |y|²), plus earlier roundings.
        return a, b, scale, (self.width + 16) * 2.0**-23 * half + 1e-30

    def neighbours(self, word: str, k: int, metric: str = "cosine") -> tuple[tuple[str, float], ...]:
        """Return the k nearest other words, nearest first, by exact search; ties go to the more frequent word.

        Each comes with its cosine similarity, or with its distance if ``metric`` is "euclidean".
        """
        _check_metric(metric)
        k = check_whole_number("k, the number of neighbours,", k, least=0)
        values = self.similarities(word) if metric == "cosine" else self.distances(word)
        order = np.argsort(-values if metric == "cosine" else values, kind="stable")
        chosen: Sequence[int] = order[order != self._place(word)][:k]
        return tuple((self.words[i], float(values[i])) for i in chosen)

    @cached_property
    def _unit(self) -> bool:
        return bool(np.all(np.abs(self._squares - 1.0) < 1e-5))

    @cached_property
    def _centre(self) -> tuple[NDArray[np.float64] | float, NDArray[np.float64]]:
        """Return the vector to subtract before computing distances by products, and the squares of the rest.

        It is nonzero only if the vectors are far longer than their distances: distances are unchanged, precision is
        gained.
        """
        middle = self.vectors.mean(axis=0, dtype=np.float64)
        squares = np.concatenate([np.square(block - middle).sum(axis=1) for _, block in self._blocks()])
        return (middle, squares) if 100.0 * squares.sum() < self._squares.sum() else (0.0, self._squares)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Return known bounds of the smallest and the largest distance without computing any, or None."""
        return self.known_delta if self.known_delta is not None else self.known_bounds

    @property
    def _rounding(self) -> float:
        """Return the largest rounding error of a squared distance from products, as a share of the two squares' sum."""
        return (self.width + 8) * 2.0**-52

    @cached_property
    def _may_cancel(self) -> bool:
        """Return True if two different words may be so close that products leave too few digits of their distance."""
        least = 0.0 if self.bounds is None else self.bounds[0]
        return least**2 <= _DIGITS * self._rounding * 2.0 * float(self._centre[1].max())

    def _place(self, word: str) -> int:
        place = self.index(word)
        if place is None:
            raise InputError(f"The word space {self.name} does not contain this word. Look it up with index() first.")
        return place

    def _checked(self, rows: ArrayLike) -> NDArray[np.int64]:
        places = np.asarray(rows)
        if places.ndim != 1 or (places.size and not np.issubdtype(places.dtype, np.integer)):
            raise InputError("Word indices must be a one-dimensional array of whole numbers, as rows() returns them.")
        if np.any(places < 0) or np.any(places >= len(self)):
            raise InputError(
                f"The word space {self.name} has no word at one of these indices. Remove such indices, for example -1."
            )
        return places.astype(np.int64)

    def _blocks(self, start: int = 0) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the vectors from ``start`` on in float64, in blocks of some thousands, each with its first index."""
        step = max(1, 2_000_000 // max(1, self.width))
        for first in range(start, len(self), step):
            yield first, self.vectors_at(slice(first, first + step)).astype(np.float64)

    def _values(
        self, places: NDArray[np.int64], metric: str, device: Any = None, columns: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Return distances or cosines of the words at ``places`` with all words, or only with ``columns``, float64."""
        if device is None and self._whole is not None:
            codes, lengths = self._whole
            others, long = (codes, lengths) if columns is None else (codes[columns], lengths[columns])
            # Few rows are read in half the time in this order; integers have one product.
            few = len(places) <= _FEW
            product = (others @ codes[places].T).T if few else codes[places] @ others.T
            values = product.astype(np.float64, order="C")
            if metric == "cosine":
                values /= long
                return np.clip(values / lengths[places, None], -1.0, 1.0)
            # 2 − 2·cos, in place: these arrays are large.
            values *= -2.0 / long
            values *= 1.0 / lengths[places, None]
            values += 2.0
            return np.sqrt(np.maximum(values, 0.0, out=values), out=values)
        middle: NDArray[np.float64] | float = 0.0
        all_squares = self._squares
        if metric == "euclidean":
            middle, all_squares = self._centre
        centred = not isinstance(middle, float)
        queries, own_squares = self.vectors_at(places).astype(np.float64) - middle, all_squares[places, None]
        values = np.empty((len(places), len(self)))
        for first, block in self._blocks():
            squares = all_squares[first : first + len(block)]
            product = _product(queries, block - middle if centred else block, device)
            if metric == "cosine":
                cosines = np.clip(product / np.sqrt(own_squares * squares), -1.0, 1.0)
            else:
                total = own_squares + squares
                cosines = total - 2.0 * product
                near = np.nonzero(cosines < _DIGITS * self._rounding * total) if self._may_cancel else None
                np.sqrt(np.maximum(0.0, cosines, out=cosines), out=cosines)
                if near is not None:
                    cosines[near] = self._exact(places[near[0]], first + near[1])
            values[:, first : first + len(block)] = cosines
        return values if columns is None else values[:, columns]

    def _rough_keys(self, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return negative cosines with all words, for words with integer codes; the error is below half of _ROUGHLY."""
        assert self._whole is not None
        codes, lengths = self._whole
        keys = (codes[places] * (-1.0 / lengths[places, None]).astype(np.float32)) @ codes.T
        keys *= (1.0 / lengths).astype(np.float32)
        return keys

    def _exact(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        """Return the distances of the pairs of indices (i, j), from the differences in float64."""
        i, j = np.atleast_1d(i), np.atleast_1d(j)
        out, step = np.empty(len(i)), max(1, _BLOCK // self.width)
        for k in range(0, len(i), step):
            part = slice(k, k + step)
            difference = self.vectors_at(i[part]).astype(np.float64)
            difference -= self.vectors_at(j[part])
            out[part] = np.linalg.norm(difference, axis=1)
        return out


def kth_bound(keys: NDArray[Any], k: int) -> NDArray[Any]:
    """Return a value (m,) for each row of keys (m, n) that at least k of its values do not exceed, and few more.

    It is the k-th lowest of a short row. In long ones it is the k-th lowest of the minima of many parts, which takes a
    tenth of the time.
    """
    m, n = keys.shape
    parts = n // _PART
    if parts < 4 * k:
        return np.partition(keys, k - 1, axis=1)[:, k - 1]
    lowest = keys[:, : parts * _PART].reshape(m, _PART, parts).min(axis=1)
    return np.partition(lowest, k - 1, axis=1)[:, k - 1]


def _check_metric(metric: str) -> None:
    if not isinstance(metric, str) or metric not in WORD_METRICS:
        raise ConfigError(
            f"Unknown word space metric {shorten_repr(metric)}. Choose one of {', '.join(WORD_METRICS)}."
        )


def _cuda() -> Any:
    """Return "cuda" if torch is already loaded and has it, else None: no other GPU supports float64."""
    return "cuda" if best_device(load=False) == "cuda" else None


def _product(a: NDArray[np.float64], b: NDArray[np.float64], device: Any) -> NDArray[np.float64]:
    if device is None:
        return a @ b.T
    torch = sys.modules["torch"]
    return (torch.from_numpy(a).to(device) @ torch.from_numpy(b).to(device).T).cpu().numpy()


#: Set in a space with given vectors, and computed once in a space whose vectors come from codes.
_vectors = cached_property(WordSpace._all_vectors)
_vectors.__set_name__(WordSpace, "vectors")
setattr(WordSpace, "vectors", _vectors)  # noqa: B010, which mypy takes for a change of the field
