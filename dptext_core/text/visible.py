"""The visible part of a text, in one canonical form.

An invisible character could carry a message through every rewrite, since mechanisms copy marks and symbols. So a text
is tokenised in its visible form (:func:`to_visible`), and nothing else of it is ever released:

- Control and format characters, tags, variation selectors, zero-width marks, blank letters (Hangul fillers, the empty
  braille cell), private use, unassigned code points and lone surrogates are removed. So are combining marks that follow
  no letter or digit.
- Every kind of blank becomes a space, every line end ``\\n``. Several spaces inside a line become one; those next to a
tab or at the end of a line are removed, as are blanks and line ends at the end of the text. Tabs, the spaces that
indent a line and empty lines are unchanged.
- A symbol that reads as letters or digits becomes these: Ⓜ is M, 🅹 is J, ⒜ is a, the flag 🇲🇦 is MA, ™ is TM, ⠍ is m,
  🕔 is 5, 🔚 is END.
  Compatibility forms of letters and digits (𝐌, Ｍ, ², Kelvin sign) become plain ones.
- Marks that look the same become one: ‐ and ‑ are -, ‚ is a comma, ′ is '. Curly and straight quotes differ, as do - –
—.
- Other symbols and marks are unchanged only if they are in :data:`MARKS`, :data:`SYMBOLS` or :data:`EMOJI`. Any other
becomes the letter :data:`UNLISTED`, so that it counts as a word, which mechanisms replace.

Python's Unicode tables determine the form of a character. The browser edition gets :func:`character_table`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..support.checks import pluralize

#: The letter that represents an unlisted symbol: caseless, and in no word of any list.
UNLISTED = "\u0294"

#: Punctuation that is unchanged, besides ASCII.
MARKS = "¡¿§¶·«»‹›‘’“”„–—…†‡•‰¦°，。、；：！？「」『』（）《》【】،؛؟۔।॥"
#: Symbols that are unchanged, besides ASCII, currencies and emoji.
SYMBOLS = "©®±×÷¬←↑→↓↔⇐⇒⇔≈≠≤≥≡∞√∑∏∫∂∇∈∉∩∪⊂⊃⊆⊇∅∀∃∝■□▲△▼▽◆◇○●★☆✓✗♪♫"
#: Emoji that are unchanged: code points with the Unicode property Emoji that do not read as a letter or digit,
#: including skin tones. Sequences split into their visible emoji, since joiners and variation selectors are removed.
EMOJI = (
    "21A9-21AA 231A-231B 2328 23CF 23E9-23F3 23F8-23FA 25B6 25C0 2600-2604 260E 2611 2614-2615 2618 261D 2620 "
    "2622-2623 2626 262A 262E-262F 2638-263A 2640 2642 2648-2653 265F-2660 2663 2665-2666 2668 267B 267E-267F "
    "2692-2697 2699 269B-269C 26A0-26A1 26A7 26AA-26AB 26B0-26B1 26BD-26BE 26C4-26C5 26C8 26CE-26CF 26D1 26D3-26D4 "
    "26E9-26EA 26F0-26F5 26F7-26FA 26FD 2702 2705 2708-270D 270F 2712 2714 2716 271D 2721 2728 2733-2734 2744 2747 "
    "274C 274E 2753-2755 2757 2763-2764 2795-2797 27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 1F004 1F0CF "
    "1F300-1F321 1F324-1F393 1F396-1F397 1F399-1F39B 1F39E-1F3B0 1F3B2-1F3E6 1F3E8-1F3F0 1F3F3-1F3F5 1F3F7-1F4AE "
    "1F4B0-1F4FD 1F4FF-1F518 1F525-1F52F 1F531-1F53D 1F549-1F54E 1F56F-1F570 1F573-1F57A 1F587 1F58A-1F58D 1F590 "
    "1F595-1F596 1F5A4-1F5A5 1F5A8 1F5B1-1F5B2 1F5BC 1F5C2-1F5C4 1F5D1-1F5D3 1F5DC-1F5DE 1F5E1 1F5E3 1F5E8 1F5EF "
    "1F5F3 1F5FA-1F64F 1F680-1F6BD 1F6BF-1F6C5 1F6CB-1F6D2 1F6D5-1F6D7 1F6DD-1F6E5 1F6E9 1F6EB-1F6EC 1F6F0 "
    "1F6F3-1F6FC 1F7E0-1F7EB 1F7F0 1F90C-1F93A 1F93C-1F945 1F94A-1F9AF 1F9B4-1F9FF 1FA70-1FA74 1FA78-1FA7C "
    "1FA80-1FA86 1FA90-1FAAC 1FAB0-1FABA 1FAC0-1FAC5 1FAD0-1FAD9 1FAE0-1FAE7 1FAF0-1FAF6"
)

# Marks that look like another one, and that one.
_ALIKE = {
    "-": "\u2010\u2011\u2012\u2212\u02d7\ufe63\uff0d",
    "—": "\u2015\u2e3a\u2e3b\ufe58\u2500",
    ",": "\u201a\u066b\ufe50\ufe11",
    "'": "\u2032\u2035\u00b4\u02b9\u02ca\u02cb\u02c8\uff07\u275b",
    "’": "\u02bc\u201b\u275c",
    '"': "\u2033\u2036\u2034\u2037\u2057\u02ba\uff02\u301d\u301e\u301f",
    "“": "\u201f\u275d",
    "”": "\u275e",
    ".": "\u2024\ufe52",
    "…": "\u2025\u22ef\ufe19",
    "·": "\u0387\u2027\u22c5\u30fb\u2e31\uff65",
    ":": "\u2236\u02d0\ua789\ufe55\ufe13\u05c3",
    ";": "\u037e\ufe54",
    "!": "\u203c\ufe57",
    "?": "\u2047\u2048\u2049\ufe56",
    "/": "\u2044\u2215\u29f8",
    "\\": "\u2216\u29f5",
    "|": "\u2223\u2758\u05c0",
    "*": "\u2217\u204e\u066d",
    "~": "\u223c\u02dc\u301c",
    "^": "\u02c6",
    "(": "\u207d\u208d",
    ")": "\u207e\u208e",
    "+": "\u207a\u208a",
    "=": "\u207c\u208c",
    "•": "\u2023\u2043\u2219\u25aa\u25b8\u25ba\u25e6\u27a2\u27a4",
    "■": "\u25fc\u25fe",
    "□": "\u25ab\u25fb\u25fd",
    "✓": "\u2714",
    "✗": "\u2718",
    "£": "\u20a4",
}
_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_LINE_ENDS = "\r\v\f\x85\u2028\u2029"
_UNSEEN = frozenset(("Cc", "Cf", "Cn", "Co", "Cs"))
# Letters, marks and symbols of other categories that are invisible.
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc\U0001107f\U00013441\U00013442"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
# Visible format characters: signs around numbers.
_SEEN = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_COMBINING = frozenset(("Mn", "Mc", "Me"))
# The letters that a symbol shows, by the end of its name.
_LETTERS = re.compile(r"(?:LETTER|SQUARED|CIRCLED) ([A-Z]|AB|CL|COOL|FREE|ID|NEW|NG|OK|SOS|VS|IC|PA|SA|WC)$")
_READ_AS = {"💯": "100", "🔟": "10", "🆙": "UP", "🥇": "1", "🥈": "2", "🥉": "3", "🔞": "18", "🎱": "8", "🔙": "BACK"}
_READ_AS |= {"🔚": "END", "🔛": "ON", "🔜": "SOON", "🔝": "TOP", "🏧": "ATM", "🚾": "WC"}
_READ_AS |= {chr(0x1F54F + hour): f"{hour}" for hour in range(1, 13)}  # clocks, at the hour and half past
_READ_AS |= {chr(0x1F55B + hour): f"{hour}:30" for hour in range(1, 13)}
# The letters of the six-dot braille cells, in the order of code points.
_BRAILLE = ".a.b.k.l.cif.msp.e.h.o.r.djg.ntq.....u.v.....x.......z....w..y.."


# Blanks that may be invisible: any except a single one inside a line.
_RUN = re.compile(r"[ \t]{2,}+|[ \t](?=\n)")


class VisibleText(NamedTuple):
    """The visible form of a text.

    places: the offset of each character in the original text. removed: the number of invisible characters.
    """

    text: str
    places: Sequence[int]
    removed: int


def to_visible(text: str) -> VisibleText | None:
    """Return the visible form of a text, or None if that is the text itself."""
    ordinary = text.isascii() and text.replace("\n", "").isprintable()
    if ordinary and not text[-1:].isspace() and " \n" not in text and "  " not in text:
        return None  # most texts
    characters = [char for char in set(text) if not "\x20" <= char <= "\x7e"]
    forms = {char: form for char in characters if (form := _form(char)) is not None}
    shown, removed = text, 0
    places: Sequence[int] = range(len(text))
    if forms or not _COMBINING.isdisjoint(map(unicodedata.category, characters)):
        shown, places, removed = _characters(text, forms)
    shown, places = _without_blanks(shown, places)
    return None if shown == text else VisibleText(shown, places, removed)


def visible_text(text: str) -> str:
    """Return the visible form of a text."""
    visible = to_visible(text)
    return text if visible is None else visible.text


def count_removed(text: Any) -> int:
    """Return the number of invisible characters in a text; 0 for a value that is not a text."""
    visible = to_visible(text) if isinstance(text, str) else None
    return 0 if visible is None else visible.removed


def removed_note(removed: int) -> str:
    """Return a note on the number of invisible characters in a text; "" if there are none. For its author alone."""
    return f"{pluralize(removed, 'invisible character')} removed." if removed else ""


def _characters(text: str, forms: Mapping[str, str]) -> tuple[str, list[int], int]:
    """Return the visible characters, the offset of each, and the number of invisible ones."""
    out, places, removed = list[str](), list[int](), 0
    on_letter, last = False, ""
    for i, char in enumerate(text):
        form = forms.get(char, char)
        combines = char > "\x7f" and unicodedata.category(char) in _COMBINING
        if not form or (combines and not on_letter):
            removed += 1
            continue
        if char != "\n" or last != "\r":
            out.append(form)
            places += [i] * len(form)
        on_letter, last = combines or form[-1].isalnum(), char
    return "".join(out), places, removed


def _without_blanks(text: str, places: Sequence[int]) -> tuple[str, Sequence[int]]:
    """Remove invisible blanks: at the end of the text and of a line, between words, next to a tab."""
    end, at = len(text.rstrip()), 0
    if not any(blanks in text for blanks in ("\t", "  ", " \n")):
        return text[:end], places[:end]
    characters, where = list[str](), list[int]()
    for run in _RUN.finditer(text, 0, end):
        stay = list(range(*run.span()))
        if text[run.end()] == "\n":
            stay = []
        elif "\t" in run.group():
            stay = [i for i in stay if text[i] == "\t"]
        elif run.start() and text[run.start() - 1] != "\n":
            stay = stay[:1]
        if len(stay) < len(run.group()):
            characters += text[at : run.start()], "".join([text[i] for i in stay])
            where += [*places[at : run.start()], *(places[i] for i in stay)]
            at = run.end()
    if not at:
        return text[:end], places[:end]
    return "".join((*characters, text[at:end])), [*where, *places[at:end]]


def _form(char: str) -> str | None:
    """Return how a character is written: "" if it is invisible, None if it is unchanged."""
    if char in _FORMS or char in _SAME:
        return _FORMS.get(char)
    category = unicodedata.category(char)
    if (category in _UNSEEN and char not in _SEEN) or _HIDDEN.match(char):
        return ""
    if category in _COMBINING:
        return None
    same = unicodedata.normalize("NFKC", char)
    if char.isalnum():
        return same if same != char and same.isalnum() else None
    if letters := "".join(filter(str.isalnum, same)):
        return letters
    if 0x2800 < ord(char) < 0x2840 and (letter := _BRAILLE[ord(char) - 0x2800]) != ".":
        return letter
    if name := _LETTERS.search(unicodedata.name(char, "")):
        return name[1]
    if category == "Sc":
        return same if same != char else None
    return same if same in _SAME else UNLISTED


def character_table() -> dict[str, Any]:
    """Return the form of every character, for the browser edition.

    That is the ranges of code points that are removed or become UNLISTED, and all others with their form.
    """
    forms = {char: form for char in map(chr, range(0x110000)) if (form := _form(char)) is not None}
    return {
        "removed": _ranges(ord(char) for char, form in forms.items() if not form),
        "unlisted": _ranges(ord(char) for char, form in forms.items() if form == UNLISTED),
        "letter": UNLISTED,
        "forms": {char: form for char, form in forms.items() if form not in ("", UNLISTED)},
    }


def _parse_ranges(ranges: str) -> list[tuple[int, int]]:
    pairs = (r.partition("-") for r in ranges.split())
    return [(int(a, 16), int(b or a, 16)) for a, _, b in pairs]


def _ranges(codes: Iterable[int]) -> list[tuple[int, int]]:
    """Return code points as ranges, ends included."""
    out: list[tuple[int, int]] = []
    for code in codes:
        if out and out[-1][1] == code - 1:
            out[-1] = out[-1][0], code
        else:
            out.append((code, code))
    return out


_FORMS = {char: mark for mark, alike in _ALIKE.items() for char in alike}
_FORMS |= dict.fromkeys(_SPACES, " ") | dict.fromkeys(_LINE_ENDS, "\n") | _READ_AS
_ASCII = "".join(map(chr, range(0x20, 0x7F)))
_SAME = frozenset(f"{_ASCII}\t\n{MARKS}{SYMBOLS}").union(*(map(chr, range(a, b + 1)) for a, b in _parse_ranges(EMOJI)))
