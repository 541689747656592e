"""Score tables and the distributions they give at each ε.

For most mechanisms the word y is released with probability proportional to exp(ε·s(y)), where the scores s do not
depend on ε. One table of scores (computed once, by a model) then gives the distribution, the draw, and every figure
at any ε. All probabilities and all draws are float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .errors import ConfigError
from .sampling import Dice, draw

#: Largest ε per draw. Scores of one table differ by at most 1/2, so log p spans ε/2 + ln|V|; exp of anything below
#: −745 is 0 in float64, and an output with probability 0 under one text but not under another has no finite ε.
MAX_EPSILON = 1400.0


def logsumexp(x: np.ndarray) -> float:
    top = x.max()
    return float(top + np.log(np.exp(x - top).sum()))


@dataclass(frozen=True, eq=False)
class TokenDistribution:
    """The distribution one word is drawn from.

    candidates: the V possible outputs. log_probs: float64 (V,). source: the original word, None for an insertion.
    draws: None for a closed form, n for a Monte Carlo estimate from n draws. epsilon: the ε it belongs to.
    """

    candidates: Sequence[str]
    log_probs: np.ndarray
    source: str | None = None
    epsilon: float | None = None
    draws: int | None = None
    _keep: np.ndarray | None = field(default=None, repr=False)

    @cached_property
    def probs(self) -> np.ndarray:
        """float64 (V,), summing to 1."""
        return np.exp(self.log_probs)

    def __len__(self) -> int:
        return len(self.candidates)

    def index(self, word: str) -> np.ndarray:
        """Indices of the candidates that are ``word``, ignoring case (several in models that know capitals)."""
        return find_word(self.candidates, word)

    def p(self, word: str) -> float:
        """Probability of releasing ``word``, ignoring case; 0 when it is no candidate."""
        return float(self.probs[self.index(word)].sum())

    def p_keep(self) -> float:
        """N_w: the probability that the word stays what it was (1-Diffractor paper, Section 5.1), ignoring case.

        0 when the original is no candidate, or for an insertion.
        """
        if self.source is None:
            return 0.0
        at = self._keep if self._keep is not None else self.index(self.source)
        return float(self.probs[at].sum())

    def support(self, eta: float = 0.05) -> int:
        """S_w (b): the size of the smallest set of words that has probability 1 − eta or more."""
        if not 0 <= eta < 1:
            raise ConfigError(f"eta is a probability in [0, 1), not {eta}.")
        descending = np.sort(self.probs)[::-1]
        return int(min(np.searchsorted(np.cumsum(descending), 1 - eta - 1e-12) + 1, np.count_nonzero(descending)))

    def expected_distinct(self, n: int = 100) -> float:
        """S_w (a): the expected number of different words in n independent draws, Σ 1 − (1 − p)^n."""
        with np.errstate(divide="ignore"):
            return float(-np.expm1(n * np.log1p(-np.minimum(self.probs, 1.0))).sum())

    def entropy(self) -> float:
        """Shannon entropy in bits."""
        p = self.probs
        return float(-(p[p > 0] * self.log_probs[p > 0]).sum() / np.log(2))

    def top(self, k: int = 20) -> list[tuple[str, float]]:
        """The k most probable words with their probabilities, most probable first."""
        k = min(k, len(self))
        part = np.argpartition(-self.log_probs, k - 1)[:k]
        order = part[np.argsort(-self.log_probs[part], kind="stable")]
        return [(self.candidates[i], float(self.probs[i])) for i in order]

    def sample(self, n: int = 1, seed: int | None = None) -> list[str]:
        """n independent draws, by the sampler that a rewrite uses. A seed makes them repeatable, and not private."""
        return [self.candidates[i] for i in self.sample_indices(n, Dice(seed))]

    def sample_indices(self, n: int, dice: Dice) -> np.ndarray:
        """n independent draws as indices into ``candidates``, int64 (n,)."""
        return draw(self.log_probs, dice, n)


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Scores s(y) of every candidate; the word is released with probability ∝ exp(ε·s(y)).

    candidates: the V possible outputs. scores: float64 (V,), −inf for a candidate that a filter removed.
    source: the original word. A spread of at most 1/2 between any two texts' scores of one candidate makes the draw
    ε-DP (exponential mechanism, McSherry and Talwar 2007).
    """

    candidates: Sequence[str]
    scores: np.ndarray
    source: str | None = None
    _keep: np.ndarray | None = field(default=None, repr=False)

    def at(self, epsilon: float) -> TokenDistribution:
        """The distribution at ``epsilon``."""
        x = epsilon * self.scores
        return TokenDistribution(self.candidates, x - logsumexp(x), self.source, float(epsilon), None, self._keep)

    @property
    def source_index(self) -> np.ndarray:
        """Indices of the original word among the candidates, ignoring case; empty where it is none of them."""
        if self._keep is not None:
            return self._keep
        return find_word(self.candidates, self.source) if self.source else np.empty(0, np.int64)

    def log_z(self, epsilons: np.ndarray) -> np.ndarray:
        """ln Σ exp(ε·s) for every ε of ``epsilons`` (m,), float64 (m,)."""
        s = np.sort(self.scores[np.isfinite(self.scores)])[::-1]
        # Clipping makes many scores equal at the lower end: they are one term.
        ties = int(np.searchsorted(s[::-1], s[-1], side="right"))
        gaps = s[: len(s) - ties] - s[0]
        lowest = s[-1] - s[0]
        out = np.empty(len(epsilons))
        for i, e in enumerate(epsilons):
            # Terms below exp(−45) together change log Z by less than V·3e-20.
            m = len(gaps) if e <= 0 else int(np.searchsorted(-gaps, 45.0 / e, side="right"))
            out[i] = e * s[0] + np.log(np.exp(e * gaps[:m]).sum() + ties * np.exp(e * lowest))
        return out

    def flips(self, gumbel: np.ndarray, low: float, high: float) -> list[tuple[float, int]]:
        """Under locked noise (V,): from which ε on which candidate is released, ascending, the first at ``low``.

        The winner is the upper envelope of the lines ε·s + g, so the released score never falls as ε grows.
        """
        s, g = self.scores, gumbel
        with np.errstate(invalid="ignore"):
            line = low * s + g
        winner = int(np.nanargmax(np.where(np.isfinite(s), line, -np.inf)))
        out, at = [(float(low), winner)], low
        while True:
            ahead = np.flatnonzero(s > s[winner])
            if not len(ahead):
                return out
            cross = (g[winner] - g[ahead]) / (s[ahead] - s[winner])
            j = int(np.argmin(cross))
            if cross[j] > high:
                return out
            winner, at = int(ahead[j]), max(float(cross[j]), at)
            out.append((at, winner))


def find_word(candidates: Sequence[str], word: str) -> np.ndarray:
    """Indices of ``word`` in ``candidates``, ignoring case."""
    key = word.casefold()
    return np.flatnonzero([c.casefold() == key for c in candidates])
