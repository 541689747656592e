"""Distinguish two texts by their rewrites with classifiers, and bound the ε that this proves.

Both texts are public, and each is rewritten many times. Classifiers learn from one half of the rewrites which text is
the original. The other half, which is held out, measures how often the best one is right. This needs only rewrites, so
it also applies to mechanisms that write a new text, and to plugins:

* words: logistic regression on a bag of words and of pairs of them (TF-IDF);
* form: the same on counts of characters, words, capitals, marks, blanks and lines;
* meaning: the same on sentence vectors (all-MiniLM-L6-v2);
* likelihood: the log-likelihood ratio of a rewrite under the two texts, if the mechanism has a formula. No test is
  better (Neyman and Pearson 1933) if the formula is correct.

A test says "the first text" for a share TPR of the rewrites of the first text and FPR of those of the other. Under
(ε, δ)-DP TPR ≤ e^ε·FPR + δ and 1 − FPR ≤ e^ε·(1 − TPR) + δ, so that

    ε ≥ ln max((TPR⁻ − δ)/FPR⁺, (1 − FPR⁺ − δ)/(1 − TPR⁻))

with the Clopper-Pearson bounds TPR⁻ and FPR⁺, each at half of 1 − confidence. Classifier and threshold are chosen on
the first half alone, by cross-validated scores. Only one test then uses the second half, which corrects for the choice.
The advantage, TPR − FPR, is the gain over a coin.

This bound is measured: more draws, or a better classifier, may find more. It does not apply to other texts, and is not
a guarantee.

References
----------
Jagielski, Ullman and Oprea, Auditing Differentially Private Machine Learning: How Private is Private SGD? (NeurIPS
2020): the bound of ε by Clopper and Pearson. Kairouz, Oh and Viswanath (2015): (ε, δ)-DP as a region of TPR and FPR.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError, NoDistribution
from ..mechanisms.base import Mechanism, Prepared
from ..privacy.numbers import at_least, bound, percent, with_minus
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult
from ..support.checks import check_whole_number, real, to_list
from ..support.private import Private
from ..support.statistics import lower_limit, upper_limit
from ..support.task import UNWATCHED, Task
from . import which_text
from .base import TextAttacker, register
from .classifier_scores import ClassifierScore, _at_its_best, _epsilon, _provable, _Scores, _scores
from .text_classifiers import CLASSIFIERS
from .trade_off_curve import TradeOffCurve, trade_off_curve

#: Default number of rewrites of each text; and for mechanisms that write with a language model, which are slow.
DRAWS, DRAWS_OF_WRITERS = 200, 40
#: Minimum number of rewrites for training and testing; and the maximum.
FEWEST, MOST = 20, 20_000


@dataclass(frozen=True)
class Pair:
    """Two public texts. distance: how much they differ, one of ``DISTANCES``."""

    distance: str
    first: str
    second: str


DISTANCES = ("one word", "one sentence", "another text")
#: Written for this program.
PAIRS = (
    Pair(
        "one word",
        "My doctor told me to take the medicine before dinner.",
        "My lawyer told me to take the medicine before dinner.",
    ),
    Pair(
        "one sentence",
        "We met at the station at noon. The train to the coast was late again.",
        "We met at the station at noon. My sister has been ill since the summer.",
    ),
    Pair(
        "another text",
        "The film was boring, but the music was wonderful.",
        "Please cancel my order and send the refund to my bank account.",
    ),
)


@dataclass(frozen=True)
class DistinguishabilityFinding(Private):
    """How well two texts are distinguished by their rewrites, and the ε that this proves.

    texts: the two. draws: number of rewrites of each. test_draws: the held-out ones of each. classifiers: all of them,
    each at its own threshold. best: the best one on the first half. advantage: of the best, with its interval (low,
    high) at ``confidence``. epsilon: the lower bound on ε between the two texts, at the same confidence. proven_by: the
    title of the classifier behind it. largest_bound: the largest bound that this many draws can show. allowed_loss: the
    loss that the guarantee allows, ∞ if it does not compare them. delta: its δ. distance: how much the texts differ, if
    stated. missing: unusable classifiers, with the reason. curve: the detections of the optimal reader of one release,
    if :func:`with_curve` added it.
    """

    texts: tuple[str, str]
    draws: int
    test_draws: int
    classifiers: tuple[ClassifierScore, ...]
    best: ClassifierScore
    interval: tuple[float, float]
    epsilon: float
    proven_by: str
    largest_bound: float
    allowed_loss: float
    delta: float
    confidence: float
    distance: str = ""
    missing: Mapping[str, str] | None = None
    curve: TradeOffCurve | None = None

    _shown: ClassVar[tuple[str, ...]] = ("draws", "test_draws", "epsilon", "allowed_loss", "confidence")

    @property
    def advantage(self) -> float:
        """Return TPR − FPR of the best classifier."""
        return self.best.advantage

    @property
    def success(self) -> float:
        """Return how often the best classifier is right if both texts are equally likely."""
        return (1 + self.advantage) / 2

    @property
    def chance(self) -> float:
        """Return how often a coin is right."""
        return 0.5

    @property
    def exceeds(self) -> bool:
        """Return True if the guarantee between the two texts is violated at this confidence."""
        return self.epsilon > self.allowed_loss

    def to_dict(self) -> dict[str, Any]:
        """Return all figures, without the texts."""
        return {
            "distance": self.distance,
            "draws": self.draws,
            "tested": self.test_draws,
            "advantage": self.advantage,
            "low": self.interval[0],
            "high": self.interval[1],
            "by": self.best.title,
            "epsilon_least": self.epsilon,
            "most": self.largest_bound,
            "promised": self.allowed_loss if math.isfinite(self.allowed_loss) else None,
            "delta": self.delta,
            "confidence": self.confidence,
            "classifiers": [{"name": c.name, "tpr": c.tpr, "fpr": c.fpr} for c in self.classifiers],
        } | ({} if self.curve is None else {"curve": self.curve.to_dict()})

    def rows(self) -> list[tuple[str, str]]:
        """Return each classifier with its advantage."""
        return [
            (
                c.title,
                with_minus(
                    f"{c.advantage:+.2f} (names the first text for {percent(c.tpr)} of its rewrites and "
                    f"{percent(c.fpr)} of the others)"
                ),
            )
            for c in self.classifiers
        ]

    def sentence(self) -> str:
        """Return the finding in plain words."""
        low, high = self.interval
        sure = f"{self.confidence:.0%}"
        message = with_minus(
            f"An attacker trains on {self.draws - self.test_draws:,} rewrites of each text and names the source of a "
            f"fresh rewrite. The answer is right {percent(self.success)} of the time (guessing: 50%). The advantage is "
            f"{self.advantage:.2f} ({sure} interval {low:.2f} to {high:.2f}; {self.best.title}). "
        )
        if self.epsilon > 0:
            how = "at least " + at_least(self.epsilon)
            message += f"So ε between these two texts is {how} ({sure} confidence; {self.proven_by}). "
        else:
            message += "This does not prove any ε above 0. "
        message += f"This number of draws can prove at most ε = {at_least(self.largest_bound)}. "
        if self.exceeds:
            message += f"The proven ε exceeds the guaranteed {bound(self.allowed_loss)}: the guarantee is violated."
        elif math.isfinite(self.allowed_loss):
            message += f"The guarantee between the texts is at most ε = {bound(self.allowed_loss)}. "
        else:
            message += "There is no guarantee between the texts. "
        if not self.exceeds:
            message += "This is a measured lower bound, not a guarantee: other attackers may find more."
        return message if self.curve is None else f"{message.rstrip()} {self.curve.sentence()}"


def with_curve(
    finding: DistinguishabilityFinding, mechanism: Mechanism, task: Task = UNWATCHED
) -> DistinguishabilityFinding:
    """Add the exact trade-off curve of the two texts, if the mechanism has one."""
    try:
        return replace(finding, curve=trade_off_curve(mechanism, *finding.texts, task=task.quiet))
    except NoDistribution:
        return finding


def success(advantage: float) -> float:
    """Return how often the text is identified; a negative advantage counts as chance."""
    return (1 + max(0.0, advantage)) / 2


# --- classifiers


def default_rewrites(mechanism: Mechanism) -> int:
    """Return the default number of rewrites of each text: fewer if each takes model passes."""
    return DRAWS_OF_WRITERS if "language model" in mechanism.needs else DRAWS


# --- the measurement


def measure(
    mechanism: Mechanism,
    pair: Pair | tuple[str, str],
    draws: int | None = None,
    *,
    classifiers: Sequence[str] = tuple(CLASSIFIERS),
    confidence: float = 0.95,
    stream: NoiseStream | None = None,
    task: Task = UNWATCHED,
) -> DistinguishabilityFinding:
    """Measure how well two texts are distinguished by many rewrites of each.

    Parameters
    ----------
    mechanism
        Any, with its options and its ε.
    pair
        Two different texts; all results apply to these two alone.
    draws
        Number of rewrites of each text, 20 to 20,000; half of them train, half of them test. None: 200, or 40 if a
        language model writes.
    classifiers
        Names from ``CLASSIFIERS``. The likelihood is skipped for mechanisms without a formula.
    confidence
        Confidence of the bound and of the interval, separately; at least 0.5 and below 1.
    stream
        The noise; by default, fresh noise.
    task
        Receives the progress, and may cancel the work.

    Returns
    -------
    TwoTexts
        The advantage, and the lower bound on ε.

    Raises
    ------
    InputError
        The pair is no pair of texts, or its texts are equal; there are too many draws; a classifier is unknown; or
        rewrites share their noise.
    ConfigError
        There are too few draws, or the confidence is not a number.
    ModelUnavailable
        The model of the sentence vectors is requested but missing.
    """
    one, other = _checked_pair(pair)
    n = _checked_number(draws, mechanism)
    if not 0.5 <= real("confidence", confidence) < 1:
        raise InputError(f"confidence must be at least 0.5 and below 1, not {confidence:g}.")
    wanted = to_list(classifiers, "classifiers")
    if not wanted or not set(wanted) <= set(CLASSIFIERS):
        raise InputError(f"There is no such classifier. Choose from {', '.join(CLASSIFIERS)}.")
    prepared = [mechanism.prepare(t, task=task.quiet) for t in (one, other)]
    results = _rewrites(mechanism, prepared, n, stream or NoiseStream(), task)
    finding = _compare_rewrites(mechanism, prepared, results, wanted, confidence, task)
    return replace(finding, texts=(one, other), distance=pair.distance if isinstance(pair, Pair) else "")


def _compare_rewrites(
    mechanism: Mechanism,
    prepared: Sequence[Prepared],
    results: Sequence[Sequence[RewriteResult]],
    wanted: Sequence[str],
    confidence: float,
    task: Task,
) -> DistinguishabilityFinding:
    """Return how well classifiers distinguish the rewrites of two texts, and the lower bound on ε."""
    n = len(results[0])
    learnt, tested = n - n // 2, n // 2
    scores, missing = _scores(mechanism, prepared, results, learnt, wanted, task.child(0.8, 1))
    if not scores:
        raise NoDistribution(" ".join(dict.fromkeys(missing.values())))
    tail, delta = (1 - confidence) / 2, max(mechanism.guarantee(p).total_delta for p in prepared)
    scored = {name: _at_its_best(s, name) for name, s in scores.items()}
    best = max(scored.values(), key=lambda c: c.train_advantage)
    epsilon, proven_by = _epsilon_bound(scores, tested, tail, delta)
    return DistinguishabilityFinding(
        texts=(prepared[0].text, prepared[1].text),
        draws=n,
        test_draws=tested,
        classifiers=tuple(scored.values()),
        best=best,
        interval=_interval(best, tested, tail),
        epsilon=epsilon,
        proven_by=proven_by,
        largest_bound=float(_epsilon(np.array(tested), np.array(0), tested, tail, delta)),
        allowed_loss=guaranteed_loss(mechanism, prepared),
        delta=delta,
        confidence=confidence,
        missing=missing,
    )


def _checked_pair(pair: Pair | tuple[str, str]) -> tuple[str, str]:
    """Return two different texts, or raise InputError."""
    texts = [pair.first, pair.second] if isinstance(pair, Pair) else to_list(pair)
    if len(texts) != 2 or not all(isinstance(t, str) for t in texts):
        raise InputError("This attack compares two texts. Give a pair of texts.")
    one, other = texts
    if one == other:
        raise InputError("The two texts are the same, so nothing distinguishes them. Give another one.")
    return one, other


def _checked_number(draws: int | None, mechanism: Mechanism) -> int:
    """Return the number of rewrites of each text, or raise ConfigError or InputError."""
    n = check_whole_number(
        "The number of rewrites of each text", default_rewrites(mechanism) if draws is None else draws, least=FEWEST
    )
    if n > MOST:
        raise InputError(f"Each text can be rewritten at most {MOST:,} times, not {n:,}. Choose fewer.")
    return n


def _rewrites(
    mechanism: Mechanism, prepared: Sequence[Prepared], n: int, stream: NoiseStream, task: Task
) -> list[list[RewriteResult]]:
    """Return n rewrites of each text. Raise InputError if they share their noise."""
    results: list[list[RewriteResult]] = []
    for k, p in enumerate(prepared):
        results.append(mechanism.rewrites(p, n, stream=stream.at(k), task=task.child(0.4 * k, 0.4 * (k + 1))))
        if len({r.noise_id for r in results[k]}) < n:
            raise InputError(f"{mechanism.title} gives rewrites of one text the same noise. Choose another strategy.")
    return results


def _interval(best: ClassifierScore, tested: int, tail: float) -> tuple[float, float]:
    """Return the confidence interval of a classifier's advantage."""
    least, largest = (
        [edge(round(share * tested), tested, tail / 2) for share in (best.tpr, best.fpr)]
        for edge in (lower_limit, upper_limit)
    )
    return float(least[0] - largest[1]), float(largest[0] - least[1])


def _epsilon_bound(scores: Mapping[str, _Scores], tested: int, tail: float, delta: float) -> tuple[float, str]:
    """Return the lower bound on ε, and the title of the classifier that proves it."""
    # The test with the largest bound on the first half is run once, on the second.
    _, name, threshold = max(_provable(s, name, tail, delta) for name, s in scores.items())
    hits = [int((s >= threshold).sum()) for s in scores[name].test]
    epsilon = float(_epsilon(np.array(hits[0]), np.array(hits[1]), tested, tail, delta))
    return epsilon, CLASSIFIERS[name][0]


def guaranteed_loss(mechanism: Mechanism, prepared: Sequence[Prepared]) -> float:
    """Return the largest loss that the guarantee allows between two texts; ∞ without a guarantee."""
    if any(mechanism.guarantee(p).notion == "none" for p in prepared):
        return math.inf
    return which_text.guaranteed_loss(mechanism, *prepared)


@register
class TwoTextsAttacker(TextAttacker):
    """The attack that distinguishes a text from another one."""

    name = "two-texts"
    title = "Two texts"
    question = "How well do rewrites distinguish two texts, and which ε does that prove?"
    scope = "text"
    needs: ClassVar[tuple[str, ...]] = ("sentence encoder",)
    takes = ("word", "candidates", "draws")

    def check(self, mechanism: Mechanism) -> None:
        """Accept every mechanism, since all have rewrites."""

    def attack(
        self,
        mechanism: Mechanism,
        result: RewriteResult,
        unit: int | None = None,
        *,
        word: str | None = None,
        candidates: Sequence[str] | None = None,
        draws: int | None = None,
        task: Task | None = None,
    ) -> DistinguishabilityFinding:
        """Attack one text. word: the word that the other text replaces by a similar one; by default, the rarest content
        word. candidates: the other text, in a list of one. draws: rewrites of each text."""
        if word is not None and candidates is not None:
            raise InputError("Both a word to exchange and another text are given. Give only one.")
        if candidates is None:
            one, other = which_text.lineup(mechanism, result.original, word, 2).texts
        else:
            one, *others = which_text.listed_lineup(result.original, candidates).texts
            if len(others) > 1:
                raise InputError(f"This attack compares two texts. Give one other text, not {len(others):,}.")
            (other,) = others
        task = task or UNWATCHED
        return with_curve(measure(mechanism, (one, other), draws, task=task), mechanism, task)
