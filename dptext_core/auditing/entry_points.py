"""All ways to a rewrite, and what each must be equal to: with the same noise, ``rewrite`` of the text alone.

An audit measures rewrites of one or two entry points. That says something of the others only where they give the same
releases: of a text that was prepared or planned, at another ε too, of a list, a sweep or a list of ε, in another
thread, by a copy, after a round trip through a file. Each entry point is called with a seed and, with the same numbers,
without one (``noise_source.unseeded``): what must be equal is the text, its pieces, what each piece spends, the
guarantee and the stated distributions.

The equality has no false alarms where nothing is computed by a model. Where batches round otherwise, one draw in many
thousands may differ: there an entry point counts as another only where most of some texts differ.
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
from ..mechanisms.capabilities import drawn_tokens
from ..mechanisms.config import takes_epsilon_list
from ..mechanisms.registry import mechanism_class
from ..mechanisms.setting import Setting
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult, Trace
from ..support.task import UNWATCHED, Task
from .checks import Subject
from .noise_source import unseeded
from .release_statistics import drawn_words, has_alignment, is_cheap, new_instance, public_words
from .report import Check, Witness
from .rules import flat
from .tapped import Tape, TappedStream

NAME = "entry points"
#: Drawn units of a rewrite whose distributions are compared.
DISTRIBUTIONS = 3
#: Rewrites at the same time, and how often each.
THREADS, REPEATS = 3, 2
#: At which reads of its noise another thread overtakes a rewrite, and the seconds that it has for it.
OVERTAKEN, PATIENCE = (0, 1, 2), 0.5
#: How often a text is repeated where a word is often the same: at two ε, or in two rewrites.
LONG = 8
#: Rewrites of a text with fresh noise each, and how many texts as many by themselves must give: then these are all the
#: same with a chance below 2^−20.
FRESH, DIFFERENT = 24, 20
#: Words of the text that is rewritten, of mechanisms that draw words one by one and of others.
WORDS, MODEL_WORDS = 4, 3
#: How many texts are tried, and of how many rewrites by a model most must differ.
TRIES, MOST = 4, 3


@dataclass(frozen=True)
class Pair:
    """A rewrite of an entry point and what it must be equal to. only: the tokens that are compared, all by default.
    options: whether the guarantee and the options are compared too."""

    own: RewriteResult
    wanted: RewriteResult
    only: tuple[int, ...] | None = None
    options: bool = True


class RewriteCache:
    """Rewrites of a text alone, each made once."""

    def __init__(self) -> None:
        self._known: dict[tuple, RewriteResult] = {}

    def __call__(self, m: Mechanism, text: str, stream: NoiseStream) -> RewriteResult:
        key = (m.config.epsilon, text, stream.seed, stream.at(0).noise_id)
        if key not in self._known:
            self._known[key] = _rewrite_one(m, text, stream)
        return self._known[key]


EntryPoint = Callable[[Mechanism, str, NoiseStream, RewriteCache], Iterator[Pair]]


def at_epsilon(m: Mechanism, epsilon: Any) -> Mechanism:
    """Return the mechanism at another ε, as a user makes it."""
    return m.replace(epsilon=epsilon)


def other_epsilons(m: Mechanism) -> list[float]:
    """Return an ε below that of the mechanism and one above it, as far as it takes them; one where a rewrite is
    costly."""
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


# --- what is rewritten


def a_seed(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Yield a seed in the place of its stream."""
    if stream.seed is not None:
        yield Pair(m.rewrite(text, seed=stream.seed), wanted(m, text, stream))


def a_prepared_text(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Yield a text that was prepared, the first time and the second."""
    prepared = m.prepare(text)
    for _ in range(2 if is_cheap(m) else 1):
        yield Pair(_rewrite_one(m, prepared, stream), wanted(m, text, stream))


def a_planned_text(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Yield a text that was planned."""
    yield Pair(_rewrite_one(m, m.plan(text), stream), wanted(m, text, stream))
    if is_cheap(m):
        yield Pair(_rewrite_one(m, m.plan(m.prepare(text)), stream), wanted(m, text, stream))


def a_text_prepared_at_another_epsilon(
    m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache
) -> Iterator[Pair]:
    """Yield a text that was prepared, planned or rewritten at another ε before."""
    for epsilon in other_epsilons(m):
        other = at_epsilon(m, epsilon)
        yield Pair(_rewrite_one(m, other.prepare(text), stream), wanted(m, text, stream))
        if is_cheap(m):
            yield Pair(_rewrite_one(m, other.plan(text), stream), wanted(m, text, stream))
        used = other.prepare(text)
        yield Pair(_rewrite_one(other, used, stream), wanted(other, text, stream))
        yield Pair(_rewrite_one(m, used, stream), wanted(m, text, stream))


# --- many at once


def a_list(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Yield a text in a list: the first has the noise that it has alone, each other one that of its number."""
    if m.shares_draws:
        return
    other = " ".join(reversed(text.split()))
    for texts in ([text], [other, text, text])[0 if is_cheap(m) else 1 :]:
        for each in (m.rewrite(texts, stream=stream), list(m.rewrite_each(texts, stream=stream))):
            for k, result in enumerate(each):
                yield Pair(result, wanted(m, texts[k], stream.numbered([k])))


def numbered_texts(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Yield some texts out of many, each with the noise of its own number: what a data set is rewritten by."""
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
    """Rewrites with fresh noise each, which need not be that of single rewrites: of the text and of a prepared one,
    with a seed and without."""
    seeded = m.rewrites(text, 2, seed=stream.seed) if stream.seed is not None else m.rewrites(text, 2, stream=stream)
    for own, other in zip(m.rewrites(m.prepare(text), 2, stream=unseeded(stream)), seeded, strict=True):
        yield Pair(own, other, options=False)


def a_sweep(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Each point of a sweep."""
    epsilons = [*other_epsilons(m), float(m.config.epsilon)]
    for result, epsilon in zip(m.sweep(text, epsilons, stream=stream).results, epsilons, strict=True):
        yield Pair(result, wanted(at_epsilon(m, epsilon), text, stream))


def a_list_of_epsilons(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """One ε a token: the same for all, and different ones where no draw depends on another."""
    if not takes_epsilon_list(m.config):
        return
    if is_cheap(m):
        text = " ".join([text] * LONG)
    own, n = float(m.config.epsilon), len(m.document(text).words)
    try:
        same = at_epsilon(m, (own,) * n)
    except (ConfigError, NoDistribution):  # it takes one ε
        return
    yield Pair(_rewrite_one(same, text, stream), wanted(m, text, stream), options=False)
    apart = m.by_word is not None or ("sweep" in m.can and has_alignment(m))
    if not apart or m.guarantee(text).unit.counts_distinct_words:
        return
    for other in other_epsilons(m):
        # From a place amid the drawn words on: in no other order of the list would it be the same.
        drawn = drawn_tokens(m, m.prepare(text))
        at = drawn[len(drawn) // 3] if len(drawn) > 2 else n // 2
        result = _rewrite_one(at_epsilon(m, (other,) * at + (own,) * (n - at)), text, stream)
        for only, epsilon in ((tuple(range(at)), other), (tuple(range(at, n)), own)):
            yield Pair(result, wanted(at_epsilon(m, epsilon), text, stream), only, options=False)


# --- elsewhere


def another_thread(m: Mechanism, text: str, stream: NoiseStream, wanted: RewriteCache) -> Iterator[Pair]:
    """Another thread, and several at the same time with different texts."""
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
    """Return a rewrite that is overtaken by one of another text in another thread, when it reads its noise.

    Threads that are left to themselves seldom meet in the middle of a short rewrite. Where a lock is held, the other
    thread waits for it, and is not waited for.
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
    """Another instance: of its options, of its setting, and out of files that hold these. At another ε too, since a
    copy may fall back to the default."""
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
    """Yield a result that was handed over by another process."""
    result = wanted(m, text, stream)
    if is_importable(type(m)) and is_importable(type(result)) and is_importable(type(result.trace)):
        yield Pair(pickle.loads(pickle.dumps(result)), result)


#: Every way to a rewrite, by its name.
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
    """Whether its name makes it again."""
    try:
        return mechanism_class(m.name) is type(m)
    except ConfigError:
        return False


def is_importable(cls: type) -> bool:
    """Whether another process finds the class under its name, so that its objects can be handed over."""
    found: Any = sys.modules.get(cls.__module__)
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is cls


def anew_of(m: Mechanism) -> Mechanism:
    """Return a new instance that has loaded nothing."""
    try:
        return type(m)(m.config)
    except TypeError:
        return m


# --- what must be equal


def difference(pair: Pair) -> str:
    """Return what differs between two rewrites, a noun phrase; "" for nothing."""
    own, wanted = pair.own, pair.wanted
    if pair.only is not None:
        at = set(pair.only)
        a, b = ([(s.replacement, s.epsilon) for s in r.steps if s.index in at] for r in (own, wanted))
        return "the words at some tokens" if a != b else ""
    if own.text != wanted.text:
        return "the released text"
    pieces, others = ([(u.text, u.action, u.out, u.epsilon) for u in r.units] for r in (own, wanted))
    if pieces != others:
        return "the pieces of the release"
    if pair.options and own.config != wanted.config:
        return "the options of the result"
    if pair.options and own.guarantee != wanted.guarantee:
        return "the guarantee of the result"
    if own.can != wanted.can:
        return "the capabilities of the result"
    drawn = [i for i, u in enumerate(own.units) if u.drawn] if "distribution" in own.can else []
    for i in drawn[:DISTRIBUTIONS]:
        if not _same_distribution(own.distribution(i), wanted.distribution(i)):
            return "the stated distribution of a draw"
    return ""


def _same_distribution(a: Any, b: Any) -> bool:
    """Whether two distributions are the same; estimates are not compared."""
    if a.draws is not None or b.draws is not None:
        return (a.draws is None) == (b.draws is None)
    if len(a) != len(b) or not np.array_equal(np.isfinite(a.log_probs), np.isfinite(b.log_probs)):
        return False
    finite = np.isfinite(a.log_probs)
    return bool(np.allclose(a.log_probs[finite], b.log_probs[finite], rtol=1e-4, atol=1e-4))


def stated_difference(m: Mechanism, result: RewriteResult) -> str:
    """Where words are drawn one by one: what a result states of its draws, against what the mechanism states."""
    if m.by_word is None or "distribution" not in result.can:
        return ""
    drawn = [(k, s.index) for k, s in enumerate(result.steps) if s.drawn and s.action == "replace"]
    for k, i in drawn[:DISTRIBUTIONS]:
        try:
            stated = m.distribution(result.original, i)
        except NoDistribution:
            return f"the distribution of “{result.steps[k].original}”, which only the result states"
        if not _same_distribution(result.distribution(k), stated):
            return f"the distribution of “{result.steps[k].original}”, which the mechanism states differently"
    return ""


def repeated_difference(m: Mechanism, result: RewriteResult) -> str:
    """Whether rewrites of one text with fresh noise each are all the same, though rewrites by themselves are not."""
    if not is_cheap(m):
        return ""
    low = at_epsilon(m, min([float(m.config.epsilon), *other_epsilons(m)]))
    prepared = low.prepare(" ".join([result.original] * LONG))
    alone = {_rewrite_one(low, prepared, NoiseStream(k)).text for k in range(FRESH)}
    if len(alone) < DIFFERENT or len({r.text for r in low.rewrites(prepared, FRESH, stream=NoiseStream(0))}) > 1:
        return ""
    return "the released texts, which are all equal"


def polish_difference(m: Mechanism, result: RewriteResult, task: Task = UNWATCHED) -> str:
    """Where a result polishes itself: its polish of the same release without the original must be the same."""
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
    except Exception as error:  # it asked for what is private
        return f"the clean-up, which fails without the original ({type(error).__name__})"
    return "the clean-up, which reads the original" if result.polished(m, task=task).text != other else ""


#: What is compared of one result, by its name.
_OF_A_RESULT: dict[str, Callable[[Mechanism, RewriteResult], str]] = {
    "the distribution of a result": stated_difference,
    "repeated rewrites": repeated_difference,
    "polished": polish_difference,
}


class _Public(Trace):
    """What of a trace does not tell of the original."""

    def __init__(self, trace: Trace):
        self.can, self.rules = trace.can, trace.rules  # type: ignore[misc]


# --- in an audit


@dataclass(frozen=True)
class Difference:
    """Something that an entry point does otherwise. point: its name; what: a noun phrase."""

    point: str
    what: str
    text: str


def differences(
    m: Mechanism, text: str, seed: int, only: Sequence[str] = (), *, seeded: bool = True
) -> Iterator[Difference]:
    """Yield what the entry points do otherwise than ``rewrite`` of the text, each at most once. only: names of entry
    points; seeded: whether each is called with a seed too, and not only with the same numbers without one."""
    wanted, own = RewriteCache(), NoiseStream(seed)
    if wanted(m, text, own).text != wanted(m, text, unseeded(own)).text:
        yield Difference("a seed", "the released text with a seed and without", text)
    for name, point in ENTRY_POINTS.items():
        if only and name not in only:
            continue
        for stream in (unseeded(own), own) if seeded or name == "a seed" else (unseeded(own),):
            what = next((d for pair in point(m, text, stream, wanted) if (d := difference(pair))), "")
            if what:
                yield Difference(name, what, text)
                break
    result = wanted(m, text, own)
    for name, found in _OF_A_RESULT.items():
        if (not only or name in only) and (what := found(m, result)):
            yield Difference(name, what, text)


def through_entry_points(subject: Subject) -> Check | None:
    """Whether all entry points give the same releases."""
    m, stream, meter = new_instance(subject.m), subject.stream.at(NAME), subject.meter
    each = WORDS if m.by_word is not None else MODEL_WORDS
    given = [p.word for p in subject.probes]
    words = drawn_words(m, given, TRIES * each, stream.at("words"), meter) if has_alignment(m) else []
    # Where a plan says that nothing is drawn, that is looked at too.
    if not (words := words or public_words(m, TRIES * each, stream.at("words"))):
        return None
    # Marks, a capital and an unknown word, too: what stands around a draw.
    texts = [" ".join((words * TRIES)[k * each : (k + 1) * each]) for k in range(TRIES)]
    texts = [f"{t.title() if k % 2 else t}, Xyzzyq 12!" for k, t in enumerate(texts)]
    found = list(differences(m, texts[0], 1, seeded=False))
    if found and m.by_word is None:
        points = [f.point for f in found]
        again = [d for k, t in enumerate(texts[1:]) for d in differences(m, t, 2 + k, points, seeded=False)]
        found = [f for f in found if 1 + sum(d.point == f.point for d in again) >= MOST]
    looked = f"{len(ENTRY_POINTS)} ways to rewrite, each compared with rewriting the text alone with the same noise."
    if not found:
        return Check(NAME, "tested", looked, blind="an entry point that differs for some texts only")
    first = found[0]
    message = f"For “{flat(first.text)}” with the same noise, {first.point} differs: {first.what}."
    reason = (
        f"not all entry points release the same text with the same noise ({', '.join(d.point for d in found)}), so "
        "results for one entry point do not apply to another."
    )
    return Check(NAME, "refuted", looked, reason, Witness.of_rule(message, first.text, kind="release"))
