"""The site that rewrites in the browser, held to the core: tokens, laws, promises, draws, and whom it asks."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from browser_texts import TEXTS
from pocket_page import LOG_P, drawn, law, rewrite, until

import dptext_core as dpt
from dptext_core.mechanisms.sentence.dp_sentence import DPSentence, DPSentenceConfig
from dptext_core.text.document import Document

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

#: What the rounding of the sentence encoder's weights may change of a sentence's likeness.
COSINE, SENTENCE_TV = 0.012, 0.12


def test_the_law_of_santext_is_the_cores(page: Page) -> None:
    mechanism = "santext"
    low, high, _ = dpt.get_mechanism(mechanism).epsilon_range()
    compared = 0
    for epsilon in (low, high):
        m = dpt.get_mechanism(mechanism, epsilon=epsilon)
        for text in TEXTS[:4]:
            prepared = m.prepare(text)
            # Laws over a whole vocabulary are long.
            for i in drawn(prepared)[-2:]:
                ours, theirs = m.distribution(prepared, i), law(page, text, i, mechanism, epsilon)
                assert theirs["candidates"] == list(ours.candidates)
                np.testing.assert_allclose(theirs["log_probs"], ours.log_probs, rtol=0, atol=1e-9)
                compared += 1
    assert compared >= 12


def test_what_is_invisible_in_a_text_is_counted(page: Page) -> None:
    page.fill("#text", "My doctor\u200b left.\U000e0041")
    until(page, "document.getElementById('removed').textContent === '2 invisible characters removed.'")
    page.fill("#text", TEXTS[0])
    until(page, "document.getElementById('removed').textContent === ''")


def test_the_law_of_the_model_is_the_cores(page: Page) -> None:
    text = TEXTS[1]
    for epsilon in (25.0, 250.0):
        m = dpt.get_mechanism("dp-mlm", epsilon=epsilon)
        prepared = m.prepare(text)
        for i in drawn(prepared)[:5]:
            ours, theirs = m.distribution(prepared, i), law(page, text, i, "dp-mlm", epsilon)
            assert theirs["candidates"] == list(ours.candidates)
            np.testing.assert_allclose(theirs["log_probs"], ours.log_probs, rtol=0, atol=LOG_P)


def test_the_law_of_the_public_start_is_the_cores(page: Page) -> None:
    """In a short text, and in one of several windows, in each of which another part of it is seen."""
    long = " ".join(f"Word number {n} of a rather long story about gardens and hospitals." for n in range(14))
    for text, few, epsilons in ((TEXTS[1], slice(0, 9, 4), (5.0, 100.0)), (long, slice(5, None, 50), (15.0,))):
        for epsilon in epsilons:
            m = dpt.get_mechanism("dp-mlm-prior", epsilon=epsilon)
            prepared = m.prepare(text)
            for i in drawn(prepared)[few]:
                ours, theirs = m.distribution(prepared, i), law(page, text, i, "dp-mlm-prior", epsilon)
                assert theirs["candidates"] == list(ours.candidates)
                np.testing.assert_allclose(theirs["log_probs"], ours.log_probs, rtol=0, atol=LOG_P)


def test_a_sentence_is_drawn_from_the_law_of_the_core(page: Page) -> None:
    """To 1e-9 given the vectors, which are those of the encoder but for the rounding of its weights."""
    text = "My doctor treated my sister. She is well, Dr. Smith said.\n\nWe [MASK] home 🙂 " + "far and wide " * 120
    vectors = np.array(page.evaluate("text => window.dptext.vectors(text)", text), np.int16)
    for epsilon in (5.0, 200.0):
        m = DPSentence(DPSentenceConfig(epsilon=epsilon))
        prepared = m.prepare(text)
        for i, (row, core) in enumerate(zip(m.cosines(vectors), m.tables(prepared), strict=True)):
            theirs = law(page, text, i, "dp-sentence", epsilon)
            assert theirs["candidates"] == list(core.candidates)
            ours = dataclasses.replace(core, cosines=row).at(epsilon).log_probs
            np.testing.assert_allclose(theirs["log_probs"], ours, rtol=0, atol=1e-9)
            # Equal to the core's would mean that nothing was rounded.
            assert 0 < np.abs(row - core.cosines).max() < COSINE
            assert np.abs(np.array(theirs["probs"]) - core.at(epsilon).probs).sum() / 2 < SENTENCE_TV
    blank = law(page, " ", 0, "dp-sentence", 50.0)
    np.testing.assert_allclose(blank["probs"], 1 / len(blank["candidates"]), rtol=1e-12)


def test_sentences_of_a_rewrite_are_those_of_the_bank_with_a_blank_between(page: Page) -> None:
    for text in (TEXTS[2], TEXTS[4], "One. Two."):
        spans = Document.parse(text).visible.sentences
        made = rewrite(page, text, "dp-sentence", 200.0)
        bank = set(DPSentence(DPSentenceConfig()).candidates)
        pieces = [release["text"] for release in made["releases"]]
        assert len(pieces) == max(1, len(spans)) and set(pieces) <= bank
        assert made["text"] == " ".join(pieces)


def test_a_text_of_several_windows_is_asked_as_the_core_asks_it(page: Page) -> None:
    text = " ".join(f"Word number {n} of a rather long story about gardens and hospitals." for n in range(16))
    m = dpt.get_mechanism("dp-mlm", epsilon=50.0)
    prepared = m.prepare(text)
    for i in drawn(prepared)[3::16]:
        ours, theirs = m.distribution(prepared, i), law(page, text, i, "dp-mlm", 50.0)
        np.testing.assert_allclose(theirs["log_probs"], ours.log_probs, rtol=0, atol=LOG_P)


#: The mechanisms that need a model or a large table: tests/studio/test_browser_rewrites.py has the others.
LARGE = ("dp-mlm", "dp-mlm-prior", "santext", "dp-sentence")


@pytest.mark.parametrize("mechanism", LARGE)
def test_the_guarantee_and_what_is_exposed_are_the_cores(page: Page, mechanism: str) -> None:
    texts = (TEXTS[1], TEXTS[4], "doctor", "doctor sister", "one two 🙂 three zzqx 🙂")
    m = dpt.get_mechanism(mechanism, epsilon=8.1)
    for text in texts:
        ours, theirs = m.guarantee(text), rewrite(page, text, mechanism, 8.1)["guarantee"]
        assert theirs["sentence"] == ours.sentence()
        assert theirs["exposed"] == list(ours.exposed)
        for name in ("notion", "epsilon", "unit", "adjacency", "draws", "total"):
            assert theirs[name] == getattr(ours, name), name


#: Of each mechanism choices of its options, and lists of words that are never released.
CHOICES: tuple[tuple[str, float, dict[str, Any], tuple[str, ...]], ...] = (
    ("dp-mlm", 50.0, {"clip": "paper", "keep_stopwords": False}, ("lisbon", "the", "🙂")),
    ("custext", 8.0, {"k": 50, "keep_stopwords": False}, ()),
    ("santext", 16.0, {"keep_stopwords": False}, ("leg", "Straße", "won't")),
    ("dp-sentence", 50.0, {"slots": 3}, ()),
    ("dp-mlm-prior", 15.0, {"keep_stopwords": False}, ("lisbon", "the", "🙂")),
    ("dp-sentence", 50.0, {"slots": 1}, ("she", "doctor")),
)


@pytest.mark.parametrize("name, epsilon, options, never", CHOICES)
def test_with_its_options_and_a_list_of_words_a_mechanism_is_that_of_the_core(
    page: Page, name: str, epsilon: float, options: dict[str, Any], never: tuple[str, ...]
) -> None:
    m = dpt.get_mechanism(name, epsilon=epsilon, never=never, **options)
    more = {"options": options, "never": list(never)}
    for text in (TEXTS[1] + " Word-by-word.", "🙂 " + TEXTS[3], ""):
        result, made = m.rewrite(text), rewrite(page, text, name, epsilon, **more)
        assert made["guarantee"]["sentence"] == result.guarantee.sentence()
        assert made["guarantee"]["exposed"] == list(result.guarantee.exposed)
        units = result.units
        assert [r["origin"] == "drawn" for r in made["releases"]] == [u.is_sampled for u in units]
        for i in [i for i, u in enumerate(units) if u.is_sampled][-2:]:
            ours, theirs = result.distribution(i), law(page, text, i, name, epsilon, **more)
            assert theirs["candidates"] == list(ours.candidates)
            far = np.abs(np.array(theirs["log_probs"]) - ours.log_probs).max()
            # The sentence encoder's weights are rounded; an empty slot is read by no model.
            assert far < (0.01 * epsilon + 0.1 if name == "dp-sentence" else LOG_P)
        released = {w for r in made["releases"] for w in Document.parse(r["text"]).words}
        assert not [w for w in released if m.never.bans(w)]


@pytest.mark.parametrize("name", LARGE)
def test_only_an_epsilon_for_which_the_core_promises_something_is_taken(page: Page, name: str) -> None:
    call = "([what, more]) => window.dptext[what]('doctor', ...more).then(() => '', (e) => e.message)"
    most = dpt.get_mechanism(name).max_epsilon
    most = most if most < 1400 else 1400
    dpt.get_mechanism(name, epsilon=most)
    assert rewrite(page, "doctor", name, most)["guarantee"]["epsilon"] == most
    for epsilon in (math.nan, 0, most + 1):
        how = {"mechanism": name, "epsilon": epsilon}
        for what, more in (("rewrite", [how]), ("distribution", [0, how])):
            assert page.evaluate(call, [what, more]).startswith("epsilon must be a number from"), epsilon


def test_what_is_not_there_is_refused_by_the_page_as_well(page: Page) -> None:
    how = "{mechanism: 'custext', epsilon: 8}"
    for call, said in (
        (f"distribution('doctor', 1, {how})", "No word was sampled for token 1"),
        (f"distribution('doctor', -1, {how})", "No word was sampled for token -1"),
        (f"distribution('doctor', 'length', {how})", "No word was sampled for token length"),
        ("rewrite('doctor', {mechanism: 'nobody', epsilon: 8})", "This site has no mechanism nobody"),
        ("rewrite('doctor')", "This site has no mechanism undefined"),
        (f"rewrite(undefined, {how})", "The text must be a string."),
    ):
        assert page.evaluate(f"window.dptext.{call}.then(() => '', (e) => e.message)").startswith(said)


def test_nobody_else_is_asked_it_goes_on_without_a_network_and_a_damaged_file_is_fetched_anew(
    page: Page, address: str
) -> None:
    rewrite(page, TEXTS[0], "custext", 8.0)
    # Its large files came before there was a service worker.
    for file in ("custext-20.bin.gz", "model.onnx.gz", "masked_lm.safetensors.gz"):
        until(page, f"caches.match('data/{file}').then((kept) => kept !== undefined)")
    page.context.set_offline(True)
    page.reload()
    page.evaluate("window.dptext.ready")
    page.click("#edit")
    page.fill("#text", "The garden of my neighbour is a secret.")
    for mechanism in ("custext", "dp-mlm"):
        page.select_option("#mechanism", mechanism)
        until(
            page,
            "document.querySelector('.strip .text').textContent.includes('neighbour')"
            " && document.querySelector('#status').textContent.startsWith('Rewritten')",
        )
        assert "sampled" in page.inner_text("#guarantee")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.context.set_offline(False)
    for damaged in ("new Uint8Array(1000)", "Uint8Array.of(0x1f, 0x8b, 8, 0, 0)"):
        page.evaluate(
            f"""async () => {{
              for (const name of await caches.keys()) {{
                await (await caches.open(name)).put("data/list.txt.gz", new Response({damaged}));
              }}
            }}"""
        )
        page.reload()
        page.evaluate("window.dptext.ready")
        assert rewrite(page, TEXTS[0], "diffractor", 1.1)["text"]
        until(page, "caches.match('data/list.txt.gz').then((r) => r.arrayBuffer()).then((b) => b.byteLength > 1000)")
    assert {url for url in page.asked if not url.startswith((address, "data:", "blob:"))} == set()  # type: ignore[attr-defined]
    assert page.wrong == []  # type: ignore[attr-defined]
    page.click("#edit")
