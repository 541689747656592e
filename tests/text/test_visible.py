"""What of a text is read, and what nobody sees and therefore passes no mechanism."""

from __future__ import annotations

import random
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dptext_core as dpt
from dptext_core.detectors.rules import find_pii
from dptext_core.errors import InputError
from dptext_core.measure.pii_survival import find_survivors, survivors
from dptext_core.text import tokenizing, visible
from dptext_core.text.document import Document, has_more

#: Characters that nobody sees: each may stand anywhere in a text without changing what is read.
UNSEEN = (
    *"\0\x01\x1b\x1c\x1f\x7f\x80\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u180b\u180e\u200b\u200c\u200d\u200e\u202a\u202e",
    *"\u2060\u2064\u2066\u2069\u206f\u2800\u3164\ufe00\ufe0e\ufe0f\ufeff\uffa0\ufff9\ufffc\uffff\ufdd0\u0378\ue000\uf8ff",
    *"\U0001d159\U0001d173\U000e0001\U000e0041\U000e007f\U000e0100\U000e01ef\U000f0000\U0010fffd\U0010ffff\ud800\udfff",
)
#: What stays of a character that is no letter, digit or accent.
LISTED = frozenset("".join(map(chr, range(0x21, 0x7F))) + " \t\n" + visible.MARKS + visible.SYMBOLS).union(
    *(map(chr, range(a, b + 1)) for a, b in visible._parse_ranges(visible.EMOJI))
)


def shown(text: str) -> str:
    return Document.parse(text).visible.text


def is_listed(char: str) -> bool:
    return char.isalnum() or char in LISTED or unicodedata.category(char) in ("Mn", "Mc", "Me", "Sc")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Letters and digits that are written as symbols.
        ("Ⓜⓐⓡⓘⓐ", "Maria"),
        ("🅹🅾🅷🅽", "JOHN"),
        ("⒨⒜⒭⒤⒜", "maria"),
        ("🇲🇦", "MA"),
        ("⠍⠁⠗⠊⠁ ⠺⠽⠵", "maria wyz"),
        ("𝐌𝐚𝐫𝐢𝐚 Ｍａｒｉａ ᴹᵃʳⁱᵃ", "Maria Maria Maria"),
        ("① ⑴ ² ５ 🔟", "1 ⑴ 2 5 10"),
        ("🅰🆎🆗™№㎏", "AABOKTMNokg"),
        ("🕔 🕧 🥇 🥉 🔞 🎱 🔚 🔝 🏧 🚾", "5 12:30 1 3 18 8 END TOP ATM WC"),
        ("tas\u212a", "tasK"),
        # Symbols and marks that are not listed are letters, too.
        ("a ☙ b⟦c⟧ ䷀ 🀐 caf\ufffd", "a ʔ bʔcʔ ʔ ʔ cafʔ"),
        # Sequences fall apart into what one sees; an accent stays on a letter alone.
        ("👩\u200d👩\u200d👧 ❤\ufe0f 👍🏽", "👩👩👧 ❤ 👍🏽"),
        ("e\u0301\u0302 .\u0301 \u0301x 🙂\u20e3", "e\u0301\u0302 . x 🙂"),
        # Marks that look alike.
        ("a‐b‑c\u2212d \u037e‚′＂ ․‥ ● • ▪ ‣", "a-b-c-d ;,'\" .… ● • • •"),
        ("“a” ‘b’ c–d—e «f»", "“a” ‘b’ c–d—e «f»"),
        ("￡5 ₤5 ￥5 ＄5 ﹩5 €5", "£5 £5 ¥5 $5 $5 €5"),
        # Blanks.
        ("a\u00a0b\u2009c\u3000\u2003d  e", "a b c d e"),
        ("a \t b\t\tc", "a\tb\t\tc"),
        ("  a  b \n   c\t \n\n\td", "  a b\n   c\n\n\td"),
        ("a\r\nb\rc\u2028d\x85e\vf\r\u200b\ng", "a\nb\nc\nd\ne\nf\ng"),
        ("a. \n \u2009\n", "a."),
        (" \n\t ", ""),
        ("", ""),
    ],
)
def test_what_is_read_is_what_one_sees_in_one_way_of_writing_it(text, expected):
    assert shown(text) == expected
    assert shown(expected) == expected


def test_tokens_are_those_of_what_one_sees_and_their_places_those_of_the_text_as_given():
    text = "My s\u200bister\u2009Ⓜⓐⓡⓘⓐ\U000e0041. \ue000🙂\ufe0f!"
    found = Document.parse(text)
    assert found.words == ("My", "sister", "Maria", ".", "🙂", "!")
    assert found.kinds == ("word", "word", "word", "punct", "symbol", "punct")
    assert [text[t.start : t.end] for t in found.tokens] == ["My", "s\u200bister", "Ⓜⓐⓡⓘⓐ", ".", "🙂", "!"]
    assert found.gaps == ("", " ", " ", "", " ", "", "") and found.removed == 4
    assert [text[a:b] for a, b in found.sentences] == [text[:18], "🙂\ufe0f!"]
    assert found.text == text and found.visible.removed == 0 and found.visible.visible is found.visible
    assert Document(found.text, found.tokens) == found


@pytest.mark.parametrize("block", range(0, 0x110000, 0x2000))
def test_no_other_character_is_read(block):
    """Of all there are: what stays is a letter, a digit, an accent on one, or listed."""
    sparse = 0x32000 <= block < 0xE0000 or block >= 0xE2000
    text = "".join([f"{chr(code)} a{chr(code)} " for code in range(block, block + 0x2000, 64 if sparse else 1)])
    assert {char for char in shown(text) if not is_listed(char)} == set()


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40), st.data())
@example("a\r\nb", None)
def test_what_nobody_sees_changes_nothing_wherever_it_stands(text, data):
    """Neither the tokens, nor the blanks between them; and what is seen is the same when it is read again."""
    rng = random.Random(len(text)) if data is None else data.draw(st.randoms(use_true_random=False))
    mixed = "".join([char + "".join(rng.choices(UNSEEN, k=rng.randint(0, 2))) for char in rng.choice(UNSEEN) + text])
    plain, hidden = Document.parse(text), Document.parse(mixed)
    assert (hidden.words, hidden.kinds, hidden.gaps) == (plain.words, plain.kinds, plain.gaps)
    assert hidden.visible == plain.visible and visible.to_visible(plain.visible.text) is None
    assert hidden.text == mixed and hidden.removed > plain.removed


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_every_letter_and_digit_that_is_seen_lies_in_one_token(text):
    found = Document.parse(text)
    covered, at = set(), 0
    for token in found.tokens:
        assert at <= token.start < token.end <= len(text)
        covered.update(range(token.start, token.end))
        at = token.end
    seen = set(range(len(text))) if found.visible is found else set(found._places)
    assert all(i in covered for i, char in enumerate(text) if char.isalnum() and i in seen)


# --- mechanisms

SECRET = "employee 4711, Maria"
CARRIERS = ("The doctor said no.{} It was of{} no use, 🙂{}!", "{}", "(a){}\n{}", "the{} {} and, {}")


def tags(secret: str) -> str:
    return "".join(chr(0xE0000 + ord(c)) for c in secret)


def variations(secret: str) -> str:
    return "".join(chr(0xFE00 + b) if b < 16 else chr(0xE0100 + b - 16) for b in secret.encode())


def widths(secret: str) -> str:
    return "".join("\u200b\u200c"[b >> k & 1] for b in secret.encode() for k in range(8))


def privately(secret: str) -> str:
    return "".join(chr(0xE000 + b) for b in secret.encode())


def accents(secret: str) -> str:
    return "".join(chr(0x300 + b % 64) for b in secret.encode())


@pytest.fixture(scope="module")
def mechanisms() -> list[dpt.Mechanism]:
    """Those that load no model. The conformance suite asks the same of every mechanism."""
    made = [dpt.get_mechanism(s.name, epsilon=0.001) for s in dpt.mechanisms() if s.family == "words"]
    return made


@pytest.mark.parametrize("carrier", CARRIERS)
def test_no_message_passes_a_mechanism_that_keeps_tokens(mechanisms, carrier):
    assert len(mechanisms) >= 8
    plain = carrier.replace("{}", "")
    for m in mechanisms:
        wanted = m.rewrite(plain, seed=3)
        for hide in (tags, variations, widths, privately):
            text = carrier.replace("{}", hide(SECRET))
            r = m.rewrite(text, seed=3)
            assert (r.text, r.original) == (wanted.text, text), (m.name, hide)
            assert (r.guarantee.exposed, r.guarantee.lines()) == (wanted.guarantee.exposed, wanted.guarantee.lines())
        # An accent belongs to the letter before it, and is released with no other one.
        assert not any("\u0300" <= c < "\u0340" for c in m.rewrite(carrier.replace("{}", accents(SECRET))).text)


@pytest.mark.parametrize(
    "text", ["Ⓜⓐⓡⓘⓐ", "🅹🅾🅷🅽", "⒨⒜⒭⒤⒜", "🇲🇦", "⠍⠁⠗⠊⠁", "𝐌𝐚𝐫𝐢𝐚", "①⑦", "🄋🄋", "⑴⑵", "½", "²⁴", "☙❧", "䷀䷁"]
)
def test_letters_written_as_symbols_are_words_that_are_replaced(mechanisms, text):
    for m in mechanisms:
        r = m.rewrite(f"We saw {text}, who left.", seed=1)
        step = next(s for s in r.steps if s.span[0] == 7)
        assert step.span == (7, 7 + len(text)) and step.action == "replace", m.name
        assert not set(r.text) & set(text), m.name


def test_what_stands_as_symbols_is_found_and_flagged():
    kept = dpt.get_mechanism("custext", epsilon=1.0, oov="keep").rewrite("I met Ⓩⓡⓞⓖⓓⓐ there.", seed=1)
    assert [kept.text[slice(*s.span)] for s in survivors(kept)] == ["Zrogda"] and kept.steps[2].span == (6, 12)
    hidden = "I met Ⓜⓐⓡⓘⓐ on 5\u200b M\u200bay 2023."
    assert [(t.kind, t.text) for t in find_pii(hidden)] == [("name", "Ⓜⓐⓡⓘⓐ"), ("date", "5\u200b M\u200bay 2023")]
    assert [t.text for t in find_survivors("I met Maria there.", "She saw 🅜🅐🅡🅘🅐!")] == ["Maria"]


# --- lengths


def test_how_long_a_word_is_decides_nothing():
    m = dpt.get_mechanism("custext", epsilon=0.001)
    long, short = (f"We saw {word} here." for word in ("x" * 500_000, "zzqx"))
    a, b = m.rewrite(long), m.rewrite(short)
    assert len(a.steps) == len(b.steps) and a.guarantee.exposed == b.guarantee.exposed and a.original == long
    assert a.steps[2].span == (7, 500_007) and a.steps[2].original == "x" * tokenizing.LETTERS
    assert Document.parse(long).visible.text == f"We saw {'x' * 100} here."
    marks = "-" * 500
    assert "".join(Document.parse(marks).words) == marks, "marks are kept tokens, which the adjacency names"
    assert not has_more(long, 5) and has_more(long, 4) and has_more("a, " * 60_000, 500) and not has_more("", 1)


def test_a_text_that_is_refused_for_its_length_is_refused_in_words_that_are_the_same_for_all():
    m = dpt.get_mechanism("custext")
    said = []
    for text in ("x" * 1_000_001, "a b " * 600_000):
        with pytest.raises(InputError) as refusal:
            m.rewrite(text)
        said.append(str(refusal.value))
    assert said[0] == said[1] == "This text has more than 1,000,000 characters. Split it into several texts."
    assert any("at most 1,000,000 characters" in line for line in m.guarantee("a doctor").lines())
