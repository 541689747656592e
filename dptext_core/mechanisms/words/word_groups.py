"""CusText's groups of words: how each mapping builds them, and the stored groups."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...support.assets import assets_folder
from ...support.cache import weak_cache
from ...support.task import UNWATCHED, Task
from ...words import WordSpace
from ...words.space import kth_bound

#: Set sizes that pages offer, and the bundled file with the groups for each size.
TRIES = (5, 20, 50)
GROUPS = "groups.npz"
_BLOCK = 256
#: Numbers of vectors gathered at once: 64 MB in float64.
_NUMBERS = 8_000_000


@dataclass(frozen=True, eq=False)
class Groups:
    """The words that share each output set.

    group: int64 (V,), the set of each word. outputs: the rows of each set, nearest to its first word first.
    """

    group: np.ndarray
    outputs: tuple[np.ndarray, ...] = field(repr=False)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Return how many words share each set, int64."""
        return np.bincount(self.group, minlength=len(self.outputs))

    @cached_property
    def alone(self) -> float:
        """Return the share of words that share their set with no other: no ε protects them."""
        return float((self.sizes[self.group] == 1).mean())

    def members(self, row: int) -> np.ndarray:
        """Return the words that share the set of a word, including itself."""
        return np.flatnonzero(self.group == self.group[row])


def _first_equal(vectors: np.ndarray) -> np.ndarray | None:
    """Return for each row the first row that equals it, int64; None if all rows differ."""
    firsts: dict[bytes, int] = {}
    first = np.array([firsts.setdefault((v + 0.0).tobytes(), i) for i, v in enumerate(vectors)], np.int64)
    return first if len(firsts) < len(vectors) else None


def build_groups(
    space: WordSpace,
    k: int,
    mapping: str,
    metric: str = "cosine",
    rows: np.ndarray | None = None,
    task: Task = UNWATCHED,
) -> Groups:
    """Run Algorithm 1 over the words ``rows`` of the space (default: all), in order of frequency.

    The result has indices into ``rows``. Nearest words are exact; ties go to the more frequent word. No |V|×|V| matrix
    is held.
    """
    vectors = space.vectors if rows is None else space.vectors[rows]
    n = len(vectors)
    k = min(k, n)
    first = _first_equal(vectors)
    if first is not None:
        vectors = vectors[first]
    if metric == "cosine":
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    halves = np.square(vectors, dtype=np.float64).sum(axis=1).astype(np.float32) / 2
    group = np.full(n, -1, np.int64)
    outputs: list[np.ndarray] = []
    open_rows = np.arange(n)  # rows that a conservative set may still use, in order
    sets: dict[bytes, int] = {}
    start = 0
    while start < n:
        task.check()
        leaders = start + np.flatnonzero(group[start:] < 0)[:_BLOCK]
        if not len(leaders):
            break
        if mapping == "conservative":
            open_rows = open_rows[group[open_rows] < 0]
        near = open_rows if mapping == "conservative" else slice(None)  # no copy of all vectors
        lines = _nearness(vectors, leaders, near, halves, None if first is None else first[open_rows])
        if mapping != "conservative":
            tops = _top_columns(lines, k)
        for j, leader in enumerate(leaders):
            if mapping == "aggressive":
                same = sets.setdefault(np.sort(tops[j]).tobytes(), len(outputs))
                if same == len(outputs):
                    outputs.append(tops[j])
                group[leader] = same
                continue
            if group[leader] >= 0:
                continue
            if mapping == "balanced":
                chosen = tops[j]
            else:
                line = np.where(group[open_rows] < 0, lines[j], -np.inf)
                free = int(np.count_nonzero(group[open_rows] < 0))
                chosen = open_rows[_top_columns(line[None], min(k, free))[0]]
            chosen = np.append([leader], chosen[chosen != leader])[: len(chosen)]
            group[chosen[group[chosen] < 0]] = len(outputs)
            outputs.append(chosen)
        start = int(leaders[-1]) + 1
        task.report(int((group >= 0).sum()), n)
    return Groups(group, tuple(outputs))


def _nearness(
    vectors: np.ndarray, leaders: np.ndarray, near: np.ndarray | slice, halves: np.ndarray, first: np.ndarray | None
) -> np.ndarray:
    """Return how near the words ``near`` are to each leader; ``first`` says which of them are equal."""
    # x·y − ‖y‖²/2 is largest for the nearest y; for vectors of one length, for the most similar.
    lines = vectors[leaders] @ vectors[near].T - halves[near]
    if first is not None:
        # The last bits of a product depend on the column: equal words get one value, so that their order decides.
        _, where, column = np.unique(first, return_index=True, return_inverse=True)
        source = where[column]
        again = np.flatnonzero(source != np.arange(len(source)))
        lines[:, again] = lines[:, source[again]]
    return lines


def utilities(space: WordSpace, rows: np.ndarray, outputs: np.ndarray, metric: str) -> np.ndarray:
    """Return u(x, y) of words ``rows`` (m,) and their output sets (m, K): similarity normalised to [0, 1] per set.

    float64 (m, K). Cosine unchanged; Euclidean: 1 − normalised distance. If all are equal, u = 1.
    """
    x, y = space.vectors_at(rows).astype(np.float64), space.vectors_at(outputs).astype(np.float64)
    if metric == "cosine":
        value = np.einsum("md,mkd->mk", x, y) / (space.lengths[rows, None] * space.lengths[outputs])
    else:
        value = -np.linalg.norm(y - x[:, None], axis=2)
    low, span = value.min(axis=1, keepdims=True), np.ptp(value, axis=1, keepdims=True)
    return np.where(span > 0, (value - low) / np.where(span > 0, span, 1.0), 1.0)


def _top_columns(lines: np.ndarray, k: int) -> np.ndarray:
    """Return columns of the k highest values of each row (m, n), highest first, ties by column: int32 (m, k)."""
    edge = -kth_bound(-lines, k)
    out = np.empty((len(lines), k), np.int32)
    # A flat array, which NumPy searches several times faster than rows and columns.
    r, c = np.divmod(np.flatnonzero(lines >= edge[:, None]), lines.shape[1])
    for i, near in enumerate(np.split(c, np.searchsorted(r, np.arange(1, len(lines))))):
        out[i] = near[np.argsort(-lines[i, near], kind="stable")[:k]]
    return out


@weak_cache(6)
def _groups(space: WordSpace, k: int, mapping: str, metric: str) -> Groups:
    stored = stored_groups(space, k) if (mapping, metric) == ("balanced", "cosine") and k in TRIES else None
    return build_groups(space, k, mapping, metric) if stored is None else stored


def groups_key(space: WordSpace, k: int) -> str:
    """Return the name of the balanced groups of a space of whole numbers in the bundled file."""
    assert space.codes is not None
    return f"{k}-{hashlib.sha256(space.codes.tobytes()).hexdigest()[:16]}"


def stored_groups(space: WordSpace, k: int) -> Groups | None:
    """Return the bundled balanced groups (tools/build_groups.py); None if there are none for this space."""
    if space.name != "minilm" or space.codes is None:
        return None
    try:
        with np.load(assets_folder() / "words" / GROUPS, allow_pickle=False) as file:
            key = groups_key(space, k)
            group, outputs = file[f"{key}-group"], file[f"{key}-outputs"]
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error):
        return None  # they are built, which takes a second or two
    return Groups(group.astype(np.int64), tuple(outputs.astype(np.int64)))


def _equal_sized(groups: Groups, rows: np.ndarray, axes: int) -> Iterator[np.ndarray]:
    """Return indices into ``rows`` of words whose sets are equally large, in batches for joint computation."""
    sizes = np.array([len(groups.outputs[g]) for g in groups.group[rows]])
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        step = max(1, _NUMBERS // int(size * axes))
        for start in range(0, len(alike), step):
            yield alike[start : start + step]


def _order_outputs(space: WordSpace, groups: Groups, rows: np.ndarray, metric: str) -> tuple[np.ndarray, np.ndarray]:
    outputs = np.stack([groups.outputs[g] for g in groups.group[rows]])
    u = utilities(space, rows, outputs, metric)
    order = np.argsort(-u, axis=1, kind="stable")
    return np.take_along_axis(outputs, order, axis=1), (np.take_along_axis(u, order, axis=1) - 1.0) / 2.0


@weak_cache(3)
def _all_tables(
    space: WordSpace, k: int, mapping: str, metric: str, size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the tables of all words whose sets have this size: their rows, ascending, outputs and scores. For long
    texts."""
    groups = _groups(space, k, mapping, metric)
    which = np.flatnonzero(np.array([len(o) for o in groups.outputs])[groups.group] == size)
    step = max(1, _NUMBERS // (size * space.width))
    parts = [_order_outputs(space, groups, which[i : i + step], metric) for i in range(0, len(which), step)]
    outputs, scores = (np.concatenate(x) for x in zip(*parts, strict=True))
    return which, outputs, scores


@weak_cache(1)
def _inverse(groups: Groups) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return the groups whose set contains each word; and the words by group, with each group's start."""
    sets = np.repeat(np.arange(len(groups.outputs)), [len(o) for o in groups.outputs])
    words = np.concatenate(groups.outputs)
    order = np.argsort(words, kind="stable")
    bounds = np.searchsorted(words[order], np.arange(1, len(groups.group)))
    members = np.argsort(groups.group, kind="stable")
    starts = np.searchsorted(groups.group[members], np.arange(len(groups.outputs) + 1))
    return np.split(sets[order], bounds), starts, members
