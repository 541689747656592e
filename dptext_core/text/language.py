"""What the program has to know of a language, in one object.

Tokens, the ends of sentences, capital letters, and which words are words or stop words go by a :class:`Language`.
Nothing but the files in ``languages/`` knows one: a further language is one more object. Its vocabulary, its vectors
and its masked language model are files that the options of a mechanism name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .lexicon import Antonyms, Lexicon

#: The apostrophes that people type; every table of a language has the first of them.
APOSTROPHES = "'’ʼ＇"
#: What ends a sentence in the scripts of the world, each alone or in a row.
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
    """What names, places, dates and numbers are told by: short lists of what everyone knows (see ``survivors.py``).

    All words in lower case. None of the lists is complete, and what is on none of them is found by its capital at most.

    * ``capitals``: whether a capital inside a sentence marks a name (in German every noun has one). ``common``: words
      that have a capital for another reason, or begin sentences.
    * ``always_large``: words that have a capital inside a sentence too and name nobody (``i``, ``christmas``).
    * ``titles``: what stands before a name (``mrs``); ``first_names``, which are names without a capital too;
      ``names_or_words``: those that are words of the language and need one (``will``), or one of ``before_names``
      (``dear``) or ``after_names`` (``'s``) beside them; ``particles``: small words inside a name.
    * ``places``: names of countries, cities and their people; ``places_or_words``: those of them that are words of the
      language too, and count with a capital inside a sentence alone. ``place_ends``: what a capital before it makes a
      place (``lane``); ``before_place``: after which a capital is more likely a place than a person (``near``).
    * ``months`` and ``weekdays``, with short forms; of them ``months_or_words`` as with places. ``ordinals``: what
      follows the number of a day; ``joining``: small words inside a date; ``before_months``: after which a month that
      is also a word is a month; ``before_year``: after which a number such as 1987 is a year.
    * ``numbers``: written numbers that count by themselves; ``small_numbers``: those that count beside another number;
      ``digit_words``: words that are digits beside a number (``oh``, ``double``); ``ordinal_words``, which count beside
      one of ``numbers``; ``number_units``: other parts of a compound (``forty-year-old``); ``between_numbers``: words
      that may stand between the parts of one number (``and``). ``before_numbers`` and ``after_numbers``: what makes a
      small number beside it one (``room``, ``o'clock``).
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
        """The words that may be a name, a date or a number without a capital."""
        return self.number_parts | self.first_names | self.names_or_words | self.months

    @cached_property
    def number_parts(self) -> frozenset[str]:
        """Return the words that can form a compound such as ``forty-two``."""
        return self.numbers | self.small_numbers | self.digit_words | self.ordinal_words | self.number_units


@dataclass(frozen=True)
class Articles:
    """An article with two forms, of which the next word decides.

    forms: the two, in lower case. second: matches a word in lower case that takes the second; spelled: one that is
    read letter by letter, as it is written; letters: the first letters, in capitals, with which such a word takes the
    second.
    """

    forms: tuple[str, str]
    second: re.Pattern[str]
    spelled: re.Pattern[str]
    letters: frozenset[str]

    def takes_second(self, word: str) -> bool:
        """Return whether this word takes the second form."""
        if self.spelled.match(word):
            return word[0] in self.letters
        return self.second.match(word.lower()) is not None


@dataclass(frozen=True, eq=False)
class Language:
    """A language as the core needs it: every field has a default that assumes none, save its name and its code.

    All words in its fields are in lower case with straight apostrophes. A word stands between blanks or marks:
    letters that touch stay one token, so that no script without blanks is cut into words, nor a clitic off the front of
    one (the l' of French).

    * ``name`` and ``code``: the English name, and the code of ISO 639-1.
    * ``clitics``: what follows an apostrophe at the end of a word and is a token of its own, without the apostrophe
      (``s`` for ``it's``). ``detached``: other parts of words that are clitics where a text has them apart (``n't``).
    * ``titles``: abbreviations that never end a sentence, without the full stop (``dr``); ``abbreviations``: those that
      end one only where a word of ``starters`` follows (``etc``); ``before_number``: those that end none before a digit
      (``no``); ``no_initials``: words of one letter that are no initial of a name (``i``); ``enders``: the characters
      that end a sentence.
    * ``tokenize``: words and marks of one sentence in order, without blanks, before the module ``document`` refines
      them, or None to cut by blanks and marks alone. ``plain``: a short way for sentences without doubt, or None:
      an expression whose matches are the tokens, each in group 1, exactly as the long way gives them; group 2 takes
      all the rest of a sentence from the first doubt on.
    * ``case(word, sentence_start)``: how a released word is written, by its place and by itself alone: the word that
      was replaced is not known there, and must not be.
    * ``articles``: an article whose form follows the next word, or None. ``tight_before`` and ``tight_after``: marks
      and clitics with no blank before them, and marks with none after them.
    * ``letters``: an expression of one letter of a whole word of a public vocabulary; ``one_letter_words``: the words
      that have one letter only.
    * ``bases(word)``: of a contraction (``won't``) the words of which one makes it a stop word (``will``), else ().
    * ``clues``: what names, places, dates and numbers are told by.
    * ``load_stop_words`` and ``load_antonyms``: read the lists that this machine has; None where no such list is known.
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
        """Every clitic as a token."""
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
