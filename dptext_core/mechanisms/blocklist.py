"""Words that are never released: a public list, taken out of what can be drawn before anything is drawn.

A mechanism over a finite set of outputs is the same mechanism over a smaller set. Where the list does not depend on the
text, that set is public, and the promise holds over it as over any other: ε stays what it is. (Drawing over the whole
set, and again until the word is allowed, is another mechanism: where noise decides, its chances are divided by that of
ending at all, which depends on the private word, and that is paid for with up to as much again.)

A word here is a token as the program reads texts, whatever its capitals. A listed word also bans tokens that have it
between hyphens, dots and the like (``word-by-word`` for ``word``), and no others: each form is listed by itself.
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

#: Letters that a list has at most, as a saved session holds it, and that one word of it has.
MOST, LONGEST = 60_000, 100
_BETWEEN = re.compile(r"[\W_]+")
#: As it, but that a word may have an apostrophe in it.
_APART = re.compile(r"(?:[^\w']|_)+")
#: What separates the words of a list.
_SEPARATORS = re.compile(r"[\s,;]+")


#: Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt): what is not shown, now or in a later version.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
#: Combining marks of no script, by their blocks: strokes and rings that can be put over any letter.
_OVER = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")


def fold(text: str) -> str:
    """Return a text in the form in which words are compared: letters as Unicode's NFKC and case folding have them,
    without what is invisible. A letter with an accent that Unicode has as a letter (é) is another letter; any other
    mark over a letter is left away."""
    if text.isascii():
        return text.lower()
    # Twice: what is hidden between a letter and its accent keeps them apart, and so does a mark that is left away.
    for _ in range(2):
        text = _visible(unicodedata.normalize("NFKC", _visible(text)).casefold())
        text = _OVER.sub("", unicodedata.normalize("NFKC", text))
    return text.replace("’", "'")


def has_invisible(text: str) -> bool:
    """Whether something invisible stands in it, by which Unicode's and this program's comparisons pass over it."""
    return _IGNORABLE.search(text) is not None


def _visible(text: str) -> str:
    return "".join(c for c in _IGNORABLE.sub("", text) if unicodedata.category(c) != "Cf")


def forms(token: str) -> tuple[str, ...]:
    """Return a token as it is compared, and what stands in it between hyphens, dots and the like, apostrophes or
    not."""
    whole = fold(token)
    if whole.isalnum():
        return (whole,)
    words = (part.strip("'") for part in _APART.split(whole)) if "'" in whole else ()
    return (whole, *runs(whole), *(word for word in words if word))


def runs(folded: str) -> tuple[str, ...]:
    """Return what stands in a folded text between hyphens, dots, blanks and the like."""
    return tuple(part for part in _BETWEEN.split(folded) if part)


def word_set(name: str, words: Iterable[object]) -> tuple[str, ...]:
    """Return the words of a list, each once, in a fixed order. Raises ConfigError."""
    found = set()
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
            found.add(word)
    if sum(map(len, found)) + len(found) > MOST:
        raise ConfigError(
            f"{name} has {len(found):,} words of more than {MOST:,} letters in total. Remove the rarest ones."
        )
    return tuple(sorted(found))


def split(text: str) -> list[str]:
    """Return the words of a text in which they stand between blanks, line ends, commas or semicolons."""
    return [word for word in _SEPARATORS.split(text) if word]


@dataclass(frozen=True)
class Blocklist(Private):
    """The words of a list. Empty, and false, where there is none. public: those of them that everybody's list has."""

    words: frozenset[str] = frozenset()
    public: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.words)

    def exposed(self) -> tuple[NotProtected, ...]:
        """Return what the list may show, for the guarantee's ``exposed``."""
        return (NotProtected(NotProtectedKind.BLOCKLIST),) if self.own else ()

    @cached_property
    def own(self) -> frozenset[str]:
        """Those that a user listed."""
        return self.words - self.public

    def counts(self) -> dict[str, Any]:
        """How many of each there are: fields of a guarantee."""
        return {"never": len(self.own), "loaded": len(public_blocklist()) if self.public else 0}

    def bans(self, token: str) -> bool:
        """Whether this token may not be released."""
        return bool(self.words) and not self.words.isdisjoint(forms(token))

    def places(self, words: Sequence[str]) -> tuple[int, ...]:
        """Where the banned ones stand among many words, ascending."""
        if not self.words:
            return ()
        index = _index(words if isinstance(words, tuple) else tuple(words))
        return tuple(sorted({i for word in self.words for i in index.get(word, ())}))

    def left(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return the words without the banned ones, in their order."""
        gone = set(self.places(words))
        return tuple(w for i, w in enumerate(words) if i not in gone) if gone else words

    def check(self, language: Language) -> None:
        """Raise ConfigError where one of the words is none that a text could hold."""
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
    """Return the public list that comes with the program: words that are likely abusive, sexual or violent."""
    return frozenset((assets_folder() / "words" / "loaded.txt").read_text(encoding="utf-8").split())


@lru_cache(maxsize=8)
def _index(words: tuple[str, ...]) -> Mapping[str, tuple[int, ...]]:
    """For each form, the places of the words that have it. Holds public words only."""
    found: dict[str, list[int]] = {}
    for i, word in enumerate(words):
        for form in dict.fromkeys(forms(word)):
            found.setdefault(form, []).append(i)
    return {form: tuple(places) for form, places in found.items()}
