"""Scores of held-out rewrites by each classifier, and the thresholds chosen from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import NoDistribution
from ..mechanisms.base import Mechanism, Prepared
from ..mechanisms.likelihood import require_likelihood
from ..result import RewriteResult
from ..support.statistics import lower_limit, upper_limit
from ..support.task import Task
from .text_classifiers import CLASSIFIERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Number of folds of the training rewrites, each scored by a classifier trained on the others.
FOLDS = 5
#: Maximum likelihood ratio (nats): a rewrite that the other text cannot produce has an infinite one.
_CERTAIN = 1e6


@dataclass(frozen=True)
class ClassifierScore:
    """One classifier on held-out rewrites. tpr, fpr: how often it says "the first text" for rewrites of the first and
    of the other. train_advantage: its cross-validated advantage on the training rewrites."""

    name: str
    title: str
    tpr: float
    fpr: float
    train_advantage: float

    @property
    def advantage(self) -> float:
        """Return how much more often it says "the first text" when that is right."""
        return self.tpr - self.fpr


@dataclass(frozen=True)
class _Scores:
    """Scores of the rewrites of the first text and of the other, (n,) each: cross-validated training scores, and test
    scores."""

    train: tuple[NDArray[np.float64], NDArray[np.float64]]
    test: tuple[NDArray[np.float64], NDArray[np.float64]]


def _scores(
    mechanism: Mechanism,
    prepared: Sequence[Prepared],
    results: Sequence[Sequence[RewriteResult]],
    learnt: int,
    wanted: Sequence[str],
    task: Task,
) -> tuple[dict[str, _Scores], dict[str, str]]:
    """Return the scores by every usable classifier, and why the others are unusable."""
    texts = [[r.text for r in every] for every in results]
    out: dict[str, _Scores] = {}
    missing: dict[str, str] = {}
    for k, name in enumerate(wanted):
        task.check()
        classify = CLASSIFIERS[name][1]
        if classify is None:
            try:
                ratio = _log_ratio(mechanism, prepared, results, task.child(k, k + 1, len(wanted)))
            except NoDistribution as reason:
                missing[name] = str(reason)
                continue
            out[name] = _Scores((ratio[0][:learnt], ratio[1][:learnt]), (ratio[0][learnt:], ratio[1][learnt:]))
        else:
            given: list[Sequence[Any]] = list(texts)
            if name == "meaning":
                from ..models.sentence_encoder import embed

                given = [list(embed(every)) for every in texts]
            out[name] = _held_out(classify, given, learnt)
        task.report(k + 1, len(wanted))
    return out, missing


def _held_out(classify: Callable[..., NDArray[np.float64]], given: Sequence[Sequence[Any]], learnt: int) -> _Scores:
    """Return held-out scores: cross-validated in FOLDS parts for the first half, and trained on all of it for the
    second."""
    train = [*given[0][:learnt], *given[1][:learnt]]
    labels = np.repeat([1, 0], learnt)
    part = np.tile(np.arange(learnt) % FOLDS, 2)
    left_out = np.zeros(2 * learnt)
    for k in range(FOLDS):
        others, fold = np.flatnonzero(part != k), np.flatnonzero(part == k)
        left_out[fold] = classify([train[i] for i in others], labels[others], [train[i] for i in fold])
    test = classify(train, labels, [*given[0][learnt:], *given[1][learnt:]])
    middle = len(given[0]) - learnt
    return _Scores((left_out[:learnt], left_out[learnt:]), (test[:middle], test[middle:]))


def _log_ratio(
    mechanism: Mechanism, prepared: Sequence[Prepared], results: Sequence[Sequence[RewriteResult]], task: Task
) -> list[NDArray[np.float64]]:
    """Return the log-likelihood ratio of each rewrite under the first text and under the other, (n,) for each text."""
    every = [r for some in results for r in some]
    log_p = require_likelihood(mechanism).log(prepared, every, task=task)
    with np.errstate(invalid="ignore"):
        ratio = np.nan_to_num(log_p[0] - log_p[1], nan=0.0, posinf=_CERTAIN, neginf=-_CERTAIN)
    return [ratio[: len(results[0])], ratio[len(results[0]) :]]


def _thresholds(scores: tuple[NDArray[np.float64], NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return every threshold that splits these scores differently."""
    values = np.unique(np.concatenate(scores))
    return np.concatenate([values[:1] - 1, (values[:-1] + values[1:]) / 2])


def _counts(scores: tuple[NDArray[np.float64], NDArray[np.float64]], at: NDArray[np.float64]) -> list[NDArray]:
    """Return how many scores of each text reach each threshold."""
    return [len(s) - np.searchsorted(np.sort(s), at, side="left") for s in scores]


def _at_its_best(scores: _Scores, name: str) -> ClassifierScore:
    """Return the classifier's results on the second half, at the threshold of its largest advantage on the first
    half."""
    at = _thresholds(scores.train)
    hits, others = _counts(scores.train, at)
    gain = hits - others
    threshold = at[int(np.argmax(gain))]
    tpr, fpr = (float((s >= threshold).mean()) for s in scores.test)
    return ClassifierScore(name, CLASSIFIERS[name][0], tpr, fpr, float(gain.max() / len(scores.train[0])))


def _provable(scores: _Scores, name: str, tail: float, delta: float) -> tuple[float, str, float]:
    """Return the largest bound on the first half, with its classifier and threshold."""
    at = _thresholds(scores.train)
    hits, others = _counts(scores.train, at)
    bound = _epsilon(hits, others, len(scores.train[0]), tail, delta)
    k = int(np.argmax(bound))
    return float(bound[k]), name, float(at[k])


def _epsilon(hits: NDArray, others: NDArray, n: int, tail: float, delta: float) -> NDArray[np.float64]:
    """Return the lower bound on ε if ``hits`` of n rewrites of the first text and ``others`` of the second are
    classified as the first; 0 for no bound. Each of the two rates is bounded at level ``tail``."""
    tpr, fpr = lower_limit(hits, n, tail), upper_limit(others, n, tail)
    ratio = np.maximum((tpr - delta) / fpr, (1 - fpr - delta) / (1 - tpr))
    return np.log(np.maximum(ratio, 1.0))
