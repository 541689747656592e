"""A text as tokens with spans, and its reconstruction with replacements in the unchanged parts.

The words are those of the language's tokenizer (for English NLTK's), run sentence by sentence on sentences that a rule
of this module delimits with the language's abbreviations, and then refined so that no character is lost and offsets are
exact:

- only visible characters are read, in one canonical form (:mod:`dptext_core.text.visible`);
- every visible letter or digit is in exactly one token; tokens are in order, do not overlap, contain no whitespace;
- a boundary between two letters or digits is undone, so ``can't``, ``cannot`` and ``gonna`` are one token each, while
  the clitics of the language (``it's``) are tokens of their own, with straight or curly apostrophes;
- URLs, e-mail addresses, ``U.S.``, ``Dr.``, ``3.5``, ``10,000``, ``well-known`` stay whole; ``Monday.`` is two tokens;
- runs of emoji are one token; combining characters remain with the letter they modify.

An unambiguous sentence (in English: words, contractions, numbers and the usual marks) gets these tokens by one regular
expression of the language, without its tokenizer, in a tenth of the time. Where the tokenizer's result cannot be
aligned with the text (NLTK rewrites some quotes), or the language has none, another regular expression cuts that
sentence. Any string is accepted. No text is stored outside the Document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

from .._internal.slots import setter
from ..errors import InputError
from ..support.checks import LARGEST
from ..support.private import Private
from .language import Language
from .languages import ENGLISH
from .skeleton import Skeleton
from .tokenizing import LETTERS, _kinds, _rules, _sentence_spans, _sentences
from .visible import to_visible


def too_long(text: str) -> str:
    """Return the sentence that refuses a text for its length, the same for all texts; "" if it is accepted."""
    return (
        "" if len(text) <= LARGEST else f"This text has more than {LARGEST:,} characters. Split it into several texts."
    )


def has_more(text: str, most: int, language: Language = ENGLISH) -> bool:
    """Return True if a text has more tokens than this, whatever their length.

    Reads only a part of a much longer text.
    """
    size = LETTERS * most
    while size < len(text) and len(Document.parse(text[:size], language).words) <= 2 * most:
        size *= 2
    return size < len(text) or len(Document.parse(text, language).words) > most


@dataclass(frozen=True, slots=True, init=False)
class Token(Private):
    """One token of a text.

    Attributes
    ----------
    text : str
        The visible form of ``document.text[start:end]``, in plain letters: nearly always identical to it.
    start, end : int
        Offsets in the text as given, in code points.
    kind : {"word", "number", "punct", "clitic", "symbol"}
        A word has a letter, a number digits and no letter; a clitic is one of the language's, after its word: ``'s``,
        and ``n't`` where the text separates it; a symbol is any other token.
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
    """A text, its tokens, and the language whose rules cut it.

    Attributes
    ----------
    text : str
        As given.
    words : tuple of str
        Its tokens; :attr:`tokens` creates their objects on first access, since most work needs none.
    starts, ends : tuple of int
        Where they begin and end in the text as given, in code points.
    kinds : tuple of str
        Their kinds, see :class:`Token`.
    language : Language
    visible : Document
        Its visible form, as a document: the same tokens, with their offsets there. Models read this one. For a text
        without invisible characters it is the document itself.
    removed : int
        Number of invisible characters in the text. Only its author may know it; no release contains it.
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
        else:  # the visible form is not one of the tokens
            self.__dict__.update(self.parse(text, language).__dict__)

    def _fill(self, text: str, words: Any, starts: Any, ends: Any, kinds: Any, language: Language) -> None:
        self.__dict__.update(text=text, words=words, starts=starts, ends=ends, kinds=kinds, language=language)

    @property
    def visible(self) -> Document:
        return self._visible or self

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """Return the tokens in order."""
        return tuple(Token(*columns) for columns in zip(self.words, self.starts, self.ends, self.kinds, strict=True))

    @classmethod
    def parse(cls, text: str, language: Language = ENGLISH) -> Self:
        """Tokenise any string; see the module's docstring for the rules.

        Raises InputError where ``text`` is no string.
        """
        if not isinstance(text, str):
            raise InputError(f"A text must be a str, not {type(text).__name__}.")
        visible = to_visible(text)
        plain = cls._of_visible(text if visible is None else visible.text, language)
        long = max(map(len, plain.words), default=0) > LETTERS
        if visible is None and not long:
            return plain
        places = range(len(text)) if visible is None else visible.places
        if long:
            plain, places = plain._cut(places)
        starts = tuple([places[start] for start in plain.starts])
        ends = tuple([places[end - 1] + 1 for end in plain.ends])
        document = object.__new__(cls)
        document._fill(text, plain.words, starts, ends, plain.kinds, language)
        document.__dict__.update(_visible=plain, _places=places, removed=visible.removed if visible else 0)
        return document

    def _cut(self, places: Sequence[int]) -> tuple[Self, list[int]]:
        """Shorten a word to LETTERS characters, and return their offsets: the last one represents the rest."""
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
        """Return the offsets of the sentences in order, without the blanks around them; blank sentences are omitted."""
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
        """Return the visible blanks before each token, and after the last."""
        text, starts, ends = self.visible.text, self.visible.starts, self.visible.ends
        return tuple([text[a:b] for a, b in zip([0, *ends], [*starts, len(text)], strict=True)])

    def gap(self, i: int) -> str:
        """Return the blanks between token i-1 and token i, 0 <= i <= len(tokens); i = len(tokens) is the tail."""
        if not 0 <= i <= len(self.words):
            raise IndexError(f"There is no gap {i}. Choose one from 0 to {len(self.words)}.")
        return self.gaps[i]

    def skeleton(self, drawn: Sequence[bool]) -> Skeleton:
        """Return what is unchanged when the tokens marked True are sampled. Raises InputError unless each token has one
        value."""
        if len(drawn) != len(self.words):
            raise InputError(f"A skeleton needs one value for each of the {len(self.words)} tokens, but got "
                             f"{len(drawn)}.")
        public_tokens = tuple([None if d else word for d, word in zip(drawn, self.words, strict=True)])
        return Skeleton(public_tokens, self.gaps, self.language)
