"""Python's patterns in JavaScript find what Python finds."""

from __future__ import annotations

import json
import re

import pytest
from py_mini_racer import MiniRacer

from dptext_studio.browser.patterns import javascript

#: Each with texts in which it matches, and in which it does not.
PATTERNS = {
    r"(?<!\w)a++b|\d{2,3}?(?!\d)": ("aab", "aaab ab 12 1234", "éab", "١٢"),
    r"(?:ab?)?+b": ("ab", "b", "abb"),
    r"(\d)\1|x(?:yz|w)?": ("11", "12 xyz xy"),
    r"(?P<x>[^\s-])(?=-)-(?P=x)\Z": ("a-a", "a-b", "a-a\n"),
    r"\bone\b|us\b": ("one ones one-one us éone bus", "one", "_one us_"),
    r"[\w.+-]{1,4}@": ("a.b-c+d@", "ö_1@", "\u0301@"),
}


def _found(pattern: re.Pattern[str], text: str) -> list[list[object]]:
    matches = f"[...{json.dumps(text)}.matchAll(new RegExp({json.dumps(javascript(pattern))}, 'gu'))]"
    return json.loads(MiniRacer().eval(f"JSON.stringify({matches}.map((m) => [m.index, m[0]]))"))


@pytest.mark.parametrize("source", PATTERNS)
def test_a_pattern_finds_the_same_in_both_languages(source: str) -> None:
    pattern = re.compile(source)
    for text in PATTERNS[source]:
        assert _found(pattern, text) == [[m.start(), m[0]] for m in pattern.finditer(text)], text


def test_where_case_is_ignored_the_same_letters_count() -> None:
    pattern = re.compile("sk[h-k]é?", re.IGNORECASE)
    letters = [chr(c) for c in range(0x20, 0x2200)]
    for text in (
        "".join(f"s{c}h " for c in letters),
        "".join(f"sk{c} " for c in letters),
        "SKIÉ ski\u0131 \u017f\u212a\u0130",
    ):
        assert _found(pattern, text) == [[m.start(), m[0]] for m in pattern.finditer(text)]


def test_what_has_no_translation_is_refused() -> None:
    for source in (r"\Bword", r"[\W_]", "^a", "a."):
        with pytest.raises(ValueError, match="JavaScript"):
            javascript(re.compile(source))
