"""Redaction, surrogates and stand-ins before a mechanism in the browser edition: the same as in the core."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pocket_page import TELLING, TEXTS, law, rewrite, until

import dptext_core as dpt
from dptext_core.attacks.belief import BeliefQuestion
from dptext_core.detectors import detector
from dptext_core.measure.detection import read_marked
from dptext_core.mechanisms.detected.flags import FORMS, flag_tokens
from dptext_core.mechanisms.detected.stand_ins import candidates
from dptext_core.text.document import Document
from dptext_core.text.languages import ENGLISH
from dptext_studio.browser.detection import DETECTORS

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NOTES = [
    note.text
    for note in read_marked(
        (Path(__file__).parents[1] / "detectors" / "notes.txt").read_text(encoding="utf-8").splitlines()
    )
]
#: Numbers and addresses of unusual shapes, marks of all kinds, and what searches may try for long.
HOSTILE = [
    *TEXTS,
    TELLING,
    "AB1234567 7xyz 3kg 67-year-old 9,999 12/03/1985 1985-3-12 12.3.85 1/2/85 ²³ Ⅻ Ab9é ١٢ ４５ 99‑year‑old",
    "On the 1st of May, 2ND March and 31th; the third of June.",
    '(Anna) “Omar Haddad” said: "Julia\n\tBrandt" left [Lisbon Street]  ,  Meadow Lane\n\nNew York \'s. 3 June 2021!',
    "Mrs Halvorsen's son, DR. O'NEIL, may 5, May 5th, in the 1990, since autumn 1991; Bill's bill. J. K. Berg #4.",
    "a" * 300 + "@" + "b." * 200 + "c, " + "www." + "x" * 400 + " +49 " + "1 " * 40 + "2024-03-12/13 19 20 2001-2004",
    "Anna\u200b Be\u0301rg 👩‍👩‍👧 İstanbul ſeven K. Kelvin\u212a mAY İ@b.org HTTPS://ſ.org/x. 日本  Ⓐⓝⓐ ''Tom''.",
    "",
    "   ",
]
#: Those that draw word by word, with an ε, and how far ln p may lie from the core's.
HYBRIDS = (
    ("dp-mlm", 50.0, 2e-4),
    ("dp-mlm-prior", 15.0, 2e-4),
    ("custext", 8.1, 1e-9),
    ("diffractor", 1.1, 1e-9),
    ("santext", 16.0, 1e-9),
)
NOTE = "Seen Thursday: Omar Haddad, 67, of 14 Meadow Lane, has lost weight since May. Mrs Brandt and Omar were worried."


def all_texts() -> list[str]:
    rng = np.random.default_rng(5)
    words = " ".join([*HOSTILE[len(TEXTS) : -2], *NOTES]).split() + list(".,;:\n“”(") + ["'s", "—"]
    mixed = [" ".join(rng.choice(words, 12)) for _ in range(200)]
    texts = [*NOTES, *HOSTILE, *mixed]
    return texts + [t.lower() for t in texts[:60]] + [t.upper() for t in texts[:60]]


@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector_flags_what_that_of_the_core_flags(page: Page, name: str) -> None:
    """The same spans, types, forms and repetitions, in notes, in hostile texts, and in words at random."""
    texts = [Document.parse(text).visible.text for text in all_texts()]
    call = "([texts, name]) => Promise.all(texts.map((t) => window.dptext.pii(t, name)))"
    spans = page.evaluate(call, [texts, name])
    expected = [[[s.kind, s.text, [t[a:b] for a, b in s.words]] for s in detector(name)(t, ENGLISH)] for t in texts]
    assert {t: s for t, s, e in zip(texts, spans, expected, strict=True) if s != e} == {}
    call = """async ([texts, name]) => JSON.stringify(await Promise.all(texts.map(async (t) =>
      (await window.dptext.flags(t, name)).map(({ token, kind, form, same }) => [token, kind, form, same]))))"""
    flags = json.loads(page.evaluate(call, [texts[:110], name]))
    ours = [[[f.token, f.kind, f.form, f.same] for f in flag_tokens(Document.parse(t), name)] for t in texts[:110]]
    assert {t: f for t, f, e in zip(texts, flags, ours, strict=False) if f != e} == {}
    assert name == "words" or {f[2] for each in ours for f in each} >= {*FORMS}


def test_stand_ins_are_those_of_the_core(page: Page) -> None:
    """Of every list, and of shapes that are numbers, dates and codes."""
    shapes = ["9", "99", "999", "9,999", "99/99/9999", "9999-99-99", "9.9.99", "9999/9/9", "9.9.9999", "AA9999999"]
    shapes += ["9aaa", "9kg", "99-year-old", "999-9999", "+99 999", "9" * 130, "Aé9", "99aa-99"]
    theirs = page.evaluate(
        """async (forms) => {
          await window.dptext.flags("", "rules");
          const { StandIns } = await import("./flags.js");
          const { content } = await import("./files.js");
          const core = await (await fetch("core.json")).json();
          const lists = JSON.parse(new TextDecoder().decode(await content(core.files["stand-ins"])));
          const all = new StandIns(core.language, lists);
          return forms.map((form) => all.of(form));
        }""",
        [*FORMS, *shapes],
    )
    for form, words in zip([*FORMS, *shapes], theirs, strict=True):
        assert words == list(candidates(form, ENGLISH)), form


def test_redaction_releases_the_text_of_the_core(page: Page) -> None:
    for name in DETECTORS:
        m = dpt.get_mechanism("redact", detector=name)
        for text in [*NOTES[:30], *HOSTILE]:
            result, made = m.rewrite(text), rewrite(page, text, "redact", 1.0, options={"detector": name})
            assert made["text"] == result.text, text
            assert made["guarantee"]["exposed"] == list(result.guarantee.exposed)
            assert made["guarantee"]["sentence"] == result.guarantee.sentence()


def test_surrogates_release_everything_but_the_flagged_words(page: Page) -> None:
    m = dpt.get_mechanism("surrogates")
    seen = set()
    for text in [*NOTES[:20], *HOSTILE, *[NOTE] * 20]:
        prepared, made = m.planned(text), rewrite(page, text, "surrogates", 1.0)
        words = [r["text"] for r in made["releases"]]
        for i, word in enumerate(words):
            channel = prepared.channels.get(i)
            assert word in (channel.candidates if channel else (prepared.document.words[i],)), (text, i)
        assert all(words[i] == words[first] for i, first in prepared.first.items())
        holes = [i in prepared.channels for i in range(len(words))]
        filled = prepared.document.skeleton(holes).fill([w if h else None for w, h in zip(words, holes, strict=True)])
        assert made["text"] == filled.text
        assert made["guarantee"]["exposed"] == list(m.guarantee(text).exposed)
        seen.add(made["text"] if text == NOTE else "")
    assert len(seen) > 15


@pytest.mark.parametrize("name, epsilon, apart", HYBRIDS)
def test_a_mechanism_that_reads_stand_ins_is_that_of_the_core(
    page: Page,
    name: str,
    epsilon: float,
    apart: float,
) -> None:
    m: Any = dpt.get_mechanism(name, epsilon=epsilon, surrogates=True)
    options = {"surrogates": True}
    for text in (NOTE, "Nobody left the garden.") if name.startswith("dp-mlm") else (NOTE, *HOSTILE[:5], *NOTES[:6]):
        prepared = m.planned(text)
        words = m.draw(prepared, dpt.NoiseStream(3))
        given = prepared.with_words(words)
        named = {str(i): w for i, w in words.items()}
        made = rewrite(page, text, name, epsilon, options=options, standIns=named)
        guarantee = m.guarantee(text)
        assert made["guarantee"]["sentence"] == guarantee.sentence()
        assert made["guarantee"]["exposed"] == list(guarantee.exposed)
        assert made["guarantee"]["adjacency"] == guarantee.adjacency and made["guarantee"]["draws"] == guarantee.draws
        assert {i: made["releases"][i]["text"] for i in words} == words
        reasons = [r["reason"] for r in made["releases"]]
        assert [r if r != "not in the vocabulary" else "" for r in reasons] == [r or "" for r in given.reasons]
        for i in [i for i, reason in enumerate(given.reasons) if reason is None][-4:]:
            ours = m.inner.distribution(given, i)
            theirs = law(page, text, i, name, epsilon, options=options, standIns=named)
            assert theirs["candidates"] == list(ours.candidates)
            np.testing.assert_allclose(theirs["log_probs"], ours.log_probs, rtol=0, atol=apart)


def test_stand_ins_are_drawn_again_and_none_is_on_the_blocklist(page: Page) -> None:
    never = [*candidates("weekday", ENGLISH)[:5], "haddad"]
    days = set()
    for _ in range(20):
        made = rewrite(page, NOTE, "diffractor", 1.1, options={"surrogates": True}, never=[w.lower() for w in never])
        days.add(made["releases"][1]["text"])
    assert days == {"Saturday", "Sunday"}


def test_a_reader_learns_nothing_of_a_flagged_word_and_as_much_as_in_the_core_of_another(page: Page) -> None:
    m: Any = dpt.get_mechanism("dp-mlm", epsilon=50.0, surrogates=True)
    result = m.rewrite(NOTE, seed=3)
    released = [s.replacement if s.action == "replace" else None for s in result.steps]
    named = {str(s.index): s.replacement for s in result.steps if s.reason == "flagged"}
    call = "([text, fact, how]) => window.dptext.belief(text, fact, how)"
    how = {
        "mechanism": "dp-mlm",
        "options": {"surrogates": True},
        "standIns": named,
        "epsilons": [50.0],
        "released": released,
    }
    for fact, others in (("Omar", ["Julia", "Karim"]), ("weight", ["hope", "money"])):
        question = BeliefQuestion.make(m, NOTE, fact, others)
        theirs = page.evaluate(call, [NOTE, fact, {**how, "others": others}])["exact"][0]["log"]
        np.testing.assert_allclose(theirs, np.log(question.given(result).posterior), atol=5e-3)
        assert fact != "Omar" or np.allclose(theirs, np.log(1 / 3))
    with pytest.raises(Exception, match="have different flags"):
        page.evaluate(call, [NOTE, "weight", {**how, "others": ["Julia"]}])


def test_the_page_says_where_epsilon_has_no_effect_and_offers_stand_ins(page: Page) -> None:
    page.select_option("#mechanism", "redact")
    page.fill("#text", NOTE)
    until(page, "document.querySelector('.strip .text').textContent.includes('Brandt')")
    assert page.inner_text(".strip .spread") == "ε has no effect: no sampling depends on the original words."
    assert page.is_hidden(".strip .slider")
    assert "every word that the detector does not flag" in page.inner_text("#exposed")
    with page.expect_download() as got:
        page.click("#save")
    assert Path(got.value.path()).read_text(encoding="utf-8") == dpt.get_mechanism("redact").rewrite(NOTE).text
    assert "Redaction: no guarantee" in page.inner_text("#ledger")
    page.select_option("#mechanism", "custext")
    page.evaluate("document.querySelector('.k-options').open = true")
    assert page.locator("[data-option=detector]").count() == 0
    page.select_option("[data-option=surrogates]", label="yes")
    until(page, "document.querySelector('#exposed').textContent.includes('9 places that the detector flagged')")
    assert page.locator("[data-option=detector]").count() == 1 and page.is_visible(".strip .slider")
    page.select_option("[data-option=surrogates]", label="no")
