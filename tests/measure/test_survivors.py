"""What the rules find in a text, what of it a rewrite still has, and how the browser counts it."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from foreign import Generator, Swap
from hypothesis import given, settings
from hypothesis import strategies as st
from token_engine import call

import dptext_core as dpt
from dptext_core.detectors.rules import KINDS, PiiSpan, find_pii
from dptext_core.measure import pii_survival
from dptext_core.measure.pii_survival import Survivor
from dptext_core.text import names
from dptext_core.text.language import Language
from dptext_core.words.bank import sentence_bank
from dptext_studio.figures.token_view import payload

ROOT = Path(__file__).resolve().parents[2]
GUARANTEES = " ".join((ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8").split())

#: A text, and what is found in it, each with its kind.
FOUND = [
    ("Mrs Halvorsen came.", ["name Halvorsen"]),
    ("I met Dr. J. Peter von Berg and Anna's son.", ["name J. Peter von Berg", "name Anna"]),
    ("Nora Lindqvist left. Poor Tom cried.", ["name Nora Lindqvist", "name Tom"]),
    ("Halvorsen agreed. I saw Halvorsen.", ["name Halvorsen", "name Halvorsen"]),
    ("Please come. The nurse said: “Thank you.” I'm fine, God bless.", []),
    ("she is at St Olav's Hospital or 14 Mill Lane", ["place St Olav's Hospital", "place 14 Mill Lane"]),
    ("We flew to New York, then to Turkey for lunch.", ["place New York", "place Turkey"]),
    ("They live near Ashgrove. A nice reading, a cold turkey.", ["place Ashgrove"]),
    ("the 12th of March 2024, 2024-03-12 or 3/12/24", ["date 12th of March 2024", "date 2024-03-12", "date 3/12/24"]),
    ("In May 1987. May I? They march in 1990 on Mondays.", ["date May 1987", "name May", "date 1990", "date Mondays"]),
    (
        "Bill phoned. Will came, and Don met Will. Call five five one, two.",
        ["name Bill", "name Will", "name Don", "name Will", "number five", "number five", "number one", "number two"],
    ),
    ("She is forty-two, room B12, £3,500.", ["number forty-two", "number B12", "number 3,500"]),
    ("Call +47 555 12 345, in 2001-2004.", ["phone number +47 555 12 345", "number 2001-2004"]),
    ("a.b@example.org, www.example.org/x.", ["e-mail address a.b@example.org", "web address www.example.org/x"]),
    (
        "mrs halvorsen told anna in lisbon on tuesday, my sister in law",
        [
            "name halvorsen",
            "name anna",
            "place lisbon",
            "date tuesday",
        ],
    ),
    ("", []),
]

#: A note as people write them: telling words are in brackets. The rules are not tuned to it.
NOTE = """[Tomasz] called at noon. My neighbour [Mrs Okonkwo] drove me to the [Royal Infirmary] on [3 June]; [Grace] and
little [Bo] waited. Since the [Hendersons] left [Whitby], I have owed [79] pounds to the bank in the [High Street].
Two weeks later, my Blue Badge came by post. [Priya], who is [thirty-one], works for [Lloyds] and writes from
[priya@example.com]. Her team lost the Cup. [Wojciech] cried! Thank Heaven the Queen was not there, said my boss
[Al-Sayed], born in [1961] in [Kano]. He moved to [Leeds] last autumn, and [mick] came along."""


def listed(text: str) -> list[str]:
    return [f"{t.kind} {t.text}" for t in find_pii(text)]


@pytest.mark.parametrize(("text", "expected"), FOUND, ids=range(len(FOUND)))
def test_what_is_found(text, expected):
    assert listed(text) == expected


def test_rules_miss_some_and_flag_harmless_ones():
    plain, marked, at = "", [], 0
    for part in NOTE.replace("]", "[").split("["):
        if at % 2:
            marked.append((len(plain), len(plain) + len(part)))
        plain, at = plain + part, at + 1
    found = [t.span for t in find_pii(plain)]
    hit = [m for m in marked if any(a < m[1] and m[0] < b for a, b in found)]
    right = [f for f in found if any(a < f[1] and f[0] < b for a, b in marked)]
    missed = [plain[a:b] for a, b in marked if (a, b) not in hit]
    wrong = [plain[a:b] for a, b in found if (a, b) not in right]
    assert missed == ["Tomasz", "Wojciech", "mick"], "names that begin a line, or have no capital"
    assert wrong == ["Blue Badge", "Cup", "Heaven"], "capitals that name nobody"
    assert f"found {len(hit)} of {len(marked)}" in GUARANTEES and f"flagged {len(wrong)} more" in GUARANTEES


ODD = st.text(st.sampled_from(list("aAIİß’'.,:-/+@ \n\t(\u00a0🙂é漢0129")) | st.characters(), max_size=60)
LIKELY = st.lists(
    st.sampled_from(
        [
            "Mrs",
            "Anna",
            "of",
            "March",
            "12",
            "'s",
            "Lane",
            "in",
            "New",
            "York",
            ".",
            "von",
            "+47",
            "555",
            "twenty-one",
            "St",
            "May",
            "1987",
            "“",
            "\n",
        ]
    ),
    max_size=14,
).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(ODD | LIKELY)
def test_what_is_found_lies_in_the_text_and_in_order(text):
    end = 0
    for t in find_pii(text):
        assert end <= t.span[0] < t.span[1] <= len(text) and t.text == text[slice(*t.span)]
        assert t.kind in KINDS and t.words
        assert all(t.span[0] <= a < b <= t.span[1] for a, b in t.words)
        end = t.span[1]


def test_a_language_without_lists_has_figures_and_addresses_alone():
    text = "Frau Berg wohnt seit 1987 in Köln, Tel. 0221 555 123, b@example.org, 3.4.2020"
    found = [(t.kind, t.text) for t in find_pii(text, Language("German", "de"))]
    assert found == [
        ("number", "1987"),
        ("phone number", "0221 555 123"),
        ("e-mail address", "b@example.org"),
        ("date", "3.4.2020"),
    ]


def test_survivors_are_what_came_through_unchanged():
    """Words of the eight are drawn; all others are kept, as a mechanism keeps words that it does not know."""
    text = "Mrs Garden saw Anna Music on 3 May."
    assert listed(text) == ["name Garden", "name Anna Music", "date 3 May"]
    for seed in range(12):
        result = Swap.create(epsilon=1.5).rewrite(text, seed=seed)
        left = pii_survival.survivors(result)
        expected = {"Anna", "3", "May"} | {s.original for s in result.steps if s.is_sampled and not s.is_changed}
        assert {s.text.casefold() for s in left} == {w.casefold() for w in expected}
        for s in left:
            assert result.text[slice(*s.span)] == s.text == result.steps[s.step].replacement


def test_where_nothing_answers_to_a_word_a_survivor_is_one_that_stands_anywhere():
    result = Generator.create().rewrite("My friend Blue is warm; I met Anna Rain and 2 others.", seed=3)
    text = "Rainy rain sings blue 22 2."
    pieces = tuple(dpt.Release((a, a + len(w)), w, 1.0, "drawn") for w in text[:-1].split() for a in [text.rindex(w)])
    pieces = tuple(sorted(pieces, key=lambda p: p.span))
    result = dataclasses.replace(result, text=text, pieces=pieces)
    assert pii_survival.survivors(result) == (
        Survivor(1, "name", "rain", (6, 10)),
        Survivor(3, "name", "blue", (17, 21)),
        Survivor(5, "number", "2", (25, 26)),
    )
    assert "Blue" not in repr(PiiSpan("name", "Blue", (0, 4), ((0, 4),))) + repr(pii_survival.survivors(result))


def test_of_two_texts_alone_what_stands_in_the_other_one_is_found():
    found = pii_survival.find_survivors(
        "Mrs Nora Halvorsen came on Monday.", "The halvorsen girl left; Mondays are bad."
    )
    assert [t.text for t in found] == ["Nora Halvorsen"], "a word of a name is enough, a part of a word is not"
    assert pii_survival.find_survivors("Mrs Halvorsen came.", "") == ()


def test_the_browser_counts_at_every_epsilon_what_the_core_does():
    text = "Mrs Garden saw Anna Music and Mr Garden at 3 Water Lane on 3 May."
    m = Swap.create(epsilon=1.0)
    stream, prepared = dpt.NoiseStream(5), m.prepare(text)
    shown = payload(m.rewrite(prepared, stream=stream), run=1, low=0.1, high=20.0, default=1.0)
    assert [f["text"] for f in shown["telling"]] == ["Garden", "Anna Music", "3 Water Lane", "3 May"]
    assert len(shown["telling"][0]["at"]) == 2, "equal names are one"
    counts = set()
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 20.0):
        result = m.replace(epsilon=epsilon).rewrite(prepared, stream=stream)
        (told,) = call("standing", shown, [epsilon])
        alive = {s.step for s in pii_survival.survivors(result)}
        expected = [f["text"] for f in shown["telling"] if alive & set(f["at"])]
        assert told["texts"] == expected and pii_survival.count_survivors(result) == (len(expected), 4)
        counts.add(told["said"])
    assert counts == {"1 name, 1 place, 1 date", "2 names, 1 place, 1 date"}


@pytest.mark.slow
def test_where_whole_sentences_are_drawn_the_browser_counts_what_stands_in_the_drawn_ones():
    """By a text of which two sentences are in the bank, with a place and a date, and come out where ε is large."""
    bank = sentence_bank().sentences
    own = [next(s for s in bank if [t.kind for t in find_pii(s)] == [kind]) for kind in ("place", "date")]
    text = f"{own[0]} Mrs Halvorsen paid. {own[1]}"
    m = dpt.get_mechanism("dp-sentence", epsilon=50.0)
    stream, prepared = dpt.NoiseStream(5), m.prepare(text)
    shown = payload(m.rewrite(prepared, stream=stream), run=1, low=5.0, high=400.0, default=50.0)
    assert len(shown["telling"]) == 3 and all(len(f["at"]) == len(f["among"]) for f in shown["telling"])
    counts = []
    for epsilon in (5.0, 50.0, 100.0, 400.0):
        result = m.replace(epsilon=epsilon).rewrite(prepared, stream=stream)
        (told,) = call("standing", shown, [epsilon])
        assert told["texts"] == [t.text for t, units in pii_survival.trace_pii(result) if units]
        assert pii_survival.count_survivors(result) == (len(told["texts"]), 3)
        counts.append(len(told["texts"]))
    assert counts[0] == 0 and counts[-1] == 2 and "Halvorsen" not in told["texts"]


def test_the_view_of_a_text_without_words_of_its_own_names_the_pieces():
    result = Generator.create(epsilon=1.0).rewrite("I met Anna Blue and Home in Leeds.", seed=3)
    shown = payload(result, run=1, low=0.1, high=20.0, default=1.0)
    for f in shown["telling"]:
        words = {shown["tokens"][k]["t"] if "t" in shown["tokens"][k] else result.releases[k].text for k in f["at"]}
        assert {w.casefold() for w in words} <= set(f["text"].casefold().split())
        assert bool(words) == any(w in result.text for w in f["text"].casefold().split())


# --- a spaCy pipeline beside the rules


class Pipeline:
    """As spaCy's: entities in a text, which may be read in a zone alone, so that nothing is kept of it."""

    meta, max_length, zones = {"lang": "en", "name": "mine"}, 2000, 0

    @contextlib.contextmanager
    def memory_zone(self):
        self.zones += 1
        yield self
        self.zones -= 1

    def __call__(self, text):
        assert self.zones == 1
        marked = {
            "Tomasz": "PERSON",
            "lower Wojciech,": "PER",
            "the garden": "GPE",
            "Mill Lane": "FAC",
            "noon": "TIME",
            "Mrs Berg": "PERSON",
        }
        found = [(text.find(w), w, label) for w, label in marked.items() if w in text]
        ents = [SimpleNamespace(label_=label, start_char=a, end_char=a + len(w)) for a, w, label in sorted(found)]
        return SimpleNamespace(ents=ents)


@pytest.fixture
def pipeline(monkeypatch):
    """What DPTEXT_NAMES names is loaded once, by spaCy's own call."""
    asked = []

    def load(name):
        asked.append(name)
        if name != "/a/folder/mine":
            raise OSError("[E050] Can't find model")
        return Pipeline()

    names._load_pipeline.cache_clear()
    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=load))
    monkeypatch.setenv(names.VARIABLE, "/a/folder/mine")
    yield asked
    names._load_pipeline.cache_clear()


def test_a_pipeline_adds_names_and_places_to_what_the_rules_find(pipeline):
    text = "Tomasz saw Mrs Berg at noon, in the garden lower Wojciech, 14 Mill Lane."
    assert listed(text) == ["name Berg", "name Wojciech", "place 14 Mill Lane"]
    found = find_pii(text, finder=names.finder())
    assert [f"{t.kind} {t.text}" for t in found] == ["name Tomasz", "name Berg", "name Wojciech", "place 14 Mill Lane"]
    result = Swap.create(epsilon=1.0).rewrite("Tomasz saw a garden.", seed=1)
    assert [s.text for s in pii_survival.survivors(result)] == ["Tomasz"]
    shown = payload(result, run=1, low=0.1, high=20.0, default=1.0)
    assert (shown["finder"], [f["text"] for f in shown["telling"]]) == ("en_mine", ["Tomasz"])
    assert pipeline == ["/a/folder/mine"], "loaded once"
    with pytest.raises(dpt.InputError, match="2,000 characters"):
        find_pii("word " * 500, finder=names.finder())


def test_without_spacy_or_its_pipeline_the_message_says_what_to_do(pipeline, monkeypatch):
    monkeypatch.setenv(names.VARIABLE, "en_core_web_sm")
    with pytest.raises(dpt.ModelUnavailable, match="Nothing is downloaded"):
        names.finder()
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(dpt.ModelUnavailable, match=r"pip install -r requirements-names\.txt"):
        names.finder()
    monkeypatch.delenv(names.VARIABLE)
    assert names.finder() is None
    result = Swap.create(epsilon=1.0).rewrite("Tomasz saw a garden.", seed=1)
    assert not pii_survival.survivors(result) and "finder" not in payload(
        result, run=1, low=0.1, high=20.0, default=1.0
    )
