"""Measure the figure of a calibration target on a text, as a function of ε."""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ConfigError, InputError, NoDistribution
from ..mechanisms.base import Mechanism, Prepared, WordByWord
from ..mechanisms.capabilities import Alignment, require_alignment
from ..privacy.distribution import Channel
from ..privacy.sampling import NoiseStream
from ..support.checks import text_list
from ..support.private import Private
from ..support.statistics import clopper_pearson, standard_error, student
from ..support.task import Task

TARGETS = {
    "best": "share of words that the strongest attacker recovers",
    "n_w": "mean probability that a word is unchanged",
    "bayes": "probability that the optimal guess of a word is right",
    "total": "total ε of the text",
}
#: Guesses for the Bayes success on a text, over all its words.
GUESSES = 240
#: Guesses of each attacker on a text at one ε; and the maximum number of rewrites for them.
READ, _REWRITES = 30, 5
#: Rewrites that estimate how likely a word is to be unchanged, if that depends on earlier words.
_IN_TURN = 8
#: Distance, as a factor, of exact figures around an ε that draws found; the maximum number of additional ones; and the
#: distance to the target that is near enough.
_APART, _PASSES, _SURE = 1.2, 3, 0.002
#: Maximum number of channels in memory; more are recomputed at every step.
_HELD = 512


@dataclass(frozen=True)
class TargetFigure:
    """A figure at one ε.

    interval: its 95% interval, itself for an exact figure. draws: behind the estimate of each word, None for exact. by:
    the attacker, and guesses: their number, for "best".
    """

    value: float
    interval: tuple[float, float]
    draws: int | None = None
    by: str = ""
    guesses: int | None = None


def refusals(mechanism: Mechanism) -> dict[str, str]:
    """Return, for each target, why this mechanism has no such figure on a text, a sentence; empty if it has one."""
    out = {}
    for kind in TARGETS:
        try:
            _check(mechanism, kind)
            out[kind] = ""
        except NoDistribution as reason:
            out[kind] = str(reason)
    return out


def _check(mechanism: Mechanism, kind: str) -> None:
    """Raise NoDistribution if the mechanism has no such figure on a text."""
    from ..attacks.bayes import is_available

    if kind == "total":
        return
    _require_sampling(mechanism, kind)
    if kind == "best":
        return
    if kind == "bayes" and not is_available(mechanism):
        raise NoDistribution(
            f"{mechanism.title} has no formula for the distribution of a single word, so the optimal guesses for a "
            "text cannot be computed. Use N_w as the target. For a word mechanism, you can also give a list of words."
        )
    if kind == "n_w" and mechanism.by_word is None and "distribution" not in mechanism.can:
        raise NoDistribution(
            f"{mechanism.title} has no formula for word probabilities, so it has no N_w. Use the total as the target."
        )


def _require_sampling(mechanism: Mechanism, kind: str) -> Alignment[Mechanism]:
    """Check that the mechanism samples words from their originals. Raises NoDistribution otherwise."""
    if kind != "total" and not mechanism.uses_epsilon:
        raise NoDistribution(
            f"{mechanism.title} ignores the originals, so it has no {TARGETS[kind]}. Choose another mechanism."
        )
    return require_alignment(mechanism, f"has no {TARGETS[kind]}. Use the total as the target")


@dataclass(frozen=True)
class _Inputs(Private):
    """Sampled words: a text with indices of its tokens, or words alone. names: the words, lower case."""

    prepared: Prepared | None
    places: tuple[int, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)


def _inputs(mechanism: Mechanism, kind: str, text: str | Prepared | None, words: Sequence[str] | None) -> _Inputs:
    if (text is None) == (words is None):
        raise ConfigError("The figure needs either a text or a list of words. Give exactly one of them.")
    if text is not None:
        prepared = mechanism.plan(text)
        if kind == "total" and mechanism.alignment is None:
            return _Inputs(prepared, (), ())
        places = _require_sampling(mechanism, kind).sampled_tokens(prepared)
        if not places:
            raise InputError("No word of this text is sampled, so there is nothing to measure. Add more words.")
        return _Inputs(prepared, places, tuple(prepared.document.tokens[i].text.lower() for i in places))
    require_alignment(mechanism, "cannot be measured on single words. Give a text")
    if kind == "best":
        raise InputError("The strongest attacker reads a whole text, not single words. Give a text.")
    if (by_word := mechanism.by_word) is None:
        raise InputError(
            f"{mechanism.title} reads the whole text, so it cannot be measured on single words. Give a text."
        )
    words = text_list(words, "words")
    known = {w.lower() for w in by_word.vocabulary.words}
    names = tuple(dict.fromkeys(w.lower() for w in words if w.lower() in known))
    if not names:
        raise InputError(f"{mechanism.title} has none of these words in its vocabulary. Use other words.")
    return _Inputs(None, (), names)


def _common(given: list[_Inputs | None]) -> list[_Inputs | None]:
    """Return what all of these with words share: the same places of a text, or the same words."""
    inputs = [i for i in given if i is not None]
    if not inputs:
        return given
    if inputs[0].prepared is None:
        shared = set(inputs[0].names).intersection(*(i.names for i in inputs))
        shared_inputs = [_Inputs(None, (), tuple(n for n in inputs[0].names if n in shared)) for _ in inputs]
    else:
        every = set(inputs[0].places).intersection(*(i.places for i in inputs))
        shared_inputs = [
            _Inputs(
                i.prepared,
                tuple(p for p in i.places if p in every),
                tuple(n for p, n in zip(i.places, i.names, strict=True) if p in every),
            )
            for i in inputs
        ]
    if not len(shared_inputs[0]):
        raise InputError("No word is sampled by all of these mechanisms. Remove one of them.")
    words = iter(shared_inputs)
    return [None if i is None else next(words) for i in given]


def _measure(
    mechanism: Mechanism, kind: str, inputs: _Inputs, task: Task, stream: NoiseStream | None = None
) -> Callable[[float], TargetFigure]:
    """Return the figure as a function of ε."""
    if kind == "total":
        text = inputs.prepared

        def total(epsilon: float) -> TargetFigure:
            x = epsilon * len(inputs) if text is None else mechanism.replace(epsilon=epsilon).guarantee(text).total
            return TargetFigure(x, (x, x))

        return total
    if kind == "bayes":
        from ..attacks.bayes import expected_success

        if inputs.prepared is not None:
            return _success_function(mechanism, inputs, task, stream or NoiseStream())
        # If success is measured by draws, the same ones at every ε. These draws are never released.
        seed = secrets.randbits(63)

        def bayes(epsilon: float) -> TargetFigure:
            s = expected_success(mechanism, inputs.names, epsilon, seed=seed, task=task.quiet)
            return TargetFigure(s.value, s.interval or (s.value, s.value), s.draws and s.draws // max(1, s.words))

        return bayes
    if kind == "best":
        return _best(mechanism, inputs, task, stream or NoiseStream(secrets.randbits(63)))
    if mechanism.by_word is not None:
        return _kept_words(mechanism.by_word, inputs, task)
    _check(mechanism, kind)
    if _in_turn(mechanism):
        return _kept_in_turn(mechanism, inputs, task, stream or NoiseStream(secrets.randbits(63)))

    def kept(epsilon: float) -> TargetFigure:
        m = mechanism.replace(epsilon=epsilon)
        assert inputs.prepared is not None
        figures = []
        for i in inputs.places:
            task.check()
            figures.append(m.distribution(inputs.prepared, i))
        return _mean([d.p_keep() for d in figures], [1] * len(figures), figures[0].draws)

    return kept


def _in_turn(mechanism: Mechanism) -> bool:
    return mechanism.likelihood is not None and mechanism.likelihood.in_turn


def _kept_in_turn(
    mechanism: Mechanism, inputs: _Inputs, task: Task, stream: NoiseStream
) -> Callable[[float], TargetFigure]:
    """Return the figure if each word is sampled given those released before it, over some rewrites with the same noise.

    These rewrites are never released. The interval is of the mean over all rewrites.
    """
    assert inputs.prepared is not None
    prepared = inputs.prepared
    starts = {prepared.document.tokens[i].start for i in inputs.places}

    def kept(epsilon: float) -> TargetFigure:
        m = mechanism.replace(epsilon=epsilon)
        shares = []
        for result in m.rewrites(prepared, _IN_TURN, stream=stream, task=task.quiet):
            task.check()
            steps = {i: s for i, s in enumerate(result.steps) if s.action == "replace" and s.span[0] in starts}
            if p := [d.p_keep() for i, d in result.distributions() if i in steps]:  # all may be deleted at random
                shares.append(np.mean(p))
        if not shares:
            raise NoDistribution(
                "All words of this text were deleted at random, so there is nothing to measure. Try again."
            )
        mean, error = float(np.mean(shares)), student(len(shares)) * (standard_error(shares) or 0.0)
        return TargetFigure(mean, (max(0.0, mean - error), min(1.0, mean + error)), _IN_TURN)

    return kept


def _best(mechanism: Mechanism, inputs: _Inputs, task: Task, stream: NoiseStream) -> Callable[[float], TargetFigure]:
    """Return the figure by rewrites with the same noise at every ε, enough for the guesses. They are never released."""
    from ..attacks.best import ask, choose_places

    assert inputs.prepared is not None
    prepared = inputs.prepared
    starts = {prepared.document.tokens[i].start for i in choose_places(inputs.places, READ)}
    draws = min(_REWRITES, math.ceil(READ / len(inputs)))

    def found(epsilon: float) -> TargetFigure:
        m = mechanism.replace(epsilon=epsilon)
        top = ask(m, m.rewrites(prepared, draws, stream=stream, task=task.quiet), starts, task=task.quiet)
        return TargetFigure(top.success, (top.low, top.high), draws, top.name, top.words)

    return found


def _success_function(
    mechanism: Mechanism, inputs: _Inputs, task: Task, stream: NoiseStream
) -> Callable[[float], TargetFigure]:
    """Return the figure exactly for few outputs; else by draws, which only show where to compute exactly."""
    from ..attacks.prior import public_prior
    from ..attacks.risk import quick_success

    _check(mechanism, "bayes")
    by_word = mechanism.by_word
    assert by_word is not None
    rows, counts, channels = _channels(by_word, inputs.names)
    if (exact := quick_success(mechanism, rows, task=task)) is not None:

        def known(epsilon: float) -> TargetFigure:
            mean = float(np.average(exact(epsilon), weights=counts))
            return TargetFigure(mean, (mean, mean))

        return known
    with np.errstate(divide="ignore"):
        log_prior = np.log(public_prior(mechanism).p)
    each = max(4, GUESSES // len(rows))

    def guessed(epsilon: float) -> TargetFigure:
        best: dict[str, int] = {}
        rates = []
        for i, (row, channel) in enumerate(zip(rows.tolist(), channels(task), strict=True)):
            right = 0
            for k in channel.at(epsilon).sample_indices(each, stream.at(i)).tolist():
                task.check()
                word = channel.candidates[k]
                if word not in best:
                    best[word] = int(np.argmax(log_prior + by_word.log_likelihood(word, epsilon, task.quiet)[0]))
                right += best[word] == row
            rates.append(right / each)
        mean, n = float(np.average(rates, weights=counts)), each * len(rows)
        # Frequent words weigh more, so as many equally weighted guesses are as good.
        n = max(1, round(n * sum(counts) ** 2 / (len(counts) * sum(c * c for c in counts))))
        return TargetFigure(mean, clopper_pearson(round(mean * n), n), each)

    return guessed


def _refine_exactly(
    mechanism: Mechanism, inputs: _Inputs, target: float, near: float, task: Task
) -> tuple[float, TargetFigure]:
    """Return an ε near one that draws found, and the exact success there.

    A pass over all words of the vocabulary is slow: one serves three ε, plus a few where the line between the nearest
    of them meets the target.
    """
    from ..attacks.risk import rows_success

    assert mechanism.by_word is not None
    rows, counts, _ = _channels(mechanism.by_word, inputs.names)
    one = mechanism.replace(epsilon=near)
    exact: dict[float, float] = {}

    def add(*epsilons: float) -> None:
        success = rows_success(one, rows, epsilons, task=task)
        exact.update(zip(epsilons, np.average(success, axis=1, weights=counts).tolist(), strict=True))

    add(*(min(mechanism.max_epsilon, near * by) for by in (1 / _APART, 1.0, _APART)))
    for _ in range(_PASSES):
        below = [e for e, x in exact.items() if x <= target]
        above = [e for e, x in exact.items() if x > target]
        if not below or not above or min(abs(x - target) for x in exact.values()) < _SURE:
            break
        # The nearest on either side: the line between them meets the target, unless the figure jumps there.
        a, b = max(below, key=exact.__getitem__), min(above, key=exact.__getitem__)
        add(math.exp(float(np.interp(target, (exact[a], exact[b]), (math.log(a), math.log(b))))))
    best = min(exact, key=lambda e: abs(exact[e] - target))
    return best, TargetFigure(exact[best], (exact[best], exact[best]))


def _channels(by_word: WordByWord, names: Sequence[str]):
    """Return the rows of the different words, their counts, and a generator function of their channels."""
    at = {w.lower(): i for i, w in enumerate(by_word.vocabulary.words)}
    times = Counter(at[n] for n in names)
    rows = np.array(list(times))
    stored = by_word.channels(rows[:_HELD])

    def channels(task: Task) -> Iterator[Channel]:
        for channel in stored:
            task.check()
            yield channel
        for start in range(_HELD, len(rows), 128):
            task.check()
            yield from by_word.channels(rows[start : start + 128])

    return rows, list(times.values()), channels


def _kept_words(by_word: WordByWord, inputs: _Inputs, task: Task) -> Callable[[float], TargetFigure]:
    _, counts, channels = _channels(by_word, inputs.names)

    def keep(channel: Channel, epsilon: float) -> float:
        # An estimate uses all its draws; a formula uses the shortcut.
        return channel.deniability(epsilon)[0] if channel.draws is None else channel.at(epsilon).p_keep()

    def kept(epsilon: float) -> TargetFigure:
        figures, draws = [], None
        for channel in channels(task):
            figures.append(keep(channel, epsilon))
            draws = channel.draws
        return _mean(figures, counts, draws)

    return kept


def _mean(values: Sequence[float], counts: Sequence[int], draws: int | None) -> TargetFigure:
    """Return the weighted mean. Words may share their noise, so the interval is that of the draws of one word."""
    mean = float(np.average(values, weights=counts))
    return TargetFigure(mean, (mean, mean) if draws is None else clopper_pearson(round(mean * draws), draws), draws)
