"""MVC, calibrated multivariate perturbation (Feyisetan, Balle, Drake, Diethe: WSDM 2020; Algorithm 1).

Noise z with density ∝ exp(−ε‖z‖) is added to the word's vector (a direction uniform on the sphere, a length from
Gamma(dim, 1/ε)), and the nearest word is released. This is metric DP with ε times the Euclidean distance, since nothing
after the noise uses the original word. The probability of a word has no closed form: it is estimated by sampling.

The noise at ε is the noise at 1 divided by ε, so locked noise serves every ε. The released word is
argmax_y ε·(x·y − ‖y‖²/2) + z·y, the highest of V lines.

Deviation from the paper: unknown words become random words unless ``oov`` says otherwise (the released code prints them
unchanged). The released code searches approximately (faiss); here the nearest word is exact.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...privacy.distribution import (
    CURVE_DRAWS,
    Channel,
    TokenDistribution,
    envelope,
    expected_distinct_of,
    without_each,
)
from ...privacy.sampling import NoiseStream
from ...support.cache import weak_cache
from ...support.task import UNWATCHED, Task
from ...words import WordSpace
from ..config import epsilon_option
from .word_options import SpaceConfig
from .word_space import SpaceMechanism
from .word_trace import Draws

#: Number of draws for an estimated distribution.
DRAWS = 1000
#: Number of noisy points in a picture.
CLOUD = 150
#: For a curve: the number of nearest words that others must beat, and of draws that are compared with all words at
#: once.
_NEAREST = 512
_ROWS = 20
#: Number of words whose noise is sampled and whose neighbours are searched at once.
NOISE_BLOCK = 256


@dataclass(frozen=True)
class MVCConfig(SpaceConfig):
    """Options of MVC."""

    epsilon: float | tuple[float, ...] = epsilon_option(None, 20.0, 400.0, "per word and unit of distance")


@dataclass(frozen=True, eq=False)
class NoiseBlock:
    """Noise at ε = 1 for estimates, the same for every word and ε, so that estimates move smoothly with ε.

    noise: float64 (n, d). coins: (n,) in (0, 1). vectors: of the space, float32 (V, d).
    """

    noise: np.ndarray
    coins: np.ndarray
    vectors: np.ndarray

    @cached_property
    def products(self) -> np.ndarray:
        """Return the products of each noise with every vector, float32 (n, V): about 90 MB for a space of 21,719
        words."""
        return self.noise.astype(np.float32) @ self.vectors.T

    @cached_property
    def few(self) -> np.ndarray:
        """Return the products of the first CURVE_DRAWS, which suffice for a picture over many ε."""
        return self.noise[:CURVE_DRAWS].astype(np.float32) @ self.vectors.T

    @cached_property
    def squares(self) -> np.ndarray:
        """Return the squared length of each noise, float64 (n,)."""
        return np.square(self.noise).sum(axis=1)

    def distances(self, x: np.ndarray, epsilon: float, part: slice, lines: np.ndarray) -> np.ndarray:
        """Return the distances of noisy points of the vector x (d,) from words, for the noises of ``part``, float64
        (m,). lines: ε·(x·y − ‖y‖²/2) + noise·y for the word of each draw."""
        squared = x @ x + 2 * (self.noise[part] @ x) / epsilon + self.squares[part] / epsilon**2
        return np.sqrt(np.maximum(0.0, squared - 2 * lines / epsilon))


@dataclass(frozen=True, eq=False)
class NoiseChannel(Channel):
    """The nearest word to a vector with noise. lines: ε·base + noise·vector is highest for the nearest word."""

    mechanism: MVC
    row: int
    base: np.ndarray = field(repr=False)
    draws: int | None = DRAWS
    _last: dict[bytes, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    @property
    def candidates(self) -> Sequence[str]:
        return self.mechanism.vocabulary.words

    @property
    def source(self) -> str:
        return self.mechanism.vocabulary.words[self.row]

    @property
    def source_index(self) -> np.ndarray:
        return np.array([self.row])

    def at(self, epsilon: float) -> TokenDistribution:
        block = self.mechanism.block
        counts = np.bincount(self._winners(epsilon, block, DRAWS), minlength=len(self.candidates))
        with np.errstate(divide="ignore"):
            log_p = np.log(counts / DRAWS)
        return TokenDistribution(
            candidates=self.candidates,
            log_probs=log_p,
            source=self.source,
            epsilon=float(epsilon),
            draws=DRAWS,
            _keep=self.source_index,
            _sampler=lambda n, stream: self.mechanism.released(
                np.full(n, self.row), np.full(n, epsilon), [stream.at("fresh", k) for k in range(n)]
            ),
        )

    def _winners(self, epsilon: float, block: NoiseBlock, n: int) -> np.ndarray:
        """Return the rows released for the first n noises of the block, int64 (n,)."""
        base = (epsilon * self.base).astype(np.float32)
        products = block.few if n <= CURVE_DRAWS else block.products
        out = np.empty(n, np.int64)
        for start in range(0, n, 50):
            out[start : start + 50] = self._pick(epsilon, base + products[start : min(n, start + 50)], block, start)
        return out

    def _pick(self, epsilon: float, lines: np.ndarray, block: NoiseBlock, start: int) -> np.ndarray:
        return np.argmax(lines, axis=1)

    def draw(self, epsilon: float, stream: NoiseStream) -> int:
        return int(self.mechanism.released(np.array([self.row]), np.array([epsilon]), [stream])[0])

    def epsilon_breakpoints(self, stream: NoiseStream, low: float, high: float) -> list[tuple[float, int]]:
        noise = self.mechanism.noise(stream)
        return envelope(self.base, self.mechanism.vocabulary.vectors @ noise.astype(np.float32), low, high)

    def shown(self, n: int, low: float, high: float) -> np.ndarray:
        winners = self._curve(np.geomspace(low, high, 40))
        counts = np.bincount(winners.ravel(), minlength=len(self.candidates))
        return np.argsort(-counts, kind="stable")[: min(n, int(np.count_nonzero(counts)))]

    def deniability(self, epsilon: float) -> tuple[float, float]:
        winners = self._curve(np.array([epsilon]))[:, 0]
        return float((winners == self.row).mean()), expected_distinct_of(np.unique(winners, return_counts=True)[1], 100)

    def deniability_without(self, epsilon: float, parts: int) -> np.ndarray:
        return without_each(self._curve(np.array([epsilon]))[:, 0], self.row, parts)

    def log_p(self, epsilons: np.ndarray, which: np.ndarray) -> np.ndarray:
        winners = self._curve(np.asarray(epsilons, np.float64))
        counts = np.stack([np.bincount(w, minlength=len(self.candidates))[which] for w in winners.T], axis=1)
        with np.errstate(divide="ignore"):
            return np.log(counts / CURVE_DRAWS)

    # --- many ε at once

    #: Number of words nearest to the noisy point among which the released one is.
    among: ClassVar[int] = 1

    def _curve(self, epsilons: np.ndarray) -> np.ndarray:
        """Return the rows released at every ε (m,) for the first draws of the block, int64 (CURVE_DRAWS, m).

        As ε grows, a word's line falls behind those of words nearer to the original. So a word that is behind ``among``
        of them at the smallest ε cannot win at any other. Very few words remain.
        """
        key = epsilons.tobytes()
        if (known := self._last.get(key)) is not None:
            return known
        block = self.mechanism.block
        gaps = (self.base[self.row] - self.base).astype(np.float32)
        own_products = block.few[:, self.row]
        draw, word = self._possible(np.float32(epsilons.min()), gaps, own_products, block)
        slope, offset = gaps[word], block.few[draw, word] - own_products[draw]
        starts = np.searchsorted(draw, np.arange(CURVE_DRAWS))
        out = np.empty((CURVE_DRAWS, len(epsilons)), np.int64)
        for j, e in enumerate(epsilons.tolist()):
            out[:, j] = self._best(e, offset - np.float32(e) * slope, draw, word, starts, block)
        self._last.clear()
        self._last[key] = out
        return out

    def _possible(
        self, epsilon: np.float32, gaps: np.ndarray, own_products: np.ndarray, block: NoiseBlock
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return draws (m,), ascending, and words (m,) that can be among the nearest at ``epsilon`` or more. gaps: how
        far each word's line is behind; own: the product of the original in each draw.
        """
        # Words near the original come first: they exclude most others.
        near = np.argpartition(gaps, min(_NEAREST, len(gaps)) - 1)[:_NEAREST]
        near = near[np.argsort(gaps[near], kind="stable")]
        lines = block.few[:, near] - own_products[:, None] - epsilon * gaps[near]
        slack = 1e-5 * (1 + float(np.abs(lines).max()))  # more than rounding does
        place = max(0, len(near) - self.among)
        beat = np.partition(lines, place, axis=1)[:, place] + own_products - np.float32(slack)
        high = self._records(lines, slack)
        draws, words = [], []
        for start in range(0, CURVE_DRAWS, _ROWS):
            part = slice(start, start + _ROWS)
            candidates = block.few[part] - epsilon * gaps >= beat[part, None]
            candidates[:, near] = high[part]
            # A flat array, which NumPy searches several times faster than rows and columns.
            row, word = np.divmod(np.flatnonzero(candidates), len(gaps))
            draws.append(start + row)
            words.append(word)
        draw, word = np.concatenate(draws), np.concatenate(words)
        # Then the remaining words: offsets separate the draws, so the running maximum restarts with each draw.
        order = np.lexsort((gaps[word], draw))
        draw, word = draw[order], word[order]
        height = (block.few[draw, word] - own_products[draw] - epsilon * gaps[word]).astype(np.float64)
        height += draw * 2.0 * (np.abs(height).max() + 1.0)
        high = self._records(height, slack)
        draw, word = draw[high], word[high]
        order = np.lexsort((word, draw))
        return draw[order], word[order]

    def _records(self, heights: np.ndarray, slack: float = 0.0) -> np.ndarray:
        """Return which heights (…, n), ordered from the word nearest to the original, have fewer than ``among`` higher
        ones before."""
        out = np.zeros(heights.shape, bool)
        for _ in range(self.among):
            out |= heights >= np.maximum.accumulate(heights, axis=-1) - slack
            heights = np.where(out, -np.inf, heights)
        return out

    def _best(self, epsilon: float, lines, draw, word, starts, block: NoiseBlock) -> np.ndarray:
        """Return the word with the highest line (its lead over the original) of each draw, the first of equal ones."""
        return word[first_highest(lines, draw, starts)]


def first_highest(lines: np.ndarray, draw: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the index of the highest of ``lines`` for each draw's group (they begin at ``starts``)."""
    hits = np.flatnonzero(lines >= np.maximum.reduceat(lines, starts)[draw])[::-1]
    out = np.empty(len(starts), np.int64)
    out[draw[hits]] = hits
    return out


class MVC(SpaceMechanism):
    """MVC: noise in the embedding space, then the nearest word."""

    name = "mvc"
    references = ("feyisetan2020mvc",)
    title = "MVC"
    notion = "metric"
    summary = "Noise is added to the vector of a word, and the nearest word is released."
    steps = (
        "Your word is a point among {n} words",
        "Noise of size 1/ε = {noise} moves the point",
        "The word nearest to it is released",
    )
    config_cls = MVCConfig
    channel_cls: type[NoiseChannel] = NoiseChannel

    def channels(self, rows: np.ndarray) -> list[Channel]:
        vectors = self.vocabulary.vectors
        halves = _half_norms(self.vocabulary)
        products = (vectors[rows] @ vectors.T).astype(np.float64) - halves
        return [self.channel_cls(self, r, base) for r, base in zip(rows.tolist(), products, strict=True)]

    # --- noise

    def noise(self, stream: NoiseStream) -> np.ndarray:
        """Return one noise vector at ε = 1, float64 (d,): divide it by ε."""
        d = self.vocabulary.vectors.shape[1]
        direction = stream.at("direction").normals(d)
        # A Gamma variable of integer shape d is the sum of d exponential ones.
        length = -np.log(stream.at("length").uniforms(d)).sum()
        spherical = direction * (length / np.linalg.norm(direction))
        return spherical if self._root is None else spherical @ self._root

    @property
    def block(self) -> NoiseBlock:
        """Return noise of this process for estimates: public, and not used in any release."""
        return _noise_block(self.vocabulary, self._root)

    @cached_property
    def _root(self) -> np.ndarray | None:
        """Return the matrix (d, d) that multiplies spherical noise; None for none."""
        return None

    def released(self, rows: np.ndarray, epsilons: np.ndarray, stream: Sequence[NoiseStream]) -> np.ndarray:
        """Return the word that each noisy vector becomes, int64 (m,)."""
        out = np.empty(len(rows), np.int64)
        vectors = self.vocabulary.vectors
        for start in range(0, len(rows), NOISE_BLOCK):
            part = slice(start, start + NOISE_BLOCK)
            noise = np.stack([self.noise(d) for d in stream[part]])
            points = vectors[rows[part]] + noise / epsilons[part, None]
            out[part] = self._settle(points, stream[part])
        return out

    def _settle(self, points: np.ndarray, stream: Sequence[NoiseStream]) -> np.ndarray:
        """Return the word that a noisy vector (m, d) becomes: what follows the noise does not see the original."""
        return nearest_words(self.vocabulary, points)[0][:, 0]

    def _draw(self, draws: Draws, task: Task = UNWATCHED) -> list[str]:
        words, out = self.vocabulary.words, []
        for start in range(0, len(draws.rows), NOISE_BLOCK):
            task.check()
            part = slice(start, start + NOISE_BLOCK)
            streams = [draws.stream(j) for j in range(start, min(start + NOISE_BLOCK, len(draws.rows)))]
            out += [words[r] for r in self.released(draws.rows[part], draws.epsilons[part], streams)]
            task.report(len(out), len(draws.rows))
        return out

    # --- pictures

    def _views(self, released: str, row: int, epsilon: float, stream: NoiseStream) -> tuple:
        from ...explain import CloudView, project

        space = self.vocabulary
        near = space.nearest(np.array([row]), 24)[0][0]
        there = space.rows([released])
        shown = list(dict.fromkeys([row, *near.tolist(), *there[there >= 0].tolist()]))
        plane = project(space.vectors[shown].astype(np.float64), 0)
        source = space.vectors[row].astype(np.float64)
        cloud = source + self.block.noise[:CLOUD] / epsilon
        landed = source + self.noise(stream) / epsilon
        return (
            CloudView(
                space.words[row],
                released,
                tuple(space.words[i] for i in shown),
                plane.xy,
                plane.of(cloud),
                plane.of(landed[None])[0],
                len(cloud),
                space.vectors.shape[1],
                plane.share,
            ),
        )

    closed_form = False


def nearest_words(space: WordSpace, points: np.ndarray, k: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return the k ∈ {1, 2} nearest words of points (m, d) float64: rows int64 (m, k), Euclidean distances float64 (m,
    k). Products are in float32; if distances differ by less than its rounding, float64 decides, ties by row.
    """
    vectors = space.vectors
    lines = points.astype(np.float32) @ vectors.T
    lines -= _half_norms(space).astype(np.float32)
    each = np.arange(len(points))
    top = lines.argmax(axis=1)
    best = lines[each, top]
    if k == 2:
        lines[each, top] = -np.inf
        second = lines.max(axis=1)
        lines[each, top], best = best, second
    # The rounding error of a float32 product grows with the lengths of both vectors.
    slack = 1e-5 * (1.0 + np.linalg.norm(points, axis=1) * _longest(space))
    rows = np.empty((len(points), k), np.int64)
    far = np.empty((len(points), k))
    r, c = np.nonzero(lines >= (best - slack)[:, None])
    parts = np.split(c, np.searchsorted(r, np.arange(1, len(points))))
    for i, point in enumerate(points):
        near = parts[i]
        exact = np.linalg.norm(vectors[near].astype(np.float64) - point, axis=1)
        order = np.argsort(exact, kind="stable")[:k]
        rows[i], far[i] = near[order], exact[order]
    return rows, far


@weak_cache(1)
def _half_norms(space: WordSpace) -> np.ndarray:
    """Return ‖y‖²/2 of every word, float64 (V,)."""
    blocks = np.array_split(space.vectors, max(1, len(space) // 4096))
    return np.concatenate([np.square(b.astype(np.float64)).sum(axis=1) for b in blocks]) / 2


@weak_cache(1)
def _longest(space: WordSpace) -> float:
    return float(np.sqrt(2 * _half_norms(space).max()))


_blocks: OrderedDict[tuple[int, int], tuple[WordSpace, np.ndarray | None, NoiseBlock]] = OrderedDict()
_blocks_lock = threading.Lock()


def _noise_block(space: WordSpace, root: np.ndarray | None) -> NoiseBlock:
    """Return fresh noise from the operating system, kept for the process."""
    key = (id(space), id(root))
    with _blocks_lock:
        if key not in _blocks:
            stream, d = NoiseStream(), space.vectors.shape[1]
            direction = stream.at("direction").normals(DRAWS * d).reshape(DRAWS, d)
            length = -np.log(stream.at("length").uniforms(DRAWS * d)).reshape(DRAWS, d).sum(axis=1)
            noise = direction * (length / np.linalg.norm(direction, axis=1))[:, None]
            if root is not None:
                noise = noise @ root
            block = NoiseBlock(noise, stream.at("coins").uniforms(DRAWS), space.vectors)
            _blocks[key] = (space, root, block)  # keeps the objects behind the ids alive
            while len(_blocks) > 2:
                _blocks.popitem(last=False)
        return _blocks[key][2]
