"""All that the program knows about a language, in one object.

Tokens, the ends of sentences, capital letters, and which words are words or stop words depend on a :class:`Language`.
Only the files in ``languages/`` define languages: to add one, add an object. Its vocabulary, vectors and masked
language model are files that a mechanism's options name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .lexicon import Antonyms, Lexicon

#: Apostrophes in common use; every table of a language contains the first of them.
APOSTROPHES = "'’ʼ＇"
#: Characters that end a sentence in the scripts of the world, alone or in a row.
ENDERS = frozenset(".!?…。！？｡؟۔।")
#: The one of them that counts as a letter.
_LETTER = APOSTROPHES[2]
_TO_STRAIGHT = str.maketrans(APOSTROPHES[1:], "'" * (len(APOSTROPHES) - 1))


def straighten_apostrophes(text: str) -> str:
    """Return the text with straight apostrophes and the same length."""
    if text.isalpha() and _LETTER not in text:  # most words
        return text
    return text.translate(_TO_STRAIGHT)


def position_case(word: str, sentence_start: bool) -> str:
    """Capitalise at a sentence start only: the first letter or digit, if its capital is one character."""
    if sentence_start:
        for i, char in enumerate(word):
            if char.isalnum():
                upper = char.upper()
                return word[:i] + upper + word[i + 1 :] if len(upper) == 1 else word
    return word


def _no_bases(_word: str) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, eq=False)
class Clues:
    """Clues to names, places, dates and numbers: short lists for :mod:`dptext_core.detectors.rules`.

    All words in lower case. No list is complete, and a word on none of them is detected by its capital at most.

    * ``capitals``: whether a capital inside a sentence marks a name (in German every noun has one). ``common``: words
    that are capitalised for another reason, or begin sentences.

    * ``always_large``: words that are capitalised inside a sentence too and name nobody (``i``, ``christmas``).

    * ``titles``: words before a name (``mrs``); ``first_names``, which are names without a capital too.
    ``names_or_words``: first names that are also common words. They need a capital (``will``), a word of
    ``before_names`` (``dear``) before them, or one of ``after_names`` (``'s``) after them. ``particles``: small words
    inside a name.

    * ``places``: names of countries, cities and their people. ``places_or_words``: places that are also common words,
    which count only with a capital inside a sentence. ``place_ends``: words that make a capitalised word before them a
    place (``lane``). ``before_place``: words after which a capital is more likely a place than a person (``near``).

    * ``months`` and ``weekdays``, with short forms; ``months_or_words`` as with places. ``ordinals``: suffixes of the
    number of a day; ``joining``: small words inside a date. ``before_months``: words after which a month that is also a
    word is a month; ``before_year``: words after which a number such as 1987 is a year.

    * ``numbers``: written numbers that count alone; ``small_numbers``: those that count next to another number;
    ``digit_words``: words that are digits next to a number (``oh``, ``double``); ``ordinal_words``, which count next to
    one of ``numbers``; ``number_units``: other parts of a compound (``forty-year-old``); ``between_numbers``: words
    that may connect the parts of one number (``and``). ``before_numbers`` and ``after_numbers``: words that make a
    small number next to them a number (``room``, ``o'clock``).
    """

    capitals: bool = False
    common: frozenset[str] = frozenset()
    always_large: frozenset[str] = frozenset()
    titles: frozenset[str] = frozenset()
    first_names: frozenset[str] = frozenset()
    names_or_words: frozenset[str] = frozenset()
    before_names: frozenset[str] = frozenset()
    after_names: frozenset[str] = frozenset()
    particles: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    places_or_words: frozenset[str] = frozenset()
    place_ends: frozenset[str] = frozenset()
    before_place: frozenset[str] = frozenset()
    months: frozenset[str] = frozenset()
    months_or_words: frozenset[str] = frozenset()
    weekdays: frozenset[str] = frozenset()
    ordinals: frozenset[str] = frozenset()
    joining: frozenset[str] = frozenset()
    before_months: frozenset[str] = frozenset()
    before_year: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    small_numbers: frozenset[str] = frozenset()
    digit_words: frozenset[str] = frozenset()
    ordinal_words: frozenset[str] = frozenset()
    number_units: frozenset[str] = frozenset()
    between_numbers: frozenset[str] = frozenset()
    before_numbers: frozenset[str] = frozenset()
    after_numbers: frozenset[str] = frozenset()

    @cached_property
    def longest_place(self) -> int:
        """Return how many words the longest place name has."""
        return max((p.count(" ") + 1 for p in self.places), default=0)

    @cached_property
    def without_capital(self) -> frozenset[str]:
        """Return the words that may be a name, a date or a number without a capital."""
        return self.number_parts | self.first_names | self.names_or_words | self.months

    @cached_property
    def number_parts(self) -> frozenset[str]:
        """Return the words that can form a compound such as ``forty-two``."""
        return self.numbers | self.small_numbers | self.digit_words | self.ordinal_words | self.number_units


@dataclass(frozen=True)
class Articles:
    """An article with two forms, chosen by the next word.

    forms: the two, in lower case. second: matches a word in lower case that takes the second form; spelled: matches one
    that is read letter by letter, as written; letters: the first letters, in capitals, with which such a word takes the
    second form.
    """

    forms: tuple[str, str]
    second: re.Pattern[str]
    spelled: re.Pattern[str]
    letters: frozenset[str]

    def takes_second(self, word: str) -> bool:
        """Return True if this word takes the second form."""
        if self.spelled.match(word):
            return word[0] in self.letters
        return self.second.match(word.lower()) is not None


@dataclass(frozen=True, eq=False)
class Language:
    """The language definition that the core needs.

    Every field except the name and the code has a default that assumes nothing. All words in its fields are in lower
    case with straight apostrophes. Words are separated by blanks or punctuation, and adjacent letters form one token.
    So scripts without blanks are not cut into words, nor are clitics before a word (the l' of French).

    * ``name`` and ``code``: the English name, and the ISO 639-1 code.

    * ``clitics``: endings after an apostrophe that are tokens of their own, without the apostrophe (``s`` for
    ``it's``). ``detached``: other parts of words that are clitics if a text separates them (``n't``).

    * ``titles``: abbreviations that never end a sentence, without the full stop (``dr``). ``abbreviations``: those that
    end one only before a word of ``starters`` (``etc``). ``before_number``: those that end none before a digit
    (``no``). ``no_initials``: words of one letter that are not an initial of a name (``i``). ``enders``: the characters
    that end a sentence.

    * ``tokenize``: returns the words and marks of one sentence in order, without blanks, before the module ``document``
    refines them; None cuts at blanks and marks alone. ``plain``: an optional shortcut for unambiguous sentences. It is
    an expression whose matches are the tokens, each in group 1, exactly as the general method gives them. Group 2 takes
    the rest of a sentence from the first ambiguity on.

    * ``case(word, sentence_start)``: returns a released word in the right case, by its position and the word alone. The
    replaced word is unknown here, and must be.

    * ``articles``: an article whose form depends on the next word, or None. ``tight_before`` and ``tight_after``: marks
    and clitics without a blank before them, and marks without one after them.

    * ``letters``: an expression for one letter of a whole word of a public vocabulary; ``one_letter_words``: the words
    of a single letter.

    * ``bases(word)``: for a contraction (``won't``), the words of which one makes it a stop word (``will``), else ().

    * ``clues``: clues to names, places, dates and numbers.

    * ``load_stop_words`` and ``load_antonyms``: read the lists that this machine has; None if no such list is known.
    """

    name: str
    code: str
    clitics: tuple[str, ...] = ()
    detached: tuple[str, ...] = ()
    titles: frozenset[str] = frozenset()
    abbreviations: frozenset[str] = frozenset()
    before_number: frozenset[str] = frozenset()
    starters: frozenset[str] = frozenset()
    no_initials: frozenset[str] = frozenset()
    enders: frozenset[str] = ENDERS
    tokenize: Callable[[str], Sequence[str]] | None = None
    plain: re.Pattern[str] | None = None
    case: Callable[[str, bool], str] = position_case
    articles: Articles | None = None
    tight_before: frozenset[str] = frozenset()
    tight_after: frozenset[str] = frozenset()
    letters: str = r"[^\W\d_]"
    one_letter_words: frozenset[str] = frozenset()
    bases: Callable[[str], tuple[str, ...]] = _no_bases
    clues: Clues = Clues()
    load_stop_words: Callable[[], Lexicon] | None = None
    load_antonyms: Callable[[], Antonyms] | None = None

    def __repr__(self) -> str:
        return f"Language({self.name!r})"

    @cached_property
    def clitic_tokens(self) -> frozenset[str]:
        """Return every clitic as a token."""
        return frozenset("'" + clitic for clitic in self.clitics) | frozenset(self.detached)

    def is_word(self, piece: str, shortest: int = 1) -> bool:
        """Return True if a public vocabulary item is a whole word of this language with ``shortest`` letters or
        more."""
        if len(piece) < shortest:
            return False
        if len(piece) == 1:
            return piece.lower() in self.one_letter_words
        return self._letters.fullmatch(piece) is not None

    @cached_property
    def _letters(self) -> re.Pattern[str]:
        return re.compile(f"(?:{self.letters})+")

    def is_letter(self, text: str) -> bool:
        """Return True if a text is one letter of this language."""
        return len(text) == 1 and self._letters.fullmatch(text) is not None
