r"""Translate Python's regular expressions into JavaScript's, so that both editions use the same patterns.

The two languages differ in what ``\w``, ``\d`` and ``\s`` match, in case folding, and in possessive repeats, which
JavaScript does not have.
"""

from __future__ import annotations

import re
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

#: Python's classes of characters, inside brackets.
_CLASSES = {
    op.CATEGORY_WORD: r"\p{L}\p{N}_",
    op.CATEGORY_DIGIT: r"\p{Nd}",
    op.CATEGORY_SPACE: r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000",
}
_NEGATED = {
    op.CATEGORY_NOT_WORD: op.CATEGORY_WORD,
    op.CATEGORY_NOT_DIGIT: op.CATEGORY_DIGIT,
    op.CATEGORY_NOT_SPACE: op.CATEGORY_SPACE,
}
#: Letters that Python treats as an ASCII letter when it ignores case.
_ALIKE = {"s": "\u017f", "k": "\u212a", "i": "\u0131\u0130"}


def javascript(pattern: re.Pattern[str]) -> str:
    """Return the source of a pattern for JavaScript's flag ``u``. Raise ValueError if it cannot be translated."""
    parsed = parser.parse(pattern.pattern, pattern.flags)
    names = {number: name for name, number in parsed.state.groupdict.items()}
    return _Writer(bool(pattern.flags & re.IGNORECASE), names).sequence(parsed)


class _Writer:
    def __init__(self, ignore_case: bool, names: dict[int, str]) -> None:
        self.ignore_case, self.names = ignore_case, names
        self.repeats = 0

    def sequence(self, parts: Any) -> str:
        return "".join(self.one(name, value) for name, value in parts)

    def one(self, name: Any, value: Any) -> str:
        if name in (op.LITERAL, op.NOT_LITERAL, op.IN):
            return self.characters(name, value)
        if name in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            return self.repeat(name, *value)
        if name == op.SUBPATTERN:
            number, _, _, inside = value
            opening = "(?:" if number is None else f"(?<{self.names.get(number, f'g{number}')}>"
            return f"{opening}{self.sequence(inside)})"
        if name == op.GROUPREF:
            return rf"\k<{self.names.get(value, f'g{value}')}>"
        if name == op.BRANCH:
            return f"(?:{'|'.join(map(self.sequence, value[1]))})"
        if name in (op.ASSERT, op.ASSERT_NOT):
            return f"(?{'<' if value[0] < 0 else ''}{'=' if name == op.ASSERT else '!'}{self.sequence(value[1])})"
        if name == op.FAILURE:
            return "(?!)"
        if name == op.AT and value == op.AT_BOUNDARY:
            word = f"[{_CLASSES[op.CATEGORY_WORD]}]"
            return f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"
        if name == op.AT and value == op.AT_END_STRING:
            return "$"
        if name == op.AT and value == op.AT_END:
            return r"(?=\n?$)"
        raise ValueError(f"{name} {value} cannot be translated into JavaScript. Write the pattern without it.")

    def repeat(self, name: Any, least: int, most: Any, inside: Any) -> str:
        body = self.sequence(inside)
        times = f"{{{least},{'' if most == op.MAXREPEAT else most}}}"
        if name != op.POSSESSIVE_REPEAT:
            return f"(?:{body}){times}{'?' if name == op.MIN_REPEAT else ''}"
        # A lookahead does not backtrack.
        self.repeats += 1
        return f"(?:(?=(?<once{self.repeats}>(?:{body}){times}))\\k<once{self.repeats}>)"

    def characters(self, name: Any, value: Any) -> str:
        parts = value if name == op.IN else [(op.LITERAL, value)]
        negated = name == op.NOT_LITERAL or parts[0][0] == op.NEGATE
        inside = "".join(map(self.part, parts))
        return f"[{'^' if negated else ''}{inside}]"

    def part(self, part: tuple[Any, Any]) -> str:
        name, value = part
        if name == op.NEGATE:
            return ""
        if name == op.CATEGORY:
            if value in _NEGATED:
                raise ValueError(
                    f"{value} in a class cannot be translated into JavaScript. Write the class without it."
                )
            return _CLASSES[value]
        low, high = value if name == op.RANGE else (value, value)
        folded = ""
        if self.ignore_case:
            letters = [c for c in map(chr, range(low, high + 1)) if c.isalpha()]
            folded = "".join(c.swapcase() + _ALIKE.get(c.lower(), "") for c in letters)
        return _escaped(low) + (f"-{_escaped(high)}" if high > low else "") + "".join(_escaped(ord(c)) for c in folded)


def _escaped(code: int) -> str:
    char = chr(code)
    return char if char.isascii() and char.isalnum() else f"\\u{{{code:x}}}"
