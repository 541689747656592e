"""Words written as a name, a place, a date or a number, even if they are on a list of stop words.

The mechanisms replace such a word although it is a stop word, and the finder of identifying words flags it
(:mod:`dptext_core.detectors.rules`). Both call :func:`names_and_numbers`.

The answer for a word depends on as little of the text as the rule allows: on the word itself, on whether it can begin
a sentence, for a number word, a month or a lone letter on the nearest word at each side, and for a name that is a word
too on the tokens at its sides. A release reveals these dependencies: see ``Guarantee.exposed``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .document import Document
from .language import Clues, straighten_apostrophes

_LINE_ENDS = frozenset("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
#: Marks after which a sentence continues.
_INNER_MARKS = frozenset((",", ";", "(", ")", "&", "/", "’", "'"))
#: Marks between letters that are spelled out.
_SPELLING_MARKS = frozenset((",", "-", "/"))


def names_and_numbers(document: Document) -> dict[int, str]:
    """Return the kind ("name", "place", "date" or "number") of each token that is written as one, by its index.

    * A first name is a name. A first name that is also a word of the language (``will``, ``may``) needs a capital, or
    ``dear`` before it or ``'s`` after it. The capital counts at the beginning of a sentence too, where "Will" may be
      the verb.
    * Any other word with a capital inside a sentence is a name: not one entirely in capitals, not a title, and not one
    that always has a capital (``I``). A lone capital letter is a name if no word next to it is in capitals.
    * A word with a capital after its first letter (``tHe``) is a name. So is a lone letter next to another letter that
    is not a word (``W I L L``).
    * A place in capitals that is also a word (``US``) is a place.
    * A month next to a number is a date, even with small words such as ``of`` between them; next to ``first``, both
    are. A month that is also a word is a date after a word such as ``in``.
    * A number word from eleven up is a number, and a smaller one next to another number or digits. ``and``, ``or``,
    ``to``, similar words and punctuation may separate them. A small number word is also a number after a word such as
    ``room`` or before ``o'clock``.

    Returns
    -------
    dict of int to str
        In the order of the tokens.
    """
    clues = document.language.clues
    kinds: dict[int, str] = {}
    for k, (kind, text) in enumerate(zip(document.kinds, document.words, strict=True)):
        if kind not in ("word", "number"):
            continue
        if text.islower() and text.isalpha() and len(text) > 1 and text not in clues.without_capital:
            continue  # most words
        if written_as := _kind(document, clues, k):
            kinds[k] = written_as
    return kinds


def plain_form(text: str) -> str:
    """Return a token as it appears in a language's lists: in lower case, without an abbreviation's full stop."""
    return straighten_apostrophes(text).casefold().rstrip(".") or text


def can_begin(document: Document, k: int) -> bool:
    """Return True if token k may be capitalised because a sentence or a quotation begins there."""
    if k == 0 or not _LINE_ENDS.isdisjoint(document.gap(k)):
        return True
    return document.kinds[k - 1] in ("punct", "symbol") and document.words[k - 1] not in _INNER_MARKS


def is_number_word(word: str, clues: Clues) -> bool:
    """Return True if a word, as :func:`plain_form` returns it, is a number without its context."""
    return _size(word, clues) == "large"


def _kind(document: Document, clues: Clues, k: int) -> str:
    """Return what the word at token k is written as, or "" for a word like any other."""
    text = document.words[k]
    word = plain_form(text)
    size = _size(word, clues)
    if size == "large" or (size and _in_number(document, clues, k, size)):
        return "number"
    if _in_date(document, clues, k, word):
        return "date"
    lone = len(word) == 1
    if word in clues.first_names or (lone and _is_spelled(document, clues, k)):
        return "name"
    if word in clues.names_or_words and (text[0].isupper() or _is_called(document, clues, k)):
        return "name"
    if not text.isupper() and text[1:] != text[1:].lower():
        return "name"
    if not text[0].isupper():
        return ""
    if text.isupper() and not lone:
        return "place" if word in clues.places_or_words else ""
    if word in clues.always_large or word in clues.titles or word in document.language.titles:
        return ""
    inside = clues.capitals and not can_begin(document, k)
    return "name" if inside and not (lone and _is_all_capitals(document, k)) else ""


def _in_number(document: Document, clues: Clues, k: int, size: str) -> bool:
    """Return True if the neighbouring words make a small number word part of a number."""
    before, after = (_word_at(document, i) for i in _neighbouring_words(document, k, clues.between_numbers))
    if size == "small" and (before in clues.before_numbers or after in clues.after_numbers):
        return True
    return any(_same_number(size, _size(w, clues)) for w in (before, after))


def _in_date(document: Document, clues: Clues, k: int, word: str) -> bool:
    """Return True if the neighbouring words make a month or an ordinal part of a date."""
    if word not in clues.months and word not in clues.ordinal_words:
        return False
    places = _neighbouring_words(document, k, clues.joining)
    if word in clues.ordinal_words:
        return any(_is_month(document, clues, i, after=i > k) for i in places)
    beside = [_word_at(document, i) for i in places]
    if any(map(_has_digit, beside)) or (_word_at(document, k - 1) in clues.before_months):
        return True
    return _is_month(document, clues, k) and not clues.ordinal_words.isdisjoint(beside)


def _is_month(document: Document, clues: Clues, i: int, after: bool = False) -> bool:
    """Return True if token i is clearly a month: no other word, or capitalised, or, if ``after``, after "of"."""
    word = _word_at(document, i)
    if word not in clues.months:
        return False
    sure = word not in clues.months_or_words or document.words[i][0].isupper()
    return sure or (after and _word_at(document, i - 1) in clues.before_months)


def _is_called(document: Document, clues: Clues, k: int) -> bool:
    """Return True if the token directly before or after marks a possible name as a name."""
    return _word_at(document, k - 1) in clues.before_names or _word_at(document, k + 1) in clues.after_names


def _is_spelled(document: Document, clues: Clues, k: int) -> bool:
    """Return True if token k, a single letter, helps to spell a word: its neighbour is a letter that is not a word."""
    kinds, words = document.kinds, document.words
    for step in (-1, 1):
        i = k + step
        while 0 <= i < len(words) and words[i] in _SPELLING_MARKS:
            i += step
        word = _word_at(document, i)
        if len(word) == 1 and kinds[i] == "word" and word not in clues.common:
            return True
    return False


def _size(word: str, clues: Clues) -> str:
    """Return how a word counts as a number, or "".

    "large" counts alone; "small", "digit" and "ordinal" count next to another number.
    """
    if _has_digit(word):
        return "large"
    if word in clues.small_numbers:
        return "small"
    if word in clues.digit_words:
        return "digit"
    if word in clues.ordinal_words:
        return "ordinal"
    if "-" not in word and word not in clues.number_parts:
        return ""
    parts = word.split("-")
    if not clues.number_parts.issuperset(parts):
        return ""
    small = sum(part in clues.small_numbers for part in parts)
    digits = small + sum(part in clues.digit_words for part in parts)
    if not clues.numbers.isdisjoint(parts) or (small and digits > 1):
        return "large"
    return "small" if parts[0] in clues.small_numbers else ""


def _same_number(one: str, other: str) -> bool:
    """Return True if two neighbouring words are parts of one number. "first two" and "oh oh" are not."""
    sizes = {one, other}
    return bool(other) and sizes != {"digit"} and ("ordinal" not in sizes or "large" in sizes)


def _word_at(document: Document, i: int) -> str:
    """Return token i as it appears in the lists, "" if there is none."""
    return plain_form(document.words[i]) if 0 <= i < len(document.words) else ""


def _neighbouring_words(document: Document, k: int, between: Collection[str]) -> Iterator[int]:
    """Yield the indices of the nearest words before and after token k, skipping punctuation and ``between``.

    The index is -1 or the number of tokens if there is none.
    """
    kinds, words = document.kinds, document.words
    for step in (-1, 1):
        i = k + step
        while 0 <= i < len(words) and (kinds[i] in ("punct", "symbol") or plain_form(words[i]) in between):
            i += step
        yield i


def _is_all_capitals(document: Document, k: int) -> bool:
    """Return True if a word directly next to token k is entirely in capitals."""
    beside = (document.words[i] for i in (k - 1, k + 1) if 0 <= i < len(document.words))
    return any(w.isupper() and len(w) > 1 for w in beside)


def _has_digit(word: str) -> bool:
    return not word.isalpha() and any(map(str.isdigit, word))
