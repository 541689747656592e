"""The reader: what was the text, given the release, the mechanism and the language?

The best guess of ``bayes`` looks at one released word. This attacker reads them all. For place i it believes in
word w by

    q_i(w) ∝ p(z_i | w) · b(w)^(1−γ) · π_i(w)^γ,

with p the mechanism's probabilities, b the public frequency of words, and π_i what a public masked language model
proposes for place i given what is kept and what is read at the other places so far: first the released words, then
those that are believed likelier than not. It reads again until the reading rests (mean field). γ = 0 is the best
guess; γ was chosen on public text (``tools/fit_reader.py``). Several releases of one text are read together: their
ln p add up.

Where p has no value for every word at once (it depends on the words around, or is estimated from draws), the chance the
other way, p(w | z_i), proposes CANDIDATES words, and these are weighed by p(z_i | w) at the current reading. That is an
approximation, so that a better attacker may exist.

All of this is computed from what was released, so that it spends no ε. How often it is right is told by the original:
for its owner's eyes.

References
----------
Bishop, Pattern Recognition and Machine Learning (2006), section 10.1: mean field. The use of one masked word's
proposal as the conditional distribution of that word follows the mask inference attack of SanText (Yue et al. 2021).
Both are joined here with the mechanism's exact chances, which is not in these papers.
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
from .base import TextAttacker, as_rewrites, made_by, register, rewrites_seen
from .prior import Prior, public_prior
from .reader_evidence import SHARP, Evidence, ReleasedText, evidence_of

#: How much the language counts, against the frequency of words. Of 30 sentences of SST-2's training part, CusText and
#: 1-Diffractor at three ε each, γ from 0.7 to 1 finds 44 to 46% of the words, γ = 0 35% (``tools/fit_reader.py``).
GAMMA = 0.9
#: The belief from which on a word is read in the place of the released one.
BELIEVED = 0.5
#: Likely words that are told of each place.
SHOWN = 5
#: Places whose beliefs are worked out at once; released words whose likelihoods are held.
_BLOCK = 64
#: Seconds to wait for the model, and one more for each mask.
_PATIENCE = 60.0


@dataclass(frozen=True)
class WordReading(Private):
    """What is read at one place.

    step: its place in the steps. guesses: the likeliest words with their probabilities, likeliest first. rank: place of
    the original among all words (1: it is read), None where the vocabulary does not have it. alone: the best guess
    from the released word by itself, empty where nobody asked for it.
    """

    step: int
    original: str
    released: str
    guesses: tuple[tuple[str, float], ...]
    rank: int | None
    alone: str = ""

    @property
    def word(self) -> str:
        """The word that is read here."""
        return self.guesses[0][0]


@dataclass(frozen=True)
class ReleaseReading(Private):
    """A release as it is read.

    words: one for each hidden word; others are read, and not counted. chance: how often always
    guessing the most frequent word is right. answers: releases that were read together. readings: how often the text
    was read. rests: whether it came to rest. exact: whether p(z | w) is exact for every word; else a better attacker
    may exist.
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
        """The share of the places where the original is read."""
        return self._share([w.rank == 1 for w in self.words])

    @property
    def among(self) -> float:
        """The share of the places where the original is among ten words."""
        return self._share([w.rank is not None and w.rank <= 10 for w in self.words])

    @property
    def alone(self) -> float:
        """The share that the best guess names, which looks at each released word by itself."""
        return self._share([w.alone.casefold() == w.original.casefold() for w in self.words])

    @property
    def unchanged(self) -> float:
        """The share of the places where the original stands in the release."""
        return self._share([w.released.casefold() == w.original.casefold() for w in self.words])

    def rows(self) -> list[tuple[str, str]]:
        """Each released word, with what is read in its place."""
        return [(w.released, ", ".join(f"{word} {percent(p)}" for word, p in w.guesses)) for w in self.words]

    def sentence(self) -> str:
        """Return the attack in plain words."""
        n = len(self.words)
        if not n:
            return "No sampling depended on the original words, so there is nothing to recover."
        places = "the one replaced word" if n == 1 else f"the {n} replaced words"
        seen = "" if self.answers == 1 else f" in {self.answers} releases of the text"
        message = (
            f"An attacker who knows the mechanism and reads the context recovers {percent(self.success)} of "
            f"{places}{seen}. The optimal guess from each released word alone recovers {percent(self.alone)}, and "
            f"guessing that nothing was changed {percent(self.unchanged)}. Always guessing the most frequent word is "
            f"right {percent(self.chance)} of the time."
        )
        if not self.exact:
            message += " The probabilities of this mechanism are approximated, so a better reader may exist."
        return message


# --- the reading


def check(mechanism: Mechanism) -> None:
    """Raise NoDistribution, with the reason, where there are no chances to read by."""
    require_alignment(mechanism, "replaces no single words")
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
    """Read what a mechanism released of one text.

    Parameters
    ----------
    mechanism
        The one that made the releases, with its options and its ε.
    releases
        A rewrite, or several of the same text with fresh noise each, which are read together.
    gamma
        The weight of the language in [0, 1]: 0 is the best guess word by word, for which no model is loaded.
    prior
        How frequent words are: :func:`~dptext_core.attacks.public_prior` without it.
    model
        The masked language model that proposes words.
    only
        The steps that are read, where not all of them are; at the others the released words stand.
    task
        Told of the places that are done; may stop the work.

    Returns
    -------
    Reading
        What is read, and how often it is right where a word was drawn by looking at it.

    Raises
    ------
    NoDistribution
        Where the mechanism writes a new text, or states no chances.
    InputError
        For a γ outside [0, 1], releases of another mechanism or of other texts, and several releases with words added
        or left out by chance.
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
    counted = tuple(replace(w, alone=alone[w.step]) for w in words if text.steps[w.step].is_hidden)
    return ReleaseReading(counted, said, prior.chance, float(gamma), model, len(every), readings, rests, evidence.exact)


def _rewrites_of(mechanism: Mechanism, releases: RewriteResult | Sequence[RewriteResult]) -> Sequence[RewriteResult]:
    """Return the releases as rewrites of this mechanism. Raise InputError where there is none, or one of another."""
    every = as_rewrites(releases)
    if not every:
        raise InputError("There is no release to read. Give at least one.")
    for result in every:
        made_by(mechanism, result)
    return every


def _prior_of(mechanism: Mechanism, prior: Prior | None) -> Prior:
    if prior is None:
        return public_prior(mechanism)
    return prior if mechanism.by_word is None else bayes.checked_prior(mechanism, prior)


def _same_places(text: ReleasedText, first: RewriteResult, other: RewriteResult) -> dict[int, Step]:
    """Return the steps of a release by the places of the first one."""
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
    """One reading of a text after the other."""

    def __init__(
        self, mechanism: Mechanism, text: ReleasedText, evidence: Evidence, prior: Prior, gamma: float, model: str
    ):
        self.mechanism, self.text, self.evidence, self.prior = mechanism, text, evidence, prior
        self.gamma, self.model = gamma, model
        # Without the language it is the best guess, to the last digit.
        self.sharp = SHARP if gamma else bayes.EXACT
        with np.errstate(divide="ignore"):
            self.log_prior = np.log(prior.p)
        self.place = {w.casefold(): k for k, w in enumerate(prior.words)}

    def read(self, task: Task) -> tuple[list[WordReading], int, bool]:
        """Return the reading, the number of passes over the text, and whether it converged."""
        now = self._released()
        most = self.evidence.most if self.gamma else 1
        found, rests = list[WordReading](), not self.gamma
        for k in range(most):
            found, believed = self._once(now, task.child(k, k + 1, most))
            if rests := rests or believed == now:
                break
            now = believed
        return found, k + 1, rests

    def alone(self, task: Task) -> dict[int, str]:
        """Return the best guess at each place, which looks at the released word by itself."""
        now, out = self._released(), dict[int, str]()
        places = list(self.text.steps)
        for n, (i, found) in enumerate(
            zip(places, self.evidence.alone(places, self.log_prior, now, task), strict=True), 1
        ):
            task.check()
            out[i] = self.prior.words[int(np.argmax(found))]
            task.report(n, len(places))
        return out

    def _released(self) -> dict[int, str]:
        return {i: s.replacement for i, s in self.text.steps.items()}

    def _once(self, now: Mapping[int, str], task: Task) -> tuple[list[WordReading], dict[int, str]]:
        """Every place, given what is read now; and what is read then."""
        words, believed, places = list[WordReading](), dict[int, str](), list(self.text.steps)
        for start in range(0, len(places), _BLOCK):
            block = places[start : start + _BLOCK]
            bases = self._bases(now, block, task)
            found = self.evidence.of_places(block, list(bases), now, task)
            for i, base, weights in zip(block, bases, found, strict=True):
                task.check()
                weights = self.evidence.sharpened(i, weights, base, self.sharp)
                if not np.isfinite(weights).any():
                    weights = base  # an unknown word, which was drawn without being looked at
                p = np.exp(weights - logsumexp(weights))
                words.append(self._word(i, p))
                sure = words[-1].guesses[0]
                believed[i] = sure[0] if sure[1] >= BELIEVED else self.text.steps[i].replacement
                task.report(len(words), len(places))
        return words, believed

    def _bases(self, now: Mapping[int, str], places: Sequence[int], task: Task) -> np.ndarray:
        """ln of b^(1−γ)·π^γ at places, float64 (n, V)."""
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
        own = self.place.get(step.original.casefold())
        # Words that are as likely come in the order in which they are shown.
        rank = None if own is None else 1 + int((p > p[own]).sum()) + int((p[:own] == p[own]).sum())
        guesses = tuple((self.prior.words[k], float(p[k])) for k in order if p[k] > 0)
        return WordReading(i, step.original, step.replacement, guesses, rank)


@register
class Reader(TextAttacker):
    """The attack on a whole text."""

    name = "reader"
    title = "Reader"
    question = "What does an attacker recover who knows the mechanism and the language?"
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
        """answers: how many rewrites of the text are read together; those after the first are made for this."""
        task = task or UNWATCHED
        self.check(mechanism)
        return read_releases(mechanism, rewrites_seen(mechanism, result, answers, task=task), task=task)
