"""Redaction, surrogates and stand-ins before a mechanism in the browser edition: the same as in the core."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from browser_texts import NOTES
from pocket_page import law, rewrite, until

import dptext_core as dpt
from dptext_core.attacks.belief import BeliefQuestion

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

#: Those that draw word by word, with an ε, and how far ln p may lie from the core's.
HYBRIDS = (
    ("dp-mlm", 50.0, 2e-4),
    ("dp-mlm-prior", 15.0, 2e-4),
    ("santext", 16.0, 1e-9),
)
NOTE = "Seen Thursday: Omar Haddad, 67, of 14 Meadow Lane, has lost weight since May. Mrs Brandt and Omar were worried."


@pytest.mark.parametrize("name, epsilon, apart", HYBRIDS)
def test_a_mechanism_that_reads_stand_ins_is_that_of_the_core(
    page: Page,
    name: str,
    epsilon: float,
    apart: float,
) -> None:
    m: Any = dpt.get_mechanism(name, epsilon=epsilon, surrogates=True)
    options = {"surrogates": True}
    for text in (NOTE, "Nobody left the garden.") if name.startswith("dp-mlm") else (NOTE, *NOTES[:3]):
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
        np.testing.assert_allclose(theirs, np.log(question.answer(result).posterior), atol=5e-3)
        assert fact != "Omar" or np.allclose(theirs, np.log(1 / 3))
    with pytest.raises(Exception, match="in different ways"):
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
    assert (
        Path(got.value.path()).read_text(encoding="utf-8")
        == dpt.get_mechanism("redact", recase="public").rewrite(NOTE).text
    )
    assert "Redaction: no guarantee" in page.inner_text("#ledger")
    page.select_option("#mechanism", "custext")
    page.evaluate("document.querySelector('.k-options').open = true")
    assert page.locator("[data-option=detector]").count() == 0
    page.select_option("[data-option=surrogates]", label="yes")
    until(page, "document.querySelector('#exposed').textContent.includes('9 places that the detector flagged')")
    assert page.locator("[data-option=detector]").count() == 1 and page.is_visible(".strip .slider")
    page.select_option("[data-option=surrogates]", label="no")
