"""Which words of a text look as if they told who, where or when, and which of them still stand in a rewrite.

:mod:`dptext_core.detectors.rules` finds names, places, dates, numbers and addresses. A finder may add names and places
to them (``names``); without one, no model reads the text. Both miss some and flag harmless ones: what they find is a
help for the author's eyes, and no part of a promise. Where nothing of what they found is left, a text may
still tell of its author.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..detectors.rules import Finder, PiiSpan, find_pii
from ..result import RewriteResult
from ..support.private import Private
from ..text import names
from ..text.language import Language
from ..text.languages import ENGLISH
from ..text.visible import to_visible, visible_text


@dataclass(frozen=True, slots=True)
class Survivor(Private):
    """A word that tells something and stands in the released text as it stood in the original.

    step: the index of the unit that it came with (``result.units``), None where it lies in no single one. kind: what it
    belongs to, one of ``rules.KINDS``. text: the word as released; span: where it stands there.
    """

    step: int | None
    kind: str
    text: str
    span: tuple[int, int]

    _shown: ClassVar[tuple[str, ...]] = ("kind", "span")


def trace_pii(
    result: RewriteResult, finder: Finder | None = None, pii: Sequence[PiiSpan] | None = None
) -> list[tuple[PiiSpan, tuple[int, ...]]]:
    """Everything that was found in the original, each with units of the result.

    finder: beside the rules; without it, the one that the environment names (``names``), if any. pii: what was found
    in the original, where that is known already.
    Where pieces answer to words: the steps of its words, whatever became of them. Else the pieces in which it stands.
    """
    if pii is None:
        pii = find_pii(result.original, result.language, finder or names.finder())
    if "alignment" in result.can:
        steps = _Spans((k, s.span) for k, s in enumerate(result.steps) if s.action != "insert")
        return [(t, steps.overlapping(t.words)) for t in pii]
    pieces = _Spans((k, p.span) for k, p in enumerate(result.releases))
    return [(t, pieces.overlapping(spans)) for t, spans in _find_remaining(pii, result.original, result.text)]


def is_unchanged(result: RewriteResult, unit: int) -> bool:
    """Return True if the word of an aligned unit is released unchanged, ignoring case."""
    step = result.steps[unit]
    return step.action in ("keep", "replace") and not step.changed


def count_survivors(result: RewriteResult) -> tuple[int, int]:
    """Of the different names, numbers, dates and places that were found in the original: how many still stand, as one
    does of which a word does, and how many there are."""
    aligned = "alignment" in result.can
    found: dict[tuple[str, str], bool] = {}
    for t, units in trace_pii(result):
        key = t.kind, t.text.casefold()
        found[key] = found.get(key, False) or (any(is_unchanged(result, k) for k in units) if aligned else bool(units))
    return sum(found.values()), len(found)


def survivors(result: RewriteResult, finder: Finder | None = None) -> tuple[Survivor, ...]:
    """Return the words that tell something and came through unchanged, by their place in the released text.

    finder: as for :func:`trace_pii`. Where nothing answers to the words of the original: those that stand anywhere in
    the released text.
    """
    out = set()
    if "alignment" in result.can:
        for t, units in trace_pii(result, finder):
            for k in units:
                if is_unchanged(result, k):
                    step = result.steps[k]
                    out.add((step.out, t.kind, step.replacement, k))
    else:
        pieces = _Spans((k, p.span) for k, p in enumerate(result.releases))
        pii = find_pii(result.original, result.language, finder or names.finder())
        for t, spans in _find_remaining(pii, result.original, result.text):
            for a, b in spans:
                units = pieces.overlapping([(a, b)])
                out.add(((a, b), t.kind, result.text[a:b], units[0] if len(units) == 1 else -1))
    return tuple(Survivor(None if k < 0 else k, kind, word, span) for span, kind, word, k in sorted(out))


def still_there(
    original: str,
    released: str,
    language: Language = ENGLISH,
    finder: Finder | None = None,
    aligned: bool | None = None,
) -> tuple[PiiSpan, ...]:
    """Return what was found in a text and is still in its released text, from the two texts alone.

    aligned: whether each released word has the place of one of the original, as for a mechanism that can tell the
    "alignment". Then an identifier is left where one of its words is unchanged in its own place, as :func:`left` counts
    it, or anywhere, where words were added or left out. If not, it is left where it is anywhere in the released text:
    of a name or place one of its words, of anything else all of it. None where nothing is known of how the released
    text was made: both count.
    """
    found = find_pii(original, language, finder)
    in_place = _in_place(found, original, released) if aligned is not False else None
    if in_place is None or not aligned:
        anywhere = [bool(spans) for _, spans in _find_remaining(found, original, released, in_parts=bool(aligned))]
        in_place = [a or b for a, b in zip(anywhere, in_place or anywhere, strict=True)]
    return tuple(t for t, there in zip(found, in_place, strict=True) if there)


def _in_place(found: Sequence[PiiSpan], original: str, released: str) -> list[bool] | None:
    """Return of each whether a word of it is unchanged in its own place between two blanks; None where the two texts
    have different numbers of places."""
    starts, new = [m.start() for m in re.finditer(r"\S+", original)], released.split()
    if len(starts) != len(new):
        return None
    out = []
    for t in found:
        at = [(bisect_right(starts, a) - 1, visible_text(original[a:b])) for a, b in t.words]
        out.append(any(any(_places(_lower(word), _lower(new[k]))) for k, word in at))
    return out


def standing_among(result: RewriteResult, texts: Sequence[str]) -> list[tuple[PiiSpan, tuple[int, ...]]]:
    """Everything that was found in the original, each with the numbers of those ``texts``, pieces that may be released
    in the place of its own, in which it stands, of a name or place a word of it."""
    pii = find_pii(result.original, result.language, names.finder())
    among: list[list[int]] = [[] for _ in pii]
    for n, text in enumerate(texts):
        for numbers, (_, spans) in zip(among, _find_remaining(pii, result.original, text), strict=True):
            if spans:
                numbers.append(n)
    return [(t, tuple(numbers)) for t, numbers in zip(pii, among, strict=True)]


def _find_remaining(
    found: Sequence[PiiSpan], original: str, released: str, in_parts: bool = False
) -> Iterator[tuple[PiiSpan, list[tuple[int, int]]]]:
    """Of each that was found the places of the released text in which it, or a word of a name or place, stands.
    in_parts: a word of anything.

    Without regular expressions: Python keeps those that it compiled, and they would hold what was typed."""
    seen, places, _ = to_visible(released) or (released, range(len(released)), 0)
    lower = _lower(seen)
    for t in found:
        words = [visible_text(t.text)]
        if in_parts:
            words = [visible_text(original[a:b]) for a, b in t.words]
        elif t.kind in ("name", "place"):
            words = [w for a, b in t.words if not (w := visible_text(original[a:b])).isdigit()]
        spans: list[tuple[int, int]] = []
        for a, b in sorted((s for w in set(words) for s in _places(_lower(w), lower)), key=lambda s: (s[0], -s[1])):
            if not spans or places[a] >= spans[-1][1]:
                spans.append((places[a], places[b - 1] + 1))
        yield t, spans


def _lower(text: str) -> str:
    """In small letters, each where it stood."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(s if len(s := c.lower()) == 1 else c for c in text)


def _places(word: str, text: str) -> Iterator[tuple[int, int]]:
    """Where a word stands in a text, as no part of another word."""
    at = text.find(word) if word else -1
    while at >= 0:
        end = at + len(word)
        if not any(c.isalnum() or c == "_" for c in text[max(0, at - 1) : at] + text[end : end + 1]):
            yield at, end
        at = text.find(word, at + 1)


class _Spans:
    """Numbered spans in order, none within another."""

    def __init__(self, numbered: Iterable[tuple[int, tuple[int, int]]]) -> None:
        self.numbered = list(numbered)
        self.starts = [span[0] for _, span in self.numbered]

    def overlapping(self, spans: Iterable[tuple[int, int]]) -> tuple[int, ...]:
        """Return the numbers of those that share a character with one of these."""
        out = []
        for a, b in spans:
            k = max(0, bisect_right(self.starts, a) - 1)
            while k < len(self.starts) and self.starts[k] < b:
                number, (_, end) = self.numbered[k]
                if end > a:
                    out.append(number)
                k += 1
        return tuple(dict.fromkeys(out))
