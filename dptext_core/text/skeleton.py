"""The part of a text that a guarantee holds fixed, and the released text that is made from it.

A skeleton has the kept tokens, the gaps between all tokens, and a hole for each sampled token, and nothing else of the
text. Everything released besides the words themselves (spaces, line breaks, where a sentence begins) is computed from a
skeleton, so that it cannot follow an original word:

    released text = f(released words, kept tokens, gaps, which places are deleted or have a word inserted after them)

and, with ``recase="original"``, the capital letters that this option copies. Neighbouring texts under a mechanism's
guarantee have the same skeleton, so the same released words give the same text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import add
from typing import Any

from .._internal.lazy import Lazy
from .._internal.slots import setter
from ..errors import InputError
from ..support.private import Private
from .language import Language
from .languages import ENGLISH

NEWLINE = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
#: Enders that need no blank after them.
WIDE_ENDERS = "。！？｡"
CLOSERS = "\"'”’»›)]}」』）】"


@dataclass(frozen=True, slots=True, init=False)
class Edit(Private):
    """The edit of a token: ``text`` None copies it, "" deletes it, else replaces it; ``after``: an insertion."""

    text: str | None = None
    after: str | None = None

    def __init__(self, text: str | None = None, after: str | None = None) -> None:
        _set_text(self, text)
        _set_after(self, after)


_set_text, _set_after = setter(Edit, "text"), setter(Edit, "after")


@dataclass(frozen=True)
class SplicedText(Private):
    """The rewritten text.

    ``spans[i]``: the span of token i in it (empty if deleted); ``inserted[i]``: the span of the word inserted after
    token i, or None. Offsets in code points.
    """

    text: str
    spans: Sequence[tuple[int, int]]
    inserted: tuple[tuple[int, int] | None, ...]


@dataclass(frozen=True)
class Skeleton(Private):
    """The unchanged parts of a text.

    kept_tokens: each unchanged token, None for a hole. gaps: the blanks before each token, and those after the last.
    language: decides where sentences end.
    """

    kept_tokens: tuple[str | None, ...]
    gaps: tuple[str, ...]
    language: Language = field(default=ENGLISH, compare=False)

    def __post_init__(self) -> None:
        if len(self.gaps) != len(self.kept_tokens) + 1:
            n = len(self.kept_tokens)
            raise InputError(f"A skeleton of {n} tokens needs {n + 1} gaps, not {len(self.gaps)}.")

    def __repr__(self) -> str:
        return f"Skeleton({len(self.kept_tokens)} tokens, {self.kept_tokens.count(None)} holes)"

    @cached_property
    def begins(self) -> tuple[bool, ...]:
        """Return, for each token, whether it is the first word of a sentence or a line; a hole counts as a word."""
        out = [False] * len(self.kept_tokens)
        starting, ended = True, False
        enders = self.language.enders
        for i, (text, gap) in enumerate(zip(self.kept_tokens, self.gaps, strict=False)):
            if gap:
                starting = starting or ended or (gap != " " and NEWLINE.search(gap) is not None)
                ended = False
            if text is None or text.isalpha() or (kind := MARKS.get(text) or kind_of(text)) in _WORDLIKE:
                out[i] = starting
                starting = ended = False
            elif kind == "punct":
                if text[-1] in WIDE_ENDERS:
                    starting = True
                ended = not enders.isdisjoint(text) or (ended and _CLOSER_SET.issuperset(text))
            else:
                ended = False
        return tuple(out)

    def starts(self, deleted: Collection[int] = ()) -> tuple[bool, ...]:
        """Return :attr:`begins`, where a deleted token passes its beginning to the token after it."""
        if not deleted:
            return self.begins
        out: list[bool] = []
        for i, begin in enumerate(self.begins):
            out.append(begin or (i > 0 and out[-1] and i - 1 in deleted))
        return tuple(out)

    def render(self, edits: Sequence[Edit]) -> SplicedText:
        """Return the released text, from one Edit per token: see :meth:`fill`."""
        return self.fill([edit.text for edit in edits], [edit.after for edit in edits])

    def fill(self, texts: Sequence[str | None], after: Sequence[str | None] = ()) -> SplicedText:
        """Return the released text from a word (or "") for each hole, None for a copied token, and the words to insert.

        ``after``: what to insert after each token. A deleted token takes one adjacent run of spaces or tabs with it:
        the one before it, or the one after it if it is first on its line or follows an opening bracket or quote. Line
        ends are unchanged. An insertion follows its token after one space, or takes the place of a deleted token. One
        space separates a hole from another hole, and from a copied token that begins or ends with a letter, whatever
        word fills it. Raises InputError if words and positions do not match.
        """
        tokens, n = self.kept_tokens, len(self.kept_tokens)
        if len(texts) != n:
            raise InputError(f"Rendering needs one Edit for each of the {n} tokens, but got {len(texts)}.")
        words: list[Any] = [word if text is None else text for word, text in zip(tokens, texts, strict=True)]
        if None in words or tokens.count(None) + texts.count(None) != n:
            raise InputError("Rendering needs a word for each hole, and none for a copied token.")
        inserts = any(after)
        gaps = self._gaps(texts, after or (None,) * n) if inserts or "" in texts else self._spaced
        parts = [""] * (2 * n + 1)
        parts[::2], parts[1::2] = gaps, words
        if not inserts:
            return SplicedText("".join(parts), Lazy(n, _places, gaps, words), (None,) * n)
        # An insertion takes the place of a deleted token.
        more = ["" if not word else word if text == "" else f" {word}" for text, word in zip(texts, after, strict=True)]
        parts[1::2] = map(add, words, more)
        spans = _places(gaps, words, more)
        at = [end + len(more) for (_, end), more in zip(spans, more, strict=True)]
        inserted = [(end - len(word), end) if word else None for end, word in zip(at, after, strict=True)]
        return SplicedText("".join(parts), spans, tuple(inserted))

    @cached_property
    def tight(self) -> Skeleton:
        """Return the skeleton without blanks that the language forbids next to its marks, as in ``well .``."""
        before, after = self.language.tight_before, self.language.tight_after
        gaps, tokens = list(self.gaps), self.kept_tokens
        for i in range(1, len(tokens)):
            mark, last = tokens[i], tokens[i - 1]
            if gaps[i] != " ":
                continue
            clitic = mark is not None and mark[-1].isalpha()
            # A mark directly followed by another is a mark of its own, as in ":)". A sampled word takes no "n't".
            ends = clitic or bool(self.gaps[i + 1]) or i + 1 == len(tokens)
            if last in after or (mark in before and ends and not (last is None and mark == "n't")):
                gaps[i] = ""
        return self if gaps == list(self.gaps) else replace(self, gaps=tuple(gaps))

    @cached_property
    def _spaced(self) -> tuple[str, ...]:
        """Return the text before each token, and after the last, if one word fills every hole."""
        gaps, n = list(self.gaps), len(self.kept_tokens)
        for i in [i for i, gap in enumerate(gaps) if not gap and 0 < i < n]:
            before, right = self.kept_tokens[i - 1], self.kept_tokens[i]
            if (before is None or right is None) and _ends_as_word(before) and _begins_as_word(right):
                gaps[i] = " "
        return tuple(gaps)

    def _gaps(self, texts: Sequence[str | None], after: Sequence[str | None]) -> list[str]:
        """Return :attr:`_spaced` if some tokens are deleted or have a word inserted after them.

        It depends only on which these are: a hole counts as a word.
        """
        out: list[str] = []
        last, lone, line_start = "", False, True  # the last character; a quote after a blank; only blanks on this line
        as_word = edited = drop_blanks = False  # the end of the text so far: a word; sampled, or deleted after it

        def write(text: str, word: bool = False, drawn: bool = False) -> None:
            nonlocal last, lone, line_start, as_word, edited
            if not text:
                return
            lone = not last or last.isspace()
            last, as_word, edited = text[-1], word, drawn
            if trimmed := text.rstrip(" \t"):
                line_start = NEWLINE.match(trimmed[-1]) is not None

        def opened() -> bool:
            return (lone if last in "\"'" else unicodedata.category(last) in ("Ps", "Pi")) if last else False

        for i, (token, text, added) in enumerate(zip(self.kept_tokens, texts, after, strict=True)):
            gap = self.gaps[i].lstrip(" \t") if drop_blanks else self.gaps[i]
            drop_blanks = False
            if text == "" and not added:
                shorter = gap.rstrip(" \t")
                first = NEWLINE.match(shorter[-1]) is not None if shorter else line_start
                drop_blanks = first or (not gap and opened())
                out.append(gap if drop_blanks else shorter)
                write(out[-1])
                edited = True
                continue
            write(gap)
            drawn = token is None
            if (drawn or edited) and as_word and _begins_as_word(token):
                gap = " "
                write(gap)
            out.append(gap)
            write("x" if token is None else token, _ends_as_word(token), drawn)
            if added:
                write("x", True, True)
        tail = self.gaps[-1]
        out.append(tail.lstrip(" \t") if drop_blanks else tail)
        return out


def _places(
    gaps: Sequence[str], words: Sequence[str], more: Sequence[str] | None = None
) -> tuple[tuple[int, int], ...]:
    """Return the spans of tokens in the released text.

    more: the word inserted after each.
    """
    spans: list[tuple[int, int]] = []
    at = 0
    for i, (gap, word) in enumerate(zip(gaps, words, strict=False)):
        at += len(gap)
        end = at + len(word)
        spans.append((at, end))
        at = end + len(more[i]) if more else end
    return tuple(spans)


def wordish(char: str) -> bool:
    """Return True for a letter, a digit, or a mark or invisible character that belongs to one."""
    return char.isalnum() or unicodedata.category(char) in _MODIFIERS


_MODIFIERS = ("Mn", "Mc", "Me", "Cf")


def _begins_as_word(token: str | None) -> bool:
    """Return True if a word before it would run into it. A hole counts as a word, whatever fills it."""
    return token is None or wordish(token[0])


def _ends_as_word(token: str | None) -> bool:
    """Return True if a word after it would run into it. An emoji with the mark after it is not a word."""
    if token is None:
        return True
    for char in reversed(token):
        if unicodedata.category(char) not in _MODIFIERS:
            return char.isalnum()
    return True


def kind_of(text: str) -> str:
    """Return the kind of a token by its characters alone: "word" (has a letter), "number", "punct" or "symbol"."""
    if text[0].isalpha() or any(char.isalpha() for char in text):
        return "word"
    if any(char.isalnum() for char in text):
        return "number"
    visible = [char for char in text if not wordish(char)]
    punctuation = visible and all(char == "`" or unicodedata.category(char)[0] == "P" for char in visible)
    return "punct" if punctuation else "symbol"


_WORDLIKE = frozenset(("word", "number"))
_CLOSER_SET = frozenset(CLOSERS)
MARKS = {mark: kind_of(mark) for mark in (*".,:;?!'\"()[]{}<>$%&#*-/“”‘’–—…", "--", "...")}
