"""What is told of single words: N_w and S_w, and how often attackers name a word.

All of it is measured on drawn words of some test texts, the same at every ε. What a mechanism's chances say does not
depend on the seed and is measured once for each ε; attackers who look at what was released are let loose on every
seed's. Which of it a mechanism has, it says itself: one that states no distribution has no N_w, one that writes a new
text has no word that could be named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dptext_core.attacks import mask_inference, nearest, risk
from dptext_core.attacks.query import success_rate
from dptext_core.errors import NoDistribution
from dptext_core.mechanisms.base import Mechanism
from dptext_core.result import RewriteResult
from dptext_core.support.statistics import NORMAL, clopper_pearson

#: Words that are looked at: those of some test texts, all of each text.
WORDS = 200
TEXTS = 60
#: Answers that the attacker gets who asks again and again, words that it attacks, and repeats for each.
ANSWERS, ASKED, REPEATS = 100, 100, 100
#: Guesses of the attacker who looks among neighbours, the released word counted.
NEAR = 10

#: Parts of the draws that an estimate is made from, each left out once.
PARTS = 10

#: Adds a metric: its name, a value for each word, the text that each word is of, and a standard error that all words
#: share.
Add = Callable[[str, Sequence[float], Sequence[int], float], None]


class Words:
    """The drawn words of some texts under one mechanism with its options. attackers: which are let loose, of the
    metrics' names."""

    def __init__(self, at: Mapping[float, Mechanism], texts: Mapping[int, str], attackers: Sequence[str] = ()):
        self.wanted = texts
        self._at = at
        self._attackers = tuple(attackers)
        self._any: dict[int, RewriteResult] = {}
        self._named: dict[tuple[float, int, str], tuple[list[float], list[int]]] = {}
        self._channels: list[tuple[int, Any]] | None = None
        self._best: tuple[list[int], dict[float, list[float]]] | None = None

    def take(self, epsilon: float, seed: int, i: int, result: RewriteResult) -> None:
        """Take the rewrite of text i at this ε by this seed, in the order of the texts: attackers look at it, and it is
        let go."""
        if i not in self.wanted:
            return
        if self._channels is None:
            self._any.setdefault(i, result)
        for name in self._attackers:
            if attack := RELEASED.get(name):
                named, owners = self._named.setdefault((epsilon, seed, name), ([], []))
                if i not in owners and len(named) < WORDS:
                    finding = attack(self._at[epsilon], result)
                    named += finding
                    owners += [i] * len(finding)

    def score(self, epsilon: float, add: Add) -> None:
        """Score what no seed decides, of one ε."""
        channels = self.channels()
        if channels:
            owners = [i for i, _ in channels]
            both = np.array([channel.deniability(epsilon) for _, channel in channels])
            for metric, values, shared in zip(("n_w", "s_w"), both.T, _shared_error(channels, epsilon), strict=True):
                add(metric, values.tolist(), owners, shared)
            if "attack_query" in self._attackers:
                some = channels[:ASKED]
                add("attack_query", [query_success(c, epsilon) for _, c in some], owners[:ASKED], 0.0)
        if "attack_bayes" in self._attackers:
            owners, best = self._best_guesses()
            if owners:
                add("attack_bayes", best[epsilon], owners, 0.0)

    def score_released(self, epsilon: float, seed: int, add: Add) -> None:
        """Score what attackers named of what this seed released, at one ε. Of all words or none: with the interval of
        Clopper and Pearson, a trial a text."""
        for name in RELEASED:
            named, owners = self._named.pop((epsilon, seed, name), ([], []))
            if named:
                alike = min(named) == max(named)
                add(name, named, owners, clopper_pearson(0, len(set(owners)))[1] / NORMAL if alike else 0.0)

    def channels(self) -> list[tuple[int, Any]]:
        """Return the channels of the words, with the text of each."""
        if self._channels is None:
            self._channels = []
            for i in self.wanted:
                result = self._any.get(i)
                if result is None or "sweep" not in result.can or len(self._channels) >= WORDS:
                    continue
                drawn = [k for k, s in enumerate(result.steps) if s.by_looking]
                self._channels += [(i, result.locked(k)[0]) for k in drawn]
            self._any.clear()
        return self._channels

    def _best_guesses(self) -> tuple[list[int], dict[float, list[float]]]:
        """Return the text of each word, and at each ε how often the best guess names it."""
        if self._best is None:
            first = next(iter(self._at.values()))
            self._best = ([], {})
            try:
                risk.check(first)
            except NoDistribution:
                return self._best
            owners: list[int] = []
            rows: list[int] = []
            for i, text in self.wanted.items():
                if len(rows) < WORDS:
                    found = risk.token_rows(first, first.plan(text))
                    owners += [i] * len(found)
                    rows += found.values()
            if rows:
                different, place = np.unique(np.array(rows, np.int64), return_inverse=True)
                success = risk.rows_success(first, different, list(self._at))
                each = {e: row[place].tolist() for e, row in zip(self._at, success, strict=True)}
                self._best = (owners, each)
        return self._best


def _shared_error(channels: Sequence[tuple[int, Any]], epsilon: float) -> np.ndarray:
    """Return the standard errors (2,) of the means of N_w and S_w from the noise that all words' estimates share, by a
    jackknife; 0 for closed forms."""
    found = [channel.deniability_without(epsilon, PARTS) for _, channel in channels]
    estimated = [x for x in found if x is not None]
    if not estimated:
        return np.zeros(2)
    means = np.sum(estimated, axis=0) / len(found)
    return np.sqrt((PARTS - 1) / PARTS * np.square(means - means.mean(axis=0)).sum(axis=0))


def query_success(channel: Any, epsilon: float) -> float:
    """Return how often the most frequent of some fresh answers is the word itself. What is simulated releases
    nothing."""
    d = channel.at(epsilon)
    own = channel.source_index
    p0 = float(d.probs[own].sum())
    if not p0 > 0:
        return 0.0
    others = np.delete(d.probs, own)
    others = np.sort(others[others > 0])[::-1]
    with np.errstate(divide="ignore"):  # of a word that nearly always stays
        return success_rate(p0, others, ANSWERS, REPEATS, np.random.default_rng(0))


def _words(attack: Callable[[Mechanism, RewriteResult], Any], most: int) -> Callable[..., list[float]]:
    """Return a function of a rewrite: whether each drawn word is among the attacker's first guesses; [] where no
    original word belongs to a drawn one."""

    def named(mechanism: Mechanism, result: RewriteResult) -> list[float]:
        try:
            guesses = attack(mechanism, result).guesses
        except NoDistribution:
            return []
        return [float(g.rank is not None and g.rank <= most) for g in guesses]

    return named


#: Attackers who look at what was released, by their metrics.
RELEASED: dict[str, Callable[[Mechanism, RewriteResult], list[float]]] = {
    "attack_nearest": _words(nearest.attack, NEAR - 1),
    "attack_mask": _words(mask_inference.attack, 1),
}
