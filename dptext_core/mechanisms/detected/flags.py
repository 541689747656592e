"""Flagged tokens: their types, and the part of their shape that a stand-in keeps."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from ...detectors import PiiSpan, detector
from ...privacy.kinds import NotProtectedKind
from ...privacy.terms import NotProtected
from ...support.private import Private
from ...text.document import Document
from ...text.language import Clues
from ...text.names_and_numbers import plain_form
from ..blocklist import fold

#: The kinds of stand-in. A token with a digit has its shape instead, see :func:`_shape`.
FORMS = (
    "first name",
    "family name",
    "initial",
    "place",
    "street",
    "month",
    "weekday",
    "day",
    "year",
    "ordinal",
    "number word",
    "ordinal word",
    "e-mail address",
    "web address",
)
#: A unit after a number, as in "3kg". Other letters are replaced with the number.
UNIT = re.compile(r"(?<=\d)(?:kg|g|mg|km|m|cm|mm|l|ml|am|pm|h|min|s|k)$")


@dataclass(frozen=True, slots=True)
class Flag(Private):
    """A flagged token.

    Attributes
    ----------
    token : int
        Its index in the document.
    kind : str
        One of ``dptext_core.detectors.KINDS``.
    form : str
        One of ``FORMS``, or the shape of a token with digits: 9 for a digit, A and a for letters.
    same : int
        The index of the first flagged token with the same form and the same word, case ignored.
    """

    token: int
    kind: str
    form: str
    same: int

    _shown: ClassVar[tuple[str, ...]] = ("token", "kind", "form", "same")


@dataclass(frozen=True, slots=True)
class FlaggedSpan(Private):
    """A flagged span: its kind, and the tokens from ``first`` to before ``end``."""

    kind: str
    first: int
    end: int

    _shown: ClassVar[tuple[str, ...]] = ("kind", "first", "end")


def allowed_tokens(document: Document, allowlist: Sequence[str]) -> frozenset[int]:
    """Return the tokens that an allowlist has, compared as those of a blocklist are."""
    words = frozenset(allowlist)
    return frozenset(i for i, word in enumerate(document.words) if words and fold(word) in words)


def allowed_shown(document: Document, allowlist: Sequence[str]) -> tuple[NotProtected, ...]:
    """Return what an allowlist reveals about a text."""
    n = len(allowed_tokens(document, allowlist))
    return (NotProtected(NotProtectedKind.ALLOWLIST, count=n),) if allowlist else ()


def flag_spans(document: Document, name: str, allowlist: Sequence[str] = ()) -> tuple[FlaggedSpan, ...]:
    """Return the spans that a detector flags, cut at words of the allowlist. Raises ModelUnavailable if the detector's
    model is missing.
    """
    allowed = allowed_tokens(document, allowlist)
    out: list[FlaggedSpan] = []
    for span in detector(name)(document.text, document.language):
        first, end = _tokens(document, span.span)
        for is_allowed, run in groupby(range(first, end), allowed.__contains__):
            tokens = list(run)
            if not is_allowed:
                out.append(FlaggedSpan(span.kind, tokens[0], tokens[-1] + 1))
    return tuple(out)


def flag_tokens(document: Document, name: str, allowlist: Sequence[str] = ()) -> tuple[Flag, ...]:
    """Return the flagged tokens that are not on the allowlist, in order. Raises ModelUnavailable if the detector's
    model is missing.
    """
    allowed = allowed_tokens(document, allowlist)
    find = detector(name)
    flagged: list[tuple[int, str, str, str]] = []
    for span in find(document.text, document.language):
        tokens = _tokens(document, span.span)
        for place, (start, _) in enumerate(span.words):
            token = bisect_left(document.starts, start)
            if token not in allowed:
                form = _form(document, span, token, place, tokens, find.reads_context)
                flagged.append((token, span.kind, form, plain_form(document.words[token])))
    # "Haddad" alone is the family name of "Omar Haddad", so both get the same stand-in.
    families = {word for _, _, form, word in flagged if form == "family name"}
    flags: list[Flag] = []
    firsts: dict[tuple[str, str], int] = {}
    for token, kind, form, word in flagged:
        if form == "first name" and word in families:
            form = "family name"
        flags.append(Flag(token, kind, form, firsts.setdefault((form, word), token)))
    return tuple(flags)


def _tokens(document: Document, span: tuple[int, int]) -> tuple[int, int]:
    return bisect_left(document.starts, span[0]), bisect_left(document.starts, span[1])


def _form(document: Document, found: PiiSpan, token: int, place: int, span: tuple[int, int], context: bool) -> str:
    """Return the form of a flagged token. context: whether a title before the span may decide it."""
    clues, text = document.language.clues, document.words[token]
    word = plain_form(text)
    if found.kind in ("e-mail address", "web address"):
        return found.kind
    if any(map(str.isdigit, text)):
        return _digits_form(text, found.kind, clues)
    if found.kind == "name":
        if len(word) == 1:
            return "initial"
        before = plain_form(document.words[span[0] - 1]) if span[0] and context else ""
        # The last name of a line may have its surname on the next one.
        wrapped = before in clues.first_names and word not in clues.first_names
        return "family name" if place or before in clues.titles or wrapped else "first name"
    if found.kind == "place":
        return "street" if _has_end(document.words[span[0] : span[1]], clues) else "place"
    if word in clues.months | clues.weekdays:
        return "month" if word in clues.months else "weekday"
    return "ordinal word" if word in clues.ordinal_words else "number word"


def _has_end(words: Sequence[str], clues: Clues) -> bool:
    return any(plain_form(word) in clues.place_ends for word in words)


def _digits_form(text: str, kind: str, clues: Clues) -> str:
    digits = text.rstrip("".join({c for o in clues.ordinals for c in o}))
    if digits.isdecimal() and text[len(digits) :].lower() in clues.ordinals:
        return "ordinal"
    if kind == "date" and text.isdecimal() and len(text) in (1, 2, 4):
        return "year" if len(text) == 4 else "day"
    return _shape(text, clues)


def _shape(text: str, clues: Clues) -> str:
    """Return a token with 9 for each digit, A and a for letters. Units such as "years" and "kg" are unchanged."""
    unit = UNIT.search(text)
    head, tail = (text[: unit.start()], unit[0]) if unit else (text, "")
    parts = re.split(r"([-\u2010\u2011])", head)
    return "".join(p if p.lower() in clues.number_units else "".join(map(_class, p)) for p in parts) + tail


def _class(char: str) -> str:
    if char.isdigit():
        return "9"
    return ("A" if char.isupper() else "a") if char.isalpha() else char
