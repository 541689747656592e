"""Attackers on single words: N_w, S_w, and how often attackers recover a word.

All measures use the content words of some test texts, the same at every ε and for every mechanism, including unknown
words. An attacker that reads the context can recover an unknown word that is replaced at random. An unknown word in
clear counts as recovered by every attacker, with N_w and S_w 1. Measures of stated distributions do not depend on the
seed and are computed once for each ε; attackers of releases run for every seed. A mechanism without stated
distributions has no N_w, and one that writes a new text has no aligned words to recover.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dptext_core.attacks import mask_inference, nearest, risk
from dptext_core.attacks.query import success_rate
from dptext_core.errors import NoDistribution
from dptext_core.mechanisms.base import Mechanism
from dptext_core.privacy.distribution import Channel
from dptext_core.result import RewriteResult
from dptext_core.support.statistics import NORMAL, clopper_pearson

#: Smallest number of attacked words: all words of some test texts.
WORDS = 200
TEXTS = 60
#: Answers that the query attacker receives, words that it attacks, and repetitions for each.
ANSWERS, ASKED, REPEATS = 100, 100, 100
#: Guesses of the nearest-word attacker, including the released word.
NEAR = 10

#: Parts of an estimate's draws for the jackknife.
PARTS = 10

#: Adds a metric: its name, a value for each word, the text of each word, and a common standard error.
Add = Callable[[str, Sequence[float], Sequence[int], float], None]


class ClearWord:
    """The channel of a word in clear: the word itself at every ε."""

    def deniability(self, epsilon: float) -> tuple[float, float]:
        return 1.0, 1.0

    def deniability_without(self, epsilon: float, parts: int) -> None:
        return None


class Words:
    """The content words of some texts under one mechanism with its options. attackers: the metrics to compute."""

    def __init__(self, at: Mapping[float, Mechanism], texts: Mapping[int, str], attackers: Sequence[str] = ()):
        self.wanted = texts
        self._at = at
        self._attackers = tuple(attackers)
        self._any: dict[int, RewriteResult] = {}
        self._named: dict[tuple[float, int, str], tuple[list[float], list[int]]] = {}
        self._channels: list[tuple[int, Channel | ClearWord]] | None = None
        self._unknown: dict[int, list[float]] = {}
        self._best: tuple[list[int], dict[float, list[float]]] | None = None

    def take(self, epsilon: float, seed: int, i: int, result: RewriteResult) -> None:
        """Run the attackers on the rewrite of text i at this ε and seed, in the order of the texts, without storing
        it."""
        if i not in self.wanted:
            return
        if self._channels is None:
            self._any.setdefault(i, result)
        if i not in self._unknown:
            self._unknown[i] = [
                float(s.action == "keep") for s in result.steps if s.is_content and not s.depends_on_original
            ]
        for name in self._attackers:
            if attack := RELEASED.get(name):
                named, owners = self._named.setdefault((epsilon, seed, name), ([], []))
                if i not in owners and len(named) < WORDS:
                    finding = attack(self._at[epsilon], result)
                    named += finding
                    owners += [i] * len(finding)

    def score(self, epsilon: float, add: Add) -> None:
        """Add the metrics of one ε that do not depend on a seed."""
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
        """Add the attackers' success on the releases of one ε and seed.

        If all words or none are recovered, the interval is that of Clopper and Pearson with one trial per text."""
        for name in RELEASED:
            named, owners = self._named.pop((epsilon, seed, name), ([], []))
            if named:
                alike = min(named) == max(named)
                add(name, named, owners, clopper_pearson(0, len(set(owners)))[1] / NORMAL if alike else 0.0)

    def channels(self) -> list[tuple[int, Channel | ClearWord]]:
        """Return the channels of the words and the text of each."""
        if self._channels is None:
            self._channels = []
            for i in self.wanted:
                result = self._any.get(i)
                if result is None or "sweep" not in result.can or len(self._channels) >= WORDS:
                    continue
                words = [(k, s) for k, s in enumerate(result.steps) if s.is_content]
                self._channels += [(i, ClearWord() if s.action == "keep" else result.locked(k)[0]) for k, s in words]
            self._any.clear()
        return self._channels

    def _best_guesses(self) -> tuple[list[int], dict[float, list[float]]]:
        """Return the text of each word, and the success of the Bayes-optimal guess at each ε.

        It recovers unknown words only in clear."""
        if self._best is None:
            first = next(iter(self._at.values()))
            self._best = ([], {})
            try:
                risk.check(first)
            except NoDistribution:
                return self._best
            owners: list[int] = []
            unknown: list[float] = []
            of_unknown: list[int] = []
            rows: list[int] = []
            for i, text in self.wanted.items():
                if len(rows) + len(unknown) < WORDS:
                    tokens = risk.token_rows(first, first.plan(text))
                    owners += [i] * len(tokens)
                    rows += tokens.values()
                    unknown += self._unknown[i]
                    of_unknown += [i] * len(self._unknown[i])
            if rows:
                different, place = np.unique(np.array(rows, np.int64), return_inverse=True)
                success = risk.rows_success(first, different, list(self._at))
                each = {e: [*row[place].tolist(), *unknown] for e, row in zip(self._at, success, strict=True)}
                self._best = ([*owners, *of_unknown], each)
        return self._best


def _shared_error(channels: Sequence[tuple[int, Any]], epsilon: float) -> np.ndarray:
    """Return the jackknife standard errors (2,) of the means of N_w and S_w from shared noise; 0 for closed forms."""
    parts = [channel.deniability_without(epsilon, PARTS) for _, channel in channels]
    estimated = [x for x in parts if x is not None]
    if not estimated:
        return np.zeros(2)
    means = np.sum(estimated, axis=0) / len(parts)
    return np.sqrt((PARTS - 1) / PARTS * np.square(means - means.mean(axis=0)).sum(axis=0))


def query_success(channel: Any, epsilon: float) -> float:
    """Return how often the most frequent of several simulated answers is the word itself."""
    if isinstance(channel, ClearWord):
        return 1.0
    d = channel.at(epsilon)
    own_index = channel.source_index
    p0 = float(d.probs[own_index].sum())
    if not p0 > 0:
        return 0.0
    others = np.delete(d.probs, own_index)
    others = np.sort(others[others > 0])[::-1]
    with np.errstate(divide="ignore"):  # for a word that is almost always unchanged
        return success_rate(p0, others, ANSWERS, REPEATS, np.random.default_rng(0))


def _nearest(mechanism: Mechanism, result: RewriteResult) -> dict[int, bool]:
    guesses = nearest.attack(mechanism, result).guesses
    return {g.step: g.rank is not None and g.rank < NEAR for g in guesses}


def masked_guesses(mechanism: Mechanism, result: RewriteResult) -> dict[int, bool]:
    """Return by step whether the language model's first guess is the replaced word, including unknown words."""
    places = [k for k, s in enumerate(result.steps) if s.is_content and s.action == "replace"]
    return {g.step: g.rank == 1 for g in mask_inference.attack(mechanism, result, only=places).guesses}


def _words(attack: Callable[[Mechanism, RewriteResult], Mapping[int, bool]]) -> Callable[..., list[float]]:
    """Return a function of a rewrite: whether the attacker recovers each content word; [] without aligned words.

    A word in clear counts as recovered; one without a guess does not."""

    def named(mechanism: Mechanism, result: RewriteResult) -> list[float]:
        try:
            guesses = attack(mechanism, result)
        except NoDistribution:
            return []
        content = [(k, s.action == "keep") for k, s in enumerate(result.steps) if s.is_content]
        return [float(clear or guesses.get(k, False)) for k, clear in content]

    return named


#: Attackers of releases, by metric.
RELEASED: dict[str, Callable[[Mechanism, RewriteResult], list[float]]] = {
    "attack_nearest": _words(_nearest),
    "attack_mask": _words(masked_guesses),
}
