"""The first look: whether released texts are what their pieces say, byte for byte, before anything is measured.

Every text of the audit is rewritten, alone, prepared, in a list with the others and by ``rewrites``, and one of words
between marks, quotes and emoji too; that one also with other options, since a rule may be kept with some of them alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..errors import Busy, Cancelled, DPTextError, ModelUnavailable
from ..mechanisms.base import Mechanism, Prepared
from ..result import RewriteResult
from .inputs import TEXTS
from .looks import Seeds, Subject
from .report import Check
from .rules import Breach, Spelling, follow_steps, not_named, same_promise
from .told import of_errors

NAME = "released text"
#: Texts that are rewritten in each way (of a mechanism that writes a new text, where a rewrite is slow and every later
#: one is held against the rules too: one), the others in the list; rewrites of each by ``rewrites``.
MOST, WRITTEN, FRESH = 6, 1, 4
#: Texts of one list.
LIST = 200


def released_text(subject: Subject) -> Check:
    """The released texts against their pieces: refuted, tested, or not looked at where pieces cannot be told."""
    m, seeds = subject.m, subject.seeds(NAME)
    texts = [t.text if isinstance(t, Prepared) else t for t in subject.inputs]
    texts = list(dict.fromkeys([*texts, hostile(texts)]))
    spelling, n = Spelling(m), 0
    try:
        for way, result in _rewritten(subject, m, texts, seeds):
            n += 1
            _follow(m, way, result, spelling)
        tried = []
        for said, other in other_options(m):
            try:
                results = other.rewrite([texts[-1], TEXTS[0]], seeds())
            except (Cancelled, Busy):
                raise
            except Exception:  # what other options do is not what is audited, as long as it releases nothing
                continue
            tried.append(said)
            for result in results:
                n += 1
                _follow(other, f"a list of texts with {said}", result, Spelling(other))
    except (Cancelled, Busy, ModelUnavailable):
        raise
    except DPTextError:
        if (found := of_errors(m, texts)) is None:
            raise
        return Check(NAME, "refuted", _looked(n, texts, []), found.reason, found.witness, draws=n)
    except Breach as breach:
        return Check(NAME, "refuted", _looked(n, texts, []), breach.reason, breach.witness, draws=n)
    looked = _looked(n, texts, tried)
    if spelling.unclear:
        return Check(NAME, "not looked at", looked, spelling.unclear, draws=n)
    leak = 1 - 0.05 ** (1 / n)
    return Check(NAME, "tested", looked, leak=leak, draws=n)


def _looked(n: int, texts: list[str], variants: list[str]) -> str:
    more = f", some with {' or '.join(variants)}" if variants else ""
    return f"{n:,} rewrites of {len(texts):,} texts{more}: each is what its pieces and what is kept say, byte for byte."


def hostile(texts: list[str]) -> str:
    """Words of the inputs between marks, quotes, emoji, line ends, unknown and kept words, in each case of letters."""
    words = [w for w in texts if w.isalpha()] or [w for t in texts for w in t.split() if w.isalpha()] or ["word"]
    some = [words[k * (len(words) - 1) // 4] for k in range(5)]
    a, b, c, d, e = some
    return f'❤️{a} {b.title()}!  {c}, "{d}" ({e})\n{a.upper()}… 👩‍👩‍👧{b} — {c}\'s Grzybowski, 1987: the {d}. '


def _rewritten(subject: Subject, m: Mechanism, texts: list[str], seeds: Seeds) -> Iterator[tuple[str, RewriteResult]]:
    """Rewrites in every way, with the way's name."""
    task, meter = subject.meter.task, subject.meter
    most = MOST if "alignment" in m.can else WRITTEN
    some = list(dict.fromkeys([texts[-1], *texts]))[:most]
    for k, text in enumerate(some):
        meter.at(0.01 + 0.01 * k / len(some))
        yield "a text", m.rewrite(text, seeds(), task=task)
        prepared = m.prepare(text, task=task)
        yield "a prepared text", m.rewrite(prepared, seeds(), task=task)
        for result in m.rewrites(prepared, FRESH, seeds(), task=task):
            yield "fresh draws", result
    for start in range(0, len(texts), LIST):
        meter.at(0.02)
        for result in m.rewrite(texts[start : start + LIST], seeds(), task=task):
            yield "a list of texts", result


def _follow(m: Mechanism, way: str, result: RewriteResult, spelling: Spelling) -> None:
    if not m.shares_draws:  # else a list has its own
        same_promise(result, m.guarantee(result.original))
    exposed = result.guarantee.exposed if result.seed is None else result.guarantee.exposed[:-1]
    if "alignment" not in result.can and ("alignment" not in m.can or result.pieces is not None):
        spelling.follow(result.original, result, exposed)
        return
    follow_steps(spelling.document(result.original), way, result)
    kept = next((s.replacement for s in result.steps if s.action == "keep"), None)
    if kept is not None and not exposed:
        raise not_named(result.original, kept)


def other_options(m: Mechanism) -> list[tuple[str, Mechanism]]:
    """The mechanism with its flags and choices at other values, many at once, each with what was changed: those of how
    a text is put together, as far as they can be had together."""
    out: list[tuple[str, Mechanism]] = []
    wanted = []
    for field in dataclasses.fields(m.config):
        own = getattr(m.config, field.name)
        meta = field.metadata
        values = {"flag": (not own,), "choice": meta["choices"]}.get(meta["kind"]) or ()
        wanted.append([(field.name, v) for v in values if v != own and not meta.get("draws")])
    for k in range(max(map(len, wanted), default=0)):
        other, said = m, list[str]()
        for name, value in (values[k] for values in wanted if len(values) > k):
            changed = _with(other, name, value)
            if changed is not None:
                other = changed
                said.append(f"{name} = {value}")
        if said:
            out.append((", ".join(said), other))
    return out


def _with(m: Mechanism, name: str, value: object) -> Mechanism | None:
    """The mechanism with one option changed, where it can be had."""
    try:
        other = m.replace(**{name: value})
        other.guarantee("Doctor")
    except (Cancelled, Busy):
        raise
    except DPTextError:
        return None
    return other
