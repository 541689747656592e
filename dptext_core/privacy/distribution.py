"""Score tables and the distributions they give at each ε.

For most mechanisms the word y is released with probability proportional to exp(ε·s(y)), where the scores s do not
depend on ε; from a public proposal b, with one proportional to b(y)·exp(ε·s(y)). One table of scores, computed once by
a model, then gives the distribution, the sample and every figure at any ε. All probabilities and all draws are float64.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import ConfigError, InputError
from ..support.checks import check_whole_number
from ..support.private import Private
from ..support.statistics import boundary, clopper_pearson
from .sampling import DEPTH, ROUGH, NoiseStream, Sampler, draw

#: Largest ε per draw. If the scores of a table differ by at most 1/2, log p spans ε/2 + ln|V|. Beyond DEPTH = 720 the
#: sampler cannot reach an output, and an output that is possible under one text but not under another has no finite ε.
#: Mechanisms whose scores differ by more refuse earlier (``Mechanism.max_epsilon``).
MAX_EPSILON = 1400.0
#: Draws for a curve over ε if a distribution has no formula.
CURVE_DRAWS = 200
#: Number of different scores up to which all terms of a sum are computed at once.
FEW = 1000


def logsumexp(x: np.ndarray) -> float:
    top = x.max()
    return float(top + np.log(np.exp(x - top).sum())) if top > -np.inf else -math.inf


@dataclass(frozen=True, eq=False)
class TokenDistribution(Private):
    """The distribution that one word is sampled from.

    Attributes
    ----------
    candidates : sequence of str, length V
        The possible outputs.
    log_probs : float64, shape (V,)
        ln p; −inf for an impossible output.
    source : str or None
        The original word; None for an insertion.
    epsilon : float or None
        Its ε.
    draws : int or None
        None for a closed form, n for a Monte Carlo estimate from n draws.
    depth : float
        The sampler's depth in nats: an output with ln p ≥ −depth has exactly that probability.
    """

    candidates: Sequence[str]
    log_probs: np.ndarray
    source: str | None = None
    epsilon: float | None = None
    draws: int | None = None
    _keep: np.ndarray | None = field(default=None, repr=False)
    _sampler: Callable[[int, NoiseStream], np.ndarray] | None = field(default=None, repr=False)
    depth: float = DEPTH

    _shown: ClassVar[tuple[str, ...]] = ("candidates", "epsilon", "draws")

    @cached_property
    def probs(self) -> np.ndarray:
        """Return the probabilities, float64 (V,), summing to 1."""
        return np.exp(self.log_probs)

    def __len__(self) -> int:
        return len(self.candidates)

    def index(self, word: str) -> np.ndarray:
        """Return the indices of the candidates equal to ``word``, ignoring case.

        There can be several in models that distinguish capitals. Raises InputError if it is not a string.
        """
        if not isinstance(word, str):
            raise InputError(f"A word must be a str, not {type(word).__name__}.")
        return find_word(self.candidates, word)

    def p(self, word: str) -> float:
        """Return the probability of releasing ``word``, ignoring case; 0 if it is not a candidate."""
        return float(self.probs[self.index(word)].sum())

    def p_keep(self) -> float:
        """Return N_w, the probability that the word is unchanged (1-Diffractor paper, Section 5.1), ignoring case.

        It is 0 if the original is not a candidate, and for an insertion.
        """
        if self.source is None:
            return 0.0
        at = self._keep if self._keep is not None else self.index(self.source)
        return float(self.probs[at].sum())

    def keep_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the interval of N_w: exact for a closed form, else the Clopper-Pearson interval of the draws."""
        p = self.p_keep()
        return (p, p) if self.draws is None else clopper_pearson(round(p * self.draws), self.draws, confidence)

    def support(self, eta: float = 0.05) -> int:
        """Return S_w (b): the size of the smallest set of words with probability at least 1 − eta."""
        if not 0 <= eta < 1:
            raise ConfigError(f"eta must be a probability in [0, 1), not {eta}.")
        descending = np.sort(self.probs)[::-1]
        return int(min(np.searchsorted(np.cumsum(descending), 1 - eta - 1e-12) + 1, np.count_nonzero(descending)))

    def expected_distinct(self, n: int = 100) -> float:
        """Return S_w (a): the expected number of different words in n independent draws, Σ 1 − (1 − p)^n.

        For an estimate from draws, it is the unbiased number in n of them, chosen at random.
        """
        n = check_whole_number("n", n, least=0)
        if self.draws is not None:
            return expected_distinct_of(np.rint(self.probs[self.probs > 0] * self.draws), n)
        return float(seen_at_least_once(self.probs, n).sum())

    def entropy(self) -> float:
        """Return the Shannon entropy in bits."""
        p = self.probs
        return float(-(p[p > 0] * self.log_probs[p > 0]).sum() / np.log(2))

    def top(self, k: int = 20) -> list[tuple[str, float]]:
        """Return the most probable words.

        Parameters
        ----------
        k : int

        Returns
        -------
        list of (str, float)
            Words with their probabilities, most probable first; ties in the order of the candidates.
        """
        x, k = -self.log_probs, min(check_whole_number("k", k, least=1), len(self))
        part = np.flatnonzero(x <= np.partition(x, k - 1)[k - 1])  # if the k-th is tied, more than k
        order = part[np.argsort(x[part], kind="stable")][:k]
        return [(self.candidates[i], float(self.probs[i])) for i in order]

    def sample(self, n: int = 1, seed: int | None = None) -> list[str]:
        """Return independent draws from the sampler that a rewrite uses.

        Parameters
        ----------
        n : int
        seed : int, optional
            Makes the draws repeatable, and not private.

        Returns
        -------
        list of str, n of them
        """
        return [self.candidates[i] for i in self.sample_indices(check_whole_number("n", n, least=0), NoiseStream(seed))]

    def sample_indices(self, n: int, stream: NoiseStream) -> np.ndarray:
        """Return n independent draws as indices into ``candidates``, int64 (n,), by the sampler that a rewrite uses."""
        return draw(self.log_probs, stream, n) if self._sampler is None else self._sampler(n, stream)


class Channel(Private, ABC):
    """The distribution of one word at every ε, and its output under a locked stream.

    Attributes
    ----------
    candidates : sequence of str, length V
        The possible outputs.
    source : str or None
        The original word.
    draws : int or None
        None for a closed form, n if probabilities are estimated from n draws.
    """

    draws: int | None = None
    _shown: ClassVar[tuple[str, ...]] = ("candidates", "draws")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "draw" in cls.__dict__ and "drawer" not in cls.__dict__:  # a base's shortcut samples differently
            cls.drawer = Channel.drawer  # type: ignore[method-assign]

    if TYPE_CHECKING:  # at run time these are fields of a dataclass or properties

        @property
        def candidates(self) -> Sequence[str]: ...

        @property
        def source(self) -> str | None: ...

    @property
    def bends(self) -> bool:
        """Return True if ln p has kinks along ε, so that a curve through a few points is only approximate between them.

        A view that has only these points shows "≈".
        """
        return False

    @property
    @abstractmethod
    def source_index(self) -> np.ndarray:
        """Return the indices of the original word among the candidates, ignoring case; empty for none."""

    @abstractmethod
    def at(self, epsilon: float) -> TokenDistribution:
        """Return the distribution at ``epsilon``."""

    def draw(self, epsilon: float, stream: NoiseStream) -> int:
        """Return the index of the word released at ``epsilon`` under this stream."""
        return int(draw(self.at(epsilon).log_probs, stream)[0])

    def drawer(self, epsilon: float) -> Callable[[NoiseStream], int]:
        """Return :meth:`draw` at this ε as a function of the stream; work without noise is done once."""
        return lambda stream: self.draw(epsilon, stream)

    def epsilon_breakpoints(self, stream: NoiseStream, low: float, high: float) -> list[tuple[float, int]]:
        """Return the ε at which the released candidate changes under one stream.

        Parameters
        ----------
        stream : NoiseStream
        low, high : float
            The range of ε.

        Returns
        -------
        list of (float, int)
            ε and index of the candidate from there on, ascending, the first at ``low``.
        """
        return search_flips(lambda epsilons: [self.draw(float(e), stream) for e in epsilons], low, high)

    def shown(self, n: int, low: float, high: float) -> np.ndarray:
        """Return at most n candidates worth displaying between two ε, int64, the most probable ones first."""
        best = np.max([self.at(e).log_probs for e in np.geomspace(low, high, 5)], axis=0)
        n = min(n, int(np.isfinite(best).sum()))
        part = np.argpartition(-best, n - 1)[:n] if n < len(best) else np.arange(n)
        return part[np.argsort(-best[part], kind="stable")]

    def deniability(self, epsilon: float) -> tuple[float, float]:
        """Return N_w and S_w (a): ``at(epsilon).p_keep()`` and ``.expected_distinct(100)``, possibly by a shortcut."""
        d = self.at(epsilon)
        return d.p_keep(), d.expected_distinct(100)

    def deniability_without(self, epsilon: float, parts: int) -> np.ndarray | None:
        """Return jackknife values of N_w and S_w, each without one part of the draws: float64 (parts, 2).

        Only for estimates from draws that all words share; None for a closed form.
        """
        return None

    def log_p(self, epsilons: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return ln of the probabilities of candidates ``which`` (c,) at every ε (m,): float64 (c, m), or −inf."""
        return np.stack([self.at(e).log_probs[which] for e in epsilons], axis=1)


@dataclass(frozen=True, eq=False)
class ScoreTable(Channel):
    """Scores s(y) of every candidate; the word is released with probability ∝ exp(ε·s(y)), or ∝ b(y)·exp(ε·s(y)).

    A b that does not depend on the private text costs nothing: between two texts it cancels. A spread of at most 1/2
    between any two texts' scores of one candidate makes the draw ε-DP; scores of −d/2 with a distance d make it metric
    ε·d-DP.

    Attributes
    ----------
    candidates : sequence of str, length V
        The possible outputs.
    scores : float64, shape (V,)
        −inf for a candidate removed by a filter.
    source : str or None
        The original word.
    log_base : float64, shape (V,), or None
        ln b, finite, up to a constant; None for the same b everywhere.

    References
    ----------
    McSherry and Talwar 2007, the exponential mechanism.
    """

    candidates: Sequence[str]
    scores: np.ndarray
    source: str | None = None
    _keep: np.ndarray | None = field(default=None, repr=False)
    log_base: np.ndarray | None = None

    def __post_init__(self) -> None:
        if not 0 < len(self.candidates) == len(self.scores):
            raise ConfigError(
                "A score table needs one score per candidate and at least one candidate. There are "
                f"{len(self.candidates):,} candidates and {len(self.scores):,} scores."
            )

    def log_weights(self, epsilon: float) -> np.ndarray:
        """Return ln p up to a constant, float64 (V,)."""
        return epsilon * self.scores if self.log_base is None else epsilon * self.scores + self.log_base

    def at(self, epsilon: float) -> TokenDistribution:
        """Return the distribution at ``epsilon``."""
        x = self.log_weights(epsilon)
        return TokenDistribution(self.candidates, x - logsumexp(x), self.source, float(epsilon), None, self._keep)

    def draw(self, epsilon: float, stream: NoiseStream) -> int:
        return Sampler(self.log_weights(epsilon)).one(stream)

    def drawer(self, epsilon: float) -> Callable[[NoiseStream], int]:
        return Sampler(self.log_weights(epsilon)).one

    @property
    def source_index(self) -> np.ndarray:
        if self._keep is not None:
            return self._keep
        return find_word(self.candidates, self.source) if self.source else np.empty(0, np.int64)

    @cached_property
    def ascending(self) -> np.ndarray:
        """Return the scores in order, float64 (V,)."""
        return np.sort(self.scores)

    def log_z(self, epsilons: np.ndarray) -> np.ndarray:
        """Return ln Σ b·exp(ε·s) for every ε of ``epsilons`` (m,), float64 (m,)."""
        if self.log_base is not None:
            return self._based_log_z(epsilons)
        s = self.ascending[np.searchsorted(self.ascending, -np.inf, side="right") :][::-1]
        # Clipping and rounding make many scores equal: equal scores are one term.
        first = np.flatnonzero(np.concatenate([[True], s[1:] != s[:-1]]))
        times = np.diff(first, append=len(s)).astype(np.float64)
        gaps = s[first] - s[0]
        if len(gaps) <= FEW:
            return epsilons * s[0] + np.log((np.exp(np.multiply.outer(epsilons, gaps)) * times).sum(axis=1))
        out = np.empty(len(epsilons))
        for i, e in enumerate(epsilons):
            # Terms below exp(−45) together change log Z by less than V·3e-20.
            m = len(gaps) if e <= 0 else int(np.searchsorted(-gaps, 45.0 / e, side="right"))
            # Not by @: BLAS would wake a thread that spins, and a server needs that core for other work.
            out[i] = e * s[0] + np.log((np.exp(e * gaps[:m]) * times[:m]).sum())
        return out

    def _based_log_z(self, epsilons: np.ndarray) -> np.ndarray:
        assert self.log_base is not None
        # Clipping makes many scores equal at both ends: each end is one term.
        s, b = self.scores, self.log_base
        low, high = s[np.isfinite(s)].min(), s.max()
        if low == high:
            return epsilons * low + logsumexp(b[s == low])
        between = (s > low) & (s < high)
        b = np.concatenate([b[between], [logsumexp(b[s == end]) for end in (low, high)]])
        s = np.concatenate([s[between], [low, high]])
        return np.array([logsumexp(e * s + b) for e in epsilons])

    def deniability(self, epsilon: float) -> tuple[float, float]:
        x = self.log_weights(epsilon)
        p = np.exp(x - x.max())
        p /= p.sum()
        return float(p[self.source_index].sum()), float(seen_at_least_once(p, 100).sum())

    def log_p(self, epsilons: np.ndarray, which: np.ndarray) -> np.ndarray:
        out = np.multiply.outer(self.scores[which], epsilons) - self.log_z(epsilons)
        return out if self.log_base is None else out + self.log_base[which, None]

    def shown(self, n: int, low: float, high: float) -> np.ndarray:
        if self.log_base is not None:
            return super().shown(n, low, high)
        n = min(n, int(np.isfinite(self.scores).sum()))
        part = np.argpartition(-self.scores, n - 1)[:n]
        return part[np.argsort(-self.scores[part], kind="stable")]

    def epsilon_breakpoints(self, stream: NoiseStream, low: float, high: float) -> list[tuple[float, int]]:
        """Return the exact changes of the released candidate: see :meth:`Channel.epsilon_breakpoints`.

        The released score never falls as ε grows. Approximate noise rules out candidates that are never released; the
        others are compared by their exact noise.
        """
        prefixes, rough, beyond = stream.rough_gumbel(len(self.scores))
        if self.log_base is not None:
            rough = rough + self.log_base
        near = _may_win(self.scores.astype(rough.dtype), rough, low, high, 2 * ROUGH)
        near = np.union1d(near, beyond) if len(beyond) else near
        offsets = stream.gumbel_at(near, prefixes[near])
        if self.log_base is not None:
            offsets = offsets + self.log_base[near]
        return [(epsilon, int(near[i])) for epsilon, i in envelope(self.scores[near], offsets, low, high)]


def seen_at_least_once(probs: np.ndarray, n: int) -> np.ndarray:
    """Return 1 − (1 − p)^n, float64 like ``probs``; its absolute error is below n·1e-16."""
    miss = np.maximum(1.0 - probs, 0.0)
    never = np.ones_like(miss)
    # By squaring: products are ten times faster than powers, for the same digits.
    while n:
        if n & 1:
            never *= miss
        miss, n = miss * miss, n >> 1
    return 1.0 - never


def expected_distinct_of(counts: np.ndarray, n: int) -> float:
    """Return the expected number of different words in a random sample of n of the draws with these counts (k,)."""
    from scipy.special import gammaln

    total = counts.sum()
    n = min(n, int(total))
    others = total - counts
    with np.errstate(invalid="ignore"):
        missed = gammaln(others + 1) - gammaln(others - n + 1) - gammaln(total + 1) + gammaln(total - n + 1)
    return float((1.0 - np.where(others < n, 0.0, np.exp(missed))).sum())


def without_each(winners: np.ndarray, source: int, parts: int) -> np.ndarray:
    """Return N_w and S_w (100) of the released words (n,) without each part, float64 (parts, 2)."""
    words, place = np.unique(winners, return_inverse=True)
    counts = np.stack([np.bincount(place[k::parts], minlength=len(words)) for k in range(parts)])
    others = counts.sum(axis=0) - counts
    stays = others[:, words == source].sum(axis=1) / others.sum(axis=1)
    return np.stack([stays, [expected_distinct_of(each[each > 0], 100) for each in others]], axis=1)


def envelope(slopes: np.ndarray, offsets: np.ndarray, low: float, high: float) -> list[tuple[float, int]]:
    """Return which line ε·slope + offset is the highest from which ε on: ascending, the first at ``low``.

    slopes, offsets: float64 (V,); a slope of −inf never wins.
    """
    s, g, which = slopes, offsets, None
    if s.min() == -np.inf:
        which = np.flatnonzero(s > -np.inf)
        s, g = s[which], g[which]
    best = int(np.argmax(low * s + g))
    out, at = [(float(low), best if which is None else int(which[best]))], low
    while True:
        slope, offset = s[best], g[best]
        ahead = np.flatnonzero(s > slope)
        if not len(ahead):
            return out
        s, g, which = s[ahead], g[ahead], ahead if which is None else which[ahead]
        cross = (offset - g) / (s - slope)
        best = int(np.argmin(cross))
        if cross[best] > high:
            return out
        at = max(float(cross[best]), at)
        out.append((at, int(which[best])))


def _may_win(slopes: np.ndarray, offsets: np.ndarray, low: float, high: float, slack: float) -> np.ndarray:
    """Return every line that may be in the :func:`envelope` if offsets are off by ``slack`` in total; int64, ascending.

    Any other winner exceeds the lines that win at both ends at their crossing, or at an end.
    """
    at_low, at_high = low * slopes + offsets, high * slopes + offsets
    first, last = int(at_low.argmax()), int(at_high.argmax())
    near = at_low >= at_low[first] - slack
    near |= at_high >= at_high[last] - slack
    if (rise := float(slopes[last]) - float(slopes[first])) > 0:
        cross = (float(offsets[first]) - float(offsets[last])) / rise
        at_cross = min(max(cross, low), high) * slopes + offsets
        near |= at_cross >= at_cross[first] - slack
    return near.nonzero()[0]


def search_flips(
    winners: Callable[[np.ndarray], Sequence[int] | np.ndarray], low: float, high: float, points: int = 160
) -> list[tuple[float, int]]:
    """Search the changes of any rule that returns the winners at some ε (m,), on a grid and by bisection.

    Changes between two of the ``points`` with the same winner are missed.
    """
    grid = np.geomspace(low, high, points)
    winners_at = np.asarray(winners(grid))
    out = [(float(low), int(winners_at[0]))]
    for k in np.flatnonzero(np.diff(winners_at)).tolist():
        at = float(grid[k])
        while (now := out[-1][1]) != winners_at[k + 1]:
            changed = lambda e, now=now: winners(np.array([e]))[0] != now  # noqa: E731
            at = boundary(changed, at, float(grid[k + 1]), 14, geometric=True)[1]
            out.append((at, int(winners(np.array([at]))[0])))
    return out


def find_word(candidates: Sequence[str], word: str) -> np.ndarray:
    """Return the indices of ``word`` in ``candidates``, ignoring case."""
    key, lines = word.casefold(), "\n".join(candidates).casefold()
    indices: list[int] = []
    if "\n" in key or lines.count("\n") >= len(candidates):
        indices += [i for i, c in enumerate(map(str.casefold, candidates)) if c == key]
        return np.array(indices, np.int64)
    # As lines of one text, which is folded and searched seven times as fast as a vocabulary word by word.
    lines, line = f"\n{lines}\n", f"\n{key}\n"
    number, counted, at = 0, 0, lines.find(line)
    while at >= 0:
        number, counted = number + lines.count("\n", counted, at), at
        indices.append(number)
        at = lines.find(line, at + 1)
    return np.array(indices, np.int64)
