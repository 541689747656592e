"""Compare every entry point with :meth:`rewrite` of the text alone, with the same noise.

An audit measures rewrites of one or two entry points. Results apply to the others only if they give the same releases:
for a prepared or planned text, at another ε, in a list, in a sweep, with a list of ε, in another thread, by a copy, and
after a round trip through a file. Each entry point is called with a seed and, with the same numbers, without one
(``noise_source.without_seed``). The text, its parts, the ε of each part, the guarantee and the stated distributions
must be equal.

Without a model, this test has no false alarms. If batches round differently, one draw in many thousands may differ. An
entry point then counts as different only if most rewrites of some texts differ.
"""

from __future__ import annotations

import dataclasses
import json
import pickle
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ConfigError, DPTextError, NoDistribution
from ..mechanisms.base import Mechanism
from ..mechanisms.capabilities import sampled_tokens
from ..mechanisms.config import takes_epsilon_list
from ..mechanisms.registry import mechanism_class
from ..mechanisms.setting import Setting
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult, Trace
from ..support.task import UNWATCHED, Task
from .checks import Subject
from .noise_source import without_seed
from .release_statistics import drawn_words, has_alignment, is_cheap, new_instance, public_words
from .report import Check, Witness
from .rules import flat
from .tapped import Tape, TappedStream

NAME = "entry points"
#: Number of sampled units of a rewrite whose distributions are compared.
DISTRIBUTIONS = 3
#: Number of simultaneous rewrites, and of repetitions of each.
THREADS, REPEATS = 3, 2
#: The reads of its noise at which another thread overtakes a rewrite, and the seconds that it gets.
OVERTAKEN, PATIENCE = (0, 1, 2), 0.5
#: Repetitions of a text if words are often equal: at two ε, or in two rewrites.
LONG = 8
#: Number of rewrites of a text with fresh noise, and of different texts that as many separate rewrites must give. Then
#: all of these are equal with probability below 2^−20.
FRESH, DIFFERENT = 24, 20
#: Number of words of the text, for mechanisms that sample words one by one and for others.
WORDS, MODEL_WORDS = 4, 3
#: Number of texts, and of model rewrites of which most must differ.
TRIES, MOST = 4, 3


@dataclass(frozen=True)
class Pair:
    """A rewrite of an entry point and the expected one. only: the compared tokens, all by default. options: whether to
    compare the guarantee and the options too."""

    own: RewriteResult
    wanted: RewriteResult
    only: tuple[int, ...] | None = None
    options: bool = True


class RewriteCache:
    """Rewrites of a text alone, each computed once."""

    def __init__(self) -> None:
        self._known: dict[tuple, RewriteResult] = {}

    def __call__(self, m: Mechanism, text: str, stream: NoiseStream) -> RewriteResult:
        key = (m.config.epsilon, text, stream.seed, stream.at(0).noise_id)
        if key not in self._known:
            self._known[key] = _rewrite_one(m, text, stream)
        return self._known[key]


EntryPoint = Callable[[Mechanism, str, NoiseStream, RewriteCache], Iterator[Pair]]


def at_epsilon(m: Mechanism, epsilon: Any) -> Mechanism:
    """Return the mechanism at another ε, as a user would create it."""
    return m.replace(epsilon=epsilon)


def other_epsilons(m: Mechanism) -> list[float]:
    """Return an ε below and one above that of the mechanism, as far as allowed; only one if a rewrite is expensive."""
    epsilon = float(m.config.epsilon)
    out = []
    for other in (epsilon / 5, min(epsilon * 5, m.max_epsilon)):
        try:
            if other != epsilon:
                at_epsilon(m, other)
                out.append(other)
        except ConfigError:
            continue
    return out if is_cheap(m) else out[:1]


def _rewrite_one(m: Mechanism, text: Any, stream: NoiseStream) -> RewriteResult:
    return m.rewrite(text, stream=stream)


# --- one text


def a_seed(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Yield a rewrite with a seed instead of its stream."""
    if stream.seed is not None:
        yield Pair(m.rewrite(text, seed=stream.seed), wanted(m, text, stream))


def a_prepared_text(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Yield the first and second rewrite of a prepared text."""
    prepared = m.prepare(text)
    for _ in range(2 if is_cheap(m) else 1):
        yield Pair(_rewrite_one(m, prepared, stream), wanted(m, text, stream))


def a_planned_text(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Yield a rewrite of a planned text."""
    yield Pair(_rewrite_one(m, m.plan(text), stream), wanted(m, text, stream))
    if is_cheap(m):
        yield Pair(_rewrite_one(m, m.plan(m.prepare(text)), stream), wanted(m, text, stream))


def a_text_prepared_at_another_epsilon(
    m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache
) -> Iterator[Pair]:
    """Yield a rewrite of a text that was prepared, planned or rewritten at another ε before."""
    for epsilon in other_epsilons(m):
        other = at_epsilon(m, epsilon)
        yield Pair(_rewrite_one(m, other.prepare(text), stream), wanted(m, text, stream))
        if is_cheap(m):
            yield Pair(_rewrite_one(m, other.plan(text), stream), wanted(m, text, stream))
        used = other.prepare(text)
        yield Pair(_rewrite_one(other, used, stream), wanted(other, text, stream))
        yield Pair(_rewrite_one(m, used, stream), wanted(m, text, stream))


# --- several texts or rewrites


def a_list(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Yield rewrites of texts in a list: the first has the same noise as alone, the others that of their number."""
    if m.shares_draws:
        return
    other = " ".join(reversed(text.split()))
    for texts in ([text], [other, text, text])[0 if is_cheap(m) else 1 :]:
        for each in (m.rewrite(texts, stream=stream), list(m.rewrite_each(texts, stream=stream))):
            for k, result in enumerate(each):
                yield Pair(result, wanted(m, texts[k], stream.numbered([k])))


def numbered_texts(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Yield rewrites of a selection of texts, each with the noise of its number, as for data sets."""
    if m.shares_draws:
        return
    numbers = [3, 40]
    for each in (
        m.rewrite([text] * 2, stream=stream.numbered(numbers)),
        list(m.rewrite_each([text] * 2, stream=stream.numbered(numbers))),
    ):
        for number, result in zip(numbers, each, strict=True):
            yield Pair(result, wanted(m, text, stream.numbered([number])))


def fresh_rewrites(m: Mechanism, text: str, stream: NoiseStream, _: RewriteCache) -> Iterator[Pair]:
    """Yield rewrites with fresh noise, which may differ from single rewrites: of the text and of a prepared one, with
    and without a seed."""
    seeded = m.rewrites(text, 2, seed=stream.seed) if stream.seed is not None else m.rewrites(text, 2, stream=stream)
    for rewrite, other in zip(m.rewrites(m.prepare(text), 2, stream=without_seed(stream)), seeded, strict=True):
        yield Pair(rewrite, other, options=False)


def a_sweep(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Yield each point of a sweep."""
    epsilons = [*other_epsilons(m), float(m.config.epsilon)]
    for result, epsilon in zip(m.sweep(text, epsilons, stream=stream).results, epsilons, strict=True):
        yield Pair(result, wanted(at_epsilon(m, epsilon), text, stream))


def a_list_of_epsilons(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Yield rewrites with one ε per token: equal ones, and different ones if no draw depends on another."""
    if not takes_epsilon_list(m.config):
        return
    if is_cheap(m):
        text = " ".join([text] * LONG)
    own_epsilon, n = float(m.config.epsilon), len(m.document(text).words)
    try:
        same = at_epsilon(m, (own_epsilon,) * n)
    except (ConfigError, NoDistribution):  # it takes one ε
        return
    yield Pair(_rewrite_one(same, text, stream), wanted(m, text, stream), options=False)
    apart = m.by_word is not None or ("sweep" in m.can and has_alignment(m))
    if not apart or m.guarantee(text).unit.counts_distinct_words:
        return
    for other in other_epsilons(m):
        # The change is between the sampled words, so any other order of the list would give another result.
        drawn = sampled_tokens(m, m.prepare(text))
        at = drawn[len(drawn) // 3] if len(drawn) > 2 else n // 2
        result = _rewrite_one(at_epsilon(m, (other,) * at + (own_epsilon,) * (n - at)), text, stream)
        for only, epsilon in ((tuple(range(at)), other), (tuple(range(at, n)), own_epsilon)):
            yield Pair(result, wanted(at_epsilon(m, epsilon), text, stream), only, options=False)


# --- elsewhere


def another_thread(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Yield rewrites by another thread, and by several simultaneous threads with different texts."""
    with ThreadPoolExecutor(1) as pool:
        yield Pair(pool.submit(_rewrite_one, m, text, stream).result(), wanted(m, text, stream))
    words, threads = text.split(), THREADS if is_cheap(m) else 2
    texts = [" ".join(words[k % len(words) :] + words[: k % len(words)]) for k in range(threads)]
    expected = [wanted(m, one, stream) for one in texts]
    begin = threading.Barrier(threads)

    def work(one: str) -> list[RewriteResult]:
        begin.wait(60)
        return [_rewrite_one(m, one, stream) for _ in range(REPEATS if is_cheap(m) else 1)]

    with ThreadPoolExecutor(threads) as pool:
        for results, want in zip(pool.map(work, texts), expected, strict=True):
            for result in results:
                yield Pair(result, want)
    for read in OVERTAKEN if is_cheap(m) else ():
        yield Pair(_rewrite_interrupted(m, texts[0], texts[1], stream, read), wanted(m, texts[0], stream))


def _rewrite_interrupted(m: Mechanism, text: str, other: str, stream: NoiseStream, read: int) -> RewriteResult:
    """Return a rewrite that another thread's rewrite of another text interrupts while it reads its noise.

    Otherwise, threads rarely overlap within a short rewrite. If a lock is held, the other thread waits for it, and this
    one does not wait for the other thread.
    """
    reads = 0
    running = list[Future]()
    with ThreadPoolExecutor(1) as pool:

        def exchange(_: Any, __: np.ndarray, numbers: np.ndarray) -> np.ndarray:
            nonlocal reads
            if reads == read:
                running.append(pool.submit(_rewrite_one, m, other, stream.at("another thread")))
                wait(running, PATIENCE)
            reads += 1
            return numbers

        result = m.rewrite(text, stream=TappedStream.of(stream, Tape(exchange)))
    for future in running:
        future.result()
    return result


def a_copy(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Yield rewrites by other instances: from its options, its setting, and files that contain these. Also at another
    ε, since a copy may fall back to the default."""
    for epsilon in other_epsilons(m)[:1] if is_cheap(m) else ():
        if is_importable(type(m)):
            other = at_epsilon(m, epsilon)
            yield Pair(
                _rewrite_one(pickle.loads(pickle.dumps(anew_of(other))), text, stream), wanted(other, text, stream)
            )
    copies = [m.replace(), type(m).create(**m.setting.given())]
    if is_registered(m):
        setting = m.setting
        read = json.loads(json.dumps(setting.to_dict()))
        copies += [s.make() for s in (setting, Setting.from_dict(read), Setting.from_query(setting.to_query()))]
    if is_importable(type(m)):
        copies.append(pickle.loads(pickle.dumps(anew_of(m))))
    for copy in copies if is_cheap(m) else copies[-2:]:
        yield Pair(_rewrite_one(copy, text, stream), wanted(m, text, stream))


def a_result_from_a_file(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Yield a result that another process returned."""
    result = wanted(m, text, stream)
    if is_importable(type(m)) and is_importable(type(result)) and is_importable(type(result.trace)):
        yield Pair(pickle.loads(pickle.dumps(result)), result)


#: Every entry point, by its name.
ENTRY_POINTS: dict[str, EntryPoint] = {
    point.__name__.replace("_", " "): point
    for point in (
        a_seed,
        a_prepared_text,
        a_planned_text,
        a_text_prepared_at_another_epsilon,
        a_list,
        numbered_texts,
        fresh_rewrites,
        a_sweep,
        a_list_of_epsilons,
        another_thread,
        a_copy,
        a_result_from_a_file,
    )
}


def is_registered(m: Mechanism) -> bool:
    """Return whether the registry can recreate it by its name."""
    try:
        return mechanism_class(m.name) is type(m)
    except ConfigError:
        return False


def is_importable(cls: type) -> bool:
    """Return whether another process can import the class by its name, so that its objects can be sent there."""
    module: Any = sys.modules.get(cls.__module__)
    for part in cls.__qualname__.split("."):
        module = getattr(module, part, None)
    return module is cls


def anew_of(m: Mechanism) -> Mechanism:
    """Return a new instance that has loaded nothing."""
    try:
        return type(m)(m.config)
    except TypeError:
        return m


# --- comparisons


def difference(pair: Pair) -> str:
    """Return what differs between two rewrites, a noun phrase; "" for nothing."""
    rewrite, wanted = pair.own, pair.wanted
    if pair.only is not None:
        at = set(pair.only)
        a, b = ([(s.replacement, s.epsilon) for s in r.steps if s.index in at] for r in (rewrite, wanted))
        return "the words at some tokens" if a != b else ""
    if rewrite.text != wanted.text:
        return "the released text"
    pieces, others = ([(u.text, u.action, u.out, u.epsilon) for u in r.units] for r in (rewrite, wanted))
    if pieces != others:
        return "the spans of the release"
    if pair.options and rewrite.config != wanted.config:
        return "the options of the result"
    if pair.options and rewrite.guarantee != wanted.guarantee:
        return "the guarantee of the result"
    if rewrite.can != wanted.can:
        return "the capabilities of the result"
    drawn = [i for i, u in enumerate(rewrite.units) if u.is_sampled] if "distribution" in rewrite.can else []
    for i in drawn[:DISTRIBUTIONS]:
        if not _same_distribution(rewrite.distribution(i), wanted.distribution(i)):
            return "the stated distribution of a draw"
    return ""


def _same_distribution(a: Any, b: Any) -> bool:
    """Return whether two distributions are the same; estimates are not compared."""
    if a.draws is not None or b.draws is not None:
        return (a.draws is None) == (b.draws is None)
    if len(a) != len(b) or not np.array_equal(np.isfinite(a.log_probs), np.isfinite(b.log_probs)):
        return False
    finite = np.isfinite(a.log_probs)
    return bool(np.allclose(a.log_probs[finite], b.log_probs[finite], rtol=1e-4, atol=1e-4))


def stated_difference(m: Mechanism, result: RewriteResult) -> str:
    """Return what differs between the distributions of a result and of the mechanism, if words are sampled one by
    one."""
    if m.by_word is None or "distribution" not in result.can:
        return ""
    drawn = [(k, s.index) for k, s in enumerate(result.steps) if s.is_sampled and s.action == "replace"]
    for k, i in drawn[:DISTRIBUTIONS]:
        try:
            stated = m.distribution(result.original, i)
        except NoDistribution:
            return f"the distribution of “{result.steps[k].original}”, which only the result states"
        if not _same_distribution(result.distribution(k), stated):
            return f"the distribution of “{result.steps[k].original}”, which the mechanism states differently"
    return ""


def repeated_difference(m: Mechanism, result: RewriteResult) -> str:
    """Return a difference if all rewrites of one text with fresh noise are equal, although separate rewrites are
    not."""
    if not is_cheap(m):
        return ""
    low = at_epsilon(m, min([float(m.config.epsilon), *other_epsilons(m)]))
    prepared = low.prepare(" ".join([result.original] * LONG))
    alone = {_rewrite_one(low, prepared, NoiseStream(k)).text for k in range(FRESH)}
    if len(alone) < DIFFERENT or len({r.text for r in low.rewrites(prepared, FRESH, stream=NoiseStream(0))}) > 1:
        return ""
    return "the released texts, which are all equal"


def polish_difference(m: Mechanism, result: RewriteResult, task: Task = UNWATCHED) -> str:
    """Return a difference between the post-processing of a result and that of the same release without the original."""
    if type(result).polished is RewriteResult.polished:
        return ""
    hidden = dataclasses.replace(result, original="x" * len(result.original), trace=_Public(result.trace))
    if "alignment" in result.can:
        bare = [dataclasses.replace(s, original="x" * len(s.original)) for s in result.steps]
        hidden = dataclasses.replace(hidden, steps=bare)
    try:
        other = hidden.polished(m, task=task).text
    except DPTextError:
        raise
    except Exception as error:  # it requested private data
        return f"the clean-up, which fails without the original ({type(error).__name__})"
    return "the clean-up, which reads the original" if result.polished(m, task=task).text != other else ""


#: The comparisons for one result, by name.
_OF_A_RESULT: dict[str, Callable[[Mechanism, RewriteResult], str]] = {
    "the distribution of a result": stated_difference,
    "repeated rewrites": repeated_difference,
    "polished": polish_difference,
}


class _Public(Trace):
    """The parts of a trace that do not depend on the original."""

    def __init__(self, trace: Trace):
        self.can, self.rules = trace.can, trace.rules  # type: ignore[misc]


# --- in an audit


@dataclass(frozen=True)
class Difference:
    """A difference at an entry point. point: its name; what: a noun phrase."""

    point: str
    what: str
    text: str


def differences(
    m: Mechanism, text: str, seed: int, only: Sequence[str] = (), *, seeded: bool = True
) -> Iterator[Difference]:
    """Yield differences between the entry points and ``rewrite`` of the text, at most one for each. only: names of
    entry points. seeded: whether each is also called with a seed, not only with the same numbers without one."""
    wanted, base = RewriteCache(), NoiseStream(seed)
    if wanted(m, text, base).text != wanted(m, text, without_seed(base)).text:
        yield Difference("a seed", "the released text with a seed and without", text)
    for name, point in ENTRY_POINTS.items():
        if only and name not in only:
            continue
        for stream in (without_seed(base), base) if seeded or name == "a seed" else (without_seed(base),):
            what = next((d for pair in point(m, text, stream, wanted) if (d := difference(pair))), "")
            if what:
                yield Difference(name, what, text)
                break
    result = wanted(m, text, base)
    for name, compare in _OF_A_RESULT.items():
        if (not only or name in only) and (what := compare(m, result)):
            yield Difference(name, what, text)


def through_entry_points(subject: Subject) -> Check | None:
    """Test that all entry points give the same releases."""
    m, stream, meter = new_instance(subject.m), subject.stream.at(NAME), subject.meter
    each = WORDS if m.by_word is not None else MODEL_WORDS
    given = [p.word for p in subject.probes]
    words = drawn_words(m, given, TRIES * each, stream.at("words"), meter) if has_alignment(m) else []
    # This also tests a plan in which nothing is sampled.
    if not (words := words or public_words(m, TRIES * each, stream.at("words"))):
        return None
    # Marks, a capital and an unknown word too, as the context of a draw.
    texts = [" ".join((words * TRIES)[k * each : (k + 1) * each]) for k in range(TRIES)]
    texts = [f"{t.title() if k % 2 else t}, Xyzzyq 12!" for k, t in enumerate(texts)]
    differing = list(differences(m, texts[0], 1, seeded=False))
    if differing and m.by_word is None:
        points = [f.point for f in differing]
        again = [d for k, t in enumerate(texts[1:]) for d in differences(m, t, 2 + k, points, seeded=False)]
        differing = [f for f in differing if 1 + sum(d.point == f.point for d in again) >= MOST]
    looked = f"{len(ENTRY_POINTS)} ways to rewrite, each compared with rewriting the text alone with the same noise."
    if not differing:
        return Check(NAME, "tested", looked, blind="an entry point that differs for some texts only")
    first = differing[0]
    message = f"For “{flat(first.text)}” with the same noise, {first.point} differs: {first.what}."
    reason = (
        f"not all entry points release the same text with the same noise ({', '.join(d.point for d in differing)}), so "
        "results for one entry point do not apply to another."
    )
    return Check(NAME, "refuted", looked, reason, Witness.of_rule(message, first.text, kind="release"))
