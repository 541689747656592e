"""What a reader believes, in the browser edition: the same numbers as the core, and the panel that shows them."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pocket_page import LOG_P, until

import dptext_core as dpt
from dptext_core.attacks.alternatives import suggest_alternatives
from dptext_core.attacks.belief import BeliefQuestion
from dptext_core.attacks.expected_belief import ExpectedSuccess
from dptext_core.support.assets import examples
from dptext_studio.browser.site import MECHANISMS

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

#: Texts with a fact, and what else it could be: an unknown word, one that would be kept, several words, other letters.
CASES = (
    (examples()[0].text, "heart", None),
    ("My doctor in Lisbon treated my sister for a broken leg.", "sister", ["brother", "the", "zzqx", "Berlin"]),
    ("Anna lost her job in May. Her daughter Anna is ill.", "Anna", ["Maria", "lung disease", "Julia"]),
    ("He paid a fine. She paid the loan on Monday.", "paid", ["owed", "lost"]),
)
#: ln of what is left out of a comparison: float64 has no smaller posterior.
SMALLEST = -600.0


def ask(page: Page, text: str, fact: str, **how: Any) -> dict[str, Any]:
    return page.evaluate("([text, fact, how]) => window.dptext.belief(text, fact, how)", [text, fact, how])


def choose(page: Page, word: str) -> None:
    """Click a word of the text, by what stood in its place."""
    tokens = page.evaluate("window.dptext.tokens(document.querySelector('#text').value)")
    page.locator(f".strip .text .word[data-i='{[w for w, _ in tokens].index(word)}']").click()


def box_of(page: Page, part: str) -> dict[str, float]:
    box = page.locator(f".strip {part}").bounding_box()
    assert box is not None, part
    return dict(box)  # type: ignore[arg-type]


def released(result: dpt.RewriteResult) -> list[str | None]:
    """What was drawn at each token; None where one is kept."""
    if "alignment" not in result.can:
        return [r.text for r in result.releases]
    return [s.replacement.lower() if s.action == "replace" else None for s in result.steps]


def questioned(page: Page, m: dpt.Mechanism, text: str, fact: str, others: list[str] | None) -> BeliefQuestion:
    """The core's question. The page rounds the weights of the sentence encoder, so its vectors are taken."""
    question = BeliefQuestion.make(m, text, fact, others)
    if m.name != "dp-sentence":
        return question
    call = "text => window.dptext.vectors(text)"
    codes = [np.array(page.evaluate(call, p.text), np.int16) for p in question.prepared]
    prepared = [dataclasses.replace(p, codes=c) for p, c in zip(question.prepared, codes, strict=True)]  # type: ignore[call-arg]
    return dataclasses.replace(question, prepared=tuple(prepared))


@pytest.mark.parametrize("name", [name for name in MECHANISMS if dpt.mechanism_class(name).uses_epsilon])
def test_a_belief_is_the_cores_at_every_epsilon(page: Page, name: str) -> None:
    """Posterior, ceiling and what is not covered. Shown between two points, it is off by two percent at most."""
    low, high, usual = dpt.get_mechanism(name).epsilon_range()
    epsilons = [low, (low * usual) ** 0.5 * 1.01, usual, high]
    m = dpt.get_mechanism(name, epsilon=usual)
    ruled_out = 0
    for text, fact, others in CASES:
        question = questioned(page, m, text, fact, others)
        release = m.rewrite(question.prepared[0], seed=3)
        rows = [dataclasses.replace(release, config=m.replace(epsilon=e).config) for e in epsilons]
        ours = question.answer_each(rows)
        how = {"mechanism": name, "epsilons": epsilons, "released": released(release), "others": others}
        theirs = ask(page, text, fact, **how)
        assert theirs["alternatives"] == list(ours.alternatives) and theirs["prior"] == ours.prior.tolist()
        assert theirs["covered"] == ours.is_covered[0].tolist()
        log, shown = (np.array([row["log"] for row in theirs[what]]) for what in ("exact", "shown"))
        with np.errstate(divide="ignore"):
            expected = np.log(ours.posterior)
        there = expected > SMALLEST
        # Each draw's ln p is off by LOG_P at most, and those of a release add up.
        off = LOG_P * max(1, sum(u.is_sampled for u in release.units)) if name.startswith("dp-mlm") else 1e-9
        np.testing.assert_allclose(log[there], expected[there], rtol=0, atol=off)
        assert (log[~there] < SMALLEST + 1).all()
        np.testing.assert_allclose(np.exp(log), ours.posterior, rtol=0, atol=LOG_P)
        np.testing.assert_allclose(np.exp(shown), np.exp(log), rtol=0, atol=0.02 if name == "dp-mlm-prior" else 1e-5)
        np.testing.assert_allclose([row["ceiling"] for row in theirs["exact"]], ours.ceiling, rtol=0, atol=1e-12)
        ruled_out += int((~there).sum())
    assert (ruled_out > 0) == (name != "dp-sentence"), "where words stand in places, some alternative is impossible"


@pytest.mark.parametrize("name", ["custext", "santext", "diffractor"])
def test_the_expected_success_of_a_word_is_the_cores(page: Page, name: str) -> None:
    text, fact, others = CASES[0]
    low, high, usual = dpt.get_mechanism(name).epsilon_range()
    ours = dpt.belief(dpt.get_mechanism(name), text, fact, others, epsilons=[low, usual, high]).expected_success
    theirs = ask(page, text, fact, mechanism=name, epsilons=[low, usual, high], expected=True)["expected"]
    assert [e["draws"] for e in theirs] == [0, 0, 0]
    assert [e["value"] for e in theirs] == pytest.approx([e.value for e in ours], abs=1e-9)  # type: ignore[union-attr]


@pytest.mark.parametrize("name, epsilon", [("dp-mlm", 15.0), ("dp-mlm-prior", 15.0), ("custext", 2.0)])
def test_an_estimated_success_is_the_cores_but_for_its_sampling_error(
    page: Page,
    name: str,
    epsilon: float,
) -> None:
    text, fact, others = CASES[2]
    m = dpt.get_mechanism(name, epsilon=epsilon)
    ours = dpt.belief(m, text, fact, others, draws=400, seed=1).expected_success
    assert isinstance(ours, ExpectedSuccess)
    (theirs,) = ask(page, text, fact, mechanism=name, epsilons=[epsilon], others=others, expected=True)["expected"]
    assert theirs["draws"] == 64 and theirs["standard_error"] > 0
    assert abs(theirs["value"] - ours.value) < 5 * np.hypot(theirs["standard_error"], ours.standard_error)


def test_alternatives_are_those_that_the_core_suggests(page: Page) -> None:
    m = dpt.get_mechanism("custext")
    words = [
        "heart",
        "Liver",
        "monday",
        "harbour",
        "Garden",
        "physics",
        "quickly",
        "king",
        "running",
        "orchestra",
        "april",
    ]
    for word in words:
        found = ask(page, f"It says {word}.", word, mechanism="custext", epsilons=[])["alternatives"]
        assert found == [word, *suggest_alternatives(word, m)], word
    for text, fact, others, said in (
        ("It says qxzv.", "qxzv", None, "No public list contains “qxzv”. Enter similar alternatives yourself."),
        ("It says king.", "queen", None, "The text does not contain this fact as whole words."),
        ("It says king.", "king", [" ", "KING"], "Enter at least one alternative to “king”"),
        ("It says king.", "king", [f"w{i}" for i in range(8)], "You entered 8 alternatives. Enter at most 7"),
    ):
        call = "([t, f, how]) => window.dptext.belief(t, f, how).then(() => '', (e) => e.message)"
        how = {"mechanism": "custext", "epsilons": [], "others": others}
        assert page.evaluate(call, [text, fact, how]).startswith(said)


def test_a_drag_moves_the_belief_without_a_pass_of_the_model(page: Page) -> None:
    """On the page itself: bars, headline and gauge follow each ε, and say what the engine says."""
    page.set_viewport_size({"width": 1280, "height": 800})
    page.select_option("#mechanism", "dp-mlm")
    page.fill("#text", "Garden.")  # so that one rewrite alone is of the text that follows
    until(page, "document.querySelector('#guarantee').textContent.includes('1 word is sampled')", 120)
    until(page, "document.querySelector('#reader').textContent === ''")
    page.fill("#text", CASES[0][0])
    until(page, "document.querySelector('#guarantee').textContent.includes('37 words are sampled')", 120)
    until(page, "document.querySelector('#reader').textContent.startsWith('A reader who knows everything else')", 120)
    assert page.locator(".strip .odds .word-name").all_inner_texts() == ["heart", "lung", "kidney", "liver"]
    assert "heart" in page.inner_text(".strip .sure .guess")
    page.evaluate(
        """() => {
          window.passes = 0;
          const { postMessage } = Worker.prototype;
          Worker.prototype.postMessage = function (...a) { window.passes += 1; return postMessage.apply(this, a); };
        }"""
    )
    slider = page.locator(".strip .slider")
    box = slider.bounding_box()
    assert box is not None
    y, heads = box["y"] + box["height"] / 2, set()
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    page.evaluate("() => { window.__dptextStrip.recent.length = 0; }")
    for step in range(20):
        page.mouse.move(box["x"] + box["width"] * (0.5 - 0.025 * step), y)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        sure = page.inner_text(".strip .sure b")
        assert "≈" not in sure and page.inner_text(".strip .certain strong") == sure
        heads.add(sure)
    spent = sorted(page.evaluate("window.__dptextStrip.recent"))
    page.mouse.up()
    assert len(heads) > 4 and spent[len(spent) // 2] <= 17
    until(page, "!document.querySelector('#reader').textContent.includes('100% sure')")
    # Another draw asks the model nothing either.
    page.click("#again")
    until(page, "document.querySelector('#status').textContent === 'Rewritten with fresh noise.'")
    until(page, "document.querySelector('#reader').textContent.includes('Over all releases')")
    assert page.evaluate("window.passes") == 0
    percents = [float(v.strip("<>%")) for v in page.locator(".strip .word-odds").all_inner_texts()]
    assert 96 <= sum(percents) <= 104


def test_alternatives_that_a_visitor_names_are_weighed(page: Page) -> None:
    page.select_option("#mechanism", "custext")
    until(page, "document.querySelectorAll('.strip .odds .bare').length > 0")
    assert "have produced “" in page.inner_text(".strip .remark")
    assert "The guarantee does not cover “" in page.inner_text("#reader")
    page.click(".strip .guides .edit")
    page.fill(".strip .named-others", "lungs, hearts, brain")
    page.press(".strip .named-others", "Enter")
    until(page, "document.querySelector('.strip .odds').innerText.includes('brain')")
    assert page.locator(".strip .odds .word-name").all_inner_texts() == ["heart", "lungs", "hearts", "brain"]
    # Another word of the text, and one that no list holds.
    choose(page, "kg")
    until(page, "document.querySelector('.strip .word-name').textContent === 'kg'")
    choose(page, "Halvorsen")
    until(page, "document.querySelector('.no-belief').innerText.includes('No public list contains “Halvorsen”.')")


def test_on_a_phone_the_bars_are_the_first_card_of_the_sheet(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.fill("#text", CASES[0][0])
    page.wait_for_timeout(500)
    page.select_option("#mechanism", "diffractor")
    until(page, "document.querySelector('#guarantee').textContent.includes('ε = 1.1 per unit')")
    choose(page, "heart")
    until(page, "document.querySelector('.strip .best').textContent.startsWith('optimal guess')")
    until(page, "document.querySelectorAll('.strip .odds li').length === 4")
    page.wait_for_timeout(300)
    sheet, tabs, odds, dial, tag, ceiling = (
        box_of(page, s) for s in (".inspector", ".tabs", ".odds", ".dial", ".prior-tag", ".ceiling-tag")
    )
    assert sheet["y"] <= tabs["y"] < odds["y"] and odds["y"] + odds["height"] <= dial["y"] + 1
    assert tag["x"] + tag["width"] <= ceiling["x"], "two labels on one line"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert re.search(r"a reader is \S+ sure: ", page.get_attribute(".strip .slider", "aria-valuetext") or "")
