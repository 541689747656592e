"""Equal privacy, not equal ε: the ε at which a mechanism reaches a wanted, measured privacy.

    calibrate(mechanism, {"n_w": 0.5}, text=text).epsilon

Targets: "best", how often the best of all attackers on single words names a drawn word (``attacks.best``); "n_w", the
mean chance that a drawn word stays what it is (1-Diffractor paper, Section 5.1); "bayes", how often
the best guess of a word from its replacement is right (``attacks.bayes``); "total", the budget of the whole text. N_w
and the attacker's success grow with ε, so that bisection finds the ε (of a language model N_w may fall again: then one
where it rises); what is estimated from draws is estimated from the same ones at every ε. This is how mechanisms whose ε
cannot be compared stand side by side (the question of that paper's Section 5.3).

"bayes" on a text: the share of its drawn words that the attacker guesses who takes every word of the vocabulary into
account, with its public frequency. It is exact; where words have many outputs, draws find where to look. The best
guess of an output changes at some ε, and the figure jumps there: then the nearest one that is reached is given.

"n_w" where words are drawn in turn (DP-MLM's Algorithm 2): the mean over a few rewrites, drawn by the same noise at
every ε, of each word's chance given the words released before it; with its interval, and ε to a factor of 1.1.

"best" on a text: every attacker reads rewrites of it, drawn by the same noise at every ε; the figure is what these few
guesses show, with its interval, and the search ends where it is within one of the text's words of the target, or ε is
known to a tenth. On a list of words: ``attacks.bayes.expected_success``, which knows that the word is one of the list;
a list much smaller than the vocabulary makes guessing easy.
"""

from __future__ import annotations

import itertools
import math
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ConfigError, InputError, NoDistribution
from ..mechanisms.base import Mechanism, Prepared, WordByWord, check_mechanism
from ..mechanisms.capabilities import aligned
from ..privacy.distribution import Channel
from ..privacy.guarantee import bound, number, rounded
from ..privacy.sampling import NoiseStream
from ..support.checks import listed, real, shown, text_list
from ..support.private import Private
from ..support.statistics import clopper_pearson, standard_error, student
from ..support.task import UNWATCHED, Task

TARGETS = {
    "best": "share of words that the best attacker names",
    "n_w": "mean chance that a word stays what it is",
    "bayes": "chance that the best guess of a word is right",
    "total": "total ε of the text",
}
#: Where ε is searched.
LOW = 0.01
#: Steps of bisection at most: 45 leave a factor of 1 + 3e-13 between the ends of the search.
STEPS = 45
#: Points at which ε is tried first, where the ends do not tell between them whether a target can be reached; where each
#: is read by all attackers.
GRID, READ_GRID = 24, 8
#: Guesses behind the Bayes success on a text, over all its words.
GUESSES = 240
#: How far apart, as a factor, exact figures are taken around an ε that draws found; how many more are taken at most,
#: and as near to the target as they are near enough.
_APART, _PASSES, _SURE = 1.2, 3, 0.002
#: Guesses of each attacker on a text at one ε; of so many rewrites at most. As near, as a factor, as ε is searched by
#: them.
READ, _REWRITES, _READ_APART = 30, 5, 1.1
#: Rewrites in which is looked how likely a word is to stay, where that depends on those before it.
_IN_TURN = 8
#: Channels held at once; more are worked out again at every step.
_HELD = 512


@dataclass(frozen=True)
class Calibration:
    """The ε at which a mechanism reaches a target.

    Attributes
    ----------
    mechanism : Mechanism
    kind : {"best", "n_w", "bayes", "total"}
    target : float
        What was wanted.
    epsilon : float or None
        None where it cannot be reached, for a ``reason``; only :func:`equal_privacy` gives such.
    reached : float
        What was measured there.
    interval : (float, float)
        Where ``reached`` lies (95%), itself for an exact figure.
    draws : int or None
        Behind the estimate of each word, where words are drawn in turn of all of them; None for exact.
    words : int
        Over how many drawn words.
    steps : int
        How many ε were measured.
    reachable : (float, float)
        From what to what the figure goes, as far as was measured.
    by : str
        Which attacker it is of, for "best".
    guesses : int or None
        Behind the figure, for "best".
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
        """The mechanism at this ε. Raises InputError where there is none."""
        if self.epsilon is None:
            raise InputError(self.reason)
        return self.mechanism.replace(epsilon=self.epsilon)

    def sentence(self) -> str:
        """The result in plain words."""
        if self.epsilon is None:
            return self.reason
        low, high = self.interval
        how = "" if self.draws is None else f", 95% interval {_shown(self.kind, low)} to {_shown(self.kind, high)}"
        how = f"; by “{_attacker(self.by)}”{how}" if self.by else how
        over = f" ({self.words:,} {'word' if self.words == 1 else 'words'}{how})" if self.words else ""
        told = number(self.epsilon)
        if self.kind == "bayes":  # may jump right beside this ε: more digits, to its own side of the jump
            told = f"{rounded(self.epsilon, 6, up=self.reached > self.target):,g}"
        return (
            f"{self.mechanism.title}: ε = {told} gives a {TARGETS[self.kind]} of "
            f"{_shown(self.kind, self.reached)}{over}."
        )


@dataclass(frozen=True)
class Measured:
    """A figure at one ε. interval: where it lies (95%), itself for an exact one. draws: behind the estimate of each
    word, None for exact. by: the attacker that it is of, and guesses: behind the value, for "best"."""

    value: float
    interval: tuple[float, float]
    draws: int | None = None
    by: str = ""
    guesses: int | None = None


def calibrate(
    mechanism: Mechanism,
    target: Mapping[str, float],
    *,
    text: str | Prepared | None = None,
    words: Sequence[str] | None = None,
    task: Task | None = None,
) -> Calibration:
    """The ε, one for all words, at which the mechanism reaches the target on a text or on a list of words.

    Parameters
    ----------
    mechanism : Mechanism
        Its ε does not matter.
    target : mapping
        One of ``{"best": 0.3}``, ``{"n_w": 0.5}``, ``{"bayes": 0.3}`` and ``{"total": 100}``.
    text : str or Prepared, optional
        Its drawn words count, each as often as it stands there; for DP-MLM the chances are those given the original.
    words : sequence of str, optional
        Each counts once; word mechanisms only.
    task : Task, optional
        Is told how far it is, and may stop it.

    Returns
    -------
    Calibration

    Raises
    ------
    InputError
        The target cannot be reached (the message says what can), or no word is drawn.
    ConfigError
        The target is none of those.
    NoDistribution
        Nothing can be measured.
    """
    kind, value = _target(target)
    check_mechanism(mechanism)
    inputs = _inputs(mechanism, kind, text, words)
    task = task or UNWATCHED
    found = _search(mechanism.replace(epsilon=1.0), kind, value, inputs, task)
    task.report(1, 1)  # the search may end early
    if found.epsilon is None:
        raise InputError(found.reason)
    return found


def measured(
    mechanism: Mechanism, kind: str, text: str | Prepared, *, stream: NoiseStream | None = None, task: Task = UNWATCHED
) -> Callable[[float], Measured]:
    """A target's figure on a text as a function of ε: what :func:`calibrate` searches.

    stream: of what is estimated from draws, without it fresh noise. Raises InputError where no word is drawn, and
    NoDistribution where nothing can be measured.
    """
    check_mechanism(mechanism)
    _known(kind)
    plain = mechanism.replace(epsilon=1.0)
    return _measure(plain, kind, _inputs(plain, kind, text, None), task, stream)


def measured_together(
    mechanisms: Sequence[Mechanism], kind: str, text: str | Sequence[Prepared], *, task: Task = UNWATCHED
) -> list[Measured | str]:
    """The figure of each mechanism at its own ε, over the words of the text that all of them draw; why, where one has
    none. text: itself, or as each of the mechanisms has prepared it. Raises InputError where there is no such word."""
    _known(kind)
    inputs: list[_Inputs | None] = []
    out: list[Measured | str] = [""] * len(mechanisms)
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
    """Each mechanism's ε at the same measured privacy, in the order given, over the words that all of them draw.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
    target : mapping or str
        As for :func:`calibrate`; or its name alone, for what the first mechanism reaches at its own ε.
    text : str or sequence of Prepared, optional
        Itself, or as each of the mechanisms has prepared it.
    words : sequence of str, optional
        As for :func:`calibrate`.
    tolerance : float
        How far from the target the search may end.
    task : Task, optional
        Is told how far it is, and may stop it.

    Returns
    -------
    list of Calibration
        One that cannot reach the target has ``epsilon`` None and a reason.

    Raises
    ------
    InputError
        There is no word that all of them draw.
    """
    task = task or UNWATCHED
    mechanisms = listed(mechanisms, "mechanisms")
    if not mechanisms:
        raise ConfigError("Give at least one mechanism.")
    texts = [text] * len(mechanisms) if text is None or isinstance(text, str) else listed(text)
    if len(texts) != len(mechanisms) or len({p.text for p in texts if isinstance(p, Prepared)}) > 1:
        raise ConfigError("Give one text, or that text as each of the mechanisms has prepared it.")
    for m in mechanisms:
        check_mechanism(m)
    if isinstance(target, str):
        _known(target)
    kind = target if isinstance(target, str) else _target(target)[0]
    plain = [m.replace(epsilon=1.0) for m in mechanisms]
    inputs: list[_Inputs | None] = []
    reasons: list[str] = []
    for m, each in zip(plain, texts, strict=True):
        try:
            inputs.append(_inputs(m, kind, each, words))
            reasons.append("")
        except NoDistribution as error:
            inputs.append(None)
            reasons.append(str(error))
    if kind != "total":
        inputs = _common(inputs)
    if isinstance(target, str):
        epsilon = mechanisms[0].config.epsilon
        if not isinstance(epsilon, float):
            raise ConfigError("The first mechanism has one ε a token. Give the target as a number.")
        if inputs[0] is None:
            raise NoDistribution(reasons[0])
        own = _measure(plain[0], kind, inputs[0], task)(epsilon)
        value = own.value
        if kind != "total" and not 0 < value < 1:
            raise InputError(
                f"At ε = {number(epsilon)} the {TARGETS[kind]} is {_shown(kind, value)}, which is no way to compare "
                "others by. Choose another ε, or a target of your own."
            )
        # It reaches what it reaches there: nothing is searched.
        words_there, ends = len(inputs[0]), (value, value)
        out = [
            Calibration(
                plain[0],
                kind,
                value,
                epsilon,
                value,
                own.interval,
                own.draws,
                words_there,
                1,
                ends,
                "",
                own.by,
                own.guesses,
            )
        ]
        task.child(0, 1, len(plain)).report(1, 1)
    else:
        _, value = _target(target)
        out = []
    for i, (m, given) in list(enumerate(zip(plain, inputs, strict=True)))[len(out) :]:
        part = task.child(i, i + 1, len(plain))
        try:
            if given is None:
                raise NoDistribution(reasons[i])
            out.append(_search(m, kind, value, given, part, tolerance))
        except NoDistribution as error:
            nothing, words_there = (math.nan, math.nan), 0 if given is None else len(given)
            out.append(Calibration(m, kind, value, None, math.nan, nothing, None, words_there, 0, nothing, str(error)))
        part.report(1, 1)
    return out


# --- what is measured


def refusals(mechanism: Mechanism) -> dict[str, str]:
    """For each target why this mechanism has no such figure on a text, a sentence; empty where it has one."""
    out = {}
    for kind in TARGETS:
        try:
            _check(mechanism, kind)
            out[kind] = ""
        except NoDistribution as reason:
            out[kind] = str(reason)
    return out


def _check(mechanism: Mechanism, kind: str) -> None:
    """Raise NoDistribution where the mechanism has no such figure on a text."""
    from ..attacks.bayes import is_available

    if kind == "total":
        return
    aligned(mechanism, f"has no {TARGETS[kind]}. Take the total as the target")
    if kind == "best":
        return
    if kind == "bayes" and not is_available(mechanism):
        raise NoDistribution(
            f"{mechanism.title} has no formula for what a word is drawn from by itself, so the best guesses for a text "
            "cannot be worked out. Take N_w as the target, or for a word mechanism a list of words."
        )
    if kind == "n_w" and mechanism.by_word is None and "distribution" not in mechanism.can:
        raise NoDistribution(f"{mechanism.title} states no chances for a word, so its N_w cannot be measured.")


@dataclass(frozen=True)
class _Inputs(Private):
    """Drawn words: a text with indices of its tokens, or words alone. names: the words, lower case."""

    prepared: Prepared | None
    places: tuple[int, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)


def _inputs(mechanism: Mechanism, kind: str, text: str | Prepared | None, words: Sequence[str] | None) -> _Inputs:
    if (text is None) == (words is None):
        raise ConfigError("Give a text or a list of words, and not both.")
    if text is not None:
        prepared = mechanism.plan(text)
        if kind == "total" and mechanism.aligned is None:
            return _Inputs(prepared, (), ())
        places = aligned(mechanism, f"has no {TARGETS[kind]}. Take the total as the target").drawn(prepared)
        if not places:
            raise InputError("No word of this text is drawn, so there is nothing to measure. Write more words.")
        return _Inputs(prepared, places, tuple(prepared.document.tokens[i].text.lower() for i in places))
    aligned(mechanism, "cannot be measured on single words: give text=")
    if kind == "best":
        raise InputError("The best of all attackers reads a text: give text=.")
    if (by_word := mechanism.by_word) is None:
        raise InputError(
            f"{mechanism.title} reads the whole text, so it cannot be measured on single words: give text=."
        )
    words = text_list(words, "words")
    known = {w.lower() for w in by_word.vocabulary.words}
    names = tuple(dict.fromkeys(w.lower() for w in words if w.lower() in known))
    if not names:
        raise InputError(f"{mechanism.title} knows none of these words. Give words of its vocabulary.")
    return _Inputs(None, (), names)


def _common(given: list[_Inputs | None]) -> list[_Inputs | None]:
    """Return what all mechanisms with words share: the same places of a text, or the same words."""
    inputs = [i for i in given if i is not None]
    if not inputs:
        return given
    if inputs[0].prepared is None:
        shared = set(inputs[0].names).intersection(*(i.names for i in inputs))
        found = [_Inputs(None, (), tuple(n for n in inputs[0].names if n in shared)) for _ in inputs]
    else:
        every = set(inputs[0].places).intersection(*(i.places for i in inputs))
        found = [
            _Inputs(
                i.prepared,
                tuple(p for p in i.places if p in every),
                tuple(n for p, n in zip(i.places, i.names, strict=True) if p in every),
            )
            for i in inputs
        ]
    if not len(found[0]):
        raise InputError("There is no word that all of these mechanisms draw. Leave one of them out.")
    rest = iter(found)
    return [None if i is None else next(rest) for i in given]


def _measure(
    mechanism: Mechanism, kind: str, inputs: _Inputs, task: Task, stream: NoiseStream | None = None
) -> Callable[[float], Measured]:
    """The figure as a function of ε."""
    if kind == "total":
        text = inputs.prepared

        def total(epsilon: float) -> Measured:
            x = epsilon * len(inputs) if text is None else mechanism.replace(epsilon=epsilon).guarantee(text).total
            return Measured(x, (x, x))

        return total
    if kind == "bayes":
        from ..attacks.bayes import expected_success

        if inputs.prepared is not None:
            return _guessed(mechanism, inputs, task, stream or NoiseStream())
        # Where success is measured by draws, by the same ones at every ε. Nothing drawn here is ever released.
        seed = secrets.randbits(63)

        def bayes(epsilon: float) -> Measured:
            s = expected_success(mechanism, inputs.names, epsilon, seed=seed, task=task.quiet)
            return Measured(s.value, s.interval or (s.value, s.value), s.draws and s.draws // max(1, s.words))

        return bayes
    if kind == "best":
        return _best(mechanism, inputs, task, stream or NoiseStream(secrets.randbits(63)))
    if mechanism.by_word is not None:
        return _kept_words(mechanism.by_word, inputs, task)
    _check(mechanism, kind)
    if _in_turn(mechanism):
        return _kept_in_turn(mechanism, inputs, task, stream or NoiseStream(secrets.randbits(63)))

    def kept(epsilon: float) -> Measured:
        m = mechanism.replace(epsilon=epsilon)
        assert inputs.prepared is not None
        found = []
        for i in inputs.places:
            task.check()
            found.append(m.distribution(inputs.prepared, i))
        return _mean([d.p_keep() for d in found], [1] * len(found), found[0].draws)

    return kept


def _in_turn(mechanism: Mechanism) -> bool:
    return mechanism.chances is not None and mechanism.chances.in_turn


def _kept_in_turn(
    mechanism: Mechanism, inputs: _Inputs, task: Task, stream: NoiseStream
) -> Callable[[float], Measured]:
    """Where each word is drawn given those released before it: what that comes to in some rewrites, with the same noise
    at every ε, of which nothing is ever released. The interval is of the mean over all rewrites."""
    assert inputs.prepared is not None
    prepared = inputs.prepared
    starts = {prepared.document.tokens[i].start for i in inputs.places}

    def kept(epsilon: float) -> Measured:
        m = mechanism.replace(epsilon=epsilon)
        shares = []
        for result in m.rewrites(prepared, _IN_TURN, stream=stream, task=task.quiet):
            task.check()
            steps = {i: s for i, s in enumerate(result.steps) if s.action == "replace" and s.span[0] in starts}
            if own := [d.p_keep() for i, d in result.distributions() if i in steps]:  # all may be deleted by chance
                shares.append(np.mean(own))
        if not shares:
            raise NoDistribution("No word of this text was left by chance, so there is nothing to measure. Try again.")
        mean, error = float(np.mean(shares)), student(len(shares)) * (standard_error(shares) or 0.0)
        return Measured(mean, (max(0.0, mean - error), min(1.0, mean + error)), _IN_TURN)

    return kept


def _best(mechanism: Mechanism, inputs: _Inputs, task: Task, stream: NoiseStream) -> Callable[[float], Measured]:
    """By rewrites with the same noise at every ε, enough for so many guesses. Nothing of them is ever released."""
    from ..attacks.best import ask, chosen

    assert inputs.prepared is not None
    prepared = inputs.prepared
    starts = {prepared.document.tokens[i].start for i in chosen(inputs.places, READ)}
    draws = min(_REWRITES, math.ceil(READ / len(inputs)))

    def found(epsilon: float) -> Measured:
        m = mechanism.replace(epsilon=epsilon)
        top = ask(m, m.rewrites(prepared, draws, stream=stream, task=task.quiet), starts, task=task.quiet)
        return Measured(top.success, (top.low, top.high), draws, top.name, top.words)

    return found


def _guessed(mechanism: Mechanism, inputs: _Inputs, task: Task, stream: NoiseStream) -> Callable[[float], Measured]:
    """Exact where the words have few outputs; else by draws, which only find where to look exactly."""
    from ..attacks.prior import public_prior
    from ..attacks.risk import quick_success

    _check(mechanism, "bayes")
    by_word = mechanism.by_word
    assert by_word is not None
    rows, counts, channels = _channels(by_word, inputs.names)
    if (exact := quick_success(mechanism, rows, task=task)) is not None:

        def known(epsilon: float) -> Measured:
            mean = float(np.average(exact(epsilon), weights=counts))
            return Measured(mean, (mean, mean))

        return known
    with np.errstate(divide="ignore"):
        log_prior = np.log(public_prior(mechanism).p)
    each = max(4, GUESSES // len(rows))

    def guessed(epsilon: float) -> Measured:
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
        # Words that stand often weigh more: so many equally weighted guesses are as good.
        n = max(1, round(n * sum(counts) ** 2 / (len(counts) * sum(c * c for c in counts))))
        return Measured(mean, clopper_pearson(round(mean * n), n), each)

    return guessed


def _channels(by_word: WordByWord, names: Sequence[str]):
    """Rows of the different words, how often each stands there, and a generator function of their channels."""
    at = {w.lower(): i for i, w in enumerate(by_word.vocabulary.words)}
    times = Counter(at[n] for n in names)
    rows = np.array(list(times))
    held = by_word.channels(rows[:_HELD])

    def channels(task: Task) -> Iterator[Channel]:
        for channel in held:
            task.check()
            yield channel
        for start in range(_HELD, len(rows), 128):
            task.check()
            yield from by_word.channels(rows[start : start + 128])

    return rows, list(times.values()), channels


def _kept_words(by_word: WordByWord, inputs: _Inputs, task: Task) -> Callable[[float], Measured]:
    _, counts, channels = _channels(by_word, inputs.names)

    def keep(channel: Channel, epsilon: float) -> float:
        # An estimate takes all the draws there are; a formula goes the short way.
        return channel.deniability(epsilon)[0] if channel.draws is None else channel.at(epsilon).p_keep()

    def kept(epsilon: float) -> Measured:
        found, draws = [], None
        for channel in channels(task):
            found.append(keep(channel, epsilon))
            draws = channel.draws
        return _mean(found, counts, draws)

    return kept


def _mean(values: Sequence[float], counts: Sequence[int], draws: int | None) -> Measured:
    """The weighted mean. Words may share their noise, so the interval is that of the draws of one word."""
    mean = float(np.average(values, weights=counts))
    return Measured(mean, (mean, mean) if draws is None else clopper_pearson(round(mean * draws), draws), draws)


# --- the search


def _search(
    mechanism: Mechanism, kind: str, target: float, inputs: _Inputs, task: Task, tolerance: float = 1e-9
) -> Calibration:
    measure = _measure(mechanism, kind, inputs, task)
    most = mechanism.max_epsilon
    rewritten = kind == "best" or (kind == "n_w" and _in_turn(mechanism))
    # How many are needed for the nearness that is wanted, the ends too.
    likely = 2 + (math.ceil(math.log2(math.log(most / LOW) / math.log(_READ_APART))) if rewritten else STEPS)
    steps = 0

    def at(epsilon: float) -> Measured:
        nonlocal steps
        task.check()
        found = measure(epsilon)
        steps += 1
        task.report(min(steps, likely), likely + 1)
        return found

    def result(epsilon: float | None, m: Measured, reason: str = "") -> Calibration:
        return Calibration(
            mechanism,
            kind,
            target,
            epsilon,
            m.value,
            m.interval,
            m.draws,
            len(inputs),
            steps,
            ends,
            reason,
            m.by,
            m.guesses,
        )

    seen = {LOW: at(LOW), most: at(most)}
    if not seen[LOW].value <= target <= seen[most].value:
        # N_w of a language model may rise and fall again, and that of truncated Gumbel hardly rises.
        for epsilon in np.geomspace(LOW, most, READ_GRID if rewritten else GRID)[1:-1].tolist():
            seen[epsilon] = at(epsilon)
    grid = sorted(seen)
    values = [seen[e].value for e in grid]
    ends = (min(values), max(values))
    crossings = [
        (a, b)
        for a, b in itertools.pairwise(grid)
        if min(seen[a].value, seen[b].value) <= target and target <= max(seen[a].value, seen[b].value)
    ]
    if not crossings:
        reason = (
            f"{mechanism.title} cannot reach a {TARGETS[kind]} of {_shown(kind, target)} here: between "
            f"ε = {number(LOW)} and {number(most)} it lies from {_shown(kind, ends[0])} to {_shown(kind, ends[1])}. "
            "Choose one in between."
        )
        return result(None, min(seen.values(), key=lambda m: abs(m.value - target)), reason)
    # Where it rises, if it does: more ε is meant to give away more.
    low, high = next((c for c in crossings if seen[c[0]].value <= seen[c[1]].value), crossings[0])
    rises = seen[low].value <= seen[high].value
    best = min((low, high), key=lambda e: abs(seen[e].value - target))
    # Estimates move in steps of one draw: beyond three digits of ε only the draws would be fitted.
    finest = _READ_APART if rewritten else 1 + 1e-12 if seen[most].draws is None else 1.002
    if kind == "total":  # in proportion to ε: the first guess is right
        guess = LOW * target / seen[LOW].value
        low, high = max(low, guess * (1 - 1e-9)), min(high, guess * (1 + 1e-9))
    near = tolerance * max(1.0, abs(target))
    if kind == "best":
        near += 1 / ((seen[most].draws or 1) * len(inputs))
    for _ in range(STEPS):
        if high / low <= finest or abs(seen[best].value - target) <= near:
            break
        middle = math.sqrt(low * high)
        seen[middle] = at(middle)
        best = min((best, middle), key=lambda e: abs(seen[e].value - target))
        low, high = (middle, high) if (seen[middle].value < target) == rises else (low, middle)
    if kind == "bayes" and inputs.prepared is not None and seen[best].draws is not None:
        best, seen[best] = _passed(mechanism, inputs, target, best, task)
    return result(best, seen[best])


def _passed(mechanism: Mechanism, inputs: _Inputs, target: float, near: float, task: Task) -> tuple[float, Measured]:
    """ε near one that was found from draws, and the exact success there. A pass over all words of the vocabulary is
    long: one for three ε, and a few where the line between the nearest of them meets the target."""
    from ..attacks.risk import rows_success

    assert mechanism.by_word is not None
    rows, counts, _ = _channels(mechanism.by_word, inputs.names)
    one = mechanism.replace(epsilon=near)
    found: dict[float, float] = {}

    def add(*epsilons: float) -> None:
        success = rows_success(one, rows, epsilons, task=task)
        found.update(zip(epsilons, np.average(success, axis=1, weights=counts).tolist(), strict=True))

    add(*(min(mechanism.max_epsilon, near * by) for by in (1 / _APART, 1.0, _APART)))
    for _ in range(_PASSES):
        below = [e for e, x in found.items() if x <= target]
        above = [e for e, x in found.items() if x > target]
        if not below or not above or min(abs(x - target) for x in found.values()) < _SURE:
            break
        # The nearest on either side: the line between them meets the target, unless the figure jumps there.
        a, b = max(below, key=found.__getitem__), min(above, key=found.__getitem__)
        add(math.exp(float(np.interp(target, (found[a], found[b]), (math.log(a), math.log(b))))))
    best = min(found, key=lambda e: abs(found[e] - target))
    return best, Measured(found[best], (found[best], found[best]))


def _known(kind: str) -> None:
    if kind not in TARGETS:
        raise ConfigError(f"A target is one of {', '.join(TARGETS)}, not {shown(kind)}.")


def _target(target: Mapping[str, float]) -> tuple[str, float]:
    if not isinstance(target, Mapping) or len(target) != 1 or next(iter(target)) not in TARGETS:
        raise ConfigError(f"A target is one of {', '.join(TARGETS)} with its value, such as {{'n_w': 0.5}}.")
    ((kind, value),) = target.items()
    value = real(f"The target {kind}", value)
    if value <= 0 or (kind != "total" and value >= 1):
        raise ConfigError(
            f"The target {kind} is {'above 0' if kind == 'total' else 'between 0 and 1'}; it is {value:g}."
        )
    return kind, value


def _attacker(name: str) -> str:
    from ..attacks.best import title

    return title(name)


def _shown(kind: str, x: float) -> str:
    return bound(x) if kind == "total" else f"{x:.1%}"
