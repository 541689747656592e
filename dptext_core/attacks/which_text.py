"""The exact posterior over whole originals: which of a few texts was rewritten?

The attacker has a public list of texts that contains the original, knows the mechanism and its ε, and sees one rewrite
or several of the same text. All texts of the list are equally likely before. By P(text | rewrites) ∝ Π P(rewrite |
text), the posterior is exact if the mechanism states the likelihood of a rewrite for another text
(``Mechanism.likelihood``). No one with the same knowledge guesses better. If a mechanism samples word pieces, the
attacker sees these, which is slightly more than their text: a guess from the text alone is not right more often.

The guarantee limits any such attacker (:func:`limit`). If no release distinguishes texts i and j by more than e^ℓ(i,
j), a guess G has P(G = i | i) ≤ e^ℓ(i, j)·P(G = i | j) + δ. Summed over j and i, the success Σ P(G = i | i)/n is at
most (1 + δ·Σ e^−ℓ(i, j)/n) / min c(i), with c(i) = 1 + Σ e^−ℓ(i, j) over j ≠ i. If δ is 0, that bounds each posterior
too. For k rewrites, ℓ and δ count k times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import InputError
from ..mechanisms.base import Mechanism, Prepared
from ..mechanisms.capabilities import sampled_tokens
from ..mechanisms.config import stop_list
from ..mechanisms.likelihood import require_likelihood
from ..privacy.distribution import logsumexp
from ..privacy.guarantee import Guarantee
from ..privacy.numbers import MOST_ODDS, odds_text, percent, scientific
from ..result import RewriteResult
from ..support.checks import check_whole_number, text_list
from ..support.private import Private
from ..support.statistics import clopper_pearson
from ..support.task import UNWATCHED, Task
from ..text.document import Token
from ..text.lexicons import stop_words
from .alternatives import share_stem
from .base import TextAttacker, collect_rewrites, register
from .nearest import space_of

#: Number of texts in a generated list, including the original; and the maximum of a given list.
TEXTS, MOST = 8, 100
#: Number of fresh rewrites that measure the guesses, over all texts together; and if no model pass is needed.
DRAWS, DRAWS_OF_WORDS = 48, 400
#: Number of neighbours of a word that are searched for replacements.
_NEAR = 60
#: Posteriors with a smaller relative difference are a tie.
_TIE = 1e-9


@dataclass(frozen=True)
class Lineup(Private):
    """The possible texts. true: the index of the original. word: the unknown word, if the texts differ only there, else
    empty. labels: a short name of each text: the word at that place, else the text."""

    texts: tuple[str, ...]
    true: int
    word: str = ""
    labels: tuple[str, ...] = ()

    _shown: ClassVar[tuple[str, ...]] = ("texts", "true")

    def __len__(self) -> int:
        return len(self.texts)

    def __post_init__(self) -> None:
        if not self.labels:
            object.__setattr__(self, "labels", self.texts)


@dataclass(frozen=True)
class Limit:
    """The largest possible success of a guess among the texts. value: 1.0 if certainty is possible. explanation: the
    source of the limit, or why there is none, a sentence."""

    value: float
    explanation: str

    def sentence(self) -> str:
        """Return the bound in plain words."""
        return self.explanation


@dataclass(frozen=True)
class GuessAccuracy:
    """How often the optimal guess was right if each text is the original equally often. answers: number of rewrites per
    guess. trials: number of guesses. rewrites: number of rewrites for them, equally many of each text. value: the share
    of right guesses, a tie of m counted 1/m. interval: 95%, Clopper and Pearson. mean_posterior: the mean of the
    posteriors' own estimates. own_text_value, own_text_trials: the same share if the user's own text was the original.
    """

    answers: int
    trials: int
    value: float
    interval: tuple[float, float]
    mean_posterior: float
    own_text_value: float
    own_text_trials: int
    chance: float
    rewrites: int

    def sentence(self) -> str:
        """Return the figure in plain words."""
        low, high = self.interval
        made = "one fresh rewrite" if self.answers == 1 else f"{self.answers} fresh rewrites of one text"
        return (
            f"Each text was rewritten equally often. From {made}, the optimal guess was right {percent(self.value)} "
            f"of the time ({self.trials:,} guesses, 95% interval {percent(low)} to {percent(high)}). For your text, it "
            f"was right {percent(self.own_text_value)} of the time. Without the output, it is right "
            f"{percent(self.chance)} of the time."
        )


@dataclass(frozen=True)
class WhichText(Private):
    """The belief of an attacker who sees rewrites and knows the possible texts. p: the posterior of each text of the
    lineup. answers: the number of rewrites seen. limit: the bound on any such guess from the guarantee. accuracies: how
    often such a guess is right on fresh rewrites, empty if not requested. draws: None, the posterior is not sampled.
    """

    lineup: Lineup
    p: tuple[float, ...]
    answers: int
    limit: Limit
    accuracies: tuple[GuessAccuracy, ...] = ()
    draws: int | None = None

    _shown: ClassVar[tuple[str, ...]] = ("p", "answers")

    @property
    def success(self) -> float:
        """Return the probability that the optimal guess is right, as the attacker sees it."""
        return max(self.p)

    @property
    def chance(self) -> float:
        return 1 / len(self.p)

    @property
    def order(self) -> list[int]:
        """Return the texts, the most likely first; in a tie, the original last."""
        true = self.lineup.true
        return sorted(range(len(self.p)), key=lambda i: (-self.p[i], i == true))

    @property
    def rank(self) -> int:
        """Return the rank of the original, 1 for the most likely text."""
        return 1 + self.order.index(self.lineup.true)

    def sentence(self) -> str:
        """Return the attack in plain words."""
        rewrites = "this rewrite" if self.answers == 1 else f"{self.answers} rewrites of the same text"
        labels, word = self.lineup.labels, self.lineup.word
        best = self.order[0]
        known = f"every word except “{word}”" if word else "which texts are possible"
        message = (
            f"An attacker sees {rewrites} and knows the mechanism, its ε and {known}. This attacker chooses among "
            f"{len(self.p)} {'words' if word else 'texts'} and guesses “{labels[best]}”. Such a guess is right "
            f"{percent(self.success)} of the time. Without the output, any guess is right {percent(self.chance)} of "
            "the time."
        )
        yours = (
            "Here it is right."
            if best == self.lineup.true
            else (f"Your text is guess number {self.rank}, with probability {percent(self.p[self.lineup.true])}.")
        )
        message = f"{message} {yours} {self.limit.sentence()}"
        return " ".join([message, *(m.sentence() for m in self.accuracies)])

    def rows(self, n: int = 10) -> list[tuple[str, str]]:
        """Return the likeliest texts in short, with their posteriors."""
        return [(self.lineup.labels[i], percent(self.p[i])) for i in self.order[:n]]


# --- the possible texts


def content_words(mechanism: Mechanism, text: str) -> list[str]:
    """Return the replaceable words of the text: known to the word space, no stop words; rarest first."""
    document = mechanism.plan(text).document
    space = space_of(mechanism)
    stop = stop_words(stop_list(mechanism.config), mechanism.language)
    ranks: dict[str, int] = {}
    for token in document.tokens:
        word = token.text
        if token.kind == "word" and len(word) > 2 and word not in stop and (row := space.index(word)) is not None:
            ranks.setdefault(word.casefold(), row)
    return sorted(ranks, key=lambda w: -ranks[w])


def lineup(mechanism: Mechanism, text: str, word: str | None = None, n: int = TEXTS) -> Lineup:
    """Return the text and n − 1 others, each with one word replaced by a near one in the word space. word: the replaced
    word; by default, the rarest content word. Raises InputError if there is none.
    """
    n = check_whole_number("n, the number of texts,", n, least=2)
    words = content_words(mechanism, text)
    wanted = (words[0] if words else "") if word is None else word.casefold()
    document = mechanism.plan(text).document
    places = [t for t in document.tokens if t.text.casefold() == wanted]
    if not places:
        which = (
            "The word space knows no content word of the text" if word is None else (f"The text has no word “{word}”")
        )
        raise InputError(f"{which}, so no other texts can be made from it. Give a list of texts, one per line.")
    space = space_of(mechanism)
    row = space.index(wanted)
    if row is None:
        raise InputError(
            f"The word space does not know “{word}”, so it has no similar words. Give a list of texts, one per line."
        )
    stop = stop_words(stop_list(mechanism.config), mechanism.language)
    near, _ = space.nearest([row], min(_NEAR + n, len(space)))
    others: list[str] = []
    for i in near[0].tolist():
        other = space.words[i]
        apart = not any(share_stem(other, o) for o in (wanted, *others))
        if len(other) > 2 and other not in stop and apart:
            others.append(other)
        if len(others) == n - 1:
            break
    if not others:
        raise InputError(f"No other word is near “{wanted}” in the word space. Give a list of texts, one per line.")
    texts = (text, *(_exchange_words(text, places, other, mechanism) for other in others))
    return Lineup(texts, 0, wanted, (wanted, *others))


def listed_lineup(text: str, others: Sequence[str]) -> Lineup:
    """Return the text and those of a list, each once. Raises InputError for a list without another text, or a long
    one."""
    distinct = list(dict.fromkeys([text.strip(), *(t.strip() for t in text_list(others) if t.strip())]))
    if len(distinct) < 2:
        raise InputError("The list contains only your text. Add at least one other text, one per line.")
    if len(distinct) > MOST:
        raise InputError(f"The list has {len(distinct):,} texts. Give at most {MOST}.")
    return Lineup((text, *distinct[1:]), 0)


def _exchange_words(text: str, places: Sequence[Token], other: str, mechanism: Mechanism) -> str:
    out, at = [], 0
    for token in places:
        out += [text[at : token.start], mechanism.language.case(other, token.text[:1].isupper())]
        at = token.end
    return "".join([*out, text[at:]])


# --- the posterior


def attack(
    mechanism: Mechanism, results: Sequence[RewriteResult], texts: Lineup, *, draws: int = 0, task: Task = UNWATCHED
) -> WhichText:
    """Return the posterior over the texts from rewrites of the same original, and how often such a guess is right.
    draws: the number of fresh rewrites that measure the latter, over all texts together; 0: it is not measured. Raises
    NoDistribution for mechanisms without a formula, InputError for rewrites by another mechanism, or that no text can
    produce.
    """
    check(mechanism)
    if draws < 0:
        raise InputError(f"The number of draws that measure success must be 0 or more, not {draws}.")
    if not results:
        raise InputError("There is no rewrite. Give at least one.")
    prepared = [mechanism.prepare(t, task=task.quiet) for t in texts.texts]
    share = 1.0 if not draws else len(results) / (len(results) + 2 * draws)
    log_p = require_likelihood(mechanism).log(prepared, results, task=task.child(0, share)).sum(axis=1)
    if not np.isfinite(log_p).any():
        raise InputError("None of these texts could have produced this rewrite. Add the original to them.")
    p = np.exp(log_p - logsumexp(log_p))
    measured: tuple[GuessAccuracy, ...] = ()
    if draws:
        measured = measure(mechanism, texts, draws, (len(results),), prepared=prepared, task=task.child(share, 1))
    return WhichText(texts, tuple(p.tolist()), len(results), limit(mechanism, prepared, len(results)), measured)


def check(mechanism: Mechanism) -> None:
    """Raise NoDistribution, with the reason, if there is no posterior over whole texts."""
    require_likelihood(mechanism)


def measure(
    mechanism: Mechanism,
    texts: Lineup,
    draws: int,
    each: Sequence[int] = (1,),
    *,
    seed: int | None = None,
    prepared: Sequence[Prepared] | None = None,
    task: Task = UNWATCHED,
) -> tuple[GuessAccuracy, ...]:
    """Measure how often the optimal guess is right if each text is the original equally often.

    Parameters
    ----------
    mechanism : Mechanism
    texts : Lineup
        The possible originals.
    draws : int
        Number of fresh rewrites over all texts together, equally many of each.
    each : sequence of int
        Numbers of rewrites of one original that are seen; larger numbers than one text has are skipped.
    seed : int, optional
        Makes the rewrites repeatable.
    prepared : sequence of Prepared, optional
        The texts, prepared by the mechanism.
    task : Task
        Receives the progress, and may cancel the work.

    Returns
    -------
    tuple of Measured
        One for each number of rewrites.
    """
    check(mechanism)
    prepared = prepared or [mechanism.prepare(t, task=task.quiet) for t in texts.texts]
    n = len(prepared)
    per = max(1, max(each) if len(each) == 1 else 1, math.ceil(draws / n))
    written: list[RewriteResult] = []
    # Rewriting all of them takes about as long as computing their likelihoods under one text.
    middle = 1 / (n + 1)
    for true, p in enumerate(prepared):
        own_seed = None if seed is None else seed * 1_000_003 + true
        part = task.child(middle * true / n, middle * (true + 1) / n)
        written += mechanism.rewrites(p, per, own_seed, task=part)
    log_p = require_likelihood(mechanism).log(prepared, written, task=task.child(middle, 1))
    table = log_p.reshape(n, n, per).swapaxes(0, 1)
    return tuple(_guess_accuracy(table, k, texts.true) for k in each if k <= per)


def _guess_accuracy(table: np.ndarray, k: int, true: int) -> GuessAccuracy:
    """Return the success of guesses. table: log-probabilities, float64 (original, text, rewrite). k: number of rewrites
    per guess."""
    n, _, per = table.shape
    trials = per // k
    joined = table[:, :, : trials * k].reshape(n, n, trials, k).sum(axis=3)
    best = joined.max(axis=1, keepdims=True)
    p = np.exp(joined - best)
    p /= p.sum(axis=1, keepdims=True)
    tied = p >= p.max(axis=1, keepdims=True) * (1 - _TIE)
    right = tied[np.arange(n), np.arange(n)] / tied.sum(axis=1)
    value, total = float(right.mean()), n * trials
    return GuessAccuracy(
        answers=k,
        trials=total,
        value=value,
        interval=clopper_pearson(value * total, total),
        mean_posterior=float(p.max(axis=1).mean()),
        own_text_value=float(right[true].mean()),
        own_text_trials=trials,
        chance=1 / n,
        rewrites=n * per,
    )


# --- the limit from the guarantee


def limit(mechanism: Mechanism, prepared: Sequence[Prepared], answers: int = 1) -> Limit:
    """Return the upper bound on how often any guess among these texts is right, from the guarantee and its
    statements."""
    promises = [mechanism.guarantee(p) for p in prepared]
    if broken := next((g.reason for g in promises if g.notion == "none"), ""):
        return Limit(1.0, f"Nothing limits such a guess, because there is no guarantee: {broken}")
    n, delta = len(prepared), max(g.total_delta for g in promises) * answers
    losses = guaranteed_losses(mechanism, prepared, promises) * answers
    if not np.isfinite(losses[~np.eye(n, dtype=bool)]).any():
        return Limit(
            1.0,
            "The guarantee does not compare these texts with each other, so it does not limit such a guess. It holds "
            f"for {promises[0].adjacency}.",
        )
    weights = np.exp(-losses) - np.eye(n)
    least = 1 + weights.sum(axis=1).min()
    value = min(1.0, float((1 + delta * weights.sum() / n) / least))
    largest = float(losses.max())
    times = "" if answers == 1 else f" for {answers} rewrites together"
    plus = f" (except with probability δ = {scientific(delta)})" if delta else ""
    if not math.isfinite(largest):
        source = f"The guarantee does not cover some pairs of these texts{times}"
    else:
        noise = mechanism.audit_support.latent_loss(prepared[0], prepared[1]) is not None
        factor = odds_text(largest).replace(" times", "")
        by = f"a factor of {factor}" if largest >= 0.05 else _round_up(math.expm1(largest))
        what = "added noise" if noise else "guarantee"
        if largest <= math.log(MOST_ODDS):
            source = f"The {what} lets the odds between two of these texts{times} change by at most {by}{plus}"
        else:
            source = f"The {what} sets no practical limit on the change in the odds between two of these texts{times}"
    if value > 0.9995:
        return Limit(value, f"{source}. It does not limit any guess.")
    return Limit(value, f"{source}. No guess is right more than {_round_up(value)} of the time.")


def guaranteed_loss(mechanism: Mechanism, a: Prepared, b: Prepared) -> float:
    """Return the largest log-ratio of any release under two texts that the guarantee allows, or that follows from the
    noise on a vector of the whole text; ∞ without a statement."""
    return float(guaranteed_losses(mechanism, (a, b))[0, 1])


def guaranteed_losses(
    mechanism: Mechanism, prepared: Sequence[Prepared], promises: Sequence[Guarantee] | None = None
) -> np.ndarray:
    """Return :func:`guaranteed_loss` of every pair of texts, float64 (n, n), 0 on the diagonal. promises: their
    guarantees, if the caller has them.
    """
    promises = promises or [mechanism.guarantee(p) for p in prepared]
    losses = np.zeros((len(prepared), len(prepared)))
    for i in range(len(prepared)):
        for j in range(i):
            losses[i, j] = losses[j, i] = _guaranteed_loss(mechanism, prepared, promises, i, j)
    return losses


def _guaranteed_loss(
    mechanism: Mechanism, prepared: Sequence[Prepared], promises: Sequence[Guarantee], i: int, j: int
) -> float:
    a, b = prepared[i], prepared[j]
    if promises[i].notion == "none" or promises[j].notion == "none":
        return math.inf
    latent = mechanism.audit_support.latent_loss(a, b)
    if latent is not None:
        return latent
    if not mechanism.audit_support.adjacent(a, b):
        return math.inf
    if mechanism.by_word is None:
        return math.inf if promises[i].notion == "metric" else max(promises[i].total, promises[j].total)
    # For words that are sampled one by one, only different words lose anything.
    total, every = 0.0, mechanism.config.epsilon
    for k in sampled_tokens(mechanism, a):
        words = [p.document.tokens[k].text.lower() for p in (a, b)]
        if words[0] != words[1]:
            apart = float(mechanism.audit_support.distances(words)[0, 1])
            total += math.inf if math.isnan(apart) else apart * (every[k] if isinstance(every, tuple) else every)
    return total


def _round_up(p: float) -> str:
    """Format a share, rounded up."""
    return f"{math.ceil(p * 1000) / 10:g}%"


@register
class WhichTextAttacker(TextAttacker):
    """The attack that identifies the original among possible texts."""

    name = "which-text"
    title = "Optimal reader"
    question = "Which fact, or which of a few possible texts, was rewritten?"
    scope = "text"
    takes = ("word", "candidates", "answers", "draws")

    def check(self, mechanism: Mechanism) -> None:
        check(mechanism)

    def attack(
        self,
        mechanism: Mechanism,
        result: RewriteResult,
        unit: int | None = None,
        *,
        word: str | None = None,
        candidates: Sequence[str] | None = None,
        answers: int = 1,
        draws: int | None = None,
        task: Task | None = None,
    ) -> WhichText:
        """Attack one text. word: the word that the attacker does not know. candidates: a list of texts instead of the
        generated one. answers: how many rewrites the attacker sees. draws: number of fresh rewrites that measure such
        guesses; 0: none."""
        task = task or UNWATCHED
        self.check(mechanism)
        if word is not None and candidates is not None:
            raise InputError("Both an unknown word and a list of texts are given. Give only one.")
        texts = (
            lineup(mechanism, result.original, word)
            if candidates is None
            else listed_lineup(result.original, candidates)
        )
        if draws is None:
            draws = default_rewrites(mechanism)
        rewrites = collect_rewrites(mechanism, result, answers, task=task)
        return attack(mechanism, rewrites, texts, draws=draws, task=task)


def default_rewrites(mechanism: Mechanism) -> int:
    """Return the default number of fresh rewrites that measure the guesses: more if words are sampled one by one."""
    return DRAWS if mechanism.by_word is None else DRAWS_OF_WORDS
