"""Equal privacy, not equal ε: the ε at which a mechanism reaches a target of measured privacy.

    calibrate(mechanism, {"n_w": 0.5}, text=text).epsilon

Targets: "best", how often the strongest attacker on single words recovers a replaced word (``attacks.best``); "n_w",
the mean probability that a word is unchanged (1-Diffractor paper, Section 5.1); "bayes", how often the Bayes-optimal
guess of a word from its replacement is right (``attacks.bayes``); "total", the budget of the whole text; "certainty"
about a fact and "meaning" (:mod:`.text_targets`). N_w and the attacker's success grow with ε, so that bisection finds
the ε. N_w of a language model may fall again; then an ε where it rises is returned. Estimates use the same draws at
every ε. This compares mechanisms whose ε cannot be compared (the question of that paper's Section 5.3).

"bayes" on a text: the share of its sampled words guessed by an attacker who considers every word of the vocabulary,
with its public frequency. It is exact; if words have many outputs, draws show where to search. The best guess for an
output changes at some ε, and the figure jumps there: then the nearest reachable value is returned.

"n_w" if words are sampled in sequence (DP-MLM's Algorithm 2): the mean over a few rewrites, with the same noise at
every ε, of each word's probability given the words released before it; with its interval, and ε to a factor of 1.1.

"best" on a text: every attacker reads rewrites of it, with the same noise at every ε. The figure is the result of these
few guesses, with its interval. The search ends when it is within one of the text's words of the target, or ε is known
to a tenth. On a list of words: ``attacks.bayes.expected_success``, which knows that the word is on the list; a list
much smaller than the vocabulary makes guessing easy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ConfigError, InputError, NoDistribution
from ..mechanisms.base import Mechanism, Prepared, check_mechanism
from ..privacy.numbers import bound, number, round_directed
from ..privacy.sampling import NoiseStream
from ..support.checks import real, shorten_repr, to_list
from ..support.task import UNWATCHED, Task
from .target_figures import TARGETS, TargetFigure, _common, _in_turn, _Inputs, _inputs, _measure, _refine_exactly
from .text_targets import TEXT_TARGETS, is_within, text_target

#: All targets with their names in sentences.
_NAMES = TARGETS | TEXT_TARGETS
#: The range in which ε is searched.
LOW = 0.01
#: Maximum steps of bisection: 45 leave a factor of 1 + 3e-13 between the ends of the search.
STEPS = 45
#: Points at which ε is tried first if the ends do not show whether a target can be reached; and the points for targets
#: that all attackers read.
GRID, READ_GRID = 24, 8
#: Precision of ε, as a factor, for targets from guesses on rewrites, and for a reader's posteriors.
_READ_APART, _POSTERIORS_APART = 1.1, 1.02


@dataclass(frozen=True)
class Calibration:
    """The ε at which a mechanism reaches a target.

    Attributes
    ----------
    mechanism : Mechanism
    kind : {"best", "n_w", "bayes", "total", "certainty", "meaning"}
    target : float
        The requested value.
    epsilon : float or None
        None if it cannot be reached, for a ``reason``; only :func:`equal_privacy` returns these.
    reached : float
        The measured value at this ε.
    interval : (float, float)
        The 95% interval of ``reached``; the value itself for an exact figure.
    draws : int or None
        Draws of each word's estimate, or of all words if they are sampled in sequence; None for exact.
    words : int
        Number of sampled words.
    steps : int
        Number of measured ε.
    reachable : (float, float)
        The measured range of the figure.
    by : str
        The attacker, for "best".
    guesses : int or None
        Number of guesses, for "best".
    """

    mechanism: Mechanism
    kind: str
    target: float
    epsilon: float | None
    reached: float
    interval: tuple[float, float]
    draws: int | None
    words: int
    steps: int
    reachable: tuple[float, float]
    reason: str = ""
    by: str = ""
    guesses: int | None = None

    @property
    def calibrated(self) -> Mechanism:
        """Return the mechanism at this ε. Raises InputError if there is none."""
        if self.epsilon is None:
            raise InputError(self.reason)
        return self.mechanism.replace(epsilon=self.epsilon)

    def sentence(self) -> str:
        """Return the result in plain words."""
        if self.epsilon is None:
            return self.reason
        low, high = (_format_target(self.kind, end) for end in self.interval)
        how = "" if self.draws is None else f", 95% interval {low} to {high}"
        if self.by:
            from ..attacks.best import title

            how = f"; by “{title(self.by)}”{how}"
        over = f" ({self.words:,} {'word' if self.words == 1 else 'words'}{how})" if self.words else ""
        if self.kind in TEXT_TARGETS:
            over = f" ({how.removeprefix(', ')})" if how else ""
        epsilon_text = number(self.epsilon)
        if self.kind == "bayes":  # the figure may jump next to this ε: more digits
            epsilon_text = f"{round_directed(self.epsilon, 6, up=self.reached > self.target):,g}"
        if self.kind in TEXT_TARGETS:
            epsilon_text = f"{round_directed(self.epsilon, 4, up=self.kind == 'meaning'):,g}"
        return (
            f"{self.mechanism.title}: at ε = {epsilon_text}, the {_NAMES[self.kind]} is "
            f"{_format_target(self.kind, self.reached)}{over}."
        )


def calibrate(
    mechanism: Mechanism,
    target: Mapping[str, float],
    *,
    text: str | Prepared | None = None,
    words: Sequence[str] | None = None,
    fact: str | tuple[int, int] | None = None,
    alternatives: Sequence[str] | None = None,
    task: Task | None = None,
) -> Calibration:
    """Return the ε, one for all words, at which the mechanism reaches the target on a text or on a list of words.

    Parameters
    ----------
    mechanism : Mechanism
        Its ε does not matter.
    target : mapping
        One of ``{"best": 0.3}``, ``{"n_w": 0.5}``, ``{"bayes": 0.3}`` and ``{"total": 100}``; or, on a text,
        ``{"certainty": 0.5}``, at most, of the optimal reader about a fact (``attacks.belief``), and
        ``{"meaning": 0.8}``, the cosine to the original, at least.
    text : str or Prepared, optional
        Its sampled words count, each as often as it occurs; DP-MLM's probabilities are those given the original.
    words : sequence of str, optional
        Each counts once; word mechanisms only.
    fact, alternatives : optional
        For "certainty", as in :func:`~dptext_core.attacks.belief.belief`.
    task : Task, optional
        Receives the progress, and may cancel the work.

    Returns
    -------
    Calibration

    Raises
    ------
    InputError
        The target cannot be reached (the message states the reachable range), or no word is sampled.
    ConfigError
        The target is unknown.
    NoDistribution
        Nothing can be measured.
    """
    kind, value = _target(target, _NAMES)
    check_mechanism(mechanism)
    task, plain, measure = task or UNWATCHED, mechanism.replace(epsilon=1.0), None
    if kind in TEXT_TARGETS:
        inputs, measure = text_target(plain, kind, text, fact, alternatives, task)
    elif fact is not None or alternatives is not None:
        raise ConfigError(f"The target {kind} is not about one fact. Omit fact and alternatives.")
    else:
        inputs = _inputs(mechanism, kind, text, words)
    calibration = _search(plain, kind, value, inputs, task, measure=measure)
    task.report(1, 1)  # the search may end early
    if calibration.epsilon is None:
        raise InputError(calibration.reason)
    return calibration


def target_function(
    mechanism: Mechanism, kind: str, text: str | Prepared, *, stream: NoiseStream | None = None, task: Task = UNWATCHED
) -> Callable[[float], TargetFigure]:
    """Return a target's figure on a text as a function of ε, which :func:`calibrate` searches.

    stream: noise for estimates, fresh by default. Raises InputError if no word is sampled, and NoDistribution if
    nothing can be measured.
    """
    check_mechanism(mechanism)
    _check_target(kind)
    plain = mechanism.replace(epsilon=1.0)
    return _measure(plain, kind, _inputs(plain, kind, text, None), task, stream)


def measured_together(
    mechanisms: Sequence[Mechanism], kind: str, text: str | Sequence[Prepared], *, task: Task = UNWATCHED
) -> list[TargetFigure | str]:
    """Return the figure of each mechanism at its own ε, over the words that all of them sample, or the reason for none.

    text: the text, or its preparation by each of the mechanisms. Raises InputError if there is no such word.
    """
    _check_target(kind)
    inputs: list[_Inputs | None] = []
    out: list[TargetFigure | str] = [""] * len(mechanisms)
    texts: Sequence[str | Prepared] = [text] * len(mechanisms) if isinstance(text, str) else text
    for i, (m, each) in enumerate(zip(mechanisms, texts, strict=True)):
        try:
            inputs.append(_inputs(m, kind, each, None))
        except NoDistribution as reason:
            inputs.append(None)
            out[i] = str(reason)
    for i, given in enumerate(_common(inputs)):
        if given is not None:
            m = mechanisms[i]
            part = task.child(i, i + 1, len(mechanisms))
            out[i] = _measure(m.replace(epsilon=1.0), kind, given, part)(m.config.epsilon)
            part.report(1, 1)
    return out


def equal_privacy(
    mechanisms: Sequence[Mechanism],
    target: Mapping[str, float] | str,
    *,
    text: str | Sequence[Prepared] | None = None,
    words: Sequence[str] | None = None,
    tolerance: float = 1e-9,
    task: Task | None = None,
) -> list[Calibration]:
    """Return each mechanism's ε at the same measured privacy, in order, over the words that all of them sample.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
    target : mapping or str
        As for :func:`calibrate`; or its name alone, for the value of the first mechanism at its own ε.
    text : str or sequence of Prepared, optional
        The text, or its preparation by each of the mechanisms.
    words : sequence of str, optional
        As for :func:`calibrate`.
    tolerance : float
        The largest allowed distance from the target.
    task : Task, optional
        Receives the progress, and may cancel the work.

    Returns
    -------
    list of Calibration
        One that cannot reach the target has ``epsilon`` None and a reason.

    Raises
    ------
    InputError
        There is no word that all of them sample.
    """
    task = task or UNWATCHED
    mechanisms = to_list(mechanisms, "mechanisms")
    texts = _text_of_each(mechanisms, text)
    if isinstance(target, str):
        _check_target(target)
    kind = target if isinstance(target, str) else _target(target)[0]
    plain = [m.replace(epsilon=1.0) for m in mechanisms]
    inputs, reasons = _inputs_of_each(plain, kind, texts, words)
    out: list[Calibration] = []
    if isinstance(target, str):
        epsilon = mechanisms[0].config.epsilon
        if not isinstance(epsilon, float):
            raise ConfigError("The first mechanism has one ε per token. Give the target as a number.")
        if inputs[0] is None:
            raise NoDistribution(reasons[0])
        out.append(_at_own_epsilon(plain[0], kind, epsilon, inputs[0], task))
        value = out[0].reached
        task.child(0, 1, len(plain)).report(1, 1)
    else:
        _, value = _target(target)
    for i, (m, given) in list(enumerate(zip(plain, inputs, strict=True)))[len(out) :]:
        part = task.child(i, i + 1, len(plain))
        out.append(_search_or_reason(m, kind, value, given, reasons[i], part, tolerance))
        part.report(1, 1)
    return out


def _search_or_reason(
    m: Mechanism, kind: str, value: float, given: _Inputs | None, reason: str, task: Task, tolerance: float
) -> Calibration:
    """Return the ε of one mechanism, or the reason why it has none."""
    try:
        if given is None:
            raise NoDistribution(reason)
        return _search(m, kind, value, given, task, tolerance)
    except NoDistribution as error:
        nothing, words_there = (math.nan, math.nan), 0 if given is None else len(given)
        return Calibration(m, kind, value, None, math.nan, nothing, None, words_there, 0, nothing, str(error))


def _text_of_each(
    mechanisms: Sequence[Mechanism], text: str | Sequence[Prepared] | None
) -> Sequence[str | Prepared | None]:
    """Return the text that each mechanism is measured on. Raise ConfigError if the texts differ."""
    if not mechanisms:
        raise ConfigError("There is no mechanism to calibrate. Give at least one.")
    texts = [text] * len(mechanisms) if text is None or isinstance(text, str) else to_list(text)
    if len(texts) != len(mechanisms) or len({p.text for p in texts if isinstance(p, Prepared)}) > 1:
        raise ConfigError("The mechanisms have different texts. Give one text, or that text prepared by each.")
    for m in mechanisms:
        check_mechanism(m)
    return texts


def _inputs_of_each(
    plain: Sequence[Mechanism], kind: str, texts: Sequence[str | Prepared | None], words: Sequence[str] | None
) -> tuple[list[_Inputs | None], list[str]]:
    """Return the words that all mechanisms sample, for each of them, and why a mechanism has none."""
    inputs: list[_Inputs | None] = []
    reasons: list[str] = []
    for m, each in zip(plain, texts, strict=True):
        try:
            inputs.append(_inputs(m, kind, each, words))
            reasons.append("")
        except NoDistribution as error:
            inputs.append(None)
            reasons.append(str(error))
    return inputs if kind == "total" else _common(inputs), reasons


def _at_own_epsilon(mechanism: Mechanism, kind: str, epsilon: float, inputs: _Inputs, task: Task) -> Calibration:
    """Return the figure that a mechanism reaches at an ε, as the target for others, without a search."""
    figure = _measure(mechanism, kind, inputs, task)(epsilon)
    value = figure.value
    if kind != "total" and not 0 < value < 1:
        raise InputError(
            f"At ε = {number(epsilon)}, the {TARGETS[kind]} is {_format_target(kind, value)}, which is not a useful "
            "target for others. Choose another ε, or set a target."
        )
    n, ends = len(inputs), (value, value)
    return Calibration(
        mechanism, kind, value, epsilon, value, figure.interval, figure.draws, n, 1, ends, "", figure.by, figure.guesses
    )


# --- the search


def _search(
    mechanism: Mechanism,
    kind: str,
    target: float,
    inputs: _Inputs,
    task: Task,
    tolerance: float = 1e-9,
    measure: Callable[[float], TargetFigure] | None = None,
) -> Calibration:
    """Return the ε at which the figure reaches the target, by bisection."""
    search = _Search(mechanism, kind, target, inputs, task, measure)
    crossing = search.crossing()
    if crossing is None:
        return search.unreachable()
    best, figure = search.bisect(*crossing, tolerance)
    if kind == "bayes" and inputs.prepared is not None and figure.draws is not None:
        best, figure = _refine_exactly(mechanism, inputs, target, best, task)
    return search.result(best, figure)


class _Search:
    """Measure a figure at several ε until it reaches a target."""

    def __init__(
        self,
        mechanism: Mechanism,
        kind: str,
        target: float,
        inputs: _Inputs,
        task: Task,
        measure: Callable[[float], TargetFigure] | None = None,
    ):
        self.mechanism, self.kind, self.target, self.inputs, self.task = mechanism, kind, target, inputs, task
        self.measure = measure or _measure(mechanism, kind, inputs, task)
        self.most = mechanism.max_epsilon
        self.rewritten = kind in ("best", "meaning") or (kind == "n_w" and _in_turn(mechanism))
        # Enough bisection steps for the requested precision, including the ends.
        halvings = math.ceil(math.log2(math.log(self.most / LOW) / math.log(_READ_APART))) if self.rewritten else STEPS
        self.likely = 2 + halvings
        self.steps = 0
        self.seen: dict[float, TargetFigure] = {}
        self.ends = (math.nan, math.nan)

    def at(self, epsilon: float) -> None:
        """Measure the figure at an ε."""
        self.task.check()
        self.seen[epsilon] = self.measure(epsilon)
        self.steps += 1
        self.task.report(min(self.steps, self.likely), self.likely + 1)

    def result(self, epsilon: float | None, m: TargetFigure, reason: str = "") -> Calibration:
        """Return the calibration that ends with a figure."""
        return Calibration(
            self.mechanism,
            self.kind,
            self.target,
            epsilon,
            m.value,
            m.interval,
            m.draws,
            len(self.inputs),
            self.steps,
            self.ends,
            reason,
            m.by,
            m.guesses,
        )

    def crossing(self) -> tuple[float, float] | None:
        """Return two ε between which the figure reaches the target; None if it does not."""
        seen, target = self.seen, self.target
        self.at(LOW)
        self.at(self.most)
        if not seen[LOW].value <= target <= seen[self.most].value:
            # N_w of a language model may rise and fall again, and that of truncated Gumbel barely rises.
            for epsilon in np.geomspace(LOW, self.most, READ_GRID if self.rewritten else GRID)[1:-1].tolist():
                self.at(epsilon)
        grid = sorted(seen)
        values = [seen[e].value for e in grid]
        self.ends = (min(values), max(values))
        crossings = [
            (a, b)
            for a, b in itertools.pairwise(grid)
            if min(seen[a].value, seen[b].value) <= target and target <= max(seen[a].value, seen[b].value)
        ]
        # The rising part, if any: a larger ε is expected to reveal more.
        return next((c for c in crossings if seen[c[0]].value <= seen[c[1]].value), crossings[0]) if crossings else None

    def unreachable(self) -> Calibration:
        """Return the nearest figure, with the reason why the target is not reached."""
        low, high, target = (_format_target(self.kind, value) for value in (*self.ends, self.target))
        span, advice = f"ranges from {low} to {high}", "a value in this range"
        if low == high:
            span, advice = f"is {low} at every ε", "another mechanism"
        reason = (
            f"With {self.mechanism.title}, the {_NAMES[self.kind]} {span} (ε from {number(LOW)} to "
            f"{number(self.most)}). It cannot be {target}. Choose {advice}."
        )
        return self.result(None, min(self.seen.values(), key=lambda m: abs(m.value - self.target)), reason)

    def bisect(self, low: float, high: float, tolerance: float) -> tuple[float, TargetFigure]:
        """Return the ε between two others whose figure is nearest to the target, and that figure."""
        measured, target = self.seen, self.target
        rises = measured[low].value <= measured[high].value
        best = min((low, high), key=lambda e: abs(measured[e].value - target))
        # Estimates move in steps of one draw: beyond three digits of ε, only the draws would be fitted.
        finest = _READ_APART if self.rewritten else 1 + 1e-12 if measured[self.most].draws is None else 1.002
        if self.kind == "certainty" and measured[self.most].draws is not None:
            finest = _POSTERIORS_APART
        if self.kind == "total":  # in proportion to ε: the first guess is right
            guess = LOW * target / measured[LOW].value
            low, high = max(low, guess * (1 - 1e-9)), min(high, guess * (1 + 1e-9))
        near = tolerance * max(1.0, abs(target))
        if self.kind == "best":
            near += 1 / ((measured[self.most].draws or 1) * len(self.inputs))
        is_sided = self.kind in TEXT_TARGETS  # the nearest may be on the wrong side
        for _ in range(STEPS):
            if high / low <= finest or (not is_sided and abs(measured[best].value - target) <= near):
                break
            middle = math.sqrt(low * high)
            self.at(middle)
            best = min((best, middle), key=lambda e: abs(measured[e].value - target))
            low, high = (middle, high) if (measured[middle].value < target) == rises else (low, middle)
        if is_sided:
            best = next((e for e in (low, high) if is_within(self.kind, measured[e].value, target)), best)
        return best, measured[best]


def _check_target(kind: str) -> None:
    if kind not in TARGETS:
        raise ConfigError(f"A target must be one of {', '.join(TARGETS)}, not {shorten_repr(kind)}.")


def _target(target: Mapping[str, float], known: Mapping[str, str] = TARGETS) -> tuple[str, float]:
    if not isinstance(target, Mapping) or len(target) != 1 or next(iter(target)) not in known:
        raise ConfigError(f"A target must be one of {', '.join(known)} with its value, such as {{'n_w': 0.5}}.")
    ((kind, value),) = target.items()
    value = real(f"The target {kind}", value)
    if value <= 0 or (kind != "total" and value >= 1):
        raise ConfigError(
            f"The target {kind} must be {'above 0' if kind == 'total' else 'between 0 and 1'}; it is {value:g}."
        )
    return kind, value


def _format_target(kind: str, x: float) -> str:
    if kind == "meaning":
        return f"{x:.2f}"
    return bound(x) if kind == "total" else f"{x:.1%}"
