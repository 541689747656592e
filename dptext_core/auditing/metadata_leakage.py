"""Test that metadata is the same for two texts that the guarantee compares.

Metadata is the guarantee, the list of unprotected items, everything released with a text, notes and errors. None of it
is random, so a difference is certain once it shows in the compared texts. These are single words, one text with other
words at its sampled places, and whole texts if any two are compared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import Busy, Cancelled, DPTextError, ModelUnavailable
from ..mechanisms.base import Mechanism, Prepared, WordByWord
from ..mechanisms.config import capitals
from ..privacy.sampling import NoiseStream
from .checks import Subject, failed
from .inputs import TEXTS, exchange_words
from .report import Check
from .rules import OURS, Breach, dependence_breach, flat

NAME, WORDS = "metadata of a text", "metadata of every word"
#: Seeded audits derive their noise from this name, so it is fixed even if the displayed name changes.
_SEED_KEY = "what is said beside a text"
#: Maximum number of compared texts, and of those that are rewritten.
MOST, REWRITTEN = 200, 3
#: Maximum number of words of a text whose notes are compared, if it is read word by word. A model reads only a part of
#: a long text, and the note may say so.
SHORT = 8
#: Number of words of a long text, and of a text with many words of a vocabulary.
LONG, BLOCK = 700, 400
#: Number of vocabulary words that are tested alone unless the audit is thorough, spread over all.
ALONE = 600


@dataclass(frozen=True)
class _Metadata:
    """The metadata of one text by name: a guarantee, a sentence, …; or an error instead."""

    values: tuple[tuple[str, Any], ...]

    def differs(self, other: _Metadata) -> tuple[str, str, str] | None:
        """Return the name of the first difference, and both values."""
        for (name, a), (also, b) in zip(self.values, other.values, strict=False):
            if name != also or a != b:
                return (name if name == also else "error"), _shorten(a), _shorten(b)
        return None


def check_metadata(subject: Subject) -> Check | None:
    """Compare the guarantee and all other metadata of texts that the guarantee compares."""
    m = subject.m
    if subject.guarantee.notion == "none":
        return None
    try:
        compared, texts, unclear = _compare(subject)
    except Breach as breach:
        return Check(NAME, "refuted", "Two texts that the guarantee covers.", breach.reason, breach.witness)
    except OURS:
        raise
    except Exception as error:  # the mechanism's error, which may reveal a text
        return failed(NAME, error)
    if not compared:
        reason = "the guarantee covers no two of these texts, so their metadata cannot be compared."
        return Check(NAME, "not tested", "", reason, is_required=False)
    notes = f", notes on texts of up to {SHORT} words" if "alignment" in m.can else ""
    looked = (
        f"The metadata are the same in {compared:,} pairs of {texts:,} texts that the guarantee covers. The audit "
        f"compared the guarantee, what it lists as not protected{notes}, and errors."
    )
    if not notes:
        looked += " Notes on how much of a text was read are for its author and were not compared."
    return Check(NAME, "not tested" if unclear else "tested", looked, unclear)


def _compare(subject: Subject) -> tuple[int, int, str]:
    """Return how many pairs and texts were compared, and why notes could not be. Raises Breach."""
    m, compared, texts, unclear = subject.m, 0, set[str](), ""
    metadata: dict[str, _Metadata] = {}
    for group in _groups(subject):
        first = group[0]
        for other in group[1:]:
            for text in (first, other):
                if text not in metadata:
                    metadata[text] = _metadata_of(m, text)
            if not _are_compared(m, first, other, metadata):
                continue
            compared += 1
            texts |= {first, other}
            if (difference := metadata[first].differs(metadata[other])) is None:
                continue
            name, a, b = difference
            where = f"For “{flat(first)}” it is {a}, for “{flat(other)}” {b}."
            if name == "note":
                unclear = (
                    "the note on how a text is read differs between two short texts that the guarantee covers. It is "
                    f"unknown whether anyone except the author sees the note. {where}"
                )
                continue
            raise dependence_breach(name, first, where, other)
        _releases(subject, group, metadata)
    return compared, len(texts), unclear


def _groups(subject: Subject) -> Iterator[list[str]]:
    """Yield lists of texts; the first of each is compared with the others."""
    m = subject.m
    given = list(dict.fromkeys(t.text if isinstance(t, Prepared) else t for t in subject.inputs))[:MOST]
    if "alignment" not in m.can:
        yield list(dict.fromkeys([*given, TEXTS[0], "Yes.", " ".join(TEXTS[1:4]), "the doctor paid", "a nurse left"]))
        many = (" ".join(TEXTS).split() * LONG)[:LONG]
        yield [" ".join(many), " ".join(reversed(many))]
        return
    words = [w for w in given if w.isalpha()]
    if len(words) > 1:
        apart = np.asarray(m.audit_support.distances(words), np.float64) if subject.claim is None else None
        if apart is None or np.isfinite(apart[0, 1:]).all():
            yield words
        else:
            remaining = set(range(len(words)))
            while remaining:
                k = min(remaining)
                alike = [j for j in sorted(remaining) if j != k and np.isfinite(apart[k, j])]
                remaining -= {k, *alike}
                if alike:
                    yield [words[k], *(words[j] for j in alike)]
        a, b = words[0], words[-1]
        yield [f"The {a} said: “{a}!”", f"The {b} said: “{b}!”", f"The {a} said: “{b}!”"]
    if len(words) > 1:
        # Long texts, reversed and of one word: comparable if any two words are.
        some = (words * LONG)[:LONG]
        yield [" ".join(some), " ".join(reversed(some)), " ".join(words[:1] * LONG)]
    if long := [t for t in given if not t.isalpha()]:
        yield long
        try:
            plans = [m.plan(t) for t in (*long[:2], *TEXTS[:3])]
            yield exchange_words(m, plans[0], plans)
        except DPTextError:
            return


def _are_compared(m: Mechanism, a: str, b: str, metadata: dict[str, _Metadata]) -> bool:
    """Return whether the guarantee compares two texts. If one of them raises an error: whether both are single
    words."""
    if any(t in metadata and metadata[t].values[0][0] == "error" for t in (a, b)):
        one_word = a.isalpha() and b.isalpha() and bool(np.isfinite(m.audit_support.distances([a, b])[0, 1]))
        return one_word or "alignment" not in m.can
    # A guarantee that counts equal words once compares texts with repetitions at the same places.
    once = m.guarantee(a).unit.counts_distinct_words
    return m.audit_support.adjacent(a, b) and (not once or _repeats(m, a) == _repeats(m, b))


def _repeats(m: Mechanism, text: str) -> list[int]:
    """Return for each token the first one with the same word."""
    first: dict[str, int] = {}
    return [first.setdefault(t.text.casefold(), i) for i, t in enumerate(m.plan(text).document.tokens)]


def _metadata_of(m: Mechanism, text: str, prepare: bool = False) -> _Metadata:
    """Return the metadata of a text. prepare: whether to include errors of preparing it."""
    try:
        g = m.guarantee(m.prepare(text) if prepare else text)
        note = m.reading.note(text) if "alignment" in m.can and len(text.split()) <= SHORT else ""
        fields = ((f"{f.name} of the guarantee", getattr(g, f.name)) for f in dataclasses.fields(g))
        sentences = ("sentence of the guarantee", g.sentence()), ("formal statement of the guarantee", g.lines())
        return _Metadata((*fields, *sentences, ("note", note)))
    except (Cancelled, Busy, ModelUnavailable):
        raise
    except DPTextError as error:
        return _Metadata((("error", f"{type(error).__name__}: {error}"),))


def check_words(subject: Subject) -> Check | None:
    """Compare the guarantee and errors of texts that together have every word of a vocabulary, and of single words."""
    m, by_word = subject.m, subject.m.by_word
    if by_word is None or subject.guarantee.notion == "none":
        return None
    words = _plain_words(m, by_word)
    if len(words) < 2:
        return None
    try:
        alone = words if subject.thorough or len(words) <= ALONE else words[:: -(-len(words) // ALONE)]
        compared = _of_words(subject, [([w], w) for w in alone])
        for block in _blocks(m, by_word, words):
            compared += _of_words(subject, [(w, " ".join(w)) for w in block])
    except Breach as breach:
        return Check(WORDS, "refuted", "Two texts that the guarantee covers.", breach.reason, breach.witness)
    except OURS:
        raise
    except Exception as error:  # the mechanism's error, which may reveal a text
        return failed(WORDS, error)
    if not compared:
        return None
    some = "each" if len(alone) == len(words) else f"{len(alone):,} of them"
    looked = (
        f"The guarantee, what it lists as not protected, and errors are the same for all {len(words):,} sampled words "
        f"of the vocabulary. They were tested in texts of up to {BLOCK} words, and {some} alone."
    )
    blind = f"metadata that depend on two words together, or on words beyond {LONG} tokens"
    return Check(WORDS, "tested", looked, blind=blind)


def _plain_words(m: Mechanism, by_word: WordByWord) -> list[str]:
    """Return the vocabulary words that are sampled as single words: all with a small first letter, or all with any
    letter."""
    words = [w for w in by_word.vocabulary.words if w.isalpha() and not (w[0].isupper() and capitals(m.config))]
    out: list[str] = []
    for start in range(0, len(words), BLOCK):
        some = words[start : start + BLOCK]
        planned, at = m.plan(" ".join(some)), 0
        drawn = {
            (t.start, t.text)
            for i, t in enumerate(planned.document.tokens)
            if by_word.token_row(planned, i) is not None
        }
        for w in some:
            if (at, w) in drawn:
                out.append(w)
            at += len(w) + 1
    return out


def _blocks(m: Mechanism, by_word: WordByWord, words: list[str]) -> Iterator[list[list[str]]]:
    """Yield lists of texts, as words, that the guarantee compares by the places of their words."""
    if type(m).notion != "group":
        n = max(2, -(-len(words) // BLOCK))
        parts = [words[k::n] for k in range(n)]
        # Padded with their own words, so that each word occurs in only one of them; if equal words count once,
        # with others.
        if m.guarantee(words[0]).unit.counts_distinct_words:
            yield [[*dict.fromkeys([*part, *words[: 2 * BLOCK]])][: min(BLOCK, len(words))] for part in parts]
        else:
            yield [(part * BLOCK)[:BLOCK] for part in parts]
        return
    groups: list[list[str]] = []
    known = set(words)
    row = [w for w in dict.fromkeys(by_word.words_alike(words, len(words)) or words) if w in known]
    for start in range(0, len(row), BLOCK):
        some = row[start : start + BLOCK]
        near = np.isfinite(np.asarray(m.audit_support.distances(some), np.float64))
        remaining = dict.fromkeys(range(len(some)))
        while remaining:
            k = next(iter(remaining))
            group = [j for j in remaining if j == k or near[k, j]]
            groups.append([some[j] for j in group])
            for j in group:
                del remaining[j]
    groups = [g for g in groups if len(g) > 1]
    for start in range(0, len(groups), BLOCK):
        some_groups = groups[start : start + BLOCK]
        yield [[g[k % len(g)] for g in some_groups] for k in range(max(map(len, some_groups)))]


def _of_words(subject: Subject, texts: Sequence[tuple[Sequence[str], str]]) -> int:
    """Return how many of these texts were compared. Raises Breach if the metadata of two texts that are comparable word
    by word differs."""
    m = subject.m
    classes: list[tuple[_Metadata, Sequence[str], str]] = []
    for words, text in texts:
        subject.meter.at(0.03)
        metadata = _metadata_of(m, text, prepare=True)
        if any(metadata.differs(said) is None for said, *_ in classes):
            continue
        for said, others, other in classes:
            name, a, b = said.differs(metadata) or ("", "", "")
            refused = name == "error"
            if name != "note" and (_alike_by_words(m, others, words) if refused else _are_compared(m, other, text, {})):
                where = f"For “{flat(other)}” it is {a}, for “{flat(text)}” {b}."
                raise dependence_breach(name, other, where, text)
        classes.append((metadata, words, text))
    return len(texts)


def _alike_by_words(m: Mechanism, a: Sequence[str], b: Sequence[str]) -> bool:
    """Return whether the guarantee compares two texts of plain words separated by single blanks, of which one raises an
    error."""
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
    return all(np.isfinite(m.audit_support.distances(pair)[0, 1]) for pair in pairs)


def _releases(subject: Subject, group: Sequence[str], metadata: dict[str, _Metadata]) -> None:
    """Compare everything released with some rewrites besides their text. Raises Breach."""
    # The same noise for all, so that most parts are equal too.
    m, noise = subject.m, NoiseStream(subject.seeds(_SEED_KEY)())
    known: tuple[str, dict[str, Any] | str] | None = None
    for text in group[:REWRITTEN]:
        if text not in metadata:
            continue
        released: dict[str, Any] | str
        try:
            result = subject.rewriter.one(m, text, noise)
            released = {k: v for k, v in result.to_dict().items() if k not in ("text", "noise_id")}
        except (Cancelled, Busy, ModelUnavailable):
            raise
        except DPTextError as error:
            released = f"{type(error).__name__}: {error}"
        if known is None:
            known = text, released
            continue
        if known[1] != released and _are_compared(m, known[0], text, metadata):
            a, b = (_shorten(x) for x in _first_difference(known[1], released))
            what = "error" if isinstance(released, str) or isinstance(known[1], str) else "guarantee of a result"
            where = f"For “{flat(known[0])}” it is {a}, for “{flat(text)}” {b}."
            raise dependence_breach(what, known[0], where, text)


def find_error_breach(m: Mechanism, texts: Sequence[str]) -> Breach | None:
    """Return the breach of a mechanism that fails for one text, but not for another one that the guarantee compares;
    else None."""
    metadata: dict[str, _Metadata] = {}
    for text in texts[:MOST]:
        try:
            m.rewrite(text)
            metadata[text] = _Metadata((("rewrite", ""),))
        except (Cancelled, Busy, ModelUnavailable):
            raise
        except DPTextError as found:
            metadata[text] = _Metadata((("error", f"{type(found).__name__}: {found}"),))
    for a in (t for t in metadata if metadata[t].values[0][0] == "error"):
        for b in metadata:
            if metadata[b] != metadata[a] and _are_compared(m, a, b, metadata):
                other = metadata[b].values[0][1]
                where = f"“{flat(b)}” is rewritten" if not other else f"the error of “{flat(b)}” is {_shorten(other)}"
                where = f"The error of “{flat(a)}” is {_shorten(metadata[a].values[0][1])}, but {where}."
                return dependence_breach("error", a, where, b)
    return None


def _first_difference(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the first two different values in two nested ones."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in a.keys() | b.keys():
            if a.get(key) != b.get(key):
                return _first_difference(a.get(key), b.get(key))
    return a, b


def _shorten(value: Any, most: int = 160) -> str:
    """Return a value, shortened for a sentence."""
    text = "; ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    text = flat(text) or "empty"
    return f"“{text[:most]}{'…' * (len(text) > most)}”"
