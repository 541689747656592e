"""A text as tokens with spans, and the way back: replacements spliced into everything that stays.

The words are those of the language's tokenizer (for English NLTK's), run sentence by sentence on sentences found by a
rule of this module with the language's abbreviations, and then refined so that nothing is lost and offsets are exact:

- only what a person can see is read, in one way of writing it (:mod:`dptext_core.text.visible`);
- every letter or digit that is seen lies in exactly one token; tokens are in order, do not overlap, hold no whitespace;
- a boundary between two letters or digits is undone, so ``can't``, ``cannot`` and ``gonna`` are one token each, while
  the clitics of the language (``it's``) are tokens of their own, with straight or curly apostrophes;
- URLs, e-mail addresses, ``U.S.``, ``Dr.``, ``3.5``, ``10,000``, ``well-known`` stay whole; ``Monday.`` is two tokens;
- runs of emoji are one token; combining characters stay with the letter they modify.

A sentence without doubt (of English: words, contractions, numbers and the usual marks) has these tokens by one regular
expression of the language, without its tokenizer, in a tenth of the time. Where the tokenizer's result cannot be
aligned with the text (NLTK rewrites some quotes), or the language has none, another regular expression takes over for
that sentence. Any string is accepted. No text is stored outside the Document.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, ClassVar, Self

from .._internal.slots import setter
from ..errors import InputError
from ..support.checks import LARGEST
from ..support.private import Private
from .language import APOSTROPHES, Language
from .languages import ENGLISH
from .skeleton import CLOSERS, MARKS, NEWLINE, WIDE_ENDERS, Edit, Skeleton, Spliced, kind_of, wordish
from .visible import to_visible

#: Characters of a word or number that are read. What has more is cut, so that its length decides nothing.
LETTERS = 100
KINDS = ("word", "number", "punct", "clitic", "symbol")

_CURLY = APOSTROPHES[1:]
_ADDRESS = re.compile(
    r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++"
    r"|(?<!\w)(?:[a-z][a-z0-9+.-]{1,15}://|www\.)[^\s<>\"“”«»]++",
    re.I,
)
_ADDRESS_TAIL = ".,;:!?'’)]}>…»”*_"
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])*")
_NEXT_WORD = re.compile(r"[\s\"'“‘«(\[]*([^\W_]+)")

_ASCII_PUNCT = r"!-/:-@\[-`{-~"
# Punctuation that separates words without whitespace, which tokenizers leave inside them.
_BREAKS = frozenset("，。、；：！？｡「」『』（）《》【】،؛؟۔।…“”„«»—")
_LONGEST_SENTENCE = 20_000


def too_long(text: str) -> str:
    """Why a text is refused for its length, in a sentence that is the same for all; "" where it is not."""
    return (
        "" if len(text) <= LARGEST else f"This text has more than {LARGEST:,} characters. Split it into several texts."
    )


def has_more(text: str, most: int, language: Language = ENGLISH) -> bool:
    """Return True if a text has more tokens than this, however long they are. Reads only a part of a much longer
    text."""
    size = LETTERS * most
    while size < len(text) and len(Document.parse(text[:size], language).words) <= 2 * most:
        size *= 2
    return size < len(text) or len(Document.parse(text, language).words) > most


class _Rules:
    """The expressions of a language's tokens."""

    def __init__(self, language: Language) -> None:
        ends = "|".join(map(re.escape, language.clitics)) or "(?!)"
        apart = "|".join(map(re.escape, language.detached)) or "(?!)"
        enders = re.escape("".join(sorted(language.enders)))
        self.language = language
        self.plain = language.plain
        # A run of enders, and in group 2 what closes it where it ends a sentence. Possessive, so that long runs stay
        # linear.
        self.ending = re.compile(rf"([{enders}]++)([{re.escape(CLOSERS)}]*+(?=\s|(?<=[{WIDE_ENDERS}])))?+")
        self.inner_apostrophe = re.compile(rf"(?<=\w)[{_CURLY}](?=\w)|(?<=\s)[{_CURLY}](?=(?:{ends})\b)", re.IGNORECASE)
        self.clitic = re.compile(rf"[{APOSTROPHES}](?:{ends})", re.IGNORECASE)
        self.clitic_end = re.compile(rf"(?<=[^\W_])[{APOSTROPHES}](?:{ends})\Z", re.IGNORECASE)
        #: How far before the end of a word its last clitic and the letter before that begin, at most.
        self.reach = max(map(len, language.clitics), default=0) + 2
        self.clitic_token = re.compile(
            rf"[{APOSTROPHES}](?:{ends})|{apart.replace(chr(39), f'[{APOSTROPHES}]')}", re.IGNORECASE
        )
        self.chunk = re.compile(
            rf"(?<!\S)['’](?:{ends})(?![^\W_])|"
            rf"[^\s{_ASCII_PUNCT}“”„‘«»—–…]+(?:(?:['’._/+-]|[:,](?=\d))[^\s{_ASCII_PUNCT}“”„‘«»—–…]+)*(?:\.(?!\.))?"
            r"|\.\.+|--+|``|''|\S"
        )


@cache
def _rules(language: Language) -> _Rules:
    return _Rules(language)


@dataclass(frozen=True, slots=True, init=False)
class Token(Private):
    """One token of a text.

    Attributes
    ----------
    text : str
        What one sees of ``document.text[start:end]``, in plain letters: the same in nearly every case.
    start, end : int
        Offsets in the text as given, in code points.
    kind : {"word", "number", "punct", "clitic", "symbol"}
        A word has a letter, a number digits and no letter; a clitic is one of the language after its word: ``'s``, and
        ``n't`` where the text has it apart; a symbol is the rest.
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


@dataclass(frozen=True, init=False)
class Document(Private):
    """A text, its tokens, and the language by which they were cut.

    Attributes
    ----------
    text : str
        As given.
    words : tuple of str
        Its tokens; :attr:`tokens` makes an object of each when it is looked at, since most work needs none.
    starts, ends : tuple of int
        Where they begin and end in the text as given, in code points.
    kinds : tuple of str
        What they are, see :class:`Token`.
    language : Language
    visible : Document
        What one sees of it, as a document: the same tokens, with their places there. Models read this one. Of a text
        without anything unseen it is the document itself.
    removed : int
        How many characters of the text nobody sees. Its author may know it; no release says it.
    """

    text: str
    words: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    kinds: tuple[str, ...]
    language: Language = field(default=ENGLISH, compare=False)
    removed: int = 0
    _visible: Document | None = field(default=None, compare=False)
    _places: Sequence[int] = field(default=(), compare=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.words):,} tokens)"

    def __init__(self, text: str, tokens: Sequence[Token], language: Language = ENGLISH) -> None:
        words, starts, ends, kinds = (tuple([getattr(t, n) for t in tokens]) for n in ("text", "start", "end", "kind"))
        if to_visible(text) is None and max(map(len, words), default=0) <= LETTERS:
            self._fill(text, words, starts, ends, kinds, language)
        else:  # what one sees is no part of the tokens
            self.__dict__.update(self.parse(text, language).__dict__)

    def _fill(self, text: str, words: Any, starts: Any, ends: Any, kinds: Any, language: Language) -> None:
        self.__dict__.update(text=text, words=words, starts=starts, ends=ends, kinds=kinds, language=language)

    @property
    def visible(self) -> Document:
        return self._visible or self

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens in order."""
        return tuple(Token(*columns) for columns in zip(self.words, self.starts, self.ends, self.kinds, strict=True))

    @classmethod
    def parse(cls, text: str, language: Language = ENGLISH) -> Self:
        """Tokenise any string; see the module's docstring for the rules.

        Raises InputError where ``text`` is no string.
        """
        if not isinstance(text, str):
            raise InputError(f"A text must be a str, not {type(text).__name__}.")
        seen = to_visible(text)
        plain = cls._of_visible(text if seen is None else seen.text, language)
        long = max(map(len, plain.words), default=0) > LETTERS
        if seen is None and not long:
            return plain
        places = range(len(text)) if seen is None else seen.places
        if long:
            plain, places = plain._cut(places)
        starts = tuple([places[start] for start in plain.starts])
        ends = tuple([places[end - 1] + 1 for end in plain.ends])
        document = object.__new__(cls)
        document._fill(text, plain.words, starts, ends, plain.kinds, language)
        document.__dict__.update(_visible=plain, _places=places, removed=seen.removed if seen else 0)
        return document

    def _cut(self, places: Sequence[int]) -> tuple[Self, list[int]]:
        """With no more than LETTERS characters of a word, and where these are: the last stands for all that follow."""
        parts, where, starts, ends = list[str](), list[int](), list[int](), list[int]()
        words = [w[:LETTERS] if k in ("word", "number") else w for w, k in zip(self.words, self.kinds, strict=True)]
        at = 0
        for word, start, end in zip(words, self.starts, self.ends, strict=True):
            parts += self.text[at:start], word
            where += [*places[at : start + len(word) - 1], places[end - 1]]
            starts.append(len(where) - len(word))
            ends.append(len(where))
            at = end
        document = object.__new__(type(self))
        text = "".join((*parts, self.text[at:]))
        document._fill(text, tuple(words), tuple(starts), tuple(ends), self.kinds, self.language)
        return document, [*where, *places[at:]]

    @classmethod
    def _of_visible(cls, text: str, language: Language) -> Self:
        rules = _rules(language)
        spans: list[tuple[int, int]] = []
        for start, end, inner_dots in _sentences(text, rules):
            spans += _sentence_spans(text, start, end, inner_dots, rules)
        words = tuple([text[start:end] for start, end in spans])
        starts, ends = zip(*spans, strict=True) if spans else ((), ())
        document = object.__new__(cls)
        document._fill(text, words, starts, ends, _kinds(text, words, spans, rules), language)
        return document

    @cached_property
    def sentences(self) -> tuple[tuple[int, int], ...]:
        """Offsets of the sentences in order, without the blanks around them; what is blank is none."""
        if self._visible is not None:
            return tuple([(self._places[a], self._places[b - 1] + 1) for a, b in self._visible.sentences])
        spans = []
        for start, end, _ in _sentences(self.text, _rules(self.language)):
            inside = self.text[start:end]
            if stripped := inside.strip():
                at = start + len(inside) - len(inside.lstrip())
                spans.append((at, at + len(stripped)))
        return tuple(spans)

    @cached_property
    def gaps(self) -> tuple[str, ...]:
        """The blanks that one sees before each token, and after the last."""
        text, starts, ends = self.visible.text, self.visible.starts, self.visible.ends
        return tuple([text[a:b] for a, b in zip([0, *ends], [*starts, len(text)], strict=True)])

    def gap(self, i: int) -> str:
        """Return the blanks between token i-1 and token i, 0 <= i <= len(tokens); i = len(tokens) is the tail."""
        if not 0 <= i <= len(self.words):
            raise IndexError(f"gap {i} of a document with {len(self.words)} tokens")
        return self.gaps[i]

    def skeleton(self, drawn: Sequence[bool]) -> Skeleton:
        """Return what is unchanged when the tokens marked True are sampled. Raises InputError unless each token has one
        value."""
        if len(drawn) != len(self.words):
            raise InputError(f"A skeleton needs one value for each of the {len(self.words)} tokens: {len(drawn)}.")
        kept = tuple([None if d else word for d, word in zip(drawn, self.words, strict=True)])
        return Skeleton(kept, self.gaps, self.language)

    def splice(self, edits: Sequence[Edit]) -> Spliced:
        """One Edit a token: those with a text are drawn, the others stay. See :meth:`Skeleton.render`."""
        return self.skeleton([edit.text is not None for edit in edits]).render(edits)


def _sentences(text: str, rules: _Rules) -> list[tuple[int, int, Collection[int]]]:
    """Sentences as (start, end, the full stops in it that belong to an abbreviation)."""
    ends: list[int] = []
    inner_dots: list[int] = []
    for match in rules.ending.finditer(text):
        if match.end(2) < 0:
            continue
        if match.group() == "." and _abbreviates(text, match.start(), rules.language):
            inner_dots.append(match.start())
        else:
            ends.append(match.end())
    if text.splitlines()[:1] != [text]:  # which knows the same line ends, and sees sooner that there are none
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


def _abbreviates(text: str, dot: int, language: Language) -> bool:
    """Return True if the full stop at ``dot``, before whitespace, belongs to an abbreviation and ends no sentence."""
    start = dot
    while start > 0 and dot - start < 12 and not text[start - 1].isspace():
        start -= 1
    word = text[start:dot].lower().lstrip("\"'“‘«([")
    following = _NEXT_WORD.match(text, dot + 1)
    after = following.group(1).lower() if following else ""
    if not word or not after or NEWLINE.search(text, dot + 1, following.end() if following else dot + 1):
        return False
    if word in language.titles:
        return True
    if word in language.before_number:
        return after[0].isdigit()
    initials = word not in language.no_initials and _INITIALS.fullmatch(word) is not None
    return (initials or word in language.abbreviations) and after not in language.starters


def _sentence_spans(
    text: str, start: int, end: int, inner_dots: Collection[int], rules: _Rules
) -> list[tuple[int, int]]:
    last = end
    while last > start and text[last - 1].isspace():
        last -= 1
    if start == last:
        return []
    plain = rules.plain if end - start <= _LONGEST_SENTENCE else None
    spans = None if plain is None else _plain_spans(text, start, last, inner_dots, plain)
    return _general_spans(text, start, end, inner_dots, rules) if spans is None else spans


def _plain_spans(
    text: str, start: int, end: int, inner_dots: Collection[int], plain: re.Pattern[str]
) -> list[tuple[int, int]] | None:
    """Return the tokens of a sentence by the language's short way, which equal those of ``_general_spans``, or None."""
    spans = []
    for match in plain.finditer(text, start, end):
        spans.append(match.span(1))
    if match.lastindex == 2 or "www." in text[start:end].lower():
        return None
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


def _general_spans(
    text: str, start: int, end: int, inner_dots: Collection[int], rules: _Rules
) -> list[tuple[int, int]]:
    """Return the tokens of any sentence, by the language's tokenizer, refined."""
    plain = rules.inner_apostrophe.sub("'", text[start:end])
    if "@" in plain or "://" in plain or "www." in plain.lower():
        plain = _ADDRESS.sub(_hide_address, plain)
    spans = _tokenizer_spans(plain, rules.language)
    if spans is None:
        spans = [match.span() for match in rules.chunk.finditer(plain)]
    refined: list[tuple[int, int]] = []
    for a, b in _joined(plain, spans, rules):
        if plain[a:b].isalnum():
            refined.append((start + a, start + b))
        else:
            refined += [(start + c, start + d) for c, d in _refined(plain, a, b, start, inner_dots, rules)]
    return refined


def _hide_address(match: re.Match[str]) -> str:
    """Replace an address by as many letters, so that it stays one token and offsets hold."""
    address = match.group()
    kept = address.rstrip(_ADDRESS_TAIL)
    if address[len(kept) :].startswith(")") and "(" in kept:
        kept += ")"
    return "x" * len(kept) + address[len(kept) :]


def _tokenizer_spans(sentence: str, language: Language) -> list[tuple[int, int]] | None:
    """Return the tokenizer's words as spans that cover everything but whitespace, or None where they cannot be
    aligned."""
    if language.tokenize is None or len(sentence) > _LONGEST_SENTENCE:
        return None
    try:
        tokens = language.tokenize(sentence)
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


def _joined(text: str, spans: list[tuple[int, int]], rules: _Rules) -> list[tuple[int, int]]:
    """Undo boundaries inside words (``ca|n't``, ``can|not``, ``d|'ye``), but not those before clitics."""
    joined: list[tuple[int, int]] = []
    for a, b in spans:
        if joined and joined[-1][1] == a and wordish(text[a - 1]):
            inside = wordish(text[a]) or (
                text[a] in "'’" and a + 1 < b and wordish(text[a + 1]) and not rules.clitic.fullmatch(text, a, b)
            )
            if inside:
                joined[-1] = (joined[-1][0], b)
                continue
        joined.append((a, b))
    return joined


def _symbolic(char: str) -> bool:
    category = unicodedata.category(char)
    return category in ("So", "Co", "Cn") or (category == "Sk" and ord(char) > 0xFFFF)


def _refined(
    text: str, start: int, end: int, offset: int, inner_dots: Collection[int], rules: _Rules
) -> list[tuple[int, int]]:
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
        parts += _stripped(text, a, b, offset, inner_dots, rules)
    return parts


def _stripped(
    text: str, a: int, b: int, offset: int, inner_dots: Collection[int], rules: _Rules
) -> list[tuple[int, int]]:
    first = next((i for i in range(a, b) if text[i].isalnum()), None)
    if first is None or rules.clitic.fullmatch(text, a, b):
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
    elif last < b and text[last] == "." and _keeps_dot(text, first, last, b, offset, inner_dots, rules.language):
        last += 1
    parts = [(a, first)] if first > a else []
    clitics: list[tuple[int, int]] = []
    # Only the end is searched, so that a long chain of clitics stays linear.
    while (found := rules.clitic_end.search(text[max(first, last - rules.reach) : last])) is not None:
        begin = last - len(found.group())
        clitics.append((begin, last))
        last = begin
    parts.append((first, last))
    parts += reversed(clitics)
    tail = clitics[0][1] if clitics else last
    return [*parts, (tail, b)] if tail < b else parts


def _keeps_dot(
    text: str, first: int, last: int, end: int, offset: int, inner_dots: Collection[int], language: Language
) -> bool:
    if offset + last in inner_dots:
        return True
    if end == len(text) or text[end].isspace():
        return False
    word = text[first:last].lower()
    if word in language.titles or word in language.abbreviations:
        return True
    return "." in word and _INITIALS.fullmatch(word) is not None


def _kinds(text: str, words: Sequence[str], spans: Sequence[tuple[int, int]], rules: _Rules) -> tuple[str, ...]:
    kinds = ["word"] * len(words)
    for i, word in enumerate(words):
        if not word.isalpha():
            kinds[i] = MARKS.get(word) or kind_of(word)
            if i and kinds[i - 1] in _WORDLIKE and rules.clitic_token.fullmatch(word):
                apart = NEWLINE.search(text, spans[i - 1][1], spans[i][0])
                kinds[i] = kinds[i] if apart else "clitic"
    return tuple(kinds)


_WORDLIKE = frozenset(("word", "number", "clitic"))
