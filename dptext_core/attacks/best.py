"""The strongest attacker: several attackers guess the same replaced words, and the one that is right most often counts.

It compares every attacker that sees one release and guesses words: the released word itself; the nearest other word;
the Bayes-optimal guess from the released word alone; the language model from the context; and the contextual Bayes
attacker, which combines both. The strongest one depends on the mechanism (Vickrey hides the same word but not the
nearest one), so no single attacker is a fair axis.

The best of several on the same words looks slightly better than it is, and the interval corrects for that choice. Each
attacker's interval is so wide (Bonferroni) that all of them hold together with 95% confidence. The success of the best
is then between the largest lower end and the largest upper end. The value itself is the largest share, so it favours
the attacker.

Only this module decides which attackers are compared and which is the strongest: Compare, ``calibrate``, the benchmarks
and ``dpt.score`` use it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ..errors import NoDistribution
from ..mechanisms.base import Mechanism
from ..mechanisms.capabilities import require_alignment
from ..privacy.numbers import percent
from ..result import RewriteResult
from ..support.checks import pluralize
from ..support.private import Private
from ..support.statistics import clopper_pearson, standard_error, student
from ..support.task import UNWATCHED, Task
from . import mask_inference, nearest, reader
from .base import TextAttacker, as_rewrites, register
from .prior import public_prior

#: The attackers with their titles, the simplest first: it counts as the strongest in a tie.
ASKED = {
    "same-word": "Same word",
    "nearest-words": "Nearest word",
    "best-guess": "Optimal guess",
    "language-model": "Language model",
    "reader": "Contextual Bayes",
}
#: Maximum number of attacked words of a long text, evenly spaced: each needs a pass of the language model.
WORDS = 40
CONFIDENCE = 0.95


@dataclass(frozen=True)
class StrongestAttack(Private):
    """The strongest attacker. name: from ``ASKED``, or as given. success: the share of words that it recovers. low,
    high: the corrected 95% interval. chance: without the output. words: the number of guesses for each share. shares:
    of every attacker. ends: their corrected intervals. omissions: why others could not run."""

    name: str
    success: float
    low: float
    high: float
    chance: float
    words: int
    shares: Mapping[str, float]
    omissions: Mapping[str, str] = field(default_factory=dict)
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    draws: int | None = None

    _shown: ClassVar[tuple[str, ...]] = ("name", "success", "low", "high", "chance", "words")

    @property
    def title(self) -> str:
        return title(self.name)

    def rows(self) -> list[tuple[str, str]]:
        """Return each attacker with its share."""
        return [(title(name), percent(share)) for name, share in self.shares.items()]

    def sentence(self) -> str:
        """Name the strongest attacker, in plain words."""
        who = f"Of {pluralize(len(self.shares), 'attacker')}, "
        alike = [f"“{title(k)}”" for k, share in self.shares.items() if share == self.success and k != self.name]
        finds = f"“{self.title}” recovers the most"
        if alike:
            finds += f", as {'does' if len(alike) == 1 else 'do'} {' and '.join(alike)}"
        who += finds if self.success else "none recovers anything"
        message = (
            f"{who}: {percent(self.success)} of {pluralize(self.words, 'replaced word')} (95% interval, corrected for "
            f"the choice: {percent(self.low)} to {percent(self.high)}). Always guessing the most frequent word is "
            f"right {percent(self.chance)} of the time."
        )
        for name, why in self.omissions.items():
            message += f" “{title(name)}” was not used: {why}"
        return message


def title(name: str) -> str:
    """Return the title of an attacker by its name."""
    return ASKED.get(name, name)


def strongest(shares: Mapping[str, float]) -> str:
    """Return the name of the strongest attacker, the first one in a tie. Raises ValueError for none."""
    return max(shares, key=shares.__getitem__)


def compare_guesses(
    hits: Mapping[str, Sequence[bool]], chance: float = math.nan, left_out: Mapping[str, str] | None = None
) -> StrongestAttack:
    """Return the strongest attacker by its guesses of the same words. Raises ValueError without a word."""
    shares = {name: float(np.mean(outcomes)) for name, outcomes in hits.items()}
    n = len(next(iter(hits.values())))
    each = 1 - (1 - CONFIDENCE) / len(hits)
    ends = {name: clopper_pearson(float(np.sum(outcomes)), n, each) for name, outcomes in hits.items()}
    name, (low, high) = strongest(shares), np.max(list(ends.values()), axis=0).tolist()
    return StrongestAttack(name, shares[name], low, high, chance, n, shares, left_out or {}, ends)


def compare_texts(hits: Mapping[str, Sequence[Sequence[bool]]], chance: float = math.nan) -> StrongestAttack:
    """Return the strongest attacker over texts: the mean share over texts, with intervals over texts, whose words may
    be correlated. hits: by attacker and text; each text has a word. Raises ValueError without a text."""
    by_text = {name: [float(np.mean(x)) for x in outcomes] for name, outcomes in hits.items()}
    shares = {name: float(np.mean(x)) for name, x in by_text.items()}
    n = len(next(iter(by_text.values())))
    if n < 2:
        return compare_guesses({name: outcomes[0] for name, outcomes in hits.items()}, chance)
    t = student(n, 1 - (1 - CONFIDENCE) / len(hits))
    # Identical texts do not show how far others may differ, so the words are used.
    pooled = compare_guesses(
        {name: [hit for text in outcomes for hit in text] for name, outcomes in hits.items()}, chance
    )
    low, high = 0.0, 0.0
    for name, x in by_text.items():
        error = standard_error(x)
        ends = (shares[name] - t * error, shares[name] + t * error) if error else pooled.ends[name]
        low, high = max(low, ends[0]), max(high, min(1.0, ends[1]))
    name = strongest(shares)
    return StrongestAttack(name, shares[name], low, high, chance, pooled.words, shares)


@dataclass(frozen=True)
class AttackedWords(Private):
    """The guesses of each attacker for the sampled words of one release. places: the attacked steps. words: by
    attacker, its guess for each of them, "" for none. hits: whether they are right. omissions: why other attackers
    could not run.
    """

    places: tuple[int, ...]
    words: Mapping[str, list[str]]
    hits: Mapping[str, list[bool]]
    omissions: Mapping[str, str]

    _shown: ClassVar[tuple[str, ...]] = ()

    @property
    def strongest(self) -> str:
        """Return the name of the attacker that is right most often. Raises ValueError if no word was sampled."""
        return strongest({name: float(np.mean(outcomes)) for name, outcomes in self.hits.items() if outcomes})


def attack_words(
    mechanism: Mechanism,
    result: RewriteResult,
    only: Collection[int] | None = None,
    *,
    quick: bool = False,
    task: Task = UNWATCHED,
) -> AttackedWords:
    """Guess each hidden word of a release by every attacker: the sampled ones and the flagged ones. only: the offsets
    in the original of the words that count, by default all. There are no guesses if none was sampled. quick: skip the
    attackers that read a text several times. Raises NoDistribution if the mechanism writes a new text.
    """
    require_alignment(mechanism)
    steps, hits, left_out = result.steps, dict[str, list[bool]](), dict[str, str]()
    drawn = choose_places([i for i, s in enumerate(steps) if s.is_hidden and (only is None or s.span[0] in only)])
    # An attacker cannot see which of the others were sampled independently, so they are read too.
    places = {*drawn, *choose_places([i for i, s in enumerate(steps) if s.is_sampled and not s.is_hidden])}
    words = {"same-word": [steps[i].replacement for i in drawn]}
    near = {g.step: g for g in nearest.attack(mechanism, result, task=task.quiet).guesses}
    words["nearest-words"] = ["".join(near[i].neighbours[:1]) for i in drawn]
    try:
        if quick:
            raise NoDistribution("It takes longer.")
        readings = {w.step: w for w in reader.read_releases(mechanism, result, only=places, task=task).words}
    except NoDistribution as reason:
        left_out |= dict.fromkeys(("best-guess", "reader"), str(reason))
    else:
        words["best-guess"] = [readings[i].context_free_guess for i in drawn]
    named = {g.step: g for g in mask_inference.attack(mechanism, result, only=drawn, task=task.quiet).guesses}
    words["language-model"] = ["".join(named[i].guesses[:1]) for i in drawn]
    if "reader" not in left_out:
        words["reader"] = [readings[i].word for i in drawn]
    for name, guessed in words.items():
        hits[name] = [word.casefold() == steps[i].original.casefold() for word, i in zip(guessed, drawn, strict=True)]
    # Their own rank of the original counts, if they have one.
    hits["language-model"] = [named[i].rank == 1 for i in drawn]
    if "reader" not in left_out:
        hits["reader"] = [readings[i].rank == 1 for i in drawn]
    return AttackedWords(tuple(drawn), words, hits, left_out)


def guesses(
    mechanism: Mechanism, result: RewriteResult, only: Collection[int] | None = None, *, task: Task = UNWATCHED
) -> tuple[Mapping[str, list[bool]], Mapping[str, str]]:
    """Return whether each attacker recovers each sampled word of a release, by attacker, and why others could not run.

    Parameters and errors as in :func:`attack_words`.
    """
    attacked = attack_words(mechanism, result, only, task=task)
    return attacked.hits, attacked.omissions


def choose_places(places: Sequence[int], most: int = WORDS) -> list[int]:
    """Return at most this many of them, evenly spaced."""
    at = np.unique(np.linspace(0, len(places) - 1, min(most, len(places))).round().astype(int)) if places else ()
    return [places[k] for k in at]


def ask(
    mechanism: Mechanism,
    results: RewriteResult | Sequence[RewriteResult],
    only: Collection[int] | None = None,
    *,
    task: Task = UNWATCHED,
) -> StrongestAttack:
    """Run all attackers on releases, each read separately; their guesses count together.

    Parameters
    ----------
    mechanism
        The mechanism of the releases, with its options and its ε.
    results
        Rewrites, of one text or of several.
    only
        The offsets in the original of the words that count, by default all.
    task
        Receives the progress, and may cancel the work.

    Raises
    ------
    NoDistribution
        The mechanism writes a new text, or no word was sampled.
    ModelUnavailable
        The bundled language model is missing.
    """
    together: dict[str, list[bool]] = {}
    left_out: Mapping[str, str] = {}
    results = as_rewrites(results)
    for k, result in enumerate(results):
        hits, left_out = guesses(mechanism, result, only, task=task.child(k, k + 1, len(results)))
        for name, outcomes in hits.items():
            together.setdefault(name, []).extend(outcomes)
    if not any(together.values()):
        raise NoDistribution("No word of this text was sampled, so there is nothing to guess. Add more words.")
    return compare_guesses(together, public_prior(mechanism).chance, left_out)


def over_texts(mechanism: Mechanism, results: Sequence[RewriteResult], *, task: Task = UNWATCHED) -> StrongestAttack:
    """Run all attackers on a release of each of several texts, with equal weight for each text.

    Parameters
    ----------
    mechanism : Mechanism
    results : sequence of RewriteResult
        Texts without a sampled word are skipped.
    task : Task
        Receives the progress, and may cancel the work.

    Returns
    -------
    Best

    Raises
    ------
    NoDistribution
        No text remains, or the mechanism writes a new text.
    """
    together: dict[str, list[list[bool]]] = {}
    left_out: Mapping[str, str] = {}
    results = as_rewrites(results)
    for k, result in enumerate(results):
        hits, left_out = guesses(mechanism, result, task=task.child(k, k + 1, len(results)))
        for name, outcomes in hits.items():
            if outcomes:
                together.setdefault(name, []).append(outcomes)
    if not together:
        raise NoDistribution("No word of these texts was sampled, so there is nothing to guess. Give other texts.")
    return replace(compare_texts(together, public_prior(mechanism).chance), omissions=left_out)


@register
class StrongestAttacker(TextAttacker):
    """All attackers on single words, applied to a whole text."""

    name = "best"
    title = "Strongest attacker"
    question = "Which attacker on single words recovers the most, and how much?"
    scope = "text"
    needs: ClassVar[tuple[str, ...]] = ("masked language model",)

    def attack(
        self, mechanism: Mechanism, result: RewriteResult, unit: int | None = None, *, task: Task | None = None
    ) -> StrongestAttack:
        self.check(mechanism)
        return ask(mechanism, [result], task=task or UNWATCHED)
