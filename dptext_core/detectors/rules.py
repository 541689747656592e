"""Names, places, dates, numbers and addresses in a text, by rules and by short public lists of the language.

The lists are those of :class:`dptext_core.text.language.Clues`. No model reads the text. The rules miss some spans and
flag harmless ones.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from ..support.private import Private
from ..text.document import Document, Token
from ..text.language import Language
from ..text.languages import ENGLISH
from ..text.names_and_numbers import can_begin, is_number_word, names_and_numbers, plain_form

#: Kinds of spans, each with its plural, in display order.
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
#: A day and a month in either order. With one digit, it may be a fraction.
_DAY, _MONTH = "(?:0[1-9]|[12][0-9]|3[01])", "(?:0[1-9]|1[0-2])"
_NUMERIC_DATE = (
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d\d)"
    rf"|{_DAY}/{_MONTH}|{_MONTH}/{_DAY}"
)
_YEAR = r"(?:19|20)\d\d"
_LINE_BREAK = re.compile(r"[ \u00a0]*(?:\r\n|\n|\r)[ \u00a0]*")


#: A finder of more spans in a text: kind, start and end of each.
Finder = Callable[[str], Iterable[tuple[str, int, int]]]


@dataclass(frozen=True, slots=True)
class PiiSpan(Private):
    """A name, place, date, number or address that the rules found in a text.

    kind: one of ``KINDS``. span: its offsets in the text. words: the offsets of its words that identify on their own:
    not the "of" of a date, nor the "Lane" of a street.
    """

    kind: str
    text: str
    span: tuple[int, int]
    words: tuple[tuple[int, int], ...]

    _shown: ClassVar[tuple[str, ...]] = ("kind", "span")


def find_pii(
    text: str, language: Language = ENGLISH, finder: Finder | None = None, *, rules: bool = True
) -> tuple[PiiSpan, ...]:
    """Return the spans of the rules, and those of the finder elsewhere, in order, without overlaps.

    rules: False to return only what the finder detects.
    """
    return _Search(text, language).found(finder, rules)


def find_words(text: str, language: Language = ENGLISH) -> tuple[PiiSpan, ...]:
    """Return the words of a text that identify on their own: no other word decides whether one is flagged.

    These are names and places of the lists, months, days of the week, numbers, and addresses. A word that is also a
    common word needs a capital.
    """
    search = _Search(text, language)
    for k in range(len(search.tokens)):
        if kind := search.kind_alone(k):
            search.take(kind, k, k + 1)
    return search.spans()


@cache
def _dates(language: Language) -> re.Pattern[str]:
    """Return patterns of dates in figures and with names of months, and of lone years and days of the week."""
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


def patterns(language: Language = ENGLISH) -> dict[str, re.Pattern[str]]:
    """Return the patterns of the rules, for an edition that is not written in Python."""
    numeric, dates = re.compile(_NUMERIC_DATE), _dates(language)
    return {"mail": _MAIL, "web": _WEB, "phone": _PHONE, "years": _YEARS, "numeric": numeric, "dates": dates}


class _Search:
    """One pass over the visible form of a text. Token indices are those of its document."""

    def __init__(self, text: str, language: Language) -> None:
        self.given = Document.parse(text, language)
        self.document = self.given.visible
        self.text, self.language, self.clues = self.document.text, language, language.clues
        self.tokens: Sequence[Token] = self.document.tokens
        self.starts = [t.start for t in self.tokens]
        self.words = [plain_form(t.text) for t in self.tokens]
        #: Tokens that are replaced even as stop words: they are always flagged.
        self.written = names_and_numbers(self.document)
        #: In a text typed without capitals, a lower-case letter means nothing.
        self.small = not any(c.isupper() for c in self.text)
        self.kinds: dict[int, str] = {}  # of the first token
        self.ends: dict[int, int] = {}
        self.used: set[int] = set()

    def found(self, finder: Finder | None = None, rules: bool = True) -> tuple[PiiSpan, ...]:
        if rules:
            self.addresses()
            self.dates()
            self.listed_places()
            self.named_places()
            self.names()
            self.others()
        for kind, a, b in finder(self.text) if finder else ():
            self.take_found(kind, a, b)
        return self.spans()

    def spans(self) -> tuple[PiiSpan, ...]:
        """Return the flagged spans, in order."""
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
        """Add a finder's result without an article before it or marks around it."""
        first, end = max(0, bisect_right(self.starts, a) - 1), bisect_left(self.starts, b)
        while first < end and not self.tells(first):
            first += 1
        while first < end and not any(map(str.isalnum, self.tokens[end - 1].text)):
            end -= 1
        self.take(kind, first, end)

    def tells(self, k: int) -> bool:
        """Return True for a token with letters that is not a common word."""
        return any(map(str.isalnum, self.tokens[k].text)) and self.words[k] not in self.clues.common

    def kind_alone(self, k: int) -> str:
        """Return the kind of a token that identifies whatever its neighbours are; "" for any other."""
        text, word, clues = self.tokens[k].text, self.words[k], self.clues
        large = text[0].isupper()
        if _MAIL.fullmatch(text) or _WEB.fullmatch(text):
            return "e-mail address" if _MAIL.fullmatch(text) else "web address"
        if any(map(str.isdigit, text)):
            return "date" if re.fullmatch(_NUMERIC_DATE, text) else "number"
        if self.tokens[k].kind != "word":
            return ""
        if word in clues.first_names or (large and word in clues.names_or_words):
            return "name"
        if word in clues.months | clues.weekdays:
            return "date" if large or word not in clues.months_or_words else ""
        if word in clues.places:
            return "place" if large or word not in clues.places_or_words else ""
        return "number" if is_number_word(word, clues) else ""

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
        """Return True if a token follows the previous one in the same line, with only blanks between them."""
        return 0 < k < len(self.tokens) and self.document.gap(k).strip(" \u00a0") == "" and self.document.gap(k) != ""

    def begins_line(self, k: int) -> bool:
        """Return True for a capital that begins the line directly after the previous token, and is no label."""
        label = k + 1 < len(self.tokens) and self.tokens[k + 1].text == ":"
        wraps = _LINE_BREAK.fullmatch(self.document.gap(k)) is not None
        return wraps and self.tokens[k].text[0].isupper() and not label

    def after_title(self, k: int) -> int | None:
        """Return the token after the title at k, in the same line, or after a short one on the next, as in a wrapped
        "Dr. Brandt".
        """
        if self.follows(k + 1):
            return k + 1
        if self.words[k] not in self.language.titles:
            return None
        # A full stop that ends a line is a token.
        dot = k + 2 < len(self.tokens) and self.tokens[k + 1].text == "." and self.document.gap(k + 1) == ""
        after = k + 1 + dot
        return after if self.begins_line(after) else None

    def begins(self, k: int) -> bool:
        return can_begin(self.document, k)

    # --- kinds of spans

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
        """Flag capitalised words before Lane or Hospital, with the house number."""
        for k, word in enumerate(self.words):
            if word not in self.clues.place_ends or not self.tokens[k].text[0].isupper() or k in self.used:
                continue
            first = k
            while first:
                # St Olav's Hospital: a clitic is between them.
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
            if self.words[k] not in clues.titles or (after := self.after_title(k)) is None:
                continue
            if not self.small:
                self.take("name", after, self.run(after))
            elif self.words[k] in self.language.titles and self.words[after] not in clues.common:
                self.take("name", after, after + 1)  # not "my sister in": short forms alone are not words
        for k in range(n):
            if self.capital(k) and clues.capitals and not self.begins(k) and self.words[k] not in clues.titles:
                clitic = k + 1 < n and self.tokens[k + 1].kind == "clitic"
                place = self.words[k - 1] in clues.before_place and self.words[k] not in clues.first_names
                kind, end = "place" if place and not clitic else "name", self.run(k)
                # A first name at the start of a sentence precedes its surname; "Ask" before "Tom" is not a name.
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
        self.wrapped_names()

    def wrapped_names(self) -> None:
        """Flag a surname that begins the line after its first name; two capitals there are more likely a heading."""
        for first, kind in list(self.kinds.items()):
            k = self.ends[first]
            if kind != "name" or k >= len(self.tokens) or self.words[k - 1] not in self.clues.first_names:
                continue
            if self.begins_line(k) and self.words[k] not in self.clues.titles and self.run(k) == k + 1:
                self.take("name", k, k + 1)

    def run(self, k: int) -> int:
        """Return the end of a run of capitalised words, which may contain small words such as "von"."""
        first, end = k, k
        while k < len(self.tokens) and (k == first or self.follows(k)):
            if self.capital(k):
                end = k + 1
            elif k in self.used or self.words[k] not in self.clues.particles:
                break
            k += 1
        return end

    def others(self) -> None:
        """Flag numbers, and other tokens that are replaced even as stop words.

        Among words with a capital, a name without one is flagged only if it is also a common word or a letter.
        """
        for k, kind in self.written.items():
            word = self.words[k]
            common = len(word) == 1 or word in self.clues.common or word in self.clues.names_or_words
            if kind != "name" or self.small or common or self.tokens[k].text[0].isupper():
                self.take(kind, k, k + 1)
        for k, token in enumerate(self.tokens):
            if any(map(str.isdigit, token.text)):
                self.take("number", k, k + 1)
