"""The scores of one point: tasks, similarity and slow metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dptext_core.attacks.base import data_attackers
from dptext_core.measure.metrics.registry import TUNED, measure
from dptext_core.support.statistics import standard_error

from ..results.paired_comparison import pack, unpack
from ..results.tasks import BenchTask, tasks_of
from . import tasks
from .original_texts import Originals, guess

#: Number of parts of the test texts for the standard error of corpus BLEU.
_PARTS = 10


_RESAMPLES = 500


@dataclass
class Scores:
    """The scores of one point: value, standard error over the test texts (None: unknown), and number of texts or words.

    Some metrics also have the score of each test text."""

    scores: dict[str, float] = field(default_factory=dict)
    errors: dict[str, float | None] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, str] = field(default_factory=dict)

    def add(self, metric: str, value: float, error: float | None, n: int) -> None:
        if math.isfinite(value):
            self.scores[metric], self.errors[metric], self.counts[metric] = float(value), error, n

    def mean(self, metric: str, values: Sequence[float], keep: bool = False) -> None:
        """Add the mean over texts. keep: whether to store the score of each text."""
        x = np.array([v for v in values if math.isfinite(v)])
        if len(x):
            self.add(metric, x.mean(), standard_error(x), len(x))
            if keep and len(x) == len(values):
                bounds = measure(metric)
                self.outcomes[metric] = pack(x, bounds.low, bounds.high)

    def geometric(self, metric: str, values: Sequence[float]) -> None:
        """Add the geometric mean, which a few extreme texts do not dominate."""
        x = np.log([v for v in values if math.isfinite(v) and v > 0])
        if len(x):
            mean, error = math.exp(x.mean()), standard_error(x)
            self.add(metric, mean, None if error is None else mean * error, len(x))

    def clustered(self, metric: str, values: Sequence[float], owners: Sequence[int], shared: float = 0.0) -> None:
        """Add the mean over words, clustered by text. shared: a common standard error."""
        x, places = np.array(values), np.unique(owners, return_inverse=True)[1]
        off = np.bincount(places, x - x.mean())
        error = float(np.sqrt((off**2).sum() * len(off) / max(1, len(off) - 1)) / len(x))
        self.add(metric, x.mean(), math.hypot(error, shared), len(x))

    def guesses(self, metric: str, plain: str, truth: Sequence[str], guessed: Sequence[str]) -> None:
        """Add the score ``plain`` of predicted labels under the name ``metric``."""
        self.add(metric, tasks.score(plain, truth, guessed), tasks.standard_error(plain, truth, guessed), len(truth))
        self.outcomes[metric] = pack([a == b for a, b in zip(truth, guessed, strict=True)], steps=1)

    def over_guessing(self, metric: str, of: str, floor: float) -> None:
        """Add PP+ of the score ``of`` with the majority class at ``floor``."""
        error = self.errors[of]
        value = tasks.pp_plus(self.scores[of], floor)
        self.add(metric, value, None if error is None else 10_000 * error, self.counts[of])

    def take(self, other: Scores) -> None:
        """Add all scores of another object."""
        for name in ("scores", "errors", "counts", "outcomes"):
            getattr(self, name).update(getattr(other, name))


def add_task_scores(out: Scores, base: Originals, rewrites: Sequence[str], embedded: np.ndarray) -> None:
    """Add utility and privacy of the rewrites, by each classifier."""
    after, before = base.read(rewrites, embedded), base.read(base.flat, base.embedded)
    for judge, x in after.items():
        _add_task_scores(out, base, judge, x, before[judge])


def _add_task_scores(out: Scores, base: Originals, judge: str, x: np.ndarray, x0: np.ndarray) -> None:
    train, test = list(base.data.train), list(base.data.test)
    right: dict[str, np.ndarray] = {}
    for task in tasks_of(base.data.name):
        train_y, test_y = base.labels(task)
        learners = {"": x}
        if task.role == "privacy":
            learners = {f"_{a.name}": a.training_texts(x0, x) for a in data_attackers()}
        for suffix, learnt in learners.items():
            guessed = guess(judge, task, learnt[train], train_y, x[test])
            metric = task.metric + suffix + judge
            out.guesses(metric, task.metric, test_y, guessed)
            right[task.role + suffix] = np.array([a == b for a, b in zip(test_y, guessed, strict=True)], float)
            if task.role == "utility" and task.metric == "f1":
                out.over_guessing("pp_plus" + judge, metric, tasks.majority(train_y, test_y, task.metric))
        plain = base.guessed[task, judge]
        right[task.role + " 0"] = np.array([a == b for a, b in zip(test_y, plain, strict=True)], float)
    if not {"utility", "privacy_static"} <= set(right):
        return
    for suffix in (f"_{a.name}" for a in data_attackers()):
        four = [right["utility"], right["utility 0"], right["privacy" + suffix], right["privacy 0"]]
        _add_gain(out, "relative_gain" + suffix + judge, four)


def _add_gain(out: Scores, metric: str, four: list[np.ndarray]) -> None:
    """Add γ = U_r/U_o − P_r/P_o from correctness per text (n,): utility now and before, attacker now and before."""
    if not all(part.any() for part in four[1::2]):
        return
    n = len(four[0])
    value = tasks.relative_gain(*(float(part.mean()) for part in four))
    # Bootstrap over texts: the four scores of one text belong together.
    weights = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=_RESAMPLES) / n
    u, u0, p, p0 = (weights @ part for part in four)
    some = (u0 > 0) & (p0 > 0)
    spread = (u[some] / u0[some] - p[some] / p0[some]).std(ddof=1)
    out.add(metric, value, float(spread), n)


def add_similarity(out: Scores, base: Originals, embedded: np.ndarray, rewrites: Sequence[str]) -> None:
    """Add the similarity of the rewrites of test texts to their originals."""
    from dptext_core.measure.metrics import bleu, bleu_uncased, chrf, unchanged

    test = base.test
    before, after = [base.flat[i] for i in test], [rewrites[i] for i in test]
    cosines = np.einsum("nd,nd->n", base.embedded[test], embedded[test]).clip(-1, 1)
    out.mean("cosine", cosines.tolist(), keep=True)
    out.mean("unchanged", unchanged.score(before, after))
    out.mean("bleu_uncased", bleu_uncased.score(before, after))
    out.mean("chrf", chrf.score(before, after))
    value, error = bleu.corpus_bleu(before, after), None
    if len(test) >= 5 * _PARTS:
        parts = [bleu.corpus_bleu(before[k::_PARTS], after[k::_PARTS]) for k in range(_PARTS)]
        error = standard_error(parts)
    out.add("bleu", value, error, len(test))


def add_slow_metrics(out: Scores, base: Originals, rewrites: Sequence[str], metrics: Sequence[tuple[str, int]]) -> None:
    """Add the slow metrics, on the first test texts."""
    from dptext_core.measure.metrics import METRICS, score

    for metric, n in metrics:
        if metric in METRICS:
            test = base.test[:n]
            scores = score(metric, [base.flat[i] for i in test], [rewrites[i] for i in test])
            if metric == "lm_perplexity":
                out.geometric(metric, scores)
            else:
                out.mean(metric, scores)


def add_finetuned(
    out: Scores,
    base: Originals,
    rewrites: Sequence[str],
    model: str,
    seed: int,
    plain: dict[BenchTask, list[str]],
) -> dict[BenchTask, list[str]]:
    """Add the utility of an encoder trained on the rewrites, and return its predictions for each task.

    plain: predictions of the encoder trained on unprotected text. They give a relative gain, with the first classifier
    as attacker. Unprotected text itself has none.
    """
    k = base.parts
    texts = [tuple(rewrites[i * k : (i + 1) * k]) for i in range(len(base.data.texts))]
    out_guesses = {}
    for task in tasks_of(base.data.name):
        if task.role == "utility":
            train_y, test_y = base.labels(task)
            train, test = [texts[i] for i in base.data.train], [texts[i] for i in base.data.test]
            out_guesses[task] = tasks.finetune(train, train_y, test, seed=seed, model=model)
            metric = task.metric + TUNED
            out.guesses(metric, task.metric, test_y, out_guesses[task])
            if task.metric == "f1":
                out.over_guessing("pp_plus" + TUNED, metric, tasks.majority(train_y, test_y, task.metric))
            if task in plain:
                rights = [
                    np.array([a == b for a, b in zip(test_y, g, strict=True)], float)
                    for g in (out_guesses[task], plain[task])
                ]
                _add_finetuned_gains(out, base, *rights)
    return out_guesses


def _add_finetuned_gains(out: Scores, base: Originals, now: np.ndarray, before: np.ndarray) -> None:
    """Add relative gains of a trained encoder's utility (correctness per text) over the first classifier's
    attackers."""
    privacy = next((t for t in tasks_of(base.data.name) if t.role == "privacy"), None)
    if privacy is None:
        return
    _, test_y = base.labels(privacy)
    right = np.array([a == b for a, b in zip(test_y, base.guessed[privacy, ""], strict=True)], float)
    for attacker in data_attackers():
        packed = out.outcomes.get(f"{privacy.metric}_{attacker.name}")
        if packed is not None:
            _add_gain(out, f"relative_gain_{attacker.name}{TUNED}", [now, before, unpack(packed), right])
