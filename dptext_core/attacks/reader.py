"""The contextual Bayes attacker: infer the text from the release, the mechanism and the language.

The Bayes-optimal guess of ``bayes`` uses one released word. This attacker reads them all. For place i, its belief in
word w is

    q_i(w) ∝ p(z_i | w) · b(w)^(1−γ) · π_i(w)^γ,

with p the mechanism's probabilities, b the public frequency of words, and π_i the proposal of a public masked language
model for place i. The model reads the kept words and the current words at the other places: first the released ones,
then those with a belief above one half. This is repeated until it converges (mean field). γ = 0 is the best guess from
each word alone; γ was chosen on public text (``tools/fit_reader.py``). Several releases of one text are read together:
their ln p add up.

If p is not available for every word at once (it depends on the context, or is estimated from draws), the reverse
probability p(w | z_i) proposes CANDIDATES words. These are weighted by p(z_i | w) in the current context. That is an
approximation, so a better attacker may exist.

All of this is computed from the release, so it spends no ε. Its success is measured with the original, for the owner
alone.

References
----------
Bishop, Pattern Recognition and Machine Learning (2006), section 10.1: mean field. The use of one masked word's
proposal as the conditional distribution of that word follows the mask inference attack of SanText (Yue et al. 2021).
Here, both are combined with the mechanism's exact probabilities, which is not in these papers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ..errors import InputError, NoDistribution
from ..mechanisms.base import Mechanism
from ..mechanisms.capabilities import require_alignment
from ..models import engine, load_masked_lm
from ..models.word_chances import over_words
from ..pieces import Step, deleted_by_chance
from ..privacy.distribution import logsumexp
from ..privacy.numbers import percent
from ..result import RewriteResult
from ..support.checks import real
from ..support.private import Private
from ..support.task import UNWATCHED, Task
from . import bayes
from .base import TextAttacker, as_rewrites, check_maker, collect_rewrites, register
from .prior import Prior, public_prior
from .reader_evidence import SHARP, Evidence, ReleasedText, evidence_of

#: The weight of the language model relative to word frequencies. On 30 sentences of SST-2's training part, with CusText
#: and 1-Diffractor at three ε each, γ from 0.7 to 1 recovers 44 to 46% of the words, γ = 0 35%
#: (``tools/fit_reader.py``).
GAMMA = 0.9
#: The smallest belief at which a word replaces the released one in the context.
BELIEVED = 0.5
#: Number of reported likely words for each place.
SHOWN = 5
#: Number of places whose beliefs are computed at once; and of released words whose likelihoods are stored.
_BLOCK = 64
#: Seconds to wait for the model, and one more for each mask.
_PATIENCE = 60.0


@dataclass(frozen=True)
class WordReading(Private):
    """The inferred word at one place. step: the index of its step. guesses: the most likely words with their
    probabilities, in descending order. rank: of the original among all words (1: it is inferred), None if it is not in
    the vocabulary. context_free_guess: the best guess from the released word alone, empty if not requested.
    """

    step: int
    original: str
    released_word: str
    guesses: tuple[tuple[str, float], ...]
    rank: int | None
    context_free_guess: str = ""

    @property
    def word(self) -> str:
        """Return the inferred word."""
        return self.guesses[0][0]


@dataclass(frozen=True)
class ReleaseReading(Private):
    """The inferred text of a release. words: one for each hidden word; others are inferred, and not counted. chance:
    how often always guessing the most frequent word is right. answers: the number of releases read together. readings:
    the number of passes over the text. rests: whether they converged. exact: whether p(z | w) is exact for every word;
    else a better attacker may exist.
    """

    words: tuple[WordReading, ...] = field(repr=False)
    text: str = field(repr=False)
    chance: float
    gamma: float
    model: str
    answers: int
    readings: int
    rests: bool
    exact: bool
    draws: int | None = None

    _shown: ClassVar[tuple[str, ...]] = ("words", "gamma", "answers", "readings", "exact")

    def _share(self, hits: Sequence[bool]) -> float:
        return sum(hits) / len(self.words) if self.words else 0.0

    @property
    def success(self) -> float:
        """Return the share of the places where the original is inferred."""
        return self._share([w.rank == 1 for w in self.words])

    @property
    def among(self) -> float:
        """Return the share of the places where the original is among ten words."""
        return self._share([w.rank is not None and w.rank <= 10 for w in self.words])

    @property
    def context_free_share(self) -> float:
        """Return the share that the Bayes-optimal guess recovers from each released word alone."""
        return self._share([w.context_free_guess.casefold() == w.original.casefold() for w in self.words])

    @property
    def unchanged_share(self) -> float:
        """Return the share of the places where the release has the original word."""
        return self._share([w.released_word.casefold() == w.original.casefold() for w in self.words])

    def rows(self) -> list[tuple[str, str]]:
        """Return each released word with the inferred one."""
        return [(w.released_word, ", ".join(f"{word} {percent(p)}" for word, p in w.guesses)) for w in self.words]

    def sentence(self) -> str:
        """Return the attack in plain words."""
        n = len(self.words)
        if not n:
            return "No sampling depended on the original words, so there is nothing to recover."
        places = "the one replaced word" if n == 1 else f"the {n} replaced words"
        source = "" if self.answers == 1 else f" in {self.answers} releases of the text"
        message = (
            f"An attacker who knows the mechanism and reads the context recovers {percent(self.success)} of "
            f"{places}{source}. The optimal guess from each released word alone recovers "
            f"{percent(self.context_free_share)}; guessing that nothing was changed recovers "
            f"{percent(self.unchanged_share)}. Always guessing the most frequent word is right "
            f"{percent(self.chance)} of the time."
        )
        if not self.exact:
            message += " The probabilities of this mechanism are approximated, so a better attacker may exist."
        return message


# --- inference


def check(mechanism: Mechanism) -> None:
    """Raise NoDistribution, with the reason, if there are no probabilities to use."""
    require_alignment(mechanism)
    if "distribution" not in mechanism.can:
        raise NoDistribution(
            f"{mechanism.title} has no formula for the probabilities of its words, so they cannot be combined with a "
            "language model. Use “Language model”, which infers a masked word."
        )


def read_releases(
    mechanism: Mechanism,
    releases: RewriteResult | Sequence[RewriteResult],
    *,
    gamma: float = GAMMA,
    prior: Prior | None = None,
    model: str = "bundled",
    only: Collection[int] | None = None,
    task: Task = UNWATCHED,
) -> ReleaseReading:
    """Infer the original words from the releases of one text.

    Parameters
    ----------
    mechanism
        The mechanism of the releases, with its options and its ε.
    releases
        A rewrite, or several of the same text with fresh noise, which are read together.
    gamma
        The weight of the language model in [0, 1]: 0 is the best guess word by word, for which no model is loaded.
    prior
        Word frequencies; by default, :func:`~dptext_core.attacks.public_prior`.
    model
        The masked language model that proposes words.
    only
        The steps to infer, by default all; the others keep their released words.
    task
        Receives the progress, and may cancel the work.

    Returns
    -------
    Reading
        The inferred words, and how often they are right for words sampled from their originals.

    Raises
    ------
    NoDistribution
        The mechanism writes a new text, or states no probabilities.
    InputError
        γ is outside [0, 1], the releases are by another mechanism or of other texts, or there are several releases with
        randomly added or deleted words.
    ModelUnavailable
        Where the model is not there.
    """
    check(mechanism)
    if not 0 <= real("gamma", gamma, InputError) <= 1:
        raise InputError(f"gamma, the weight of the language model, must be between 0 and 1, not {gamma:g}.")
    every = _rewrites_of(mechanism, releases)
    text = ReleasedText(every[0], flagged=True)
    if only is not None:
        text.steps = {i: s for i, s in text.steps.items() if i in only}
    aligned = [_same_places(text, every[0], other) for other in every]
    prior = _prior_of(mechanism, prior)
    evidence = evidence_of(mechanism, text, aligned, prior.words)
    reader = Sweeps(mechanism, text, evidence, prior, gamma, model)
    alone = reader.alone(task.child(0, 1, 4))
    words, readings, rests = reader.read(task.child(1, 4, 4))
    said = text.written({w.step: w.word for w in words})[0]
    counted = tuple(replace(w, context_free_guess=alone[w.step]) for w in words if text.steps[w.step].is_hidden)
    return ReleaseReading(counted, said, prior.chance, float(gamma), model, len(every), readings, rests, evidence.exact)


def _rewrites_of(mechanism: Mechanism, releases: RewriteResult | Sequence[RewriteResult]) -> Sequence[RewriteResult]:
    """Return the releases as rewrites by this mechanism. Raise InputError without one, or for one by another
    mechanism."""
    every = as_rewrites(releases)
    if not every:
        raise InputError("There is no release to read. Give at least one.")
    for result in every:
        check_maker(mechanism, result)
    return every


def _prior_of(mechanism: Mechanism, prior: Prior | None) -> Prior:
    if prior is None:
        return public_prior(mechanism)
    return prior if mechanism.by_word is None else bayes.checked_prior(mechanism, prior)


def _same_places(text: ReleasedText, first: RewriteResult, other: RewriteResult) -> dict[int, Step]:
    """Return the steps of a release at the places of the first one."""
    if other is first:
        return text.steps
    if other.original != first.original:
        raise InputError("These releases come from different texts. Give releases of one text.")
    if any(s.action == "insert" or deleted_by_chance(s) for r in (first, other) for s in r.steps):
        raise InputError(
            "Words of these releases were added or deleted at random, so their words cannot be matched. Give one "
            "release."
        )
    return {i: other.steps[i] for i in text.steps}


class Sweeps:
    """Repeated passes over a text."""

    def __init__(
        self, mechanism: Mechanism, text: ReleasedText, evidence: Evidence, prior: Prior, gamma: float, model: str
    ):
        self.mechanism, self.text, self.evidence, self.prior = mechanism, text, evidence, prior
        self.gamma, self.model = gamma, model
        # Without the language model, it equals the best guess to the last digit.
        self.sharp = SHARP if gamma else bayes.EXACT
        with np.errstate(divide="ignore"):
            self.log_prior = np.log(prior.p)
        self.place = {w.casefold(): k for k, w in enumerate(prior.words)}

    def read(self, task: Task) -> tuple[list[WordReading], int, bool]:
        """Return the inferred words, the number of passes over the text, and whether they converged."""
        now = self._released()
        most = self.evidence.most if self.gamma else 1
        readings, rests = list[WordReading](), not self.gamma
        for k in range(most):
            readings, believed = self._once(now, task.child(k, k + 1, most))
            if rests := rests or believed == now:
                break
            now = believed
        return readings, k + 1, rests

    def alone(self, task: Task) -> dict[int, str]:
        """Return the best guess at each place from the released word alone."""
        now, out = self._released(), dict[int, str]()
        places = list(self.text.steps)
        for n, (i, weights) in enumerate(
            zip(places, self.evidence.alone(places, self.log_prior, now, task), strict=True), 1
        ):
            task.check()
            out[i] = self.prior.words[int(np.argmax(weights))]
            task.report(n, len(places))
        return out

    def _released(self) -> dict[int, str]:
        return {i: s.replacement for i, s in self.text.steps.items()}

    def _once(self, now: Mapping[int, str], task: Task) -> tuple[list[WordReading], dict[int, str]]:
        """Return the beliefs at every place given the current words, and the new words."""
        words, believed, places = list[WordReading](), dict[int, str](), list(self.text.steps)
        for start in range(0, len(places), _BLOCK):
            block = places[start : start + _BLOCK]
            bases = self._bases(now, block, task)
            log_weights = self.evidence.of_places(block, list(bases), now, task)
            for i, base, weights in zip(block, bases, log_weights, strict=True):
                task.check()
                weights = self.evidence.sharpened(i, weights, base, self.sharp)
                if not np.isfinite(weights).any():
                    weights = base  # an unknown word, whose replacement is independent of it
                p = np.exp(weights - logsumexp(weights))
                words.append(self._word(i, p))
                sure = words[-1].guesses[0]
                believed[i] = sure[0] if sure[1] >= BELIEVED else self.text.steps[i].replacement
                task.report(len(words), len(places))
        return words, believed

    def _bases(self, now: Mapping[int, str], places: Sequence[int], task: Task) -> np.ndarray:
        """Return ln of b^(1−γ)·π^γ at places, float64 (n, V)."""
        if not self.gamma:
            return np.repeat(self.log_prior[None], len(places), axis=0)
        lm_engine = engine(self.model, language=self.mechanism.language)
        lm_engine.warm()
        lm = load_masked_lm(self.model, language=self.mechanism.language)
        requests = self.text.masked(lm, now, places)
        logits = lm_engine.score(requests, task=task.quiet, timeout=_PATIENCE + len(requests))
        proposed = over_words(logits, self.model, self.mechanism.language, tuple(self.prior.words))
        possible = np.isfinite(self.log_prior)
        out = np.full(proposed.shape, -np.inf)
        out[:, possible] = (1 - self.gamma) * self.log_prior[possible] + self.gamma * proposed[:, possible]
        return out

    def _word(self, i: int, p: np.ndarray) -> WordReading:
        step = self.text.steps[i]
        order = np.argsort(-p, kind="stable")[:SHOWN]
        true_row = self.place.get(step.original.casefold())
        # Equally likely words are in display order.
        rank = None if true_row is None else 1 + int((p > p[true_row]).sum()) + int((p[:true_row] == p[true_row]).sum())
        guesses = tuple((self.prior.words[k], float(p[k])) for k in order if p[k] > 0)
        return WordReading(i, step.original, step.replacement, guesses, rank)


@register
class Reader(TextAttacker):
    """The contextual Bayes attacker on a whole text."""

    name = "reader"
    title = "Contextual Bayes"
    question = "What does an attacker who knows the mechanism and the language recover?"
    scope = "text"
    needs: ClassVar[tuple[str, ...]] = ("masked language model",)
    takes = ("answers",)

    def check(self, mechanism: Mechanism) -> None:
        check(mechanism)

    def attack(
        self,
        mechanism: Mechanism,
        result: RewriteResult,
        unit: int | None = None,
        *,
        answers: int = 1,
        task: Task | None = None,
    ) -> ReleaseReading:
        """Attack one rewrite. answers: how many rewrites of the text are read together; those after the first are
        created for this."""
        task = task or UNWATCHED
        self.check(mechanism)
        return read_releases(mechanism, collect_rewrites(mechanism, result, answers, task=task), task=task)
