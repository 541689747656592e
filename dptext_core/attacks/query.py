"""The query attack (CusText, Algorithm 2): how many answers would reveal a word?

An attacker gets N fresh replacements of one word and guesses the most frequent one. N is the smallest number for which
the guess is the original in 95% of 2,000 repeats. A tie of m words counts 1/m: if it counted as a failure, success
would not grow with N, and the search would be invalid. If the original is not the most probable word, no number is
enough.

The repeats are multinomial draws, and the search doubles and bisects (to 2% above N = 100). Only other words that can
lead are sampled. The omitted ones lead with a total probability of at most 1e-4, by P(q ahead of p) ≤ (1 − (√p −
√q)²)^N. If N is small and that bound leaves many, these are one class. Its r draws are split in the repeats in which
one of its words could reach the count c of the original: C(r, c)·Σ q^c > 1e-4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import ConfigError, InputError, NoDistribution
from ..mechanisms.base import Mechanism
from ..privacy.distribution import Channel, TokenDistribution
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult
from ..support.private import Private
from ..support.task import UNWATCHED, Task
from .base import TextAttacker, check_sampled, register

CONFIDENCE = 0.95
REPEATS = 2000
#: Maximum probability of the omitted words in the repeats.
LEFT_OUT = 1e-4
#: Larger numbers are reported as never.
MOST = 10**9
_ROUGH = 200
_CLASSES = 1500
_SHORT = 4000


@dataclass(frozen=True)
class QueryNumber(Private):
    """How many answers reveal the original. n: math.inf for never, with the reason. p_original, p_rival: the
    probabilities of the original and of the most likely other word, rival. success: measured at n, over ``repeats``.
    chance: the success of a uniform guess among all possible outputs. draws: None for a formula, else the number of
    draws for the estimate.
    """

    n: float
    original: str
    epsilon: float | None
    p_original: float
    p_rival: float
    rival: str
    success: float
    chance: float
    reason: str = ""
    repeats: int = REPEATS
    draws: int | None = None

    _shown: ClassVar[tuple[str, ...]] = ("n", "epsilon", "draws")

    def sentence(self) -> str:
        """Return the figure in plain words."""
        if math.isinf(self.n):
            message = f"Repeated answers do not reveal “{self.original}” in this way: {self.reason}"
        elif self.n == 1:
            message = f"One answer reveals “{self.original}” because it is almost always unchanged."
        else:
            message = (
                f"After about {self.n:,.0f} answers to the same text with fresh noise, the most frequent word is "
                f"“{self.original}” with probability 95%."
            )
        message += f" A random guess among all possible outputs is right once in {1 / self.chance:,.0f} tries."
        if self.draws is not None:
            message += f" The probabilities are estimated from {self.draws:,} draws."
        return message


@dataclass(frozen=True)
class QueryCurve:
    """The number of answers at several ε: for one word, or the median of the words of a text. epsilons, n: (m,), n is
    math.inf for never. never: (m,), the share of the words that are never revealed. words: their number. draws: as in
    :class:`QueryNumber`.
    """

    epsilons: tuple[float, ...]
    n: tuple[float, ...]
    never: tuple[float, ...]
    words: int
    draws: int | None = None

    def sentence(self) -> str:
        """Return the curve in plain words."""
        whose = "The word needs" if self.words == 1 else f"Half of the {self.words} words need at most"
        finite = [(e, n) for e, n in zip(self.epsilons, self.n, strict=True) if math.isfinite(n)]
        if not finite:
            return "Repeated answers reveal no word at these ε, because the original is not the most probable output."
        (low, most), (high, least) = finite[0], finite[-1]
        return f"{whose} about {most:,.0f} answers at ε = {low:.3g}, and {least:,.0f} at ε = {high:.3g}."


def query_number(
    d: TokenDistribution, *, repeats: int = REPEATS, seed: int | None = None, task: Task = UNWATCHED
) -> QueryNumber:
    """Return the number of answers that reveal the original of ``d``. Raises InputError without an original."""
    if d.source is None:
        raise InputError("This word was added, so there is no original to find. Choose a replaced word.")
    if repeats < 1:
        raise ConfigError(f"The number of repeats must be 1 or more, not {repeats}.")
    own_index = d.index(d.source)
    p0 = float(d.probs[own_index].sum())
    others = np.delete(d.probs, own_index)
    names = np.delete(np.arange(len(d)), own_index)
    best = int(others.argmax()) if len(others) else 0
    p1 = float(others[best]) if len(others) else 0.0
    rival = d.candidates[names[best]] if len(others) else ""

    def made(n: float, success: float, reason: str = "") -> QueryNumber:
        chance = 1 / max(1, int(np.count_nonzero(d.probs)))
        return QueryNumber(n, d.source or "", d.epsilon, p0, p1, rival, success, chance, reason, repeats, d.draws)

    if p0 == 0:
        return made(math.inf, 0.0, "it is never released.")
    if p0 < p1:
        return made(math.inf, 0.0, f"“{rival}” is released more often.")
    if p0 - p1 <= 1e-12 * p0:
        return made(math.inf, 0.5, f"“{rival}” is released just as often.")
    return made(*_search(p0, np.sort(others[others > 0])[::-1], repeats, seed, task))


def _search(p0: float, others: np.ndarray, repeats: int, seed, task: Task) -> tuple[float, float, str]:
    # A simulated attack releases nothing: a fast generator, keyed by the stream, is good enough.
    rng = np.random.default_rng(NoiseStream(seed).words(4))
    success_at: dict[int, float] = {}

    def success(n: int) -> float:
        task.check()
        if n not in success_at:
            success_at[n] = success_rate(p0, others, n, repeats, rng, task)
        return success_at[n]

    # No smaller number distinguishes the original from its nearest rival (normal approximation, with a margin).
    gap = p0 - (others[0] if len(others) else 0.0)
    spread = p0 + (others[0] if len(others) else 0.0) - gap**2
    high = max(1, int(0.6 * 1.645**2 * spread / gap**2))
    if high > MOST:
        return math.inf, 0.0, f"it would take more than {MOST:,} answers."
    while success_rate(p0, others, high, min(_ROUGH, repeats), rng, task) < CONFIDENCE or success(high) < CONFIDENCE:
        task.check()
        high *= 2
        if high > MOST:
            return math.inf, success_at.get(high // 2, 0.0), f"it would take more than {MOST:,} answers."
    low = high // 2
    while low >= 1 and success(low) >= CONFIDENCE:
        high, low = low, low // 2
    while high - low > max(1, 0.02 * high if high > 100 else 1):
        middle = (low + high) // 2
        low, high = (low, middle) if success(middle) >= CONFIDENCE else (middle, high)
    return float(high), success(high), ""


def success_rate(
    p0: float, others: np.ndarray, n: int, repeats: int, rng: np.random.Generator, task: Task = UNWATCHED
) -> float:
    """Return how often the most frequent of n draws is the original, counting a tie of m words as 1/m. p0: the
    probability of the original. others: float64 (V,), the probabilities of the other words, largest first.
    """
    k = _needed_classes(p0, others, n)
    if k <= _CLASSES or n > _SHORT:
        return float(np.mean(_simulate_wins(p0, others[:k], n, repeats, rng, task)[0]))
    k = 64
    won, counts, rest_count = _simulate_wins(p0, others[:k], n, repeats, rng, task)
    # The words outside the classes, one by one, if they could matter.
    edges = np.cumsum(others[k:])
    open_ = np.flatnonzero((won > 0) & (rest_count >= counts))
    open_ = open_[_reach(counts[open_], rest_count[open_], others[k:] / edges[-1]) > LEFT_OUT]
    for part in np.array_split(open_, max(1, int(rest_count[open_].sum() // 2_000_000) + 1)):
        task.check()
        if not len(part):
            continue
        owner = np.repeat(np.arange(len(part)), rest_count[part])
        word = np.minimum(np.searchsorted(edges, rng.random(len(owner)) * edges[-1], side="right"), len(edges) - 1)
        pair, times = np.unique(owner * len(edges) + word, return_counts=True)
        owner = pair // len(edges)
        own_count = counts[part][owner]
        beaten = np.bincount(owner, times > own_count, minlength=len(part)) > 0
        ties = np.bincount(owner, times == own_count, minlength=len(part))
        won[part] = np.where(beaten, 0.0, 1 / (1 / won[part] + ties))
    return float(won.mean())


def _reach(c: np.ndarray, r: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Bound the probability that any of the words with probabilities q occurs at least c times in r draws: C(r, c)·Σ
    q^c."""
    from scipy.special import gammaln

    kinds, which = np.unique(c, return_inverse=True)
    powers = np.array([np.power(q, k).sum() for k in kinds])
    with np.errstate(divide="ignore"):
        return np.exp(gammaln(r + 1) - gammaln(c + 1) - gammaln(r - c + 1) + np.log(powers)[which])


def _needed_classes(p0: float, others: np.ndarray, n: int) -> int:
    """Return how many of the others must be sampled, so that those omitted lead with probability LEFT_OUT at most."""
    ahead = np.exp(n * np.log1p(-np.square(np.sqrt(p0) - np.sqrt(others))))
    together = np.cumsum(ahead[::-1])[::-1]
    return int(np.searchsorted(-together, -LEFT_OUT))


def _simulate_wins(
    p0: float, others: np.ndarray, n: int, repeats: int, rng, task: Task = UNWATCHED
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each repeat 1/m if the original is one of the m most frequent classes, else 0; its count; and that of
    the rest."""
    p_rest = max(0.0, 1.0 - p0 - float(others.sum()))
    p = np.concatenate([[p0], others, [p_rest]])
    p /= p.sum()
    won, counts, rest_counts = np.empty(repeats), np.empty(repeats, np.int64), np.empty(repeats, np.int64)
    step = max(1, 2_000_000 // len(p))
    for start in range(0, repeats, step):
        task.check()
        m = min(step, repeats - start)
        drawn = rng.multinomial(n, p, size=m)
        own_counts, named = drawn[:, :1], drawn[:, 1:-1]
        ahead, ties = (named > own_counts).any(axis=1), (named == own_counts).sum(axis=1)
        # It was never sampled, so another word leads.
        part = slice(start, start + m)
        won[part] = np.where(ahead | (own_counts[:, 0] == 0), 0.0, 1.0 / (1 + ties))
        counts[part], rest_counts[part] = own_counts[:, 0], drawn[:, -1]
    return won, counts, rest_counts


def query_curve(
    channels: Channel | Sequence[Channel],
    epsilons: Sequence[float],
    *,
    repeats: int = REPEATS,
    seed: int | None = None,
    task: Task = UNWATCHED,
) -> QueryCurve:
    """Return the number of answers at every ε: of one word's channel, or the median over several words."""
    every = [channels] if isinstance(channels, Channel) else list(channels)
    if not every or not len(epsilons):
        raise InputError("The curve has no word or no ε. Give at least one of each.")
    numbers = np.empty((len(epsilons), len(every)))
    for j, channel in enumerate(every):
        for i, epsilon in enumerate(epsilons):
            task.check()
            numbers[i, j] = query_number(channel.at(float(epsilon)), repeats=repeats, seed=seed, task=task).n
            task.report(j * len(epsilons) + i + 1, numbers.size)
    # The lower of the two middle values: a mean would be infinite if one of them is.
    middle = np.sort(numbers, axis=1)[:, (len(every) - 1) // 2]
    return QueryCurve(
        tuple(map(float, epsilons)),
        tuple(middle.tolist()),
        tuple(np.isinf(numbers).mean(axis=1).tolist()),
        len(every),
        next((channel.draws for channel in every if channel.draws is not None), None),
    )


def sampled_channels(result: RewriteResult) -> list[Channel]:
    """Return the channels of the distinct sampled words of a text. Raises NoDistribution if another ε needs a new pass,
    or nothing was sampled.
    """
    steps = {s.original.casefold(): i for i, s in enumerate(result.steps) if s.depends_on_original}
    if not steps:
        raise NoDistribution("No word of this text was sampled. Turn off “Keep stop words”, or add more words.")
    return [result.locked(i)[0] for i in steps.values()]


@register
class RepeatedAnswers(TextAttacker):
    """The query attack on one word."""

    name = "repeated-answers"
    title = "Repeated answers"
    question = "How many fresh answers to the same text reveal this word?"
    scope = "word"

    def check(self, mechanism: Mechanism) -> None:
        super().check(mechanism)
        if "distribution" not in mechanism.can:
            raise NoDistribution(
                f"{mechanism.title} has no formula for word probabilities, so answers cannot be simulated. Choose "
                "another mechanism."
            )

    def attack(
        self, mechanism: Mechanism, result: RewriteResult, unit: int | None = None, *, task: Task | None = None
    ) -> QueryNumber:
        if unit is None:
            raise InputError("This attacker guesses one word. Choose a word.")
        self.check(mechanism)
        step = result.units[unit]
        check_sampled(step)
        if step.reason:
            raise NoDistribution(
                f"“{step.original}” is {step.reason}: its replacement does not depend on it, so no answer reveals "
                "it. Choose another word."
            )
        return query_number(result.distribution(unit), task=task or UNWATCHED)
