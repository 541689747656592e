"""ln Z(x, ε) = ln Σ_y exp(−ε·d(x, y)/2) for every word x of a space at once.

A posterior over the original word needs the normaliser of every word. One pass over all pairs of words counts, for each
word, how many others lie at which distance. That gives ln Z at every ε, also with distances truncated at γ, and over a
subset of the words. For the default space ln Z is bundled (tools/build_log_z.py): a mean curve over ε and eight numbers
per word.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ...support.assets import assets_folder
from ...support.cache import weak_cache
from ...support.task import UNWATCHED, Task
from ...words import WordSpace, word_space
from ...words.space_loading import words_sha256
from .word_distributions import SHORT

BINS = 512
#: Upper bound for the error of the bundled ln Z; tools/build_log_z.py measures a quarter of it.
ERROR = 1e-3
_FILE = "log_z.npz"
_BLOCK = 4_000_000


@dataclass(frozen=True, eq=False)
class Spread:
    """Histograms of the distances from each word to all others.

    counts: int32 (V, bins). width: the width of a bin. own: float64 (V,), 1 if the word itself is in the sum, else 0.
    """

    counts: np.ndarray = field(repr=False)
    width: float
    own: np.ndarray = field(repr=False)

    def error(self, epsilon: float) -> float:
        """Return the largest possible error of :meth:`log_z`: all words at one edge of their bins, and the share of a
        bin that γ cuts."""
        half = epsilon * self.width / 4
        return float(2 * half + half**2 / 6)

    def log_z(self, epsilon: float, gamma: float = np.inf) -> np.ndarray:
        """Return ln Σ_y exp(−ε·min(d, γ)/2), float64 (V,), assuming that words are spread evenly within each bin."""
        middle = (np.arange(self.counts.shape[1]) + 0.5) * self.width
        half = epsilon * self.width / 4
        even = half + np.log(-np.expm1(-2 * half) / (2 * half)) if half > 0 else 0.0  # ln(sinh(half) / half)
        lines = np.where(middle < gamma, -epsilon / 2 * middle + even, -epsilon / 2 * min(gamma, 1e300))
        first = float(lines[np.flatnonzero(self.counts.any(axis=0))].max(initial=-np.inf))
        shift = 0.0 if self.own.all() or not np.isfinite(first) else first
        with np.errstate(divide="ignore"):
            return np.log(self.own * np.exp(-shift) + self.counts @ np.exp(lines - shift)) + shift


def count_distances(space: WordSpace, first: int = 0, task: Task = UNWATCHED, bins: int = BINS) -> Spread:
    """Compare each word with the words from row ``first`` on, in one pass over all pairs. About 10 s for 21,719
    words."""
    n = len(space)
    vectors = space.vectors - space.vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64).astype(np.float32)
    largest = space.bounds[1] if space.bounds is not None else 2 * float(np.sqrt(squares.max()))
    width = max(largest, 1e-30) * 1.0001 / bins
    counts = np.empty((n, bins), np.int32)
    step = max(1, _BLOCK // max(1, n - first))
    for start in range(0, n, step):
        task.check()
        stop = min(n, start + step)
        products = vectors[start:stop] @ vectors[first:].T
        products *= -2.0
        products += squares[start:stop, None]
        products += squares[first:]
        np.sqrt(np.maximum(products, 0.0, out=products), out=products)
        products *= np.float32(1.0 / width)
        places = np.minimum(products.astype(np.int32), bins - 1)
        inside = np.arange(max(start, first), stop)
        own_bins = places[inside - start, inside - first]
        places += (np.arange(stop - start, dtype=np.int32) * bins)[:, None]
        block = np.bincount(places.ravel(), minlength=(stop - start) * bins).reshape(stop - start, bins)
        block[inside - start, own_bins] -= 1
        counts[start:stop] = block
        task.report(stop, n)
    return Spread(counts, width, (np.arange(n) >= first).astype(np.float64))


_spreads: OrderedDict[tuple[int, int], tuple[WordSpace, Spread]] = OrderedDict()
_lock = threading.Lock()


def log_z(
    space: WordSpace, epsilon: float, *, gamma: float | None = None, first: int = 0, task: Task = UNWATCHED
) -> tuple[np.ndarray, float]:
    """Return ln Σ_y exp(−ε·min(d(x, y), γ)/2) over the words y from row ``first`` on, for every x: float64 (V,); and
    its error bound.

    The bundled table serves the default space and its subsets, without γ and ``first``. Other cases need one pass,
    whose result is kept for the process.
    """
    if gamma is None and first == 0 and is_bundled(space):
        return bundled_log_z(epsilon, space)
    key = (id(space), first)
    with _lock:
        spread = _spreads.get(key)
    if spread is None:
        spread = (space, count_distances(space, first, task))
        with _lock:
            _spreads[key] = spread
            while len(_spreads) > 2:
                _spreads.popitem(last=False)
    return spread[1].log_z(epsilon, np.inf if gamma is None else gamma), spread[1].error(epsilon)


def is_ready(space: WordSpace, gamma: float | None = None, first: int = 0) -> bool:
    """Return whether :func:`log_z` needs no pass over all pairs of words."""
    if len(space) <= SHORT or (id(space), first) in _spreads:
        return True
    return gamma is None and first == 0 and is_bundled(space)


def is_bundled(space: WordSpace) -> bool:
    """Return whether the bundled table covers this space, or the one that it is a subset of."""
    full_space = space if space.smaller_than is None else space.smaller_than[0]
    return full_space.name == "minilm" and full_space is word_space("minilm") and _table() is not None


def bundled_log_z(epsilon: float, space: WordSpace) -> tuple[np.ndarray, float]:
    """Return ln Z of the default space, or of a subset, at ``epsilon``, float64 (V,), and its error bound.

    Beyond the table ln Z is 0, because no other word counts. The contribution of removed words to Z is known exactly
    and is subtracted.
    """
    table = _table()
    assert table is not None
    curves, codes, last = table
    at = curves(min(epsilon, last))
    log_zs = np.zeros(codes.shape[1]) if epsilon >= last else np.maximum(0.0, at[0] + at[1:] @ codes)
    if space.smaller_than is None:
        return log_zs, ERROR
    z = np.exp(np.delete(log_zs, space.smaller_than[1]))
    remaining = np.maximum(1.0, z - np.exp(-epsilon / 2 * _to_others(space)).sum(axis=1))  # a word counts itself
    return np.log(remaining), -float(np.log1p(-np.minimum(0.5, np.expm1(ERROR) * z / remaining).max()))


@weak_cache(1)
def _to_others(space: WordSpace) -> np.ndarray:
    """Return distances of the words of a space to its removed words, float64 (V, m)."""
    assert space.smaller_than is not None
    full_space, places = space.smaller_than
    return np.delete(full_space.distance_rows(list(places)).T, places, axis=0)


@lru_cache(maxsize=1)
def _table():
    """Return splines over ε of the mean and the directions (1 + r), the numbers per word float64 (r, V), and the last
    ε."""
    from scipy.interpolate import CubicSpline

    path = assets_folder() / "words" / _FILE
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as file:
        if str(file["words_sha256"]) != words_sha256(word_space("minilm").words):
            return None
        grid, mean, directions, codes = (file[k] for k in ("epsilon", "mean", "directions", "codes"))
        step = float(file["step"])
    curves = np.vstack([mean, directions.astype(np.float64) * step]).T
    return CubicSpline(grid, curves), codes.astype(np.float64), float(grid[-1])


def log_distances(
    space: WordSpace, released: str, epsilon: float, first: int = 0, task: Task = UNWATCHED
) -> tuple[np.ndarray, float]:
    """Return ln of exp(−ε·d(x, y)/2) / Z(x) for the released word y and every word x, float64 (V,), and its error
    bound."""
    y = space.index(released)
    if y is None:
        return np.full(len(space), -np.inf), 0.0
    normaliser, error = log_z(space, epsilon, first=first, task=task)
    return -epsilon / 2 * space.distance_rows([y])[0].astype(np.float64) - normaliser, error
