"""Words of a text that may identify a person, place or time, and which of them a rewrite still shows.

:mod:`dptext_core.detectors.rules` flags names, places, dates, numbers and addresses. A finder may add names and places
(``names``); without one, no model reads the text. Both miss some and flag harmless ones: they help the author and are
no part of a guarantee. A text without flagged words may still identify its author.
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
    """An identifying word that is unchanged in the released text.

    step: the index of its unit (``result.units``), None if it is not in a single one. kind: its kind, one of
    ``rules.KINDS``. text: the word as released; span: its offsets.
    """

    step: int | None
    kind: str
    text: str
    span: tuple[int, int]

    _shown: ClassVar[tuple[str, ...]] = ("kind", "span")


def trace_pii(
    result: RewriteResult, finder: Finder | None = None, pii: Sequence[PiiSpan] | None = None
) -> list[tuple[PiiSpan, tuple[int, ...]]]:
    """Return all flagged spans of the original, each with its units in the result.

    finder: used besides the rules; by default, the one that the environment names (``names``), if any. pii: the flagged
    spans, if already known. If pieces correspond to words, the units are the steps of the span's words, whatever their
    action. Otherwise they are the pieces that contain the span.
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
    return step.action in ("keep", "replace") and not step.is_changed


def count_survivors(result: RewriteResult) -> tuple[int, int]:
    """Return how many different names, numbers, dates and places of the original remain, and their total number.

    A span remains if one of its words does.
    """
    aligned = "alignment" in result.can
    found: dict[tuple[str, str], bool] = {}
    for t, units in trace_pii(result):
        key = t.kind, t.text.casefold()
        found[key] = found.get(key, False) or (any(is_unchanged(result, k) for k in units) if aligned else bool(units))
    return sum(found.values()), len(found)


def survivors(result: RewriteResult, finder: Finder | None = None) -> tuple[Survivor, ...]:
    """Return the identifying words that are unchanged, by their position in the released text.

    finder: as for :func:`trace_pii`. Without aligned words, these are all that occur anywhere in the released text.
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


def find_survivors(
    original: str,
    released: str,
    language: Language = ENGLISH,
    finder: Finder | None = None,
    aligned: bool | None = None,
) -> tuple[PiiSpan, ...]:
    """Return the flagged spans of a text that are still in its released text, from the two texts alone.

    aligned: whether each released word has the position of an original one, as for a mechanism with the capability
    "alignment". Then a span remains if one of its words is unchanged in its own place, or anywhere if words were added
    or deleted. Otherwise it remains if it occurs anywhere in the released text: one word of a name or place, all of
    anything else. None if the origin of the released text is unknown: both count.
    """
    flagged = find_pii(original, language, finder)
    in_place = _in_place(flagged, original, released) if aligned is not False else None
    if in_place is None or not aligned:
        anywhere = [bool(spans) for _, spans in _find_remaining(flagged, original, released, in_parts=bool(aligned))]
        in_place = [a or b for a, b in zip(anywhere, in_place or anywhere, strict=True)]
    return tuple(t for t, there in zip(flagged, in_place, strict=True) if there)


def _in_place(spans: Sequence[PiiSpan], original: str, released: str) -> list[bool] | None:
    """Return for each whether a word of it is unchanged in its own place between two blanks.

    None if the two texts have different numbers of places.
    """
    starts, new = [m.start() for m in re.finditer(r"\S+", original)], released.split()
    if len(starts) != len(new):
        return None
    out = []
    for t in spans:
        at = [(bisect_right(starts, a) - 1, visible_text(original[a:b])) for a, b in t.words]
        out.append(any(any(_places(_lower(word), _lower(new[k]))) for k, word in at))
    return out


def standing_among(result: RewriteResult, texts: Sequence[str]) -> list[tuple[PiiSpan, tuple[int, ...]]]:
    """Return all flagged spans of the original, each with the numbers of the ``texts`` that contain it.

    ``texts``: pieces that may be released instead. A name or place is contained if one of its words is.
    """
    pii = find_pii(result.original, result.language, names.finder())
    among: list[list[int]] = [[] for _ in pii]
    for n, text in enumerate(texts):
        for numbers, (_, spans) in zip(among, _find_remaining(pii, result.original, text), strict=True):
            if spans:
                numbers.append(n)
    return [(t, tuple(numbers)) for t, numbers in zip(pii, among, strict=True)]


def _find_remaining(
    spans_flagged: Sequence[PiiSpan], original: str, released: str, in_parts: bool = False
) -> Iterator[tuple[PiiSpan, list[tuple[int, int]]]]:
    """Return, for each flagged span, its places in the released text, or those of a word of a name or place.

    in_parts: a word of any kind. No regular expressions: Python caches compiled ones, which would contain what was
    typed.
    """
    visible, places, _ = to_visible(released) or (released, range(len(released)), 0)
    lower = _lower(visible)
    for t in spans_flagged:
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
    """Return the text in lower case with unchanged offsets."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(s if len(s := c.lower()) == 1 else c for c in text)


def _places(word: str, text: str) -> Iterator[tuple[int, int]]:
    """Return where a word occurs in a text, not as part of another word."""
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
