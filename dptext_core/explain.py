"""How a word was sampled, as plain data: its position on lists, its group, the noise around it.

Mechanisms create it. It contains the original word, so it is for the author's screen and never part of a release. Words
are plain text: escape them for display.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .errors import InputError
from .support.private import Private

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def same_word(a: str, b: str) -> bool:
    """Return True if two words are equal, ignoring case."""
    return a.lower() == b.lower()


@dataclass(frozen=True, eq=False)
class ListNeighbourhood(Private):
    """The words around the original on one list, and the sampled one.

    words: in the order of the list, including the original. offsets: int64 (w,), positions relative to the original,
    ascending. probs: float64 (w,), the probability of each position. candidate, candidate_offset: the word sampled on
    this list and its position, which may be outside the window. Raises InputError if these do not match.
    """

    name: str
    words: tuple[str, ...]
    offsets: NDArray[np.int64]
    probs: NDArray[np.float64]
    candidate: str
    candidate_offset: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        n = len(self.words)
        offsets = np.array(self.offsets, dtype=np.float64)
        _require(offsets.shape == (n,) and bool(np.all(offsets == np.rint(offsets))), "offsets need one integer per "
                                                                                      "word")
        _require(bool(np.all(np.diff(offsets) > 0)) and 0 in offsets, "offsets must ascend and contain 0")
        probs = _probabilities(self.probs, n)
        integers = offsets.astype(np.int64)
        integers.setflags(write=False)
        object.__setattr__(self, "offsets", integers)
        object.__setattr__(self, "probs", probs)
        object.__setattr__(self, "candidate_offset", int(self.candidate_offset))
        at = self.at(self.candidate_offset)
        _require(at is None or same_word(self.words[at], self.candidate), "the candidate is not the word at its place")

    def at(self, offset: int) -> int | None:
        """Return the index of an offset in ``words``; None outside the window."""
        places = np.flatnonzero(self.offsets == offset)
        return int(places[0]) if len(places) else None

    @property
    def original(self) -> str:
        at = self.at(0)
        assert at is not None
        return self.words[at]

    @property
    def outside(self) -> bool:
        """Return True if the candidate is outside the window."""
        return self.at(self.candidate_offset) is None


@dataclass(frozen=True, eq=False)
class DiffractionView(Private):
    """One word replaced through lists: each samples a candidate, and one of them is released.

    As in Figure 1 of the 1-Diffractor paper. chosen: the index of the list whose candidate was released.
    """

    source: str
    released_word: str
    lists: tuple[ListNeighbourhood, ...]
    chosen: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "lists", tuple(self.lists))
        _require(bool(self.lists), "there is no list")
        _require(0 <= self.chosen < len(self.lists), "the chosen list is not among the lists")
        _require(all(same_word(n.original, self.source) for n in self.lists), "a list has another word at offset 0")
        _require(
            same_word(self.lists[self.chosen].candidate, self.released_word), "the sampled word is not the released one"
        )


@dataclass(frozen=True, eq=False)
class GroupView(Private):
    """The output set of one word, and the words that share it.

    words: the K possible outputs, similarities and probs float64 (K,) at the ε of the result. crowd: the words that
    share this output set, including the source. alone_share: the share of the vocabulary that is alone in its group,
    between 0 and 1. groups: the number of groups of the mapping.
    """

    source: str
    released_word: str
    words: tuple[str, ...]
    similarities: NDArray[np.float64]
    probs: NDArray[np.float64]
    crowd: tuple[str, ...]
    alone_share: float
    groups: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        object.__setattr__(self, "crowd", tuple(self.crowd))
        n = len(self.words)
        _require(n > 0, "there is no output")
        object.__setattr__(self, "similarities", _floats(self.similarities, (n,), "similarities"))
        object.__setattr__(self, "probs", _probabilities(self.probs, n))
        _require(any(same_word(w, self.source) for w in self.crowd), "the group does not contain the source")
        _require(
            any(same_word(w, self.released_word) for w in self.words), "the released word is not a possible output"
        )
        _require(0 <= self.alone_share <= 1, "the share of words alone must be between 0 and 1")
        _require(self.groups >= 1, "there is no group")

    @property
    def alone(self) -> bool:
        return len(self.crowd) == 1


@dataclass(frozen=True, eq=False)
class CloudView(Private):
    """Noise around one word in a word space, projected to two dimensions.

    words and xy float64 (n, 2): the source first, then its neighbours, nearest first, including the released word.
    noise: float64 (m, 2), noisy points; they may be a part of the ``draws`` behind the probabilities. landed: float64
    (2,), the noisy point of this draw. dims: dimensions of the word space. share: the share of the squared distances
    between the source and the words that the projection preserves, between 0 and 1. Both None if unknown.
    """

    source: str
    released_word: str
    words: tuple[str, ...]
    xy: NDArray[np.float64]
    noise: NDArray[np.float64]
    landed: NDArray[np.float64]
    draws: int
    dims: int | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        n = len(self.words)
        _require(n > 0 and same_word(self.words[0], self.source), "the source must be the first word")
        _require(any(same_word(w, self.released_word) for w in self.words), "the released word is not among the words")
        object.__setattr__(self, "xy", _floats(self.xy, (n, 2), "xy"))
        noise = np.asarray(self.noise, dtype=np.float64)
        object.__setattr__(self, "noise", _floats(noise, (len(noise), 2) if noise.ndim else (0, 2), "noise"))
        object.__setattr__(self, "landed", _floats(self.landed, (2,), "landed"))
        _require(self.draws >= 0, "the number of draws is negative")
        _require(self.dims is None or self.dims >= 1, "the space needs a dimension")
        _require(self.share is None or 0 <= self.share <= 1, "the share must be between 0 and 1")


@dataclass(frozen=True, eq=False)
class ProposalView(Private):
    """A public proposal, and the effect of the private text on it, for a few words.

    words: the w candidates worth showing, including the released one, most probable first. proposed: float64 (w,),
    probabilities under the proposal alone. shift: float64 (w,), nats that the private text adds, 0 for the least moved
    candidate. probs: float64 (w,), probabilities at the ε of the result. most: the largest shift that the mechanism
    allows; None if that depends on distances.
    """

    source: str
    released_word: str
    words: tuple[str, ...]
    proposed: NDArray[np.float64]
    shift: NDArray[np.float64]
    probs: NDArray[np.float64]
    most: float | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        n = len(self.words)
        _require(any(same_word(w, self.released_word) for w in self.words), "the released word is not among the words")
        object.__setattr__(self, "proposed", _probabilities(self.proposed, n))
        object.__setattr__(self, "probs", _probabilities(self.probs, n))
        object.__setattr__(self, "shift", _floats(self.shift, (n,), "shifts"))
        most = np.inf if self.most is None else self.most * (1 + 1e-9) + 1e-9
        _require(self.shift.min() >= 0 and self.shift.max() <= most, "a shift is negative or too large")

    @classmethod
    def of(
        cls,
        candidates: Sequence[str],
        log_base: NDArray[np.float64],
        added: NDArray[np.float64],
        most: float | None,
        released: str,
        source: str,
        at: Sequence[int] = (),
        n: int = 12,
    ) -> ProposalView:
        """Build the view from ln of a proposal and what is added to it, both float64 (V,) up to constants.

        at: candidates that are always shown. The n most probable and the three first proposals are shown too.
        """
        proposed, both = (np.exp(x - x.max()) for x in (log_base, log_base + added))
        proposed, probs = proposed / proposed.sum(), both / both.sum()
        here = [i for i, w in enumerate(candidates) if same_word(w, released)]
        wanted = [*np.argsort(-probs, kind="stable")[:n], *np.argsort(-proposed, kind="stable")[:3], *here[:1], *at]
        shown = sorted(dict.fromkeys(int(i) for i in wanted), key=lambda i: -probs[i])
        words = tuple(candidates[i] for i in shown)
        shift = added - added[np.isfinite(added)].min()
        return cls(source, released, words, proposed[shown], np.maximum(shift[shown], 0.0), probs[shown], most)


View: TypeAlias = DiffractionView | GroupView | CloudView | ProposalView


@dataclass(frozen=True, eq=False)
class Projection:
    """A plane through a word space.

    xy: float64 (n, 2), the words in it, the origin at (0, 0). share: the share of the squared distances from the origin
    that it preserves, between 0 and 1.
    """

    xy: NDArray[np.float64]
    share: float
    origin: NDArray[np.float64] = field(repr=False)
    axes: NDArray[np.float64] = field(repr=False)

    def of(self, points: ArrayLike) -> NDArray[np.float64]:
        """Project other points (m, d) to the same plane, float64 (m, 2); one point (d,) gives (2,)."""
        points = np.asarray(points, dtype=np.float64)
        _require(points.ndim in (1, 2) and points.shape[-1] == len(self.origin), "the points have other dimensions")
        return (points - self.origin) @ self.axes.T


def project(vectors: ArrayLike, origin: int = 0) -> Projection:
    """Project ``vectors`` (n, d) to the plane through row ``origin`` that preserves most of the squared distances.

    Principal components around that row instead of around the mean. The sign of an axis is fixed: its largest
    coordinate is positive. Raises InputError unless it gets a finite matrix with that row.
    """
    x = np.asarray(vectors, dtype=np.float64)
    _require(x.ndim == 2 and x.size > 0 and bool(np.isfinite(x).all()), "a projection needs a finite matrix")
    _require(-len(x) <= origin < len(x), "the origin is not a row of the matrix")
    centred = x - x[origin]
    values, rows = np.linalg.svd(centred, full_matrices=False)[1:]
    axes = np.zeros((2, x.shape[1]))
    axes[: min(2, len(rows))] = rows[:2]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(1)[:, None], 1)
    axes *= np.where(largest < 0, -1.0, 1.0)
    total = float(np.square(values).sum())
    share = min(1.0, float(np.square(values[:2]).sum()) / total) if total > 0 else 1.0
    return Projection(centred @ axes.T, share, x[origin].copy(), axes)


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise InputError(f"This view cannot be shown: {problem}. Correct its values.")


def _floats(values: Any, shape: Sequence[int], name: str) -> NDArray[np.float64]:
    array = np.array(values, dtype=np.float64)
    if array.size == 0 and np.prod(shape) == 0:
        array = array.reshape(tuple(shape))
    _require(array.shape == tuple(shape), f"{name} need the shape {tuple(shape)}, but have {array.shape}")
    _require(bool(np.isfinite(array).all()), f"{name} must be finite")
    array.setflags(write=False)
    return array


def _probabilities(values: Any, n: int) -> NDArray[np.float64]:
    probs = _floats(values, (n,), "probabilities")
    _require(bool(np.all(probs >= 0)) and float(probs.sum()) <= 1 + 1e-6, "probabilities are negative or exceed 1")
    return probs
