"""Cut a text into sentences and tokens by the rules of its language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import cache

from .language import APOSTROPHES, Language
from .skeleton import CLOSERS, MARKS, NEWLINE, WIDE_ENDERS, kind_of, wordish

#: Maximum characters read of a word or number. Longer ones are cut, so that their length has no influence.
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
# Punctuation that separates words without whitespace, which tokenizers leave inside words.
_BREAKS = frozenset("，。、；：！？｡「」『』（）《》【】،؛؟۔।…“”„«»—")
_LONGEST_SENTENCE = 20_000


class _Rules:
    """The regular expressions for a language's tokens."""

    def __init__(self, language: Language) -> None:
        ends = "|".join(map(re.escape, language.clitics)) or "(?!)"
        apart = "|".join(map(re.escape, language.detached)) or "(?!)"
        enders = re.escape("".join(sorted(language.enders)))
        self.language = language
        self.plain = language.plain
        # A run of enders, and in group 2 the closing marks after it if it ends a sentence. Possessive, so that long
        # runs take linear time.
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


def _sentences(text: str, rules: _Rules) -> list[tuple[int, int, Collection[int]]]:
    """Return sentences as (start, end, offsets of full stops that belong to an abbreviation)."""
    ends: list[int] = []
    inner_dots: list[int] = []
    for match in rules.ending.finditer(text):
        if match.end(2) < 0:
            continue
        if match.group() == "." and _abbreviates(text, match.start(), rules.language):
            inner_dots.append(match.start())
        else:
            ends.append(match.end())
    if text.splitlines()[:1] != [text]:  # splitlines knows the same line ends, and is faster if there are none
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
    """Find the tokens of a sentence by the language's shortcut, the same as those of ``_general_spans``, or None."""
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
    """Find the tokens of any sentence by the language's tokenizer, with refinements."""
    plain = rules.inner_apostrophe.sub("'", text[start:end])
    if "@" in plain or "://" in plain or "www." in plain.lower():
        plain = _ADDRESS.sub(_hide_address, plain)
    spans = _tokenizer_spans(plain, rules.language)
    if spans is None:
        spans = [match.span() for match in rules.chunk.finditer(plain)]
    refined: list[tuple[int, int]] = []
    for a, b in _join_spans(plain, spans, rules):
        if plain[a:b].isalnum():
            refined.append((start + a, start + b))
        else:
            refined += [(start + c, start + d) for c, d in _refine_token(plain, a, b, start, inner_dots, rules)]
    return refined


def _hide_address(match: re.Match[str]) -> str:
    """Return the same number of letters, so that an address remains one token and offsets are unchanged."""
    address = match.group()
    address_part = address.rstrip(_ADDRESS_TAIL)
    if address[len(address_part) :].startswith(")") and "(" in address_part:
        address_part += ")"
    return "x" * len(address_part) + address[len(address_part) :]


def _tokenizer_spans(sentence: str, language: Language) -> list[tuple[int, int]] | None:
    """Return the tokenizer's words as spans that cover all but whitespace, or None if they cannot be aligned."""
    if language.tokenize is None or len(sentence) > _LONGEST_SENTENCE:
        return None
    try:
        tokens = language.tokenize(sentence)
    except TimeoutError:  # NLTK runs its expressions under a time limit
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


def _join_spans(text: str, spans: list[tuple[int, int]], rules: _Rules) -> list[tuple[int, int]]:
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


def _refine_token(
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
        parts += _strip_token(text, a, b, offset, inner_dots, rules)
    return parts


def _strip_token(
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
    # Only the end is searched, so that a long chain of clitics takes linear time.
    while (match := rules.clitic_end.search(text[max(first, last - rules.reach) : last])) is not None:
        begin = last - len(match.group())
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
