"""The Bayes-optimal attacker, which guesses the original of one released word.

It knows the mechanism, its ε and public word frequencies, and sees one released word without its context. By
P(x|y) ∝ π(x)·p(y|x), its posterior is exact if the mechanism's probabilities have a formula, and no attacker with the
same knowledge guesses better. Its success Σ_y max_x π(x)·p(y|x) compares mechanisms whose ε cannot be compared.

The mechanism states p(y|x) of every word x at once (``WordByWord.log_likelihood``). If that uses a table of
normalisers, the most likely words are computed exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError, NoDistribution
from ..mechanisms.base import Mechanism, WordByWord
from ..mechanisms.capabilities import require_alignment
from ..pieces import FLAGGED
from ..privacy.distribution import Channel, logsumexp
from ..privacy.numbers import number, percent
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult
from ..support.checks import pluralize
from ..support.private import Private
from ..support.statistics import NORMAL, clopper_pearson
from ..support.task import UNWATCHED, Task
from .base import TextAttacker, check_maker, check_sampled, register
from .prior import Prior, public_prior

#: Number of words with exact probabilities if a table serves the others.
EXACT = 64
#: Number of fresh draws per word that test a guesser learned from draws.
FRESH = 100


@dataclass(frozen=True)
class Posterior(Private):
    """The attacker's belief after seeing one released word.

    top: the most likely originals as (word, posterior, prior), in descending order. true: the original. rank, p_true:
    its rank (1 = most likely) and posterior, None if it is not in the vocabulary. chance, chance_guess: the success of
    the best guess without the output, and the guess. words: the number of possible words. error: the maximum relative
    error of a posterior from the table of normalisers; 0 for exact. draws: None, nothing is sampled.
    """

    mechanism: str
    epsilon: float
    released_word: str
    top: tuple[tuple[str, float, float], ...]
    true: str | None
    rank: int | None
    p_true: float | None
    chance: float
    chance_guess: str
    words: int
    error: float = 0.0
    draws: int | None = None

    @property
    def success(self) -> float:
        """Return the probability that the Bayes-optimal guess is right, as the attacker sees it."""
        return self.top[0][1]

    def sentence(self) -> str:
        """Return the attack in plain words."""
        guess, p, _ = self.top[0]
        message = (
            f"An attacker who sees “{self.released_word}” and knows the mechanism guesses “{guess}”. Such a guess is "
            f"right {percent(p)} of the time. Without the output, always guessing “{self.chance_guess}” is right "
            f"{percent(self.chance)} of the time."
        )
        if self.true is None:
            return message
        if self.rank is None:
            return f"{message} Your word “{self.true}” is not in the vocabulary, so it is never guessed."
        if self.rank == 1:
            return f"{message} Here it is right."
        likely = percent(self.p_true or 0.0)
        return f"{message} Your word “{self.true}” is guess number {self.rank:,}, with probability {likely}."


@dataclass(frozen=True)
class Success:
    """How often the Bayes-optimal guess is right, over the words of a prior.

    value: its probability. chance: without the output. words: the number of words of the prior. draws: None for the
    exact optimum, else the number of draws. interval: the 95% interval of a measured value. lower_bound: whether the
    guesses were learned from draws, so that a better attacker may exist.
    """

    value: float
    chance: float
    words: int
    epsilon: float
    draws: int | None = None
    interval: tuple[float, float] | None = None
    lower_bound: bool = False

    def sentence(self) -> str:
        """Return the figure in plain words."""
        how = "exactly"
        if self.draws is not None and self.interval is not None:
            low, high = self.interval
            how = f"from {self.draws:,} draws, 95% interval {percent(low)} to {percent(high)}"
            if self.lower_bound:
                how += "; a better attacker may exist"
        return (
            f"At ε = {number(self.epsilon)}, the optimal guess of a word from its replacement is right "
            f"{percent(self.value)} of the time ({how}; {pluralize(self.words, 'word')}). Without the output, it "
            f"is right {percent(self.chance)} of the time."
        )


# --- the posterior of one released word


def is_available(mechanism: Mechanism) -> bool:
    """Return True if the posterior is exact: words are sampled one by one, with probabilities that have a formula."""
    by_word = mechanism.by_word
    return by_word is not None and mechanism.closed_form and by_word.channel(0).draws is None


def is_ready(mechanism: Mechanism, epsilon: float) -> bool:
    """Return True if :func:`posterior` answers within a second, without a pass over all pairs of words."""
    return _by_word(mechanism).likelihood_ready(epsilon)


def attack(
    mechanism: Mechanism,
    result: RewriteResult,
    step: int,
    *,
    prior: Prior | None = None,
    top: int = 10,
    task: Task = UNWATCHED,
) -> Posterior:
    """Return the posterior of one step of a rewrite by ``mechanism``, with the rank of the true word. Raises
    NoDistribution for a step without a sample, and for mechanisms without a formula; InputError for a rewrite by
    another mechanism or with other options (the ε is that of the draw).
    """
    closed_form(mechanism)
    check_maker(mechanism, result, at_any_epsilon=True)
    epsilon, s = result.distribution(step).epsilon, result.steps[step]
    if s.reason in result.trace.rules:
        raise NoDistribution(
            f"{s.replacement} replaces an unknown word and reveals nothing else. Choose a sampled word."
        )
    if s.reason == FLAGGED:  # which the attacker can see: the output there reveals nothing about the word
        prior = checked_prior(mechanism, prior)
        return _rank_words(mechanism, s.replacement, epsilon or 0.0, _log(prior), prior, s.original, top)
    if s.reason:  # sampled independently of the word, which the attacker cannot see
        given = mechanism.config.epsilon
        epsilon = given[s.index] if isinstance(given, tuple) else given
    return posterior(mechanism, s.replacement, epsilon, true=s.original, prior=prior, top=top, task=task)


def posterior(
    mechanism: Mechanism,
    released: str,
    epsilon: float | None = None,
    *,
    true: str | None = None,
    prior: Prior | None = None,
    top: int = 10,
    task: Task = UNWATCHED,
) -> Posterior:
    """Return P(word | released) over the vocabulary, with the ``top`` most likely words. epsilon: by default, that of
    the mechanism. prior: by default, :func:`public_prior`. Raises NoDistribution for mechanisms without a formula,
    InputError if ``released`` is impossible.
    """
    by_word = closed_form(mechanism)
    epsilon = _single_epsilon(mechanism.config.epsilon) if epsilon is None else float(epsilon)
    prior = checked_prior(mechanism, prior)
    log_prior, at_true = _log(prior), _row(prior, true)
    log_p, error = by_word.log_likelihood(released, epsilon, task)
    weights = log_prior + log_p
    if not np.isfinite(weights).any():
        raise InputError("The released word is not a possible output of this mechanism. Give one that is.")
    rows = np.empty(0, np.int64)
    if error:
        more = [] if at_true is None else [at_true]
        weights, rows = sharpen(by_word, released, epsilon, log_prior, weights, max(EXACT, top), more)
    answer = _rank_words(mechanism, released, epsilon, weights, prior, true, top)
    if error:  # of the inexact words, which affect the others through the sum
        p = np.exp(weights - logsumexp(weights))
        answer = replace(answer, error=error * float(np.delete(p, rows).sum()))
    return answer


def _log(prior: Prior) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(prior.p)


def _row(prior: Prior, word: str | None) -> int | None:
    """Return the index of a word in a prior, the last of several that differ in case."""
    if word is None:
        return None
    return {w.lower(): i for i, w in enumerate(prior.words)}.get(word.lower())


def _rank_words(
    mechanism: Mechanism, released: str, epsilon: float, weights: np.ndarray, prior: Prior, true: str | None, top: int
) -> Posterior:
    """Return the posterior of log-weights (V,), with the ``top`` most likely words and the rank of the true one."""
    p, at_true = np.exp(weights - logsumexp(weights)), _row(prior, true)
    order = np.argsort(-p, kind="stable")[: max(1, top)]
    rank = p_true = None
    if at_true is not None:
        p_true = float(p[at_true])
        # Equally likely words are in display order.
        rank = 1 + int(np.count_nonzero(p > p[at_true])) + int(np.count_nonzero(p[:at_true] == p[at_true]))
    return Posterior(
        mechanism=mechanism.title,
        epsilon=epsilon,
        released_word=released,
        top=tuple((prior.words[i], float(p[i]), float(prior.p[i])) for i in order if p[i] > 0),
        true=true,
        rank=rank,
        p_true=p_true,
        chance=prior.chance,
        chance_guess=prior.guess,
        words=int(np.count_nonzero(p)),
    )


def sharpen(
    by_word: WordByWord,
    released: str,
    epsilon: float,
    log_base: np.ndarray,
    weights: np.ndarray,
    k: int = EXACT,
    more: Sequence[int] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (V,), ``log_base`` plus ln p(released | word) from a table, with exact values for the k largest
    and ``more``; and the indices of these."""
    k = min(k, len(weights))
    rows = np.argpartition(-weights, k - 1)[:k]
    rows = np.append(rows, [r for r in more if r not in rows]).astype(np.int64)
    rows = rows[np.isfinite(weights[rows])]
    weights = weights.copy()
    weights[rows] = log_base[rows] + by_word.likelihood_of(released, epsilon, rows)
    return weights, rows


def answers(
    mechanism: Mechanism,
    released: Sequence[str],
    epsilon: float | None = None,
    *,
    true: str | None = None,
    prior: Prior | None = None,
    top: int = 10,
    task: Task = UNWATCHED,
) -> list[Posterior]:
    """Return :func:`posterior` after each of several answers for one word, all with fresh noise. Likelihoods of
    independent answers multiply: P(word | y₁ … yₙ) ∝ π(word)·∏ p(yᵢ | word). Raises the same errors, and NoDistribution
    if probabilities come from a table of normalisers, whose errors would add up.
    """
    by_word = closed_form(mechanism)
    epsilon = _single_epsilon(mechanism.config.epsilon) if epsilon is None else float(epsilon)
    prior = checked_prior(mechanism, prior)
    weights, out = _log(prior), []
    for word in released:
        task.check()
        log_p, error = by_word.log_likelihood(word, epsilon, task.quiet)
        if error:
            raise NoDistribution(
                f"The probabilities of {mechanism.title} come from a table whose errors add up over several answers. "
                "Choose a mechanism with a formula, such as 1-Diffractor."
            )
        weights = weights + log_p
        if not np.isfinite(weights).any():
            raise InputError("These words cannot all replace one word. Give words that were released for it.")
        out.append(_rank_words(mechanism, word, epsilon, weights, prior, true, top))
    return out


def _single_epsilon(epsilon: float | tuple[float, ...]) -> float:
    if isinstance(epsilon, tuple):
        raise InputError("This mechanism has one ε per token. Give the ε of the released word.")
    return epsilon


def _by_word(mechanism: Mechanism) -> WordByWord:
    require_alignment(mechanism)
    if not mechanism.uses_epsilon:
        raise NoDistribution(
            f"{mechanism.title} replaces a word independently of the original, so a released word reveals nothing. Use "
            "“Language model”, which reads the context."
        )
    if mechanism.by_word is None:
        raise NoDistribution(
            f"{mechanism.title} has no distribution for a word without its text, so the posterior is unknown. Use "
            "“Language model”, or “Contextual Bayes” for an approximation."
        )
    return mechanism.by_word


def closed_form(mechanism: Mechanism) -> WordByWord:
    """Return the closed-form distributions of its words. Raises NoDistribution if there are none."""
    channels = _by_word(mechanism)
    if not is_available(mechanism):
        raise NoDistribution(
            f"{mechanism.title} has no formula for its probabilities, so it has no posterior. Use “Nearest "
            "words”."
        )
    return channels


def checked_prior(mechanism: Mechanism, prior: Prior | None) -> Prior:
    """Return the prior, by default the public one. Raises InputError if it covers other words."""
    if prior is None:
        return public_prior(mechanism)
    if tuple(prior.words) != tuple(_by_word(mechanism).vocabulary.words):
        raise InputError("This prior covers other words. Create it with public_prior(mechanism).")
    return prior


# --- success over the words of a prior


class Guesser:
    """The best guess for each possible output, learned from the channels of the words in sequence. value: Σ_y max_x
    π(x)·p(y|x) so far, which is the success of the guesses if the channels are exact.
    """

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._last_indices: tuple[Sequence[str], np.ndarray] | None = None
        self._best = np.zeros(0)
        self._best_indices = np.zeros(0, np.int64)

    def _find(self, candidates: Sequence[str]) -> np.ndarray:
        if self._last_indices is None or self._last_indices[0] is not candidates:
            indices = [self._places.setdefault(w, len(self._places)) for w in candidates]
            self._last_indices = (candidates, np.array(indices, np.int64))
            more = len(self._places) - len(self._best)
            self._best = np.append(self._best, np.zeros(more))
            self._best_indices = np.append(self._best_indices, np.full(more, -1))
        return self._last_indices[1]

    def add(self, who: int, channel: Channel, weight: float, epsilon: float) -> None:
        """Add one word: its number, its channel, its prior probability."""
        at = self._find(channel.candidates)
        p = weight * channel.at(epsilon).probs
        better = p > self._best[at]
        self._best[at[better]] = p[better]
        self._best_indices[at[better]] = who

    def guesses(self, candidates: Sequence[str], indices: np.ndarray) -> np.ndarray:
        """Return the number of the word guessed for outputs ``indices`` (m,) of ``candidates``; −1 if none is
        possible."""
        return self._best_indices[self._find(candidates)[indices]]

    @property
    def value(self) -> float:
        return float(self._best.sum())


def expected_success(
    mechanism: Mechanism,
    words: Sequence[str] | None = None,
    epsilon: float | None = None,
    *,
    prior: Prior | None = None,
    seed: int | None = None,
    task: Task = UNWATCHED,
) -> Success:
    """Return the probability that the Bayes-optimal guess is right, Σ_y max_x π(x)·p(y|x), over the prior restricted to
    ``words``.

    Without words: over the whole vocabulary (about ten seconds for 21,719 words). It is exact if the mechanism has a
    formula. Else the guesses are learned from the draws of its estimates and tested on 100 fresh draws per word; a
    better guesser may exist. Raises InputError if none of the words is sampled, NoDistribution for mechanisms that do
    not sample word by word.
    """
    channels, weights, epsilon = _channels(mechanism, words, epsilon, prior)
    guesser, exact = Guesser(), True
    word_channels: list[Channel] = []
    for i, channel in enumerate(channels(task)):
        task.check()
        guesser.add(i, channel, weights[i], epsilon)
        if channel.draws is not None:
            exact = False
            word_channels.append(channel)
        task.report(i + 1, len(weights) * (1 if exact else 2))
    chance = float(weights.max())
    if exact:
        return Success(guesser.value, chance, len(weights), epsilon)
    stream = NoiseStream(seed)
    rates = np.zeros(len(word_channels))
    for i, channel in enumerate(word_channels):
        task.check()
        d = channel.at(epsilon)
        rates[i] = (guesser.guesses(d.candidates, d.sample_indices(FRESH, stream.at(i))) == i).mean()
        task.report(len(word_channels) + i + 1, 2 * len(word_channels))
    value = float(weights @ rates)
    # Words are sampled equally often and weighted by the prior: the error of the weighted mean.
    half = NORMAL * float(np.sqrt(np.square(weights) @ np.maximum(rates * (1 - rates), 1 / FRESH) / FRESH))
    interval = (max(0.0, value - half), min(1.0, value + half))
    return Success(value, chance, len(weights), epsilon, FRESH * len(word_channels), interval, True)


def simulated_success(
    mechanism: Mechanism,
    words: Sequence[str],
    epsilon: float | None = None,
    draws: int = 2000,
    *,
    prior: Prior | None = None,
    seed: int | None = None,
    task: Task = UNWATCHED,
) -> Success:
    """Simulate the success of the best guess in ``draws`` trials: a word from the prior, its replacement, the guess.

    Replacements come from the sampler that a rewrite uses. interval: Clopper-Pearson, 95%.
    """
    channels, weights, epsilon = _channels(mechanism, words, epsilon, prior)
    every, guesser, stream = list(channels(task)), Guesser(), NoiseStream(seed)
    for i, channel in enumerate(every):
        guesser.add(i, channel, weights[i], epsilon)
    chosen = np.searchsorted(np.cumsum(weights), stream.at("words").uniforms(draws) * weights.sum())
    hits = 0
    for i, n in zip(*np.unique(np.minimum(chosen, len(every) - 1), return_counts=True), strict=True):
        task.check()
        d = every[i].at(epsilon)
        hits += int((guesser.guesses(d.candidates, d.sample_indices(int(n), stream.at("draws", int(i)))) == i).sum())
    return Success(
        value=hits / draws,
        chance=float(weights.max()),
        words=len(weights),
        epsilon=epsilon,
        draws=draws,
        interval=clopper_pearson(hits, draws),
        lower_bound=any(channel.draws is not None for channel in every),
    )


def _channels(mechanism: Mechanism, words, epsilon, prior):
    """Return a generator function of the channels of the words with a prior above 0, their weights (n,), and ε."""
    by_word = _by_word(mechanism)
    prior = checked_prior(mechanism, prior)
    prior = prior if words is None else prior.only(words)
    rows = np.flatnonzero(prior.p > 0)

    def channels(task: Task):
        for start in range(0, len(rows), 128):
            task.check()
            yield from by_word.channels(rows[start : start + 128])

    return channels, prior.p[rows], _single_epsilon(mechanism.config.epsilon) if epsilon is None else float(epsilon)


@register
class BestGuess(TextAttacker):
    """The Bayes-optimal attacker on one word."""

    name = "best-guess"
    title = "Optimal guess"
    question = "What is the best possible guess from one released word?"
    scope = "word"

    def check(self, mechanism: Mechanism) -> None:
        closed_form(mechanism)

    def attack(
        self, mechanism: Mechanism, result: RewriteResult, unit: int | None = None, *, task: Task | None = None
    ) -> Posterior:
        if unit is None:
            raise InputError("This attacker guesses one word. Choose a word.")
        self.check(mechanism)
        check_sampled(result.units[unit])
        return attack(mechanism, result, unit, task=task or UNWATCHED)
