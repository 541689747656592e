"""The utility and privacy of mechanisms on one text over ε, by fresh draws: points as they are measured.

    for point in dpt.tradeoff(text, ["custext", dpt.get_mechanism("custext", k=5)], points=7, draws=5):
        print(point.label, point.epsilon, point.value("cosine").mean, point.value("best").mean)

A point is one setting at one ε with several independent rewrites. Utility is measured on these rewrites (the metrics of
a text). Privacy is the success of the strongest attacker, N_w or the success of the optimal guess, as in
:mod:`dptext_core.measure.calibration`. Or it is how well a rewrite is distinguished from one of a text with another
word (:mod:`dptext_core.attacks.two_texts`), which needs no aligned words. The scores of a text are prepared once per
setting, and settings share them if they need no new pass. The points are for the owner of the text. Viewing them
releases and spends nothing. But a setting chosen by them depends on the private text, and reveals something about it
(docs/tradeoff.md).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..attacks import two_texts, which_text
from ..errors import Cancelled, ConfigError, DPTextError, InputError, NoDistribution
from ..mechanisms import recommended
from ..mechanisms.base import Mechanism, Prepared
from ..mechanisms.registry import accounting_unit
from ..mechanisms.setting import Setting
from ..privacy.sampling import NoiseStream
from ..support.checks import check_whole_number, one_text, shorten_repr, text_list, to_list
from ..support.private import Private
from ..support.statistics import student
from ..support.task import UNWATCHED, Task
from ..text import cells
from .calibration import target_function
from .certainty import Fact, FactReader
from .front import pareto
from .metrics import METRICS, score
from .metrics.registry import Metric
from .metrics.registry import measure as metric_of
from .target_figures import TARGETS, TargetFigure
from .trade_off_settings import POINTS, axes

#: How often a rewrite is distinguished from one of another text.
TOLD = "two_texts"
#: How certain the optimal reader is about one fact.
CERTAINTY = "certainty"
#: Available measures of a point: metrics of its rewrites, figures from probabilities, two texts, and a fact.
MEASURES = (*METRICS, *(t for t in TARGETS if t != "total"), TOLD, CERTAINTY)
#: Default number of rewrites at each point.
DRAWS = 5
#: Points of each setting before a first answer: the middle, both ends, and one between them.
FEWEST = 4
#: Steps of progress per point.

Prepare = Callable[[Mechanism], Prepared]

_BAYES = Metric(
    name="bayes",
    title="Replaced words guessed by the optimal attacker",
    kind="privacy",
    unit="share",
    greater_is_better=False,
    low=0,
    high=1,
    judge="the Bayes-optimal attacker",
    about="How often the optimal guess of a replaced word is right.",
)
_CERTAINTY = replace(
    _BAYES,
    name=CERTAINTY,
    title="Certainty of the optimal reader",
    judge="the optimal reader",
    about="How often the optimal reader, who knows everything else, guesses one fact: the expected posterior.",
)
_OWN = {CERTAINTY: _CERTAINTY, "bayes": _BAYES, "best": replace(metric_of("attack_best"), name="best")}
_OWN[TOLD] = replace(metric_of("attack_two_texts"), name=TOLD)


def metric_info(name: str) -> Metric:
    """Return what is known about a measure."""
    return _OWN.get(name) or metric_of(name)


@dataclass(frozen=True)
class Value:
    """A figure of one point.

    low, high: its 95% interval, itself for an exact figure; for a single draw, all possible values. spread: the
    standard deviation over the draws, None if it is computed. draws: their number, None for exact.
    """

    mean: float
    low: float
    high: float
    spread: float | None = None
    draws: int | None = None


@dataclass(frozen=True)
class TradeOffPoint(Private):
    """One setting at one ε, over several draws with fresh noise.

    setting, index: the numbers of the setting and of its ε in the request. mechanism: at this ε. total: the ε of one
    released rewrite. texts: the rewrites; none for a mean over several texts. scores: for each metric of a text one
    number per draw, or per text. measured: figures from probabilities, and of attackers on rewrites made for them.
    reasons: why a measure is missing. error: why there is no rewrite, if there is none. fact: the fact of "certainty",
    if measured. originals: the number of texts that were rewritten. draws_each: the rewrites of each in a mean.
    """

    setting: int
    mechanism: Mechanism
    total: float = math.nan
    texts: tuple[str, ...] = ()
    scores: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=dict)
    measured: Mapping[str, TargetFigure] = dataclasses.field(default_factory=dict)
    reasons: Mapping[str, str] = dataclasses.field(default_factory=dict)
    error: str = ""
    seed: int | None = None
    index: int = 0
    fact: Fact | None = None
    originals: int = 1
    draws_each: int = 0

    _shown: ClassVar[tuple[str, ...]] = ("setting", "mechanism", "total", "originals", "draws")

    @property
    def draws(self) -> int:
        """Return the number of rewrites of each text."""
        return self.draws_each or len(self.texts)

    @property
    def epsilon(self) -> float:
        return self.mechanism.config.epsilon

    @property
    def label(self) -> str:
        """Return the setting without its ε, in words."""
        return recommended.without_recommended(self.mechanism.setting).label()

    def has(self, name: str) -> bool:
        return name == "epsilon" or name in self.scores or name in self.measured

    def value(self, name: str) -> Value:
        """Return a metric, "best", "n_w", "bayes", "two_texts", "certainty" or "epsilon" of this point.

        Raises NoDistribution, with the reason.
        """
        if name == "epsilon":
            return Value(self.epsilon, self.epsilon, self.epsilon)
        if (value := self.measured.get(name)) is not None:
            return Value(value.value, *value.interval, None, value.draws)
        if name in self.scores:
            return _of_draws(self.scores[name], metric_info(name))
        missing = f"{metric_info(name).title} was not measured here. Choose another figure."
        raise NoDistribution(self.reasons.get(name) or self.error or missing)


def tradeoff(
    text: str | Iterable[str],
    settings: Sequence[Mechanism | Setting | str],
    epsilons: Sequence[float] | None = None,
    draws: int = DRAWS,
    metrics: Sequence[str] = ("cosine", "best"),
    seed: int | None = None,
    *,
    points: int = POINTS,
    fact: str = "",
    alternatives: Sequence[str] | None = None,
    prepare: Prepare | None = None,
    task: Task | None = None,
) -> Iterator[TradeOffPoint]:
    """Yield the points of settings over ε as they are measured: the middle of each axis first, then the gaps.

    Parameters
    ----------
    text : str, or iterable of str
        One text, or several: then a point is the mean over the texts, with an interval over them.
    settings : sequence of Mechanism, Setting or str
        Mechanisms or settings, whose ε does not matter, or names of mechanisms.
    epsilons : sequence of float, optional
        The same for all; by default, ``points`` values on the axis of each mechanism.
    draws : int
        Rewrites at each point.
    metrics : sequence of str
        Of ``MEASURES``.
    seed : int, optional
        Repeats the run: the draws of setting j at its i-th ε are
        ``rewrites(text, draws, stream=NoiseStream(seed).at(j, i))``, those of text k of several
        ``NoiseStream(seed).at("text", k, j, i)``.
    points : int
        Number of ε on an axis.
    fact : str
        The word of the text that "certainty" is about; without it, the rarest content word.
    alternatives : sequence of str, optional
        Alternatives to this word; by default, public ones of its kind.
    prepare : callable, optional
        Prepares a text, if the caller has its scores; called once per setting.
    task : Task, optional
        Receives the progress, and may cancel the work; yielded points remain valid.

    Yields
    ------
    TradeOffPoint
        With an ``error`` if a setting cannot rewrite this text.

    Raises
    ------
    ConfigError
        An argument is invalid, before anything is sampled.
    InputError
        There is no text, or a text is not a str.
    Cancelled
        The task was cancelled.
    """
    is_one = isinstance(text, str | bytes) or not hasattr(type(text), "__iter__")
    several = None if is_one else text_list(text)
    if several == []:
        raise InputError("There are no texts. Give at least one.")
    if several and (fact or prepare):
        raise ConfigError("fact and prepare apply to one text, but there are several. Omit both.")
    only = "" if several else one_text(text)
    at = axes(settings, epsilons, points)
    draws = check_whole_number("draws, the number of rewrites at each point,", draws, least=1)
    names = tuple(dict.fromkeys(to_list(metrics, "metrics")))
    for name in names:
        if name not in MEASURES:
            raise ConfigError(
                f"{shorten_repr(name)} is not a known measure. Use one of {', '.join(MEASURES)}."
            )
    if several:
        return _mean_points(several, at, draws, names, NoiseStream(seed), alternatives, task or UNWATCHED)
    reader = FactReader([axis[0] for axis in at], fact, alternatives=alternatives)
    return _points(only, at, draws, names, NoiseStream(seed), reader, prepare, task or UNWATCHED)


def _points(
    text: str,
    axes: list[list[Mechanism]],
    draws: int,
    names: tuple[str, ...],
    stream: NoiseStream,
    reader: FactReader,
    prepare: Prepare | None,
    task: Task,
) -> Iterator[TradeOffPoint]:
    prepared: dict[tuple, Prepared | str] = {}

    def scores(m: Mechanism) -> Prepared:
        if m.key not in prepared:
            try:
                prepared[m.key] = prepare(m) if prepare else m.prepare(text, task=task.quiet)
            except Cancelled:
                raise
            except DPTextError as error:  # for every ε of the setting: reported at each, tried once
                prepared[m.key] = str(error)
        if isinstance(outcome := prepared[m.key], str):
            raise InputError(outcome)
        return outcome

    order = [(j, i) for i in _from_the_middle(max(map(len, axes))) for j in range(len(axes)) if i < len(axes[j])]
    for n, (j, i) in enumerate(order):
        task.check()

        part = task.child(n, n + 1, len(order))
        place = TradeOffPoint(j, axes[j][i], seed=stream.seed, index=i)
        yield _point(place, draws, names, stream.at(j, i), scores, reader, part)
        part.report(1, 1)


def _mean_points(
    texts: Sequence[str],
    axes: list[list[Mechanism]],
    draws: int,
    names: tuple[str, ...],
    stream: NoiseStream,
    alternatives: Sequence[str] | None,
    task: Task,
) -> Iterator[TradeOffPoint]:
    """Yield each point with its mean over texts, which are measured in sequence."""
    points_at: dict[tuple[int, int], list[TradeOffPoint]] = {}
    for k, text in enumerate(texts):
        reader = FactReader([axis[0] for axis in axes], "", alternatives=alternatives)
        part = task.child(k, k + 1, len(texts))
        for point in _points(text, axes, draws, names, stream.at("text", k), reader, None, part):
            points_at.setdefault((point.setting, point.index), []).append(point)
    for same in points_at.values():
        yield _mean_point(same, stream.seed)


def _mean_point(points: Sequence[TradeOffPoint], seed: int | None) -> TradeOffPoint:
    """Return the mean of one setting at one ε over the texts that have it, with intervals over these."""
    there = [p for p in points if not p.error]
    if not there:
        return dataclasses.replace(points[0], seed=seed)
    scores = {
        name: tuple(float(np.mean(p.scores[name])) for p in there if name in p.scores)
        for name in dict.fromkeys(n for p in there for n in p.scores)
    }
    measured = {}
    for name in dict.fromkeys(n for p in there for n in p.measured):
        values = [p.measured[name].value for p in there if name in p.measured]
        over = _of_draws(values, metric_info(name))
        measured[name] = TargetFigure(over.mean, (over.low, over.high), len(values))
    reasons = {n: why for p in there for n, why in p.reasons.items() if n not in scores and n not in measured}
    total, first = float(np.mean([p.total for p in there])), there[0]
    mean = TradeOffPoint(first.setting, first.mechanism, total, (), scores, measured, reasons, "", seed, first.index)
    return dataclasses.replace(mean, originals=len(there), draws_each=first.draws)


def _point(
    place: TradeOffPoint,
    draws: int,
    names: tuple[str, ...],
    stream: NoiseStream,
    scores: Prepare,
    reader: FactReader,
    task: Task,
) -> TradeOffPoint:
    m = place.mechanism
    try:
        prepared = scores(m)
        results = m.rewrites(prepared, draws, stream=stream, task=task.child(0, draws, draws + 1))
        total = m.guarantee(prepared).total
    except Cancelled:
        raise
    except DPTextError as error:
        return dataclasses.replace(place, error=str(error))
    point = dataclasses.replace(place, total=total, texts=tuple(r.text for r in results))
    return _measure_missing(point, names, prepared, stream, reader, task)


def _measure_missing(
    point: TradeOffPoint, names: Sequence[str], prepared: Prepared, stream: NoiseStream, reader: FactReader, task: Task
) -> TradeOffPoint:
    """Return the point with its missing measures.

    reader: its first setting chooses the other text for all.
    """
    fact = point.fact
    scores, hidden, reasons = dict(point.scores), dict(point.measured), dict(point.reasons)
    for name in names:
        if point.error or point.has(name):
            continue
        try:
            if name in TARGETS:
                figure = target_function(point.mechanism, name, prepared, stream=stream.at(name), task=task.quiet)
                hidden[name] = figure(point.epsilon)
            elif name == TOLD:
                hidden[name] = _measure_distinguishability(
                    point.mechanism, prepared.text, reader.mechanisms[0], stream.at(name), task.quiet
                )
            elif name == CERTAINTY:
                hidden[name] = reader.certainty(point.mechanism, prepared, stream.at(name), task.quiet)
                fact = reader.fact(prepared.text)
            else:
                scores[name] = tuple(score(name, [prepared.text] * len(point.texts), point.texts))
        except Cancelled:
            raise
        except DPTextError as error:
            reasons[name] = str(error)
    return dataclasses.replace(point, scores=scores, measured=hidden, reasons=reasons, fact=fact)


def _measure_distinguishability(
    m: Mechanism, text: str, first: Mechanism, stream: NoiseStream, task: Task
) -> TargetFigure:
    pair = which_text.lineup(first, text, None, 2).texts
    finding = two_texts.measure(m, (pair[0], pair[1]), stream=stream, task=task)
    low, high = map(two_texts.success, finding.interval)
    return TargetFigure(two_texts.success(finding.advantage), (low, high), finding.draws, finding.best.title)


def add_metrics(
    points: Sequence[TradeOffPoint],
    metrics: Sequence[str],
    prepare: Prepare,
    *,
    fact: str = "",
    alternatives: Sequence[str] | None = None,
    task: Task = UNWATCHED,
) -> Iterator[TradeOffPoint]:
    """Yield the same points with more measures, in order: the rewrites are unchanged, nothing is sampled again.

    prepare: returns the prepared text for the setting of a point. fact, alternatives: as in :func:`tradeoff`.
    """
    settings = {p.setting: p.mechanism for p in sorted(points, key=lambda p: p.setting)}
    reader = FactReader(list(settings.values()), fact, alternatives=alternatives)
    for n, point in enumerate(points):
        task.check()
        wanted = [name for name in metrics if not (point.error or point.has(name) or name in point.reasons)]
        stream = NoiseStream(point.seed).at(point.setting, point.index)
        yield _measure_missing(point, wanted, prepare(point.mechanism), stream, reader, task) if wanted else point
        task.report(n + 1, len(points))


def _from_the_middle(n: int) -> list[int]:
    """Return 0 to n − 1: the middle, the ends, then the midpoints of the widest gaps."""
    order = list(dict.fromkeys((n // 2, 0, n - 1)))
    while len(order) < n:
        at = sorted(order)
        gaps = sorted(((b - a, -a) for a, b in itertools.pairwise(at) if b - a > 1), reverse=True)
        order += [-a + gap // 2 for gap, a in gaps]
    return order


def _of_draws(values: Sequence[float], metric: Metric) -> Value:
    """Return mean, Student's 95% interval and standard deviation of independent draws."""
    n, mean = len(values), float(np.mean(values))
    if n == 1:
        return Value(mean, metric.low, metric.high, None, 1)
    # The mean of equal numbers may be an ulp off, which is no spread.
    spread = float(np.std(values, ddof=1)) if np.ptp(values) else 0.0
    half = student(n) * spread / math.sqrt(n)
    return Value(mean, max(metric.low, mean - half), min(metric.high, mean + half), spread, n)


# --- advice -----------------------------------------------------------------------------------------


def utility_sign(name: str) -> int:
    """Return 1 if more of a utility measure is better, −1 if less is. For a privacy measure, less is better."""
    return metric_info(name).better or 1


def describe_privacy(name: str) -> str:
    """Describe in words what a privacy measure counts."""
    return {
        "best": "the strongest attacker recovers a replaced word",
        "n_w": "a word is unchanged",
        "bayes": "the optimal guess of a replaced word is right",
        CERTAINTY: "an optimal reader guesses the fact",
        TOLD: "a classifier of two texts, one word apart, recognises the rewritten one",
        "unchanged": "a word of the text is unchanged",
    }[name]


def pareto_front(points: Sequence[TradeOffPoint], hidden: str, utility: str) -> list[int]:
    """Return the indices of the points that no other one dominates by its means of privacy and utility."""
    at = [i for i, p in enumerate(points) if p.has(hidden) and p.has(utility)]
    where = [(points[i].value(hidden).mean, points[i].value(utility).mean) for i in at]
    return [at[i] for i in pareto(where, (-1, utility_sign(utility)))]


# --- tables ---------------------------------------------------------------------------------------------------


def rows(points: Sequence[TradeOffPoint]) -> list[dict[str, Any]]:
    """Return a row for each point, in order of setting and ε, without any text."""
    names = [n for n in MEASURES if any(p.has(n) for p in points)]
    out = []
    for p in sorted(points, key=lambda p: (p.setting, p.epsilon)):
        row: dict[str, Any] = {
            "mechanism": p.mechanism.name,
            "options": p.mechanism.setting.described(),
            "epsilon": p.epsilon,
            "counts": accounting_unit(p.mechanism.name),
            "total_epsilon": None if math.isnan(p.total) else p.total,
            "texts": p.originals,
            "draws": p.draws,
        }
        for n in names:
            v = p.value(n) if p.has(n) else None
            row[n] = v and v.mean
            row[f"{n}_low"], row[f"{n}_high"] = (v.low, v.high) if v else (None, None)
            if n in ("best", TOLD):
                row[f"{n}_by"] = p.measured[n].by if v else None
            if n in METRICS:
                row[f"{n}_sd"] = v and v.spread
        out.append(row | {"error": p.error})
    return out


def to_csv(points: Sequence[TradeOffPoint]) -> str:
    """Return :func:`rows` as CSV, with six significant digits."""
    formatted = [{k: f"{v:.6g}" if isinstance(v, float) else v for k, v in r.items()} for r in rows(points)]
    return cells.to_csv(formatted) if formatted else ""
