"""Blocklists: public lists of words that are removed from the possible outputs before anything is sampled.

A mechanism over a finite set of outputs is the same mechanism over a smaller set. If the list does not depend on the
text, that set is public, and the guarantee holds over it as over any other: ε is unchanged. (Sampling from the whole
set until the word is allowed is another mechanism. Its probabilities are divided by that of an allowed word, which
depends on the private word, and this can cost up to the same ε again.)

A word is a token as the program reads texts, ignoring case. A listed word also bans tokens that contain it between
hyphens, dots and the like (``word-by-word`` for ``word``), and no others: list each form separately.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

from ..errors import ConfigError
from ..privacy.kinds import NotProtectedKind
from ..privacy.terms import NotProtected
from ..support.assets import assets_folder
from ..support.checks import shorten_repr
from ..support.private import Private
from ..text.document import Document
from ..text.language import Language

#: Maximum letters of a list in a saved session, and of one word in it.
MOST, LONGEST = 60_000, 100
_BETWEEN = re.compile(r"[\W_]+")
#: The same, but a word may contain an apostrophe.
_APART = re.compile(r"(?:[^\w']|_)+")
#: Separators of the words in a list.
_SEPARATORS = re.compile(r"[\s,;]+")


#: Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt): characters that are invisible, now or in a later
#: version.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
#: Combining marks of no script, by their blocks: strokes and rings that can be put over any letter.
_OVER = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")


def fold(text: str) -> str:
    """Return a text in the form in which words are compared: Unicode's NFKC and case folding, visible letters only.

    A letter with an accent that Unicode has as a letter (é) is another letter; any other mark over a letter is removed.
    """
    if text.isascii():
        return text.lower()
    # Twice: an invisible character or a removed mark may separate a letter from its accent.
    for _ in range(2):
        text = _visible(unicodedata.normalize("NFKC", _visible(text)).casefold())
        text = _OVER.sub("", unicodedata.normalize("NFKC", text))
    return text.replace("’", "'")


def has_invisible(text: str) -> bool:
    """Return True if a text contains an invisible character, which Unicode's and this program's comparisons skip."""
    return _IGNORABLE.search(text) is not None


def _visible(text: str) -> str:
    return "".join(c for c in _IGNORABLE.sub("", text) if unicodedata.category(c) != "Cf")


def forms(token: str) -> tuple[str, ...]:
    """Return a token in comparable form, and its parts between hyphens, dots, apostrophes and the like."""
    token_form = fold(token)
    if token_form.isalnum():
        return (token_form,)
    words = (part.strip("'") for part in _APART.split(token_form)) if "'" in token_form else ()
    return (token_form, *runs(token_form), *(word for word in words if word))


def runs(folded: str) -> tuple[str, ...]:
    """Return the parts of a folded text between hyphens, dots, blanks and the like."""
    return tuple(part for part in _BETWEEN.split(folded) if part)


def word_set(name: str, words: Iterable[object]) -> tuple[str, ...]:
    """Return the words of a list, each once, in a fixed order. Raises ConfigError."""
    folded = set()
    for word in words:
        if not isinstance(word, str):
            raise ConfigError(f"{name} must be a list of words, but {shorten_repr(word)} is not a word.")
        if word := fold(word.strip()):
            if len(word) > LONGEST or _SEPARATORS.search(word) or not word.isprintable():
                raise ConfigError(
                    f"{shorten_repr(word)} is not one word of at most {LONGEST} letters. List each word of {name} "
                    "separately."
                )
            if not any(c.isalnum() or unicodedata.category(c)[0] == "S" for c in word):
                raise ConfigError(f"{shorten_repr(word)} is punctuation, not a word. Remove it from {name}.")
            folded.add(word)
    if sum(map(len, folded)) + len(folded) > MOST:
        raise ConfigError(
            f"{name} has {len(folded):,} words of more than {MOST:,} letters in total. Remove the rarest ones."
        )
    return tuple(sorted(folded))


def split(text: str) -> list[str]:
    """Return the words of a text that are separated by blanks, line ends, commas or semicolons."""
    return [word for word in _SEPARATORS.split(text) if word]


@dataclass(frozen=True)
class Blocklist(Private):
    """The words of a list; empty and false without words. public: the words on the program's list."""

    words: frozenset[str] = frozenset()
    public: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.words)

    def exposed(self) -> tuple[NotProtected, ...]:
        """Return what the list may reveal, for the guarantee's ``exposed``."""
        return (NotProtected(NotProtectedKind.BLOCKLIST),) if self.own else ()

    @cached_property
    def own(self) -> frozenset[str]:
        """Return the words that a user listed."""
        return self.words - self.public

    def counts(self) -> dict[str, Any]:
        """Return the number of words of each kind: fields of a guarantee."""
        return {"never": len(self.own), "loaded": len(public_blocklist()) if self.public else 0}

    def bans(self, token: str) -> bool:
        """Return True if this token must not be released."""
        return bool(self.words) and not self.words.isdisjoint(forms(token))

    def places(self, words: Sequence[str]) -> tuple[int, ...]:
        """Return the indices of the banned words among many, ascending."""
        if not self.words:
            return ()
        index = _index(words if isinstance(words, tuple) else tuple(words))
        return tuple(sorted({i for word in self.words for i in index.get(word, ())}))

    def left(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return the words without the banned ones, in their order."""
        gone = set(self.places(words))
        return tuple(w for i, w in enumerate(words) if i not in gone) if gone else words

    def check(self, language: Language) -> None:
        """Raise ConfigError if one of the words cannot occur in a text."""
        for word in sorted(self.words):
            if word.isalnum():
                continue
            tokens = Document.parse(word, language).tokens
            if len(tokens) > 1:
                parts = ", ".join(f"“{t.text}”" for t in tokens)
                raise ConfigError(
                    f"{shorten_repr(word)} cannot be on the blocklist because it is read as {len(tokens)} words "
                    f"({parts}). List the ones that you mean."
                )


NOTHING = Blocklist()


@cache
def public_blocklist() -> frozenset[str]:
    """Return the program's public list: words that are likely abusive, sexual or violent."""
    return frozenset((assets_folder() / "words" / "loaded.txt").read_text(encoding="utf-8").split())


@lru_cache(maxsize=8)
def _index(words: tuple[str, ...]) -> Mapping[str, tuple[int, ...]]:
    """Return, for each form, the indices of the words that have it. Contains public words only."""
    indices: dict[str, list[int]] = {}
    for i, word in enumerate(words):
        for form in dict.fromkeys(forms(word)):
            indices.setdefault(form, []).append(i)
    return {form: tuple(places) for form, places in indices.items()}
