"""The only entry point through which checks get rewrites: each rewrite is tested against the release rules first.

A fault that no single check covers may show only in a full list, late in a text, at a first rewrite or at one word of a
vocabulary. So no check calls a mechanism's ``rewrite`` itself. For each result:

* its text follows from its parts and the kept tokens, byte for byte (``rules``);
* its guarantee is the one that is stated for its text;
* everything else released with it (the mechanism, its options, the seed, the name of the noise) does not depend on its
  text.

Statements come from another instance, which rewrites nothing, because a query may change the state of a leaky instance.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..errors import Busy, Cancelled, DPTextError, ModelUnavailable
from ..mechanisms.base import Mechanism, Prepared
from ..privacy.guarantee import Guarantee
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult
from ..support.task import UNWATCHED, Task
from .release_statistics import new_instance
from .rules import Breach, Spelling, dependence_breach, flat, follow_steps, not_named, same_guarantee

#: The entry points for rewrites.
TEXT, PREPARED, LIST, FRESH, EACH = (
    "a text",
    "a prepared text",
    "a list of texts",
    "fresh draws",
    "a list of texts, one by one",
)


#: Number of earlier texts that are compared with one for which a rewrite fails.
_BEFORE = 20


@dataclass
class _RewriteSubject:
    """The state for one mechanism with its options.

    whose: the given one, stored so that its id is not reused. other: the instance that is queried. named: whether the
    noise of each entry point has the name of its stream."""

    whose: Mechanism
    other: Mechanism
    spelling: Spelling
    guarantees: dict[str, Guarantee] = field(default_factory=dict)
    named: dict[str, tuple[bool, str]] = field(default_factory=dict)


class Rewriter:
    """The rewrites of one audit. n: their number. texts: the different texts. variants: the other options of some of
    them."""

    def __init__(self, task: Task = UNWATCHED):
        self.task, self.n, self.texts, self.variants = task, 0, set[str](), list[str]()
        self._subjects: dict[Hashable, _RewriteSubject] = {}

    def one(self, m: Mechanism, text: str | Prepared, noise: NoiseStream | int | None = None) -> RewriteResult:
        """Return ``m.rewrite`` of a text."""
        stream = _stream(noise)
        with self._errors(m, [text]):
            result = m.rewrite(text, stream=stream, task=self.task)
        self._look(m, PREPARED if isinstance(text, Prepared) else TEXT, [text], [result], stream, [stream.at(0)])
        return result

    def listed(self, m: Mechanism, texts: Sequence[str], noise: NoiseStream | int | None = None) -> list[RewriteResult]:
        """Return ``m.rewrite`` of a list of texts."""
        stream = _stream(noise)
        with self._errors(m, texts):
            results = m.rewrite(list(texts), stream=stream, task=self.task)
        self._look(m, LIST, texts, results, stream, (stream.at(i) for i in range(len(texts))))
        return results

    def each(self, m: Mechanism, texts: Sequence[str], noise: NoiseStream | int | None = None) -> list[RewriteResult]:
        """Return ``m.rewrite_each`` of a list of texts."""
        stream = _stream(noise)
        with self._errors(m, texts):
            results = list(m.rewrite_each(texts, stream=stream, task=self.task))
        self._look(m, EACH, texts, results, stream, (stream.at(i) for i in range(len(texts))))
        return results

    def fresh(
        self,
        m: Mechanism,
        text: str | Prepared,
        n: int,
        noise: NoiseStream | int | None = None,
        *,
        distributions: bool = True,
    ) -> list[RewriteResult]:
        """Return ``m.rewrites`` of a text. distributions: whether to query those of its parts, which can need a model
        pass."""
        stream = _stream(noise)
        with self._errors(m, [text]):
            results = m.rewrites(text, n, stream=stream, task=self.task)
        streams = (stream.at("fresh", k) for k in range(n))
        self._look(m, FRESH, [text] * n, results, stream, streams, distributions)
        return results

    @property
    def unclear(self) -> str:
        """Return why the parts of a text are unknown, a clause that ends with a full stop; "" if they are known."""
        return next((a.spelling.unclear for a in self._subjects.values() if a.spelling.unclear), "")

    # --- the rules

    @contextmanager
    def _errors(self, m: Mechanism, texts: Sequence[str | Prepared]) -> Iterator[None]:
        """Raise Breach on an error for one text if a comparable text was rewritten before."""
        try:
            yield
        except (Cancelled, Busy, ModelUnavailable, Breach):
            raise
        except DPTextError as error:
            text, *more = dict.fromkeys(t.text if isinstance(t, Prepared) else t for t in texts)
            asked = self._subject_of(m)
            for other in () if more else [*asked.guarantees][-_BEFORE:]:
                if other != text and _are_adjacent(asked.other, text, other):
                    message = f"The error of “{flat(text)}” is “{flat(str(error))}”, but “{flat(other)}” is rewritten."
                    raise dependence_breach("error", text, message, other) from error
            raise

    def _subject_of(self, m: Mechanism) -> _RewriteSubject:
        key: Hashable = (type(m), m.config)
        try:
            known = self._subjects.get(key)
        except TypeError:  # options that have no hash
            key = id(m)
            known = self._subjects.get(key)
        if known is None:
            other = new_instance(m)
            known = self._subjects[key] = _RewriteSubject(m, other, Spelling(other))
        return known

    def _look(
        self,
        m: Mechanism,
        way: str,
        texts: Sequence[str | Prepared],
        results: Sequence[RewriteResult],
        stream: NoiseStream,
        streams: Sequence[NoiseStream] | Iterator[NoiseStream],
        distributions: bool = True,
    ) -> None:
        """Raise Breach if a result violates a rule."""
        asked = self._subject_of(m)
        originals = [t.text if isinstance(t, Prepared) else t for t in texts]
        if [r.original for r in results] != originals:
            reason = "a call does not return one rewrite per text in order."
            raise Breach(originals[0] if originals else "", f"Observed for {way}.", reason)
        self.n += len(results)
        self.texts.update(originals)
        for i, (text, result, noise) in enumerate(zip(originals, results, streams, strict=True)):
            self.task.check()
            self._beside(m, asked, way, text, result)
            self._named(m, asked, way, originals, i, result, stream, noise)
            exposed = result.guarantee.exposed if result.seed is None else result.guarantee.exposed[:-1]
            if "alignment" not in result.can and ("alignment" not in m.can or result.pieces is not None):
                asked.spelling.follow(text, result, exposed, distributions)
                continue
            follow_steps(asked.spelling.document(text), way, result)
            if not exposed and (copied := next((s.replacement for s in result.steps if s.action == "keep"), None)):
                raise not_named(text, copied)

    def _beside(self, m: Mechanism, asked: _RewriteSubject, way: str, text: str, result: RewriteResult) -> None:
        """Check everything released with a text except the name of its noise."""
        if not m.shares_draws:  # else a list has a separate one
            if text not in asked.guarantees:
                asked.guarantees[text] = asked.other.guarantee(text)
            same_guarantee(result, asked.guarantees[text])
        batch = result.batch if m.shares_draws else ""
        stated = {"mechanism": m.name, "options": m.config, "language": m.language, "batch": batch}
        expected = {
            "mechanism": result.mechanism,
            "options": result.config,
            "language": result.language,
            "batch": result.batch,
        }
        for name, value in stated.items():
            if expected[name] is not value and expected[name] != value:
                message = f"For a rewrite of “{flat(text)}” ({way}), the {name} is {expected[name]!r}, not {value!r}."
                raise Breach(text, message, f"the {name} released with a result differs from that of the mechanism.")

    def _named(
        self,
        m: Mechanism,
        asked: _RewriteSubject,
        way: str,
        texts: Sequence[str],
        i: int,
        result: RewriteResult,
        stream: NoiseStream,
        noise: NoiseStream,
    ) -> None:
        """Check that the name of the noise is that of its stream. If it is not, compare with another text in the same
        place."""
        if m.shares_draws:
            return
        same = result.noise_id == noise.noise_id
        first, other = asked.named.setdefault(way, (same, texts[i]))
        if same == first:
            return
        again = _repeat_rewrites(m, way, other, len(texts), stream, self.task)
        if again[i].noise_id != result.noise_id:
            message = f"The same noise has different IDs in rewrites of “{flat(texts[i])}” and “{flat(other)}”."
            reason = "the noise ID, which is released, depends on the text."
            raise Breach(texts[i], message, reason, other=other)


def _are_adjacent(m: Mechanism, a: str, b: str) -> bool:
    """Return whether the guarantee compares two texts, if the mechanism states this for a text that it refuses."""
    try:
        return bool(m.audit_support.adjacent(a, b))
    except DPTextError:
        return False


def _stream(noise: NoiseStream | int | None) -> NoiseStream:
    return noise if isinstance(noise, NoiseStream) else NoiseStream(noise)


def _repeat_rewrites(m: Mechanism, way: str, text: str, n: int, stream: NoiseStream, task: Task) -> list[Any]:
    """Return as many rewrites of one text, through the same entry point and with the same noise."""
    if way == TEXT:
        return [m.rewrite(text, stream=stream, task=task)]
    if way == PREPARED:
        return [m.rewrite(m.prepare(text, task=task), stream=stream, task=task)]
    if way == FRESH:
        return m.rewrites(text, n, stream=stream, task=task)
    if way == LIST:
        return m.rewrite([text] * n, stream=stream, task=task)
    return list(m.rewrite_each([text] * n, stream=stream, task=task))
