"""1-Diffractor (Meisenbacher, Chevli, Matthes: IWSPA 2024; Equations 1 to 6).

A list puts all words in one row, each next to its nearest (Algorithm 1, ``dptext_core.words.lists``). The word's place
gets whole-numbered noise and the word at the noisy place is released: metric DP in places on the list. With several
lists each draws a candidate and one of them, chosen uniformly, is released: ε times the largest of the distances.

* geometric (1-D_G): P(k) = (e^ε−1)/(e^ε+1)·e^(−ε|k|), places beyond an end become the end;
* tem (1-D_T): the exponential mechanism with score −min(|i−j|, γ): places beyond γ count alike.

Deviations: places end at |V|−1 (the paper writes |V|); a word that one of the lists lacks is an unknown word, since
with supports that differ no finite ε holds.

Noise is drawn as a whole number, by the inverse of its distribution function in the log domain, from ln U of a uniform
that is extended as far as the list is long: a table of probabilities underflows on a long list at ε = 0.04 already, and
a float64 uniform ends 745/ε places away, so that words beyond would be impossible under some words only. With the
uniform locked, the released place comes nearer to the original as ε grows, and never leaves again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..distribution import Law, TokenDistribution, seen_at_least_once
from ..errors import ConfigError
from ..sampling import LOG_DEPTH, Dice
from ..words.lists import CONFIGURATIONS, WordList, check_list, word_list
from .base import RewriteResult, check_cancel
from .config import epsilon_option, option
from .word_level import Draws, WordConfig, WordMechanism, WordPrepared

#: Lists that one mechanism takes at most.
MAX_LISTS = 20
#: Places shown on either side of the word.
WINDOW = 10


@dataclass(frozen=True)
class DiffractorConfig(WordConfig):
    """Options of 1-Diffractor. ``lists``: names of lists, or one of the paper's configurations L0, L1, L2."""

    epsilon: float | tuple[float, ...] = epsilon_option(1.0, 0.1, 10.0, "per word and place on the list")
    noise: str = option(
        "geometric",
        label="Noise",
        kind="choice",
        choices=("geometric", "tem"),
        help="Geometric: near places first. TEM: near places first, all beyond γ alike.",
    )
    lists: tuple[str, ...] = option(
        ("L2",),
        label="Lists",
        kind="texts",
        lists=True,
        help="L2: one list. L0: one list of each of five word spaces. L1: two of each. Or names of lists.",
    )
    gamma: int = option(
        5,
        label="Window γ",
        kind="integer",
        min=0,
        max=1000,
        advanced=True,
        help="Used by the TEM noise: places farther away all count alike.",
    )


@dataclass(frozen=True, eq=False)
class Bundle:
    """Lists that are used together.

    words: those on every list (rows count in them). outputs: those on any list. places: int64 (lists, words), where
    each word stands. order: for each list, the output at each place.
    """

    lists: tuple[WordList, ...]
    words: tuple[str, ...]
    outputs: tuple[str, ...]
    places: np.ndarray
    order: tuple[np.ndarray, ...]

    @cached_property
    def where(self) -> np.ndarray:
        """int64 (lists, outputs): the place of each output, −1 where a list lacks it."""
        found = np.full((len(self.order), len(self.outputs)), -1, np.int64)
        for row, order in zip(found, self.order, strict=True):
            row[order] = np.arange(len(order))
        return found

    @cached_property
    def output_of(self) -> np.ndarray:
        """int64 (words,): the output that each row is."""
        return self.order[0][self.places[0]]

    @cached_property
    def lengths(self) -> np.ndarray:
        """int64 (lists,)"""
        return np.array([len(o) for o in self.order])


def bundle(names: tuple[str, ...]) -> Bundle:
    """The lists of these names, together."""
    return _bundled(tuple(word_list(n) for n in names))


@lru_cache(maxsize=16)
def _bundled(lists: tuple[WordList, ...]) -> Bundle:
    # By the lists, not by their names: one over a user's file is another once that has changed.
    lowered = [[w.lower() for w in one] for one in lists]
    shared = set(lowered[0]).intersection(*lowered[1:])
    if not shared:
        raise ConfigError("These lists have no word in common. Choose lists over the same words.")
    words = tuple(w for w in lowered[0] if w in shared)
    outputs = tuple(dict.fromkeys(w for one in lowered for w in one))
    at = {w: i for i, w in enumerate(outputs)}
    order = tuple(np.array([at[w] for w in one], np.int64) for one in lowered)
    places = np.empty((len(lists), len(words)), np.int64)
    for row, one in zip(places, lowered, strict=True):
        place = {w: i for i, w in enumerate(one)}
        row[:] = [place[w] for w in words]
    return Bundle(lists, words, outputs, places, order)


# --- noise: all functions broadcast over their arguments


def log_pmf(noise: str, epsilon: Any, at: Any, to: Any, length: Any, gamma: int) -> np.ndarray:
    """ln of the chance that place ``at`` becomes place ``to`` on a list of ``length``, float64."""
    epsilon, at, to = np.asarray(epsilon, np.float64), np.asarray(at), np.asarray(to)
    distance = np.abs(at - to)
    if noise == "geometric":
        # ln tanh(ε/2) and ln 1/(1+e^−ε), without losing digits.
        inside = np.log(-np.expm1(-epsilon)) - np.log1p(np.exp(-epsilon))
        end = (to == 0) | (to == length - 1)
        out = -epsilon * distance + np.where(end, -np.log1p(np.exp(-epsilon)), inside)
        return np.where(np.asarray(length) == 1, 0.0, out)
    return -epsilon / 2 * np.minimum(distance, gamma) - _log_tails(epsilon, at, length, gamma)[1]


def _log_tails(epsilon: Any, at: Any, length: Any, gamma: int) -> tuple[np.ndarray, np.ndarray]:
    """TEM noise: ln of the weight at distance j or more for j = 0 … γ + 1 (beyond), last axis; and their normaliser."""
    epsilon, at, length = np.broadcast_arrays(np.asarray(epsilon, np.float64), at, length)
    j = np.arange(gamma + 1)
    places = (j <= at[..., None]).astype(np.int64) + (j < (length - at)[..., None])
    places[..., 0] = 1
    beyond = np.maximum(length - places.sum(axis=-1), 0)
    with np.errstate(divide="ignore"):
        weights = np.log(np.concatenate([places, beyond[..., None]], axis=-1).astype(np.float64))
    weights -= epsilon[..., None] / 2 * np.append(j, gamma)
    tails = np.logaddexp.accumulate(weights[..., ::-1], axis=-1)[..., ::-1]
    return tails, tails[..., 0]


def geometric_steps(epsilon: Any, log_uniform: Any) -> np.ndarray:
    """|k| for ln U: the largest m with U ≤ P(|k| ≥ m) = 2·e^(−εm)/(1+e^(−ε)); float64, whole."""
    epsilon = np.asarray(epsilon, np.float64)
    return np.floor((np.log(2.0) - np.log1p(np.exp(-epsilon)) - np.asarray(log_uniform)) / epsilon)


def noisy_place(
    noise: str, epsilon: Any, at: np.ndarray, length: Any, gamma: int, sign: Any, log_uniform: Any, far: Any
) -> np.ndarray:
    """Where places (m,) land, int64 (m,). sign: ±1; log_uniform: ln U behind the distance; far: a uniform behind a
    place beyond γ."""
    if noise == "geometric":
        steps = np.minimum(geometric_steps(epsilon, log_uniform), np.asarray(length, np.float64)).astype(np.int64)
        return np.clip(at + sign * steps, 0, np.asarray(length) - 1)
    tails, normaliser = _log_tails(epsilon, at, length, gamma)
    reached = np.asarray(log_uniform)[..., None] <= tails[..., 1:] - normaliser[..., None]
    steps = np.where(reached, np.arange(1, gamma + 2), 0).max(axis=-1)
    # One side only near an end.
    forward, back = at + steps, at - steps
    inside = np.where(
        (sign > 0) & (forward < length) | (back < 0), np.minimum(forward, np.asarray(length) - 1), np.maximum(back, 0)
    )
    first, last = np.maximum(at - gamma, 0), np.minimum(at + gamma, np.asarray(length) - 1)
    window = last - first + 1
    pick = np.minimum(np.floor(far * (length - window)), length - window - 1).astype(np.int64)
    return np.where(steps <= gamma, inside, np.where(pick < first, pick, pick + window))


@dataclass(frozen=True, eq=False)
class DiffractorLaw(Law):
    """One word through the lists."""

    bundle: Bundle
    row: int
    noise: str
    gamma: int

    @property
    def candidates(self) -> Sequence[str]:
        return self.bundle.outputs

    @property
    def source(self) -> str:
        return self.bundle.words[self.row]

    @property
    def source_index(self) -> np.ndarray:
        return self.bundle.output_of[self.row : self.row + 1]

    def at(self, epsilon: float) -> TokenDistribution:
        b, n = self.bundle, len(self.bundle.order)
        total: np.ndarray | None = None
        for place, order in zip(b.places[:, self.row], b.order, strict=True):
            log_p = np.full(len(b.outputs), -np.inf)
            log_p[order] = log_pmf(self.noise, epsilon, place, np.arange(len(order)), len(order), self.gamma)
            total = log_p if total is None else np.logaddexp(total, log_p)
        assert total is not None
        return TokenDistribution(
            self.candidates, total - np.log(n), self.source, float(epsilon), None, self.source_index,
            lambda m, dice: self._sample(epsilon, m, dice), LOG_DEPTH,
        )  # fmt: skip

    def _sample(self, epsilon: float, n: int, dice: Dice) -> np.ndarray:
        return released(self.bundle, np.full(n, self.row), np.full(n, epsilon), self.noise, self.gamma, dice, n)[0]

    def draw(self, epsilon: float, dice: Dice) -> int:
        return int(self._sample(epsilon, 1, dice)[0])

    def flips(self, dice: Dice, low: float, high: float) -> list[tuple[float, int]]:
        chosen, sign, log_uniform, far = _random(self.bundle, dice, 1)
        c = int(chosen[0])
        at, length, order = self.bundle.places[c, self.row], self.bundle.lengths[c], self.bundle.order[c]
        args = (sign[0, c], log_uniform[0, c], far[0, c])

        def landed(epsilon: np.ndarray) -> np.ndarray:
            return noisy_place(self.noise, epsilon, np.full(len(epsilon), at), length, self.gamma, *args)

        most = int(geometric_steps(low, args[1])) if self.noise == "geometric" else self.gamma + 1
        # ε at which the noise falls from m steps to m − 1, found for all m at once: the distance shrinks as ε grows.
        steps = np.arange(1, min(most, int(length)) + 1)
        a, b = np.full(len(steps), low), np.full(len(steps), high)
        for _ in range(60):
            middle = (a + b) / 2
            if self.noise == "geometric":
                above = geometric_steps(middle, args[1]) >= steps
            else:
                tails, normaliser = _log_tails(middle, np.full(len(steps), at), length, self.gamma)
                above = args[1] <= tails[np.arange(len(steps)), steps] - normaliser
            a, b = np.where(above, middle, a), np.where(above, b, middle)
        points = np.append([low], np.sort(b[b < high]))
        out: list[tuple[float, int]] = []
        for epsilon, place in zip(points, landed(points), strict=True):
            if not out or out[-1][1] != order[place]:
                out.append((float(epsilon), int(order[place])))
        return out

    def shown(self, n: int, low: float, high: float) -> np.ndarray:
        b = self.bundle
        each = max(1, n // len(b.order) // 2)
        near = [
            order[max(0, place - each) : place + each + 1]
            for place, order in zip(b.places[:, self.row], b.order, strict=True)
        ]
        found = np.unique(np.concatenate(near))
        best = self.log_p(np.geomspace(low, high, 5), found).max(axis=1)
        return found[np.argsort(-best, kind="stable")[:n]]

    def deniability(self, epsilon: float) -> tuple[float, float]:
        """Only places near the word: geometric noise beyond has a chance below 1e-19 together, TEM's beyond is even."""
        if self.noise == "tem" and len(set(self.bundle.lengths.tolist()) | {len(self.bundle.outputs)}) > 1:
            return super().deniability(epsilon)  # lists over different words
        b, n = self.bundle, len(self.bundle.order)
        reach = self.gamma if self.noise == "tem" else int(min(b.lengths.max(), 46.0 / epsilon)) + 1
        outputs, chances, even = [], [], 0.0
        for at, order in zip(b.places[:, self.row].tolist(), b.order, strict=True):
            to = np.arange(max(0, at - reach), min(len(order), at + reach + 1))
            p = np.exp(log_pmf(self.noise, epsilon, at, to, len(order), self.gamma))
            if self.noise == "tem" and len(to) < len(order):
                beyond = (1.0 - p.sum()) / (len(order) - len(to))
                p, even = p - beyond, even + beyond / n
            outputs.append(order[to])
            chances.append(p / n)
        which, place = np.unique(np.concatenate(outputs), return_inverse=True)
        p = np.bincount(place, np.concatenate(chances)) + even
        keep = float(p[which == self.source_index[0]].sum())
        distinct = seen_at_least_once(p, 100).sum()
        if even:
            distinct += (len(b.outputs) - len(which)) * seen_at_least_once(np.array([even]), 100)[0]
        return keep, float(distinct)

    def log_p(self, epsilons: np.ndarray, which: np.ndarray) -> np.ndarray:
        b = self.bundle
        to = b.where[:, which][:, :, None]
        log_p = log_pmf(
            self.noise, np.asarray(epsilons), b.places[:, self.row][:, None, None], to, b.lengths[:, None, None],
            self.gamma,
        )  # fmt: skip
        log_p = np.where(to >= 0, log_p, -np.inf)
        return np.logaddexp.reduce(log_p, axis=0) - np.log(len(b.order))


def _random(bundle: Bundle, dice: Dice, n: int):
    """The chosen list (n,), signs, ln U and far uniforms (n, lists) of the first n tokens of a stream."""
    lists = len(bundle.order)
    raw = dice.words(n * 2 * (1 + lists)).reshape(n, -1)
    chosen = np.minimum((raw[:, 0] * 2.0**-64 * lists).astype(np.int64), lists - 1)
    sign = np.where(raw[:, 1, None] >> np.arange(lists, dtype=np.uint64) & 1, 1, -1)
    log_uniform = dice.log_full_range(raw.ravel()).reshape(n, -1)[:, 2 : 2 + lists]
    return chosen, sign, log_uniform, np.minimum(raw[:, 2 + lists :] * 2.0**-64, 1.0 - 2.0**-53)


def released(
    bundle: Bundle, rows: np.ndarray, epsilons: np.ndarray, noise: str, gamma: int, dice: Dice, n: int,
    tokens: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The released output of each row (m,), and the list it came from.

    tokens: which of the n tokens of the stream each row is; all in order without it.
    """
    drawn = _random(bundle, dice, n)
    chosen, sign, log_uniform, far = drawn if tokens is None else (x[tokens] for x in drawn)
    return _land(bundle, rows, epsilons, noise, gamma, chosen, sign, log_uniform, far), chosen


def _land(bundle, rows, epsilons, noise, gamma, chosen, sign, log_uniform, far) -> np.ndarray:
    """Outputs (m,) of rows through their chosen lists."""
    each = np.arange(len(rows))
    at, length = bundle.places[chosen, rows], bundle.lengths[chosen]
    place = noisy_place(
        noise, epsilons, at, length, gamma, sign[each, chosen], log_uniform[each, chosen], far[each, chosen]
    )
    out = np.empty(len(rows), np.int64)
    for c, order in enumerate(bundle.order):
        mine = chosen == c
        out[mine] = order[place[mine]]
    return out


class Diffractor(WordMechanism):
    """1-Diffractor: noise on a word's place in one-dimensional lists."""

    name = "diffractor"
    title = "1-Diffractor"
    notion = "metric"
    summary = "Puts all words in rows of near words, moves the word's place by a random number, releases what is there."
    config_cls = DiffractorConfig
    needs = ("word lists",)

    @classmethod
    def resolve(cls, config: Any) -> Any:
        names = tuple(n for given in config.lists for n in CONFIGURATIONS.get(given, (given,)))
        if not names:
            raise ConfigError("lists is empty. Give at least one, or L0, L1, L2.")
        for name in names:
            check_list(name)
        if len(names) > MAX_LISTS or len(set(names)) < len(names):
            raise ConfigError(f"lists takes at most {MAX_LISTS} lists, each once.")
        return replace(config, lists=names)

    @classmethod
    def range_key(cls, options: Mapping[str, Any]) -> str:
        return str(options.get("noise", "geometric"))

    @cached_property
    def vocabulary(self) -> Bundle:
        return bundle(self.config.lists)

    @cached_property
    def max_epsilon(self) -> float:
        """The noise reaches both ends of the longest list."""
        return min(super().max_epsilon, LOG_DEPTH / float(self.vocabulary.lengths.max()))

    def law(self, row: int) -> Law:
        return DiffractorLaw(self.vocabulary, row, self.config.noise, self.config.gamma)

    def _stream(self, prepared: WordPrepared, i: int, dice: Dice) -> Dice:
        return dice.at("lists").skip(i * (1 + len(self.config.lists)))

    def _draw(self, draws: Draws, cancel=None, progress=None) -> list[str]:
        check_cancel(cancel)
        b, c = self.vocabulary, self.config
        bounds = np.searchsorted(draws.owners, np.arange(len(draws.texts) + 1))
        tokens = np.array(draws.paths, np.int64)
        parts = []
        for t, (dice, n) in enumerate(draws.texts):
            mine = tokens[bounds[t] : bounds[t + 1]]
            if len(mine):
                parts.append([x[mine] for x in _random(b, dice.at("lists"), n)])
        chosen, sign, log_uniform, far = (np.concatenate(x) for x in zip(*parts, strict=True))
        out = _land(b, draws.rows, draws.epsilons, c.noise, c.gamma, chosen, sign, log_uniform, far)
        if progress:
            progress(len(out), len(out))
        return [b.outputs[i] for i in out.tolist()]

    def distances(self, words: Sequence[str]) -> np.ndarray:
        """The largest distance on any of the lists, in places; at most γ for the TEM noise."""
        at = {w: i for i, w in enumerate(self.vocabulary.words)}
        rows = np.array([at.get(w.lower(), -1) for w in words])
        places = self.vocabulary.places[:, rows]
        out = np.abs(places[:, :, None] - places[:, None]).max(axis=0).astype(np.float64)
        if self.config.noise == "tem":
            out = np.minimum(out, self.config.gamma)
        out[rows < 0] = np.nan
        out[:, rows < 0] = np.nan
        return out

    def _promise(self, epsilon: float) -> dict[str, Any]:
        lists = self.config.lists
        name = (
            "places on the list"
            if len(lists) == 1
            else f"places on the list where they are farthest apart, of {len(lists)}"
        )
        largest = float(self.vocabulary.lengths.max() - 1)
        if self.config.noise == "tem":
            name, largest = f"{name}, at most γ = {self.config.gamma}", min(largest, float(self.config.gamma))
        return {"notion": "metric", "metric": name, "near": min(1.0, largest), "largest": largest}

    def _similarities(self, row: int) -> Mapping[str, float] | None:
        """In the space of the first list."""
        from ..words import word_space
        from ..words.lists import list_space

        space = word_space(list_space(self.config.lists[0]))
        return dict(zip(space.words, space.similarities(self.vocabulary.words[row]).tolist(), strict=True))

    def _views(self, result: RewriteResult, k: int, row: int, dice: Dice) -> tuple:
        from ..views import DiffractionView, ListNeighbourhood

        b, c, step = self.vocabulary, self.config, result.steps[k]
        chosen, sign, log_uniform, far = _random(b, dice, 1)
        lanes = []
        for j, order in enumerate(b.order):
            at, n = int(b.places[j, row]), len(order)
            to = np.arange(max(0, at - WINDOW), min(n, at + WINDOW + 1))
            random = (sign[0, j], log_uniform[0, j], far[0, j])
            landed = int(noisy_place(c.noise, step.epsilon, np.array([at]), n, c.gamma, *random)[0])
            chances = np.exp(log_pmf(c.noise, step.epsilon, at, to, n, c.gamma))
            words = tuple(b.outputs[order[i]] for i in to)
            lanes.append(ListNeighbourhood(c.lists[j], words, to - at, chances, b.outputs[order[landed]], landed - at))
        return (DiffractionView(b.words[row], step.replacement, tuple(lanes), int(chosen[0])),)
