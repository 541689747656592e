"""Stop words that are written as a name, a place, a date or a number: which they are, and that nothing keeps them."""

from __future__ import annotations

import dataclasses
import math

import pytest
from guarantee_terms import kinds
from hypothesis import given, settings
from hypothesis import strategies as st

import dptext_core as dpt
from dptext_core import ENGLISH, Document, Language
from dptext_core.detectors.rules import find_pii
from dptext_core.mechanisms.config import keeps_stop_words
from dptext_core.text.names_and_numbers import names_and_numbers

EXAMPLE = "[Bill] phoned. [Will] came later, and [Don] met [Will]. Call [five] [five] [five] [one] [two] [nine] [nine]."

#: A text with what is written as a name or number in brackets, and the kind of each.
WRITTEN = [
    ("[Bill] phoned. [Will] came later, and [Don] met [Will].", "name"),
    ("[May] I? You may. They will. [WILL] YOU COME? The mark will fade; [Mark] will not.", "name"),
    ("[john] met [don]. mark, bill and rose will come.", "name"),
    ("I met [Can] and [Down], but I am fine. The dog of [The] [Hague].", "name"),
    ("He said: “The dog is here.” - And so it is. THIS IS NOT A TEST. I am NOT well.", ""),
    ("She has hepatitis [A] and sees Mr [So]. Dear Mrs [Do], and Dr [An]:\nIt is over.", "name"),
    ("they live in the [US], not with us", "place"),
    ("on 5 [may] or 5 of [may] you may go", "date"),
    ("call [five] [five], [five] and [one] - [two]... [Nine] ([nine]) of", "number"),
    ("one of the two had no one, the first one for years. oh oh", ""),
    ("double oh no", ""),
    ("dear [will], hi [may]: i'm [will], he is called [will] and @[will]; mr [will] will, and may", "name"),
    ("[will]'s dog, [may]’s", "name"),
    ("W [I] [L] [L] was here, w-i-l-l, w [i] [l] [l]. So did I, a doctor; am I a fool", "name"),
    ("[tHe] [aNd] I don't, THE I'll", "name"),
    ("the [first] of [May], [May] the [first], [third] [June], [first] of [may], mid [may]; you may first go", "date"),
    ("at half past [one], [ten] past [two], [two] to [three], [five] o'clock; [three-oh-five]", "number"),
    ("[one] or [two], then [three], dash [four]; that one and the other, one a two", "number"),
    ("room [six], page [two] of ten. The past two years, one by one, no one, a two-year trip", "number"),
    ("[oh-one] is [three-oh-five] and [two-two], not oh-oh", "number"),
    ("he is [fifty] and has [two] [hundred], [three] point [five], or [twenty] [first]", "number"),
]


def marked(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without brackets, and where its bracketed words are."""
    plain, spans = "", []
    for k, part in enumerate(text.replace("]", "[").split("[")):
        if k % 2:
            spans.append((len(plain), len(plain) + len(part)))
        plain += part
    return plain, spans


def found_in(text: str, language: Language = ENGLISH) -> list[tuple[str, str, int]]:
    document = Document.parse(text, language)
    return [(kind, document.words[k], document.starts[k]) for k, kind in names_and_numbers(document).items()]


@pytest.mark.parametrize(("text", "kind"), WRITTEN, ids=range(len(WRITTEN)))
def test_what_is_written_as_a_name_or_a_number(text, kind):
    plain, spans = marked(text)
    found = [f for f in found_in(plain) if not f[1].isdigit()]
    assert found == [(kind, plain[a:b], a) for a, b in spans]


def test_a_long_text_is_read_in_a_time_that_grows_with_its_length():
    def steps(n: int) -> int:
        calls = 0

        class Counted(tuple):
            def __getitem__(self, i):
                nonlocal calls
                calls += 1
                return tuple.__getitem__(self, i)

        document = Document.parse("one " + "and , " * n + "may of the " * n)
        document.__dict__["words"] = Counted(document.words)
        names_and_numbers(document)
        return calls

    assert steps(400) < 2.5 * steps(200)


SAMPLED = """
Will will may May Bill don the The I A in US it five two oh hundred first dog Anna 5 and point of Mr THE NOT
dear tHe i w W room past to June o'clock"""
WORDS = st.sampled_from(SAMPLED.split())
MARKS = st.sampled_from(["", "", "", ",", ".", "!", ":", "-", "(", ")", "“", "\n"])
TEXTS = st.lists(st.tuples(WORDS, MARKS), max_size=12).map(lambda some: " ".join(f"{w}{m}" for w, m in some))


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_the_finder_flags_every_word_that_is_replaced_as_a_name_or_number(text):
    document = Document.parse(text)
    flagged = [t.span for t in find_pii(text)]
    for k in names_and_numbers(document):
        word, start = document.words[k], document.starts[k]
        in_small_letters = word.islower() and word in ENGLISH.clues.first_names and not text.islower()
        assert in_small_letters or any(a <= start and start + len(word) <= b for a, b in flagged), (word, text)


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.integers(0, 11), WORDS)
def test_a_word_decides_about_itself_and_its_nearest_words_alone(text, at, other):
    """Another word in one place changes nothing beyond the nearest word at each side that is no small word."""
    document = Document.parse(text)
    at = min(at, len(document.words) - 1)
    if at < 0 or document.kinds[at] not in ("word", "number"):
        return
    start, end = document.starts[at], document.starts[at] + len(document.words[at])
    changed = Document.parse(text[:start] + other + text[end:])
    if len(changed.words) != len(document.words) or changed.kinds[:at] != document.kinds[:at]:
        return
    clues = ENGLISH.clues
    skipped = clues.between_numbers | clues.joining
    near = {at}
    for step in (-1, 1):
        i = at + step
        while 0 <= i < len(document.words):
            near.add(i)
            if document.kinds[i] in ("word", "number") and document.words[i].lower() not in skipped:
                break
            i += step
    before, after = names_and_numbers(document), names_and_numbers(changed)
    assert {k: v for k, v in before.items() if k not in near} == {k: v for k, v in after.items() if k not in near}


WORD_BY_WORD = [
    spec.name
    for spec in dpt.mechanisms()
    if any(f.name == "keep_stopwords" for f in dataclasses.fields(spec.config_cls))
]

#: Texts of stop words, of which those in brackets are names and numbers.
SECRET = [
    EXAMPLE,
    "He and [Will] are with [May] and [Don]. [Bill]'s is next to that.",
    "The top is at [twelve]; call [nine] [nine] [nine], or [oh] [two] [hundred]. Is it [five], [five], [six]?",
    "[WILL] IS NOT HERE. [Don] is. It was on 3 [May] 2021, in the [US].",
]
NOT_KEPT = {"bill", "will", "don", "may", "five", "one", "two", "nine", "oh", "hundred", "twelve", "six", "us"}


@pytest.mark.parametrize("name", WORD_BY_WORD)
def test_no_word_by_word_mechanism_keeps_a_name_or_number_as_a_stop_word(name):
    m = dpt.get_mechanism(name, epsilon=0.1)
    for text in SECRET:
        plain, spans = marked(text)
        result = m.rewrite(plain, seed=1)
        kept = [s for s in result.steps if s.action == "keep"]
        assert not {s.original.lower() for s in kept} & NOT_KEPT
        assert {s.reason for s in kept if any(map(str.isalpha, s.original))} <= {"stop word"}
        drawn = {s.span for s in result.steps if s.action != "keep"}
        assert {(a, b) for a, b in spans} <= drawn
        spent = [s.epsilon for s in result.steps if s.span in spans and s.action == "replace" and not s.reason]
        assert spent and math.isclose(min(spent), 0.1)


@pytest.mark.parametrize("name", ["santext", "dp-mlm"])
def test_the_rule_holds_for_a_list_of_ones_own_and_not_where_stop_words_are_drawn(name, tmp_path):
    (tmp_path / "own.txt").write_text("mark\nthe\nnine\nsaid\nmr\nanna\n", encoding="utf-8")
    m = dpt.get_mechanism(name, stopwords=str(tmp_path / "own.txt"), epsilon=0.1)
    text = "The mark said nine, Mr Mark said nine nine to Anna."

    def kept(m) -> list[str]:
        prepared = m.plan(text)
        return [w for w, reason in zip(prepared.document.words, prepared.reasons, strict=True) if reason == "stop word"]

    assert kept(m) == ["The", "mark", "said", "nine", "Mr", "said"]
    assert kept(m.replace(keep_stopwords=False)) == []


@pytest.mark.parametrize("name", ["diffractor", "santext-plus", "dp-mlm"])
def test_texts_that_keep_other_stop_words_are_no_neighbours(name):
    m = dpt.get_mechanism(name)
    assert m.audit_support.adjacent("I saw one dog", "I saw one cat")
    assert not m.audit_support.adjacent("I saw one dog", "I saw one 5"), "a number beside it makes “one” a number"
    assert kinds(m.guarantee("I saw one dog")).count("names-among-stop-words") == 1 and keeps_stop_words(m.config)
    assert "names-among-stop-words" not in kinds(m.replace(keep_stopwords=False).guarantee("I saw"))


def test_a_language_without_lists_has_no_names_and_one_with_capitals_for_nouns_only_listed_ones():
    text = "heute will der Wille, dass Will kommt: eins zwei, Neun"
    assert found_in(text, Language("Toyish", "qt")) == []
    clues = dataclasses.replace(
        ENGLISH.clues,
        capitals=False,
        first_names=frozenset({"anna"}),
        names_or_words=frozenset({"will"}),
        small_numbers=frozenset({"eins", "zwei", "neun"}),
    )
    nouns = Language("German", "de", clues=clues)
    assert [(kind, word) for kind, word, _ in found_in(text, nouns)] == [
        ("name", "Will"),
        ("number", "eins"),
        ("number", "zwei"),
        ("number", "Neun"),
    ]
