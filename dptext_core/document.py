"""A text as tokens with spans, and the way back: replacements spliced into everything that stays.

The words are those of NLTK's word tokenizer (the one DP-MLM, CusText and 1-Diffractor use), run sentence by sentence
on sentences found by a rule of this module, and then refined so that nothing is lost and offsets are exact:

- every letter or digit of the text lies in exactly one token; tokens are in order, do not overlap, hold no whitespace;
- a boundary between two letters or digits is undone, so ``can't``, ``cannot`` and ``gonna`` are one token each, while
  the clitics ``'s 're 've 'll 'd 'm`` are tokens of their own, with straight or curly apostrophes;
- URLs, e-mail addresses, ``U.S.``, ``Dr.``, ``3.5``, ``10,000``, ``well-known`` stay whole; ``Monday.`` is two tokens;
- runs of emoji are one token; zero-width and combining characters stay with the character they modify.

A sentence of plain English (words, contractions, numbers and the usual marks) has these tokens by one regular
expression, without NLTK, in a tenth of the time. Where NLTK's result cannot be aligned with the text (it rewrites some
quotes), another regular expression takes over for that sentence. Any string is accepted, lone surrogates and NUL
included. No text is stored outside the Document.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from .errors import InputError
from .private import Private
from .skeleton import CLOSERS, ENDERS, MARKS, NEWLINE, WIDE_ENDERS, Edit, Skeleton, Spliced, kind_of, wordish
from .slots import setter

KINDS = ("word", "number", "punct", "clitic", "symbol")

# A run of enders, and in group 2 what closes it where it ends a sentence. Possessive, so that long runs stay linear.
_ENDING = re.compile(rf"([{ENDERS}]++)([{re.escape(CLOSERS)}]*+(?=\s|(?<=[{WIDE_ENDERS}])))?+")

_APOSTROPHES = str.maketrans("’ʼ＇", "'''")
_INNER_APOSTROPHE = re.compile(r"(?<=\w)[’ʼ＇](?=\w)|(?<=\s)[’ʼ＇](?=(?:s|re|ve|ll|d|m)\b)", re.I)
_CLITIC = re.compile(r"['’ʼ＇](?:s|re|ve|ll|d|m)", re.I)
_CLITIC_END = re.compile(r"(?<=[^\W_])['’ʼ＇](?:s|re|ve|ll|d|m)\Z", re.I)
_LONE_NT = re.compile(r"n['’ʼ＇]t", re.I)

_ADDRESS = re.compile(
    r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++"
    r"|(?<!\w)(?:[a-z][a-z0-9+.-]{1,15}://|www\.)[^\s<>\"“”«»]++",
    re.I,
)
_ADDRESS_TAIL = ".,;:!?'’)]}>…»”*_"


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


_TITLES = _set_of("mr mrs ms dr prof st rev gen sen rep gov capt lt col sgt maj hon messrs mt ft vs viz cf e.g i.e")
_ABBREVIATIONS = _set_of(
    "jr sr inc ltd co corp bros etc al approx dept est ca a.m p.m u.s u.k u.n ph.d b.a m.a m.d "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun ave blvd rd"
)
_BEFORE_NUMBER = _set_of("no nos fig figs p pp vol ch sec eq ed art")
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])*")
_STARTERS = _set_of(
    "i he she it we they you this that these those there the a an my his her its our their in on at but and so then "
    "if when while as for after before however what who why how"
)
_NEXT_WORD = re.compile(r"[\s\"'“‘«(\[]*([^\W_]+)")

_ASCII_PUNCT = r"!-/:-@\[-`{-~"
_CHUNK = re.compile(
    r"(?<!\S)['’](?:s|re|ve|ll|d|m)(?![^\W_])|"
    rf"[^\s{_ASCII_PUNCT}“”„‘«»—–…]+(?:(?:['’._/+-]|[:,](?=\d))[^\s{_ASCII_PUNCT}“”„‘«»—–…]+)*(?:\.(?!\.))?"
    r"|\.\.+|--+|``|''|\S"
)
# Punctuation that separates words without whitespace, which NLTK leaves inside them.
_BREAKS = frozenset("，。、；：！？｡「」『』（）《》【】،؛؟۔।…“”„«»—")
_NLTK_LIMIT = 20_000

# The words and marks on whose tokens NLTK, refined, leaves no doubt: each alternative is one token, tied by look-around
# to the neighbours with which it is one. Group 2 takes the rest of a sentence from the first other character on.
_LETTER = "[A-Za-z0-9\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017e]"
_END = "(?:[sSdDmM]|[rRvV][eE]|[lL][lL])"
# NLTK cuts around ``cannot`` and the like, which shows where they are part of a longer word.
_INNER = (
    r"(?<![nN][oO][tT].)(?<![mM][mM][eE].)(?<![nN][nN][aA].)(?<![tT][tT][aA].)(?<!['’][yY][eE].)(?<!['’][nN].)"
    r"(?!(?i:cannot|gimme|gonna|gotta|lemme|wanna|d['’]ye|more['’]n|n['’]t))"
)
_PLAIN = re.compile(
    "|".join(
        (
            rf"\s*+(?:({_LETTER}++(?:(?:[-./_]|[,:](?=[0-9])|['’](?!{_END}\b)){_INNER}{_LETTER}++)*+",
            r"[,:](?![0-9,:])",
            r"\.(?:(?=\s|[\"')\]”’]*+\Z)|\.++)",
            r"[()\[\]{}<>;?!$%&#*“”„‘«»‒–—―]",
            rf"['’](?<={_LETTER}['’]){_END}(?![\w'’]|[-./]{_LETTER}|[,:][0-9])",
            rf"['’](?<=\s['’]){_END}(?=[\s,;?!]|\.?\Z)",
            rf"'(?<![^\s(\[“]')(?={_LETTER})(?!{_END}\b)",
            r"'(?<=[\w\s,:;?!).\]]')(?=[\s,;?!)\]]|\.?[)\]]*+\Z)",
            rf"’(?:(?!\w)|(?<![\w\s]’)(?={_LETTER})|(?<=\s’)(?={_LETTER})(?!{_END}\b))",
            r"\"(?<!'\")(?!')",
            r"-(?:-(?!-)|(?<![^\s\w]-)(?=\s|\Z))",
            r"/(?<=\s/)(?=[\s>])",
            r"[£€](?<![^\s(].)(?=[0-9])",
            r"…++)",
        )
    )
    + r"|(\S(?s:.)*+))"
)


@dataclass(frozen=True, slots=True, init=False)
class Token(Private):
    """One token of a text.

    ``text == document.text[start:end]``, offsets in code points. ``kind`` is one of ``KINDS``: "word" (has a letter),
    "number" (digits, no letter), "punct", "clitic" (``'s 're 've 'll 'd 'm`` after their word, and ``n't`` where the
    text has it apart), "symbol" (the rest).
    """

    text: str
    start: int
    end: int
    kind: str

    _shown: ClassVar[tuple[str, ...]] = ("kind", "start")

    def __init__(self, text: str, start: int, end: int, kind: str) -> None:
        _set_text(self, text)
        _set_start(self, start)
        _set_end(self, end)
        _set_kind(self, kind)


_set_text, _set_start = setter(Token, "text"), setter(Token, "start")
_set_end, _set_kind = setter(Token, "end"), setter(Token, "kind")


@dataclass(frozen=True)
class Document(Private):
    """A text and its tokens."""

    text: str
    tokens: tuple[Token, ...]

    _shown: ClassVar[tuple[str, ...]] = ("tokens",)

    @classmethod
    def parse(cls, text: str) -> Document:
        """Tokenise any string; see the module's docstring for the rules.

        The first sentence that is not plain English imports NLTK. Raises InputError where ``text`` is no string.
        """
        if not isinstance(text, str):
            raise InputError(f"A text must be a str, not {type(text).__name__}.")
        spans: list[tuple[int, int]] = []
        for start, end, inner_dots in _sentences(text):
            spans += _sentence_spans(text, start, end, inner_dots)
        return cls(text, _tokens(text, spans))

    def gap(self, i: int) -> str:
        """The text between token i-1 and token i, 0 <= i <= len(tokens); i = len(tokens) is the tail."""
        if not 0 <= i <= len(self.tokens):
            raise IndexError(f"gap {i} of a document with {len(self.tokens)} tokens")
        start = self.tokens[i - 1].end if i else 0
        end = self.tokens[i].start if i < len(self.tokens) else len(self.text)
        return self.text[start:end]

    def skeleton(self, drawn: Sequence[bool]) -> Skeleton:
        """What stays where the tokens with True are drawn. Raises InputError where there is not one value a token."""
        if len(drawn) != len(self.tokens):
            raise InputError(f"A skeleton needs one value for each of the {len(self.tokens)} tokens: {len(drawn)}.")
        gaps, at = [], 0
        for token in self.tokens:
            gaps.append(self.text[at : token.start])
            at = token.end
        gaps.append(self.text[at:])
        return Skeleton(tuple(None if d else t.text for d, t in zip(drawn, self.tokens, strict=True)), tuple(gaps))

    def splice(self, edits: Sequence[Edit]) -> Spliced:
        """One Edit a token: those with a text are drawn, the others stay. See :meth:`Skeleton.render`."""
        return self.skeleton([edit.text is not None for edit in edits]).render(edits)


def _sentences(text: str) -> list[tuple[int, int, Collection[int]]]:
    """Sentences as (start, end, the full stops in it that belong to an abbreviation)."""
    ends: list[int] = []
    inner_dots: list[int] = []
    for match in _ENDING.finditer(text):
        if match.end(2) < 0:
            continue
        if match.group() == "." and _abbreviates(text, match.start()):
            inner_dots.append(match.start())
        else:
            ends.append(match.end())
    ends += [match.start() for match in NEWLINE.finditer(text)]
    ends.append(len(text))
    start = 0
    sentences: list[tuple[int, int, Collection[int]]] = []
    inner_dots.reverse()
    for end in sorted(ends):
        if end > start:
            inner: set[int] | tuple[()] = ()
            if inner_dots and inner_dots[-1] < end:
                inner = set()
                while inner_dots and inner_dots[-1] < end:
                    inner.add(inner_dots.pop())
            sentences.append((start, end, inner))
            start = end
    return sentences


def _abbreviates(text: str, dot: int) -> bool:
    """Whether the full stop at ``dot``, which whitespace follows, belongs to an abbreviation and ends no sentence."""
    start = dot
    while start > 0 and dot - start < 12 and not text[start - 1].isspace():
        start -= 1
    word = text[start:dot].lower().lstrip("\"'“‘«([")
    following = _NEXT_WORD.match(text, dot + 1)
    after = following.group(1).lower() if following else ""
    if not word or not after or NEWLINE.search(text, dot + 1, following.end() if following else dot + 1):
        return False
    if word in _TITLES:
        return True
    if word in _BEFORE_NUMBER:
        return after[0].isdigit()
    known = word in _ABBREVIATIONS or (word != "i" and _INITIALS.fullmatch(word) is not None)
    return known and after not in _STARTERS


def _sentence_spans(text: str, start: int, end: int, inner_dots: Collection[int]) -> list[tuple[int, int]]:
    last = end
    while last > start and text[last - 1].isspace():
        last -= 1
    if start == last:
        return []
    spans = _plain_spans(text, start, last, inner_dots) if end - start <= _NLTK_LIMIT else None
    return _general_spans(text, start, end, inner_dots) if spans is None else spans


def _plain_spans(text: str, start: int, end: int, inner_dots: Collection[int]) -> list[tuple[int, int]] | None:
    """The tokens of a sentence of plain English by one expression, the same as those of ``_general_spans``, or None."""
    found = list(_PLAIN.finditer(text, start, end))
    if found[-1].lastindex == 2 or "www." in text[start:end].lower():
        return None
    spans = [match.span(1) for match in found]
    if not inner_dots:
        return spans
    joined: list[tuple[int, int]] = []
    for a, b in spans:
        if a in inner_dots:
            if not joined or joined[-1][1] != a:
                return None
            a = joined.pop()[0]
        joined.append((a, b))
    return joined


def _general_spans(text: str, start: int, end: int, inner_dots: Collection[int]) -> list[tuple[int, int]]:
    """The tokens of any sentence, by NLTK, refined."""
    plain = _INNER_APOSTROPHE.sub("'", text[start:end])
    if "@" in plain or "://" in plain or "www." in plain.lower():
        plain = _ADDRESS.sub(_hide_address, plain)
    spans = _nltk_spans(plain)
    if spans is None:
        spans = [match.span() for match in _CHUNK.finditer(plain)]
    refined: list[tuple[int, int]] = []
    for a, b in _joined(plain, spans):
        if plain[a:b].isalnum():
            refined.append((start + a, start + b))
        else:
            refined += [(start + c, start + d) for c, d in _refined(plain, a, b, start, inner_dots)]
    return refined


def _hide_address(match: re.Match[str]) -> str:
    """The same number of characters, all letters, so that an address stays one token and offsets hold."""
    address = match.group()
    kept = address.rstrip(_ADDRESS_TAIL)
    if address[len(kept) :].startswith(")") and "(" in kept:
        kept += ")"
    return "x" * len(kept) + address[len(kept) :]


@cache
def _nltk_tokenizer() -> Any:
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return NLTKWordTokenizer()


def _nltk_spans(sentence: str) -> list[tuple[int, int]] | None:
    """NLTK's tokens as spans that cover everything but whitespace, or None where they cannot be aligned."""
    if len(sentence) > _NLTK_LIMIT:
        return None
    try:
        tokens = _nltk_tokenizer().tokenize(sentence)
    except TimeoutError:  # NLTK runs its expressions under a clock
        return None
    spans, at, length = [], 0, len(sentence)
    for token in tokens:
        while at < length and sentence[at].isspace():
            at += 1
        if sentence.startswith(token, at):
            size = len(token)
        elif token in ("``", "''"):
            quote = sentence[at : at + 2]
            size = 2 if quote in ("``", "''") else 1 if quote[:1] == '"' else 0
        else:
            size = 0
        if not size:
            return None
        spans.append((at, at + size))
        at += size
    return None if sentence[at:].strip() else spans


def _joined(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Undo boundaries inside words (``ca|n't``, ``can|not``, ``d|'ye``), but not those before clitics."""
    joined: list[tuple[int, int]] = []
    for a, b in spans:
        if joined and joined[-1][1] == a and wordish(text[a - 1]):
            inside = wordish(text[a]) or (
                text[a] in "'’" and a + 1 < b and wordish(text[a + 1]) and not _CLITIC.fullmatch(text, a, b)
            )
            if inside:
                joined[-1] = (joined[-1][0], b)
                continue
        joined.append((a, b))
    return joined


def _symbolic(char: str) -> bool:
    category = unicodedata.category(char)
    return category in ("So", "Co", "Cn") or (category == "Sk" and ord(char) > 0xFFFF)


def _refined(text: str, start: int, end: int, offset: int, inner_dots: Collection[int]) -> list[tuple[int, int]]:
    """Split a token at symbols and separating punctuation, strip punctuation from its edges, split its clitics off."""
    runs: list[tuple[int, int]] = []
    run, state = start, ""
    for i in range(start, end):
        char = text[i]
        if char.isalnum():
            new = "word"
        elif char in _BREAKS:
            new = "break"
        elif _symbolic(char) or (state == "symbol" and unicodedata.category(char) in ("Mn", "Me", "Cf")):
            new = "symbol"
        else:
            new = "word"
        if state and new != state:
            runs.append((run, i))
            run = i
        state = new
    runs.append((run, end))
    parts: list[tuple[int, int]] = []
    for a, b in runs:
        parts += _stripped(text, a, b, offset, inner_dots)
    return parts


def _stripped(text: str, a: int, b: int, offset: int, inner_dots: Collection[int]) -> list[tuple[int, int]]:
    first = next((i for i in range(a, b) if text[i].isalnum()), None)
    if first is None or _CLITIC.fullmatch(text, a, b):
        return [(a, b)]
    last = next(i for i in range(b - 1, a - 1, -1) if text[i].isalnum()) + 1
    while first > a and unicodedata.category(text[first - 1]) == "Cf":
        first -= 1
    while last < b and unicodedata.category(text[last]) in ("Mn", "Mc", "Me", "Cf"):
        last += 1
    if text[a:first] in ("-", "+", "−", ".", "-.", "−.") and text[first].isdigit():
        first = a
    if last < b and set(text[last:b]) == {"+"}:
        last = b
    elif last < b and text[last] == "." and _keeps_dot(text, first, last, b, offset, inner_dots):
        last += 1
    parts = [(a, first)] if first > a else []
    clitics: list[tuple[int, int]] = []
    # Only the end is searched, so that a long chain of clitics stays linear.
    while (found := _CLITIC_END.search(text[max(first, last - 4) : last])) is not None:
        begin = last - len(found.group())
        clitics.append((begin, last))
        last = begin
    parts.append((first, last))
    parts += reversed(clitics)
    tail = clitics[0][1] if clitics else last
    return [*parts, (tail, b)] if tail < b else parts


def _keeps_dot(text: str, first: int, last: int, end: int, offset: int, inner_dots: Collection[int]) -> bool:
    if offset + last in inner_dots:
        return True
    if end == len(text) or text[end].isspace():
        return False
    word = text[first:last].lower()
    return word in _TITLES or word in _ABBREVIATIONS or ("." in word and _INITIALS.fullmatch(word) is not None)


def _tokens(text: str, spans: list[tuple[int, int]]) -> tuple[Token, ...]:
    tokens: list[Token] = []
    at, before = 0, ""
    for start, end in spans:
        word = text[start:end]
        if word.isalpha():
            kind = "word"
        else:
            kind = MARKS.get(word) or kind_of(word)
            if before in _WORDLIKE and (_CLITIC.fullmatch(word) or _LONE_NT.fullmatch(word)):
                kind = kind if NEWLINE.search(text, at, start) else "clitic"
        at, before = end, kind
        tokens.append(Token(word, start, end, kind))
    return tuple(tokens)


_WORDLIKE = frozenset(("word", "number", "clitic"))
