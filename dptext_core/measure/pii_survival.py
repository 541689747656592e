"""Which words of a text look as if they told who, where or when, and which of them still stand in a rewrite.

Names, places, dates, numbers and addresses are found by rules and by short public lists of the language
(:class:`dptext_core.text.language.Clues`). A finder may add names and places to them (``names``); without one, no model
reads the text. Both miss some and flag harmless ones: what they find is a help for the author's eyes, and no part of a
promise. Where nothing of what they found is left, a text may still tell of its author.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from ..result import RewriteResult
from ..support.private import Private
from ..text import names
from ..text.document import Document, Token
from ..text.language import Language
from ..text.languages import ENGLISH
from ..text.names_and_numbers import can_begin, names_and_numbers, plain_form
from ..text.visible import to_visible, visible_text

#: What is looked for, with the word for several, in the order in which it is told.
KINDS = {
    "name": "names",
    "place": "places",
    "date": "dates",
    "number": "numbers",
    "phone number": "phone numbers",
    "e-mail address": "e-mail addresses",
    "web address": "web addresses",
}

_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]++(?:\.[\w-]++)++")
_WEB = re.compile(r"(?<!\w)(?:[a-z][a-z0-9+.-]{1,15}://|www\.)[^\s<>\"“”«»]*[^\s<>\"“”«».,;:!?'’)\]]", re.I)
_PHONE = re.compile(r"(?<![\w.,/+-])(?:\+|\()?\d(?:[ .()/-]{0,2}\d){6,14}(?!\w|[.,/-]\d)")
_YEARS = re.compile(r"(?:19|20)\d\d[ ./-]{1,2}(?:19|20)\d\d")
_NUMERIC_DATE = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d\d)"
_YEAR = r"(?:19|20)\d\d"


#: What finds more in a text: kind, beginning and end of each.
Finder = Callable[[str], Iterable[tuple[str, int, int]]]


@dataclass(frozen=True, slots=True)
class PiiSpan(Private):
    """A name, place, date, number or address that the rules found in a text.

    kind: one of ``KINDS``. span: its offsets in the text. words: the offsets of those of its words that tell something
    by themselves: not the "of" of a date, nor the "Lane" of a street.
    """

    kind: str
    text: str
    span: tuple[int, int]
    words: tuple[tuple[int, int], ...]

    _shown: ClassVar[tuple[str, ...]] = ("kind", "span")


@dataclass(frozen=True, slots=True)
class Survivor(Private):
    """A word that tells something and stands in the released text as it stood in the original.

    step: the index of the unit that it came with (``result.units``), None where it lies in no single one. kind: what it
    belongs to, one of ``KINDS``. text: the word as released; span: where it stands there.
    """

    step: int | None
    kind: str
    text: str
    span: tuple[int, int]

    _shown: ClassVar[tuple[str, ...]] = ("kind", "span")


def find_pii(text: str, language: Language = ENGLISH, finder: Finder | None = None) -> tuple[PiiSpan, ...]:
    """Return what the rules find in a text, and the finder where they found nothing, in order, without overlaps."""
    return _Search(text, language).found(finder)


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


def count_survivors(result: RewriteResult, finder: Finder | None = None) -> tuple[int, int]:
    """Of the different names, numbers, dates and places that were found in the original: how many still stand, as one
    does of which a word does, and how many there are. finder: as for :func:`trace_pii`."""
    aligned = "alignment" in result.can
    found: dict[tuple[str, str], bool] = {}
    for t, units in trace_pii(result, finder):
        key = t.kind, t.text.casefold()
        found[key] = found.get(key, False) or (any(is_unchanged(result, k) for k in units) if aligned else bool(units))
    return sum(found.values()), len(found)


def survivors(result: RewriteResult, finder: Finder | None = None) -> tuple[Survivor, ...]:
    """The words that tell something and came through unchanged, by their place in the released text.

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


def standing_among(
    result: RewriteResult, texts: Sequence[str], finder: Finder | None = None
) -> list[tuple[PiiSpan, tuple[int, ...]]]:
    """Everything that was found in the original, each with the numbers of those ``texts``, pieces that may be released
    in the place of its own, in which it stands, of a name or place a word of it. finder: as for :func:`trace_pii`."""
    pii = find_pii(result.original, result.language, finder or names.finder())
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
        """The numbers of those that share a character with one of these."""
        out = []
        for a, b in spans:
            k = max(0, bisect_right(self.starts, a) - 1)
            while k < len(self.starts) and self.starts[k] < b:
                number, (_, end) = self.numbered[k]
                if end > a:
                    out.append(number)
                k += 1
        return tuple(dict.fromkeys(out))


@cache
def _dates(language: Language) -> re.Pattern[str]:
    """Dates in figures and with the names of months; years and days of the week, which stand alone."""
    clues = language.clues

    def either(words: Iterable[str]) -> str:
        return "|".join(map(re.escape, sorted(words, key=len, reverse=True))) or "(?!)"

    day = rf"\d{{1,2}}(?:{either(clues.ordinals)})?+"
    blank = "[ \u00a0]"
    month = (
        rf"(?:{day}{blank}(?:{either(clues.joining)}{blank})?)?+(?:{either(clues.months)})(?!\w)(?:\.(?={blank}\d))?+"
        rf"(?:{blank}{day}(?!\w))?+(?:,?{blank}{_YEAR}(?!\w))?+"
    )
    year = rf"(?:{either(clues.before_year)}){blank}(?:the{blank})?(?P<year>{_YEAR})"
    return re.compile(
        rf"(?<![\w./-])(?:{_NUMERIC_DATE})(?!\w|[/-])|(?<!\w){month}|(?<!\w)(?:{either(clues.weekdays)})(?!\w)"
        rf"|(?<!\w){year}(?!\w|[.,/-]\d)",
        re.IGNORECASE,
    )


class _Search:
    """One pass over what one sees of a text. Tokens are counted as those of its document."""

    def __init__(self, text: str, language: Language) -> None:
        self.given = Document.parse(text, language)
        self.document = self.given.visible
        self.text, self.language, self.clues = self.document.text, language, language.clues
        self.tokens: Sequence[Token] = self.document.tokens
        self.starts = [t.start for t in self.tokens]
        self.words = [plain_form(t.text) for t in self.tokens]
        #: What is replaced though it may be a stop word: it is found always.
        self.written = names_and_numbers(self.document)
        #: A text that was typed without capitals says nothing by them.
        self.small = not any(c.isupper() for c in self.text)
        self.kinds: dict[int, str] = {}  # of the first token
        self.ends: dict[int, int] = {}
        self.used: set[int] = set()

    def found(self, finder: Finder | None = None) -> tuple[PiiSpan, ...]:
        self.addresses()
        self.dates()
        self.listed_places()
        self.named_places()
        self.names()
        self.others()
        for kind, a, b in finder(self.text) if finder else ():
            self.take_found(kind, a, b)
        out, given = [], self.given.tokens
        for first, kind in sorted(self.kinds.items()):
            last = self.ends[first]
            span = given[first].start, given[last - 1].end
            words = [k for k in range(first, last) if any(map(str.isalnum, self.tokens[k].text))]
            telling = [k for k in words if self.tokens[k].kind != "clitic" and not self.joins(kind, self.words[k])]
            spans = tuple((given[k].start, given[k].end) for k in telling or words)
            out.append(PiiSpan(kind, self.given.text[slice(*span)], span, spans))
        return tuple(out)

    def joins(self, kind: str, word: str) -> bool:
        clues = self.clues
        return word in clues.joining or word in clues.particles or (kind == "place" and word in clues.place_ends)

    # --- tokens

    def take(self, kind: str, first: int, end: int) -> bool:
        if first >= end or not self.used.isdisjoint(range(first, end)):
            return False
        self.kinds[first], self.ends[first] = kind, end
        self.used.update(range(first, end))
        return True

    def take_span(self, kind: str, a: int, b: int) -> None:
        self.take(kind, max(0, bisect_right(self.starts, a) - 1), bisect_left(self.starts, b))

    def take_found(self, kind: str, a: int, b: int) -> None:
        """Return a finder's result without an article before it or marks around it."""
        first, end = max(0, bisect_right(self.starts, a) - 1), bisect_left(self.starts, b)
        while first < end and not (self.small or any(c.isupper() or c.isdigit() for c in self.tokens[first].text)):
            first += 1
        while first < end and not any(map(str.isalnum, self.tokens[end - 1].text)):
            end -= 1
        self.take(kind, first, end)

    def capital(self, k: int) -> bool:
        """Return True if a token is capitalised like a name: not all in capitals, except an initial."""
        word = self.tokens[k].text
        return (
            k not in self.used
            and self.tokens[k].kind == "word"
            and word[0].isupper()
            and (not word.isupper() or len(word.rstrip(".")) == 1)
            and (self.words[k] not in self.clues.common or self.written.get(k) == "name")
            and self.words[k] not in self.clues.always_large
        )

    def follows(self, k: int) -> bool:
        """Return True if a token follows the one before in the same line, with only blanks between them."""
        return 0 < k < len(self.tokens) and self.document.gap(k).strip(" \u00a0") == "" and self.document.gap(k) != ""

    def begins(self, k: int) -> bool:
        return can_begin(self.document, k)

    # --- what is looked for

    def addresses(self) -> None:
        for kind, pattern in (("e-mail address", _MAIL), ("web address", _WEB)):
            for match in pattern.finditer(self.text):
                self.take_span(kind, *match.span())

    def dates(self) -> None:
        for match in _dates(self.language).finditer(self.text):
            a, b = match.span("year") if match["year"] else match.span()
            found = self.text[a:b]
            word = found.casefold().rstrip(".")
            if word in self.clues.months_or_words:
                first = bisect_left(self.starts, a)
                if not found[0].isupper() or (first < len(self.tokens) and self.begins(first)):
                    continue
            self.take_span("date", a, b)
        for match in _PHONE.finditer(self.text):
            found = match[0]
            apart = re.split(r"\D+", found.strip("+()"))
            if not _YEARS.fullmatch(found) and (found[0] in "+(0" or len(apart) > 1) and all(apart):
                self.take_span("phone number", *match.span())

    def listed_places(self) -> None:
        clues, n = self.clues, len(self.tokens)
        for k in range(n):
            for size in range(min(clues.longest_place, n - k), 0, -1):
                name = " ".join(self.words[k : k + size])
                if name not in clues.places or not all(self.follows(j) for j in range(k + 1, k + size)):
                    continue
                large = self.tokens[k].text[:1].isupper()
                if name in clues.places_or_words and (not large or self.begins(k)):
                    continue
                if large or self.small:
                    self.take("place", k, k + size)
                    break

    def named_places(self) -> None:
        """Capitals before Lane or Hospital, with the number of the house."""
        for k, word in enumerate(self.words):
            if word not in self.clues.place_ends or not self.tokens[k].text[0].isupper() or k in self.used:
                continue
            first = k
            while first:
                # St Olav's Hospital: a clitic stands between.
                before = first - 2 if self.tokens[first - 1].kind == "clitic" else first - 1
                if before < 0 or not self.follows(first) or not self.capital(before):
                    break
                first = before
            if first == k:
                continue
            if self.follows(first) and self.tokens[first - 1].kind == "number":
                first -= 1
            self.take("place", first, k + 1)

    def names(self) -> None:
        n, clues = len(self.tokens), self.clues
        for k in range(n - 1):
            if self.words[k] not in clues.titles or not self.follows(k + 1):
                continue
            if not self.small:
                self.take("name", k + 1, self.run(k + 1))
            elif self.words[k] in self.language.titles and self.words[k + 1] not in clues.common:
                self.take("name", k + 1, k + 2)  # not "my sister in": short forms alone are no words
        for k in range(n):
            if self.capital(k) and clues.capitals and not self.begins(k) and self.words[k] not in clues.titles:
                clitic = k + 1 < n and self.tokens[k + 1].kind == "clitic"
                place = self.words[k - 1] in clues.before_place and self.words[k] not in clues.first_names
                kind, end = "place" if place and not clitic else "name", self.run(k)
                # A first name that begins a sentence stands before its surname; "Ask" before "Tom" is none.
                before = kind == "name" and self.follows(k) and self.begins(k - 1) and self.capital(k - 1)
                known = {self.words[k - 1]} & clues.titles or {self.words[k]} & clues.first_names
                self.take(kind, k - 1 if before and not known else k, end)
        known = {
            self.words[k]
            for first, kind in self.kinds.items()
            if kind == "name"
            for k in range(first, self.ends[first])
        }
        for k in range(n):
            word = self.tokens[k]
            if word.kind != "word" or k in self.used or not (self.small or word.text[0].isupper()):
                continue
            first = self.words[k] in (clues.first_names if self.small else clues.first_names | clues.names_or_words)
            if not self.small and self.begins(k) and clues.capitals and self.words[k] not in clues.titles:
                beside = self.follows(k + 1) and self.capital(k + 1) and self.capital(k)
                first = first or beside or (self.words[k] in known and self.capital(k))
            if first:
                self.take("name", k, max(k + 1, self.run(k)))

    def run(self, k: int) -> int:
        """The end of a run of capitals, in which small words as "von" may stand."""
        first, end = k, k
        while k < len(self.tokens) and (k == first or self.follows(k)):
            if self.capital(k):
                end = k + 1
            elif k in self.used or self.words[k] not in self.clues.particles:
                break
            k += 1
        return end

    def others(self) -> None:
        """Numbers, and what else is replaced though it may be a stop word: of names without a capital, among words that
        have one, those alone that are common words or letters too."""
        for k, kind in self.written.items():
            word = self.words[k]
            common = len(word) == 1 or word in self.clues.common or word in self.clues.names_or_words
            if kind != "name" or self.small or common or self.tokens[k].text[0].isupper():
                self.take(kind, k, k + 1)
        for k, token in enumerate(self.tokens):
            if any(map(str.isdigit, token.text)):
                self.take("number", k, k + 1)
