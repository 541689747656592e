"""The site that rewrites in the browser, held to the core: tokens, laws, promises, draws, and whom it asks."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import threading
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import chi2

import dptext_core as dpt
from dptext_core.detectors.rules import KINDS, find_pii
from dptext_core.mechanisms.blocklist import Blocklist, fold
from dptext_core.mechanisms.sentence.dp_sentence import DPSentence, DPSentenceConfig
from dptext_core.support.assets import examples
from dptext_core.text.document import Document
from dptext_studio import browser as pocket
from dptext_studio.browser import serve
from dptext_studio.browser.site import MECHANISMS, OWN_TEXT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TEXTS = (
    "My doctor in Lisbon treated my sister for a broken leg.",
    "Mrs. O'Neil paid $3.50 (twice!) at 10,000 Main St. on Jan. 5th… I can't say what it's for 🙂🙂.",
    "He said: \"Don’t — I won't go.\"\n\nThe U.S. team's e-mail is a.b@c.org; see http://x.y/z?q=1.",
    "Ünïcode naïve café ½ 日本語 zzqx 👩‍👩‍👧 rock ’n’ roll.",
    "",
    "the and of , .",
    # What nobody sees, and letters written as symbols.
    "Ⓜⓐⓡⓘⓐ\U000e0041 saw 🅹🅾🅷🅽,\u200b ⒨⒜⒭⒤⒜ and 🇲🇦\ufe0f.\u0301 ⠍⠁⠗⠊⠁\u2009①½² ☙ ‐‑ 👍🏽 \ue000\n \r\n\tof\u3164 \u2028",
    f"A word of {'x' * 150}, http://a.b/{'c' * 150} and {'-' * 150}",
)
#: With what identifies: names, places, dates, numbers and addresses.
TELLING = """Mrs Halvorsen and Dr. J. Peter von Berg saw Anna's son. Nora Lindqvist left. Ask Tom, please; Grace cried.
She is at St Olav's Hospital or 14 Mill Lane near Ashgrove, in New York, then Turkey. A nice reading, a cold turkey.
The 12th of March 2024, 2024-03-12, 3/12/24, Jan. 5th, May 1987; May I? In 1990, since the autumn 1991, on Mondays, sat.
Forty-two, room B12, £3,500, +47 555 12 345, (030) 123 4567, a.b@example.org, www.example.org/x, https://x.y/z.
Bill phoned. Will you? Don met Will in the US with Can; Call five, one and two: double oh 7! I had one. 5 may.
A TEST A. Dear will, i am may: W I L L. At half past one in room six; THe first of May, third may, one-oh-two."""
#: How far ln p may lie from the core's: both compute the same file in float32, in sums of other orders.
LOG_P = 1e-4
#: What the rounding of the sentence encoder's weights may change of a sentence's likeness.
COSINE, SENTENCE_TV = 0.012, 0.12


@pytest.fixture(scope="module")
def address(pocket_site: Path) -> Iterator[str]:
    listed = json.loads(pocket_site.with_name("made.json").read_text())
    files = (p for p in pocket_site.rglob("*") if p.is_file())
    assert listed == {p.relative_to(pocket_site).as_posix(): p.stat().st_size for p in files}
    with serve(pocket_site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A visit, on which every error and every request to anywhere else fails the module's last test."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    made = context.new_page()
    made.asked, made.wrong = [], []  # type: ignore[attr-defined]
    context.on("request", lambda r: made.asked.append(r.url))  # type: ignore[attr-defined]
    made.on("console", lambda m: made.wrong.append(m.text) if m.type in ("error", "warning") else None)  # type: ignore[attr-defined]
    made.on("pageerror", lambda e: made.wrong.append(str(e)))  # type: ignore[attr-defined]
    made.goto(address)
    made.evaluate("window.dptext.ready")
    made.click("#edit")
    yield made
    context.close()


def law(page: Page, text: str, index: int, mechanism: str, epsilon: float, **more: Any) -> dict[str, Any]:
    # As one string: Playwright takes a second for a list of so many words.
    call = "async ([text, index, how]) => JSON.stringify(await window.dptext.distribution(text, index, how))"
    return json.loads(page.evaluate(call, [text, index, {"mechanism": mechanism, "epsilon": epsilon, **more}]))


def rewrite(page: Page, text: str, mechanism: str, epsilon: float, **more: Any) -> dict[str, Any]:
    call = "([text, how]) => window.dptext.rewrite(text, how)"
    return page.evaluate(call, [text, {"mechanism": mechanism, "epsilon": epsilon, **more}])


def until(page: Page, what: str, seconds: float = 60) -> None:
    """Wait for an expression. Playwright's own wait evaluates strings in the page, which its policy forbids."""
    end = time.monotonic() + seconds
    while not page.evaluate(what):
        assert time.monotonic() < end, what
        page.wait_for_timeout(50)


def drawn(prepared: Any) -> list[int]:
    return [i for i, reason in enumerate(prepared.reasons) if reason is None]


def test_a_text_is_cut_as_the_core_cuts_it(page: Page) -> None:
    for text in TEXTS:
        document = Document.parse(text)
        expected = [list(pair) for pair in zip(document.words, document.kinds, strict=True)]
        assert page.evaluate("text => window.dptext.tokens(text)", text) == expected, text


def test_what_one_sees_of_a_text_is_what_the_core_sees(page: Page) -> None:
    """Of every character that there is, behind a letter and alone; and how many are not seen is said."""
    codes = [*range(0xD800), *range(0xE000, 0x32000), *range(0xE0000, 0xE2000)]
    blocks = ["".join([f"a{chr(c)} {chr(c)}" for c in codes[i : i + 4096]]) for i in range(0, len(codes), 4096)]
    value = page.evaluate(
        """async (texts) => {
          const { reader } = await import("./visible.js");
          const read = reader((await (await fetch("core.json")).json()).visible);
          return texts.map((text) => { const { text: seen, removed } = read(text); return [seen, removed]; });
        }""",
        blocks,
    )
    documents = [Document.parse(text) for text in blocks]
    assert value == [[d.visible.text, d.removed] for d in documents]
    page.fill("#text", "My doctor\u200b left.\U000e0041")
    until(page, "document.getElementById('removed').textContent === '2 invisible characters removed.'")
    page.fill("#text", TEXTS[0])
    until(page, "document.getElementById('removed').textContent === ''")


def test_what_may_still_identify_is_found_as_the_core_finds_it(page: Page) -> None:
    """In texts with names, dates and addresses of all kinds, and the same without capitals."""
    rng = np.random.default_rng(1)
    texts = [*TEXTS, TELLING, *(e.text for e in examples())]
    words = TELLING.split() + list(".,;:\n“”") + ["'s", "—", "2001-2004", "é", "²"]
    texts += [" ".join(rng.choice(words, 12)) for _ in range(300)]
    texts += [t.lower() for t in texts] + [t.upper() for t in texts[:60]]
    seen = [Document.parse(text).visible.text for text in texts]
    expected = [[[t.kind, t.text, [text[a:b] for a, b in t.words]] for t in find_pii(text)] for text in seen]
    call = "(texts) => Promise.all(texts.map((text) => window.dptext.pii(text)))"
    value = page.evaluate(call, texts)
    assert {t: f for t, f, e in zip(texts, value, expected, strict=True) if f != e} == {}
    assert {kind for each in expected for kind, _, _ in each} == set(KINDS)


def test_stop_words_that_are_names_or_numbers_are_replaced_as_the_core_replaces_them(page: Page) -> None:
    rng = np.random.default_rng(2)
    words = [*TELLING.split(), *".,;:\n“", "one", "two", "hundred", "may", "will", "The", "OH", "first", "point", "NOT"]
    words += ["dear", "tHe", "i", "w", "room", "past", "to", "of", "May", "o'clock", "in", "third", "oh-one", "'s"]
    texts = [TELLING, *(" ".join(rng.choice(words, 15)) for _ in range(200))]
    m = dpt.get_mechanism("custext", epsilon=1.0)
    for text in texts:
        releases = rewrite(page, text, "custext", 1.0)["releases"]
        assert [r["reason"] or None for r in releases] == [
            reason if row != -1 else "not in the vocabulary"
            for p in [m.prepare(text)]
            for reason, row in zip(p.reasons, p.rows.tolist(), strict=True)
        ], text


@pytest.mark.parametrize("mechanism", ["custext", "diffractor", "santext"])
def test_the_law_of_a_word_mechanism_is_the_cores(page: Page, mechanism: str) -> None:
    low, high, usual = dpt.get_mechanism(mechanism).epsilon_range()
    compared = 0
    for epsilon in (low, usual, high):
        m = dpt.get_mechanism(mechanism, epsilon=epsilon)
        for text in TEXTS[:4]:
            prepared = m.prepare(text)
            # Laws over a whole vocabulary are long.
            for i in drawn(prepared)[-2:]:
                ours, theirs = m.distribution(prepared, i), law(page, text, i, mechanism, epsilon)
                assert theirs["candidates"] == list(ours.candidates)
                np.testing.assert_allclose(theirs["log_probs"], ours.log_probs, rtol=0, atol=1e-9)
                compared += 1
    assert compared >= 24


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
    for text in (*TEXTS, "One. Two."):
        seen = Document.parse(text).visible
        spans = seen.sentences
        assert page.evaluate("text => window.dptext.sentences(text)", text) == [seen.text[a:b] for a, b in spans]
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


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_guarantee_and_what_is_exposed_are_the_cores(page: Page, mechanism: str) -> None:
    # What is read by a model takes long, and numbers are written by one piece of code for all.
    quick = mechanism in ("custext", "diffractor")
    texts = (
        *TEXTS,
        "doctor",
        "doctor sister",
        "the doctor.",
        "zzqx",
        "one two 🙂 three 🙂",
        "doctor " * (130 if quick else 12),
    )
    few = texts[:2] if quick else texts[:1]
    for epsilon in (1.0, 8.1, 9.2103, 9.2104, 12.345, 0.1 + 0.2, 50.0, 249.99) if quick else (8.1, 50.0):
        m = dpt.get_mechanism(mechanism, epsilon=epsilon)
        for text in texts if epsilon == 8.1 else few:
            ours, made = m.guarantee(text), rewrite(page, text, mechanism, epsilon)
            theirs = made["guarantee"]
            assert theirs["sentence"] == ours.sentence()
            assert theirs["exposed"] == list(ours.exposed)
            for name in ("notion", "epsilon", "unit", "adjacency", "draws", "total"):
                assert theirs[name] == getattr(ours, name), name


def test_more_draws_than_are_written_without_a_mark_between_thousands(page: Page) -> None:
    assert "1,300" in rewrite(page, "doctor " * 1300, "custext", 1.0)["guarantee"]["sentence"]


#: Of each mechanism choices of its options, and lists of words that are never released.
CHOICES: tuple[tuple[str, float, dict[str, Any], tuple[str, ...]], ...] = (
    ("dp-mlm", 50.0, {"clip": "paper", "keep_stopwords": False}, ("lisbon", "the", "🙂")),
    ("custext", 8.0, {"k": 50, "keep_stopwords": False}, ()),
    ("diffractor", 1.1, {}, ("my", "doctor", "physician", "word", "🙂")),
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
        assert [r["origin"] == "drawn" for r in made["releases"]] == [u.drawn for u in units]
        for i in [i for i, u in enumerate(units) if u.drawn][-2:]:
            ours, theirs = result.distribution(i), law(page, text, i, name, epsilon, **more)
            assert theirs["candidates"] == list(ours.candidates)
            far = np.abs(np.array(theirs["log_probs"]) - ours.log_probs).max()
            # The sentence encoder's weights are rounded; an empty slot is read by no model.
            assert far < (0.01 * epsilon + 0.1 if name == "dp-sentence" else LOG_P)
        released = {w for r in made["releases"] for w in Document.parse(r["text"]).words}
        assert not [w for w in released if m.never.bans(w)]


def test_words_of_a_list_are_compared_as_the_core_compares_them(page: Page) -> None:
    """Every letter that is folded, and some that stand together."""
    texts = [chr(c) for c in range(0x20, 0x3100) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
    texts += ["Straße", "ΑΣ", "e\u0301te\u0301", "so\u00adft", "Ｗｉｄｅ", "İstanbul", "ﬁne", "O’Neil", "w\u0336o"]
    call = 'async (texts) => { const { fold } = await import("./blocklist.js"); return texts.map(fold); }'
    theirs = page.evaluate(call, texts)
    assert {t: b for t, b in zip(texts, theirs, strict=True) if b != fold(t)} == {}
    words, tokens = ("don't", "heck"), ("don’t-knows", "what-the-heck", "don", "'don't'", "hecks", "can't", "x_don't_y")
    bans = """async ([words, tokens]) => {
      const { Blocklist } = await import("./blocklist.js"); const listed = new Blocklist(words);
      return tokens.map((t) => listed.bans(t)); }"""
    assert page.evaluate(bans, [words, tokens]) == [Blocklist(frozenset(words)).bans(t) for t in tokens]


def test_kept_tokens_blanks_and_capitals_of_a_rewrite_follow_the_core(page: Page) -> None:
    for text in TEXTS:
        m = dpt.get_mechanism("custext", epsilon=8.0)
        made = rewrite(page, text, "custext", 8.0)
        prepared = m.prepare(text)
        begins = prepared.skeleton.begins
        words = []
        for i, release in enumerate(made["releases"]):
            assert made["text"][release["start"] : release["end"]] == release["text"]
            if prepared.reasons[i] is None:
                plain = m.distribution(prepared, i).candidates
                assert release["text"] in {m._case(w, m._capital("", begins[i])) for w in plain}
                words.append(release["text"])
            else:
                words.append(None)
                assert release["text"] == prepared.document.words[i]
        assert made["text"] == prepared.skeleton.fill(words).text


#: A generator with a seed in the place of the browser's, so that a draw is the same in every run (xoshiro128**).
SEEDED = """async () => {
  const { source } = await import("./sampling.js");
  const s = new Uint32Array([1, 2, 3, 4]);
  const turn = (x, k) => (x << k) | (x >>> (32 - k));
  const next = () => {
    const out = Math.imul(turn(Math.imul(s[1], 5), 7), 9) >>> 0;
    const t = s[1] << 9;
    s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t; s[3] = turn(s[3], 11);
    return out;
  };
  for (let i = 0; i < 100; i += 1) next();
  source.fill = (words) => { for (let i = 0; i < words.length; i += 1) words[i] = next(); };
}"""
DRAWS = """async ([kind, scores, epsilon, n]) => {
  const SHAPE = { sigma: 2, low: 0, width: 0.4, growth: 0.16, widest: 5, firm: 6, power: 1, spread: 200 };
  const laws = await import("./distributions.js");
  const words = scores.map(String);
  const law = kind === "onList" ? laws.onList(words, 4)
    : kind === "alike" ? laws.alike(words, Float64Array.from(scores, (s) => s + 0.4), null)
    : kind === "shifted" ? laws.shifted(words, Float64Array.from(scores, (s, j) => 3 * Math.sin(j)),
      Float64Array.from(scores, (s) => 24 * s + 6), SHAPE, -1, [epsilon / 2, 2 * epsilon])
    : laws[kind](words, Float64Array.from(scores), -1);
  const counts = new Array(scores.length).fill(0);
  for (let i = 0; i < n; i += 1) {
    const noise = law.noise();
    const at = noise.at(epsilon);
    counts[at] += 1;
    if (i >= 500) continue;
    // What the slider shows at this epsilon is what is drawn at it.
    const flips = noise.flips(epsilon / 2, 2 * epsilon);
    if (flips.filter((f) => f[0] <= epsilon).at(-1)[1] !== at) throw new Error("the flips show another word");
  }
  return [counts, ...[epsilon, 1.1 * epsilon].map((e) => [...law.logProbs(e)].map(Math.exp))];
}"""


@pytest.mark.parametrize(
    "kind, epsilon", [("scored", 8.0), ("ranked", 8.0), ("onList", 0.7), ("alike", 8.0), ("shifted", 8.0)]
)
def test_words_are_drawn_from_their_law(page: Page, kind: str, epsilon: float) -> None:
    """χ² at 1e-6 with 20,000 draws of 12 words; the same draws reject the law at an ε 10% larger."""
    scores, n = -np.arange(12) / 24.0, 20_000
    page.evaluate(SEEDED)
    counts, law_here, other = map(np.array, page.evaluate(DRAWS, [kind, scores.tolist(), epsilon, n]))

    def p_value(law: np.ndarray) -> float:
        return float(chi2.sf(((counts - n * law) ** 2 / (n * law)).sum(), len(scores) - 1))

    assert counts.sum() == n
    assert p_value(law_here) > 1e-6
    assert p_value(other) < 1e-6


def test_uniforms_reach_far_below_the_smallest_that_64_bits_give(page: Page) -> None:
    made = page.evaluate(
        """async () => {
          const { source, uniforms, logUniform } = await import("./sampling.js");
          const zeros = (n) => {
            let left = n;
            source.fill = (words) => {
              for (let i = 0; i < words.length; i += 1) words[i] = left-- > 0 ? 0 : 2 ** 31;
            };
          };
          zeros(10);
          const u = uniforms(1)[0];
          zeros(100);
          return [u, logUniform()];
        }"""
    )
    assert made[0] == pytest.approx(2.0**-321, rel=1e-9) and made[1] == pytest.approx(-3201 * np.log(2.0), rel=1e-12)


def test_nobody_else_is_asked_it_goes_on_without_a_network_and_a_damaged_file_is_fetched_anew(
    page: Page, address: str
) -> None:
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


def test_finished_pages_of_the_mechanisms_stand_beside_it_and_work_under_its_policy(page: Page, address: str) -> None:
    visit = page.context.new_page()
    wrong: list[str] = []
    visit.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    visit.goto(address)
    visit.get_by_role("link", name="All examples with every mechanism").click()
    visit.get_by_role("link", name=examples()[0].title).click()
    shown = visit.locator(".strip .text")
    shown.wait_for()
    before = shown.inner_text()
    visit.fill("#exact", "0.9")
    visit.press("#exact", "Enter")
    until(visit, f"document.querySelector('.strip .text').innerText !== {json.dumps(before)}")
    visit.close()
    assert wrong == []


def test_epsilon_is_dragged_without_a_pass_and_a_copy_is_written_down(page: Page) -> None:
    page.select_option("#mechanism", "custext")
    page.fill("#text", TEXTS[0])
    until(page, "document.querySelector('.strip .text').textContent.includes('broken')")
    page.wait_for_timeout(600)  # the choice asks for a rewrite at once, and what is typed for one more
    page.fill("#exact", "28")
    page.press("#exact", "Enter")
    page.fill("#text", TEXTS[0] + " She sleeps.")  # which comes before the view has told of that ε
    until(page, "document.querySelector('.strip .text').textContent.includes('sleeps')")
    until(page, "document.querySelector('#guarantee').textContent.includes('ε = 28 per word')")
    adjacency = dpt.get_mechanism("custext").guarantee(TEXTS[0]).adjacency
    assert page.inner_text("#between") == f"It holds between {adjacency}." and "same kept tokens" in adjacency
    assert "Nothing yet" in page.inner_text("#ledger")
    with page.expect_download() as got:
        page.click("#save")
    saved = Path(got.value.path()).read_text(encoding="utf-8")
    assert saved.startswith("My ") and saved.endswith(".")
    assert "ε = 28" in page.inner_text("#ledger") and "neither has a guarantee" not in page.inner_text("#ledger")
    # Another version from the same noise.
    page.fill("#exact", "2")
    page.press("#exact", "Enter")
    with page.expect_download():
        page.click("#save")
    assert page.inner_text("#ledger").count("neither has a guarantee") == 2


def test_an_example_is_chosen_and_says_what_it_gives_away(page: Page) -> None:
    page.select_option("#mechanism", "custext")
    for example in examples()[:2]:
        page.get_by_role("button", name=example.title, exact=True).click()
        until(page, f"document.querySelector('#problem').textContent === {json.dumps(example.problem)}")
        # The word that tells most is chosen, so that there is something to be seen beside the text.
        until(page, f"document.querySelector('.strip .pair .from').textContent === {json.dumps(example.sensitive)}")
        assert page.locator("#examples [aria-pressed=true]").all_inner_texts() == [example.title]
    page.fill("#text", TEXTS[0])
    assert page.inner_text("#problem") == OWN_TEXT
    assert page.locator("#examples [aria-pressed=true]").count() == 0
    page.click("#edit")
    assert page.is_hidden("#text")
    page.click("#edit")


def test_how_many_identifying_words_are_left_is_counted_while_epsilon_moves(page: Page) -> None:
    page.select_option("#mechanism", "custext")
    page.fill("#text", "Mrs Halvorsen flew to Lisbon on 3 June, and to Lisbon again.")
    until(page, "document.querySelector('.strip .text').textContent.includes('Lisbon')")
    # Lisbon is one, and the words that are in no vocabulary come out anew whatever ε is.
    until(page, "/^[0-3] of 3$/.test(document.querySelector('.which-stand strong').textContent)")
    page.fill("#exact", "28")
    page.press("#exact", "Enter")
    until(page, "document.querySelector('#guarantee').textContent.includes('ε = 28 per word')")
    # The marks of words and their number are of one picture.
    until(
        page,
        "(parseInt(document.querySelector('.which-stand strong').textContent) > 0) "
        "=== Boolean(document.querySelector('.strip .word.stands'))",
    )


def test_what_is_left_is_counted_in_drawn_sentences_too(page: Page) -> None:
    page.select_option("#mechanism", "dp-sentence")
    page.fill("#text", "Invading Iraq won't be a cakewalk. Mrs Halvorsen paid on Sunday.")  # the first is in the bank
    page.fill("#exact", "200")
    page.press("#exact", "Enter")
    until(page, "document.querySelector('.strip .text').textContent.includes('Iraq')")
    # A sentence of a Sunday may come out.
    until(page, "/^[12] of 3$/.test(document.querySelector('.which-stand strong').textContent)")
    assert page.locator(".strip .stands").count() > 0
    page.fill("#exact", "5")
    page.press("#exact", "Enter")
    until(page, "document.querySelector('.which-stand strong').textContent === '0 of 3'")
    assert page.locator(".strip .stands").count() == 0


def test_options_and_a_list_of_words_are_chosen_on_the_page(page: Page) -> None:
    page.select_option("#mechanism", "dp-sentence")
    page.fill("#text", TEXTS[0])
    page.click(".k-options summary")
    page.select_option("[data-option=slots]", label="3")
    until(page, "document.querySelector('#exposed').textContent.includes('that 3 sentences are sampled, as you set')")
    page.fill("#blocklist", "and one…two")
    until(page, "document.querySelector('#status').textContent.includes('is read as')")
    assert page.is_disabled("#again") and page.is_disabled("#save"), "what stands there was made by the list before"
    assert page.locator("[inert] .strip").count() == 1
    page.fill("#blocklist", "doctor sister")
    until(page, "document.querySelector('#exposed').textContent.includes('the blocklist')")
    assert not {"doctor", "sister"} & set(page.inner_text(".strip .text").lower().split())
    assert page.is_enabled("#again") and page.is_enabled("#save") and page.locator("[inert] .strip").count() == 0
    page.select_option("#mechanism", "custext")
    assert page.is_hidden("#blocklist") and "no list of words" in page.inner_text("#blocklist_note")
    page.select_option("[data-option=k]", label="5")
    until(page, "document.querySelector('.strip .text').textContent.includes('Lisbon')")


@pytest.fixture
def without_model(browser: Browser, address: str) -> Iterator[Page]:
    """A visit from a device on which the model does not load."""
    context = browser.new_context(
        service_workers="block", permissions=["clipboard-read", "clipboard-write"], reduced_motion="reduce"
    )
    context.route("**/model.onnx.gz", lambda route: route.abort())
    page = context.new_page()
    page.goto(address)
    until(page, "document.querySelector('#status').textContent.includes('needs no model')")
    yield page
    context.close()


def test_a_device_on_which_the_model_does_not_load_gets_a_word_mechanism_and_is_told(without_model: Page) -> None:
    """There the keyboard is enough, and axe finds nothing serious."""
    axe = pytest.importorskip("axe_playwright_python.base", reason="pip install axe-playwright-python")
    page = without_model
    assert page.input_value("#mechanism") == "custext"
    assert page.locator(".strip .word").count() > 10
    assert page.is_enabled("#again")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the slider"
    # From word to word with the arrows: one stop of the Tab key for all of them.
    stops = []
    while len(stops) < 40 and "save" not in stops:
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.id || document.activeElement.className.split(' ')[0]"))
    assert {"edit", "slider", "exact", "mechanism", "again", "save"} <= set(stops)
    page.focus("#edit")
    page.keyboard.press("Enter")
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("My aunt lives in Lisbon.")
    until(page, "document.querySelector('.strip .text').textContent.includes('aunt')")
    page.click(".k-options summary")
    page.evaluate(axe.AXE_SCRIPT)
    rules = {"resultTypes": ["violations"], "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        found = page.evaluate("rules => axe.run(rules)", rules)["violations"]
        assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found] == []
    # What another mechanism made before does not stand there as if it were of the one that is chosen.
    page.context.route("**/codes.bin.gz", lambda route: route.abort())
    page.select_option("#mechanism", "santext")
    until(page, "document.querySelector('#status').textContent.startsWith('SanText could not be loaded')")
    assert page.is_disabled("#again") and page.is_disabled("#save") and page.locator("[inert] .strip").count() == 1


def test_what_left_is_written_down_at_the_epsilon_of_its_words(without_model: Page) -> None:
    """Whatever stands in the box of ε when the button is pressed, and also where the browser takes its time for a copy
    and another draw has come in the meantime, or another mechanism."""
    page = without_model
    for n, (typed, epsilon) in enumerate([("-1", "8.1"), ("", "8.1"), ("85", "28"), ("12.3456789", "12.4")]):
        for press in ("#save", ".strip .copy"):
            page.click("#again")
            page.fill("#exact", typed)
            if press == "#save":
                with page.expect_download() as got:
                    page.click(press)
                left = Path(got.value.path()).read_text(encoding="utf-8")
            else:
                page.click(press)
                until(page, "document.querySelector('.strip .copy').textContent.startsWith('Copied')")
                left = page.evaluate("navigator.clipboard.readText()")
            rows = 2 * n + (press != "#save") + 1
            until(page, f"document.querySelectorAll('#ledger li').length === {rows + 1}")
            assert page.locator("#ledger li").nth(rows - 1).inner_text().startswith(f"CusText, ε = {epsilon}, ")
            page.wait_for_timeout(100)
            # The words of that ε: what is copied once more is the same.
            page.click(".strip .copy")
            page.wait_for_timeout(100)
            assert page.evaluate("navigator.clipboard.readText()") == left
    page.fill("#exact", "20")
    page.press("#exact", "Enter")
    page.click("#again")
    before = page.locator("#ledger li").count()
    page.evaluate(
        """() => Object.defineProperty(navigator, "clipboard", {
          value: { writeText: () => new Promise((done) => (window.allow = done)) },
        })"""
    )
    page.click(".strip .copy")
    page.click("#again")
    page.evaluate("window.allow()")
    until(page, "document.querySelector('#ledger').textContent.includes('CusText, ε = 20,')")
    page.click(".strip .copy")
    page.select_option("#mechanism", "diffractor")
    until(page, "document.querySelector('#guarantee').textContent.includes('ε = 1.1 per unit')")
    page.evaluate("window.allow()")
    until(page, f"document.querySelectorAll('#ledger li').length === {before + 2}")
    ledger = page.inner_text("#ledger")
    assert ledger.count("CusText, ε = 20,") == 2 and "neither has a guarantee" not in ledger


def test_a_file_that_is_another_is_refused(browser: Browser, address: str) -> None:
    context = browser.new_context(service_workers="block")
    page = context.new_page()
    context.route("**/model.onnx.gz", lambda route: route.abort())
    context.route("**/custext-20.bin.gz", lambda route: route.fulfill(body=b"\0" * 4_343_800))
    page.goto(address)
    until(page, "document.querySelector('#status').textContent.includes('is not the file')")
    context.close()


def test_what_is_kept_of_a_new_version_is_not_the_browsers_copy_of_the_old_one(
    browser: Browser, tmp_path: Path
) -> None:
    worker = Path(pocket.__file__).with_name("site") / "sw.js"

    def version(name: str) -> None:
        script = f"const VERSION = {json.dumps(name)};\nconst SHELL = ['app.js', 'index.html'];\n"
        (tmp_path / "sw.js").write_text(script + worker.read_text(encoding="utf-8"), encoding="utf-8")
        (tmp_path / "app.js").write_text(f"// {name}", encoding="utf-8")
        (tmp_path / "index.html").write_text('<!doctype html><script src="app.js"></script>', encoding="utf-8")
        # What was changed long ago is kept by browsers for days, unless the server says otherwise.
        for file in tmp_path.iterdir():
            os.utime(file, (time.time() - 1e8 + len(name),) * 2)

    version("old")
    context = browser.new_context()
    page = context.new_page()
    with serve(tmp_path) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        version("newer")
        page.evaluate(
            "navigator.serviceWorker.register('sw.js').then(() => navigator.serviceWorker.ready).then(() => 1)"
        )
        assert page.evaluate("caches.match('app.js').then((kept) => kept.text())") == "// newer"
        server.shutdown()
    context.close()


@pytest.mark.parametrize("name", MECHANISMS)
def test_only_an_epsilon_for_which_the_core_promises_something_is_taken(page: Page, name: str) -> None:
    call = "([what, more]) => window.dptext[what]('doctor', ...more).then(() => '', (e) => e.message)"
    most = dpt.get_mechanism(name).max_epsilon
    most = most if most < 1400 else 1400
    dpt.get_mechanism(name, epsilon=most)
    assert rewrite(page, "doctor", name, most)["guarantee"]["epsilon"] == most
    for epsilon in (math.nan, math.inf, -math.inf, -1, 0, 1e-10, most + 1, "abc", "8", None, True):
        with pytest.raises(dpt.ConfigError):
            dpt.get_mechanism(name, epsilon=epsilon).rewrite("doctor")
        how = {"mechanism": name, "epsilon": epsilon}
        for what, more in (("rewrite", [how]), ("distribution", [0, how])):
            assert page.evaluate(call, [what, more]).startswith("epsilon must be a number from"), epsilon


def test_what_is_not_there_is_refused_by_the_page_as_well(page: Page) -> None:
    how = "{mechanism: 'custext', epsilon: 8}"
    for call, said in (
        (f"distribution('doctor', 1, {how})", "no word is drawn for token 1"),
        (f"distribution('doctor', -1, {how})", "no word is drawn for token -1"),
        (f"distribution('doctor', 'length', {how})", "no word is drawn for token length"),
        ("rewrite('doctor', {mechanism: 'nobody', epsilon: 8})", "there is no mechanism nobody here"),
        ("rewrite('doctor')", "there is no mechanism undefined here"),
        (f"rewrite(undefined, {how})", "the text is a string"),
    ):
        assert page.evaluate(f"window.dptext.{call}.then(() => '', (e) => e.message)") == said


def test_a_long_rewrite_ends_where_something_else_is_asked_for(page: Page) -> None:
    long = " ".join(f"Word number {n} of a rather long story about gardens and hospitals." for n in range(150))
    page.select_option("#mechanism", "dp-mlm-prior")
    page.fill("#text", long)
    until(page, "document.querySelector('#status').textContent.startsWith('Working')")
    page.select_option("#mechanism", "custext")
    until(page, "document.querySelector('#guarantee').textContent.includes('share its set')", 40)


@pytest.mark.slow
def test_the_page_is_heard_while_a_long_text_is_worked_out(page: Page) -> None:
    page.evaluate("() => { window.ticks = 0; setInterval(() => (window.ticks += 1), 20); }")
    page.select_option("#mechanism", "santext")
    page.fill(
        "#text", " ".join(f"Word number {n} of a rather long story about gardens and hospitals." for n in range(200))
    )
    until(page, "document.querySelector('#status').textContent.startsWith('Working')")
    before = page.evaluate("window.ticks")
    page.wait_for_timeout(700)
    heard, said = page.evaluate("[window.ticks, document.querySelector('#status').textContent]")
    assert said.startswith("Working") and heard - before > 7
    assert page.is_disabled("#save") and page.locator("[inert] .strip").count() == 1, "the rewrite of another text"
    page.fill("#text", "My doctor paid for water.")
    # Some of the long text's words have these letters too, where it was done by now.
    few = "document.querySelectorAll('.strip .text .word').length < 10"
    until(page, f"{few} && document.querySelector('.strip .text').textContent.includes('for')", 40)
    assert page.is_enabled("#save") and page.locator("[inert] .strip").count() == 0


NEAR = """async ([proposal, shift, low, high]) => {
  const SHAPE = { sigma: 2, low: 0, width: 0.4, growth: 0.16, widest: 5, firm: 6, power: 1, spread: 200 };
  const { shifted } = await import("./distributions.js");
  const [words, scores] = [proposal.map(String), Float64Array.from(proposal)];
  const law = shifted(words, scores, Float64Array.from(shift), SHAPE, -1, [low, high]);
  return [law.near, [0, 1, 2, 3, 4].map((k) => [...law.logProbs(low * (high / low) ** (k / 4))])];
}"""


def test_the_words_worth_showing_are_the_likest_anywhere_on_the_axis(page: Page) -> None:
    rng = np.random.default_rng(1)
    for proposal, shift in ((rng.normal(0, 3, 3000), rng.normal(0, 4, 3000)), (np.zeros(50), rng.normal(0, 4, 50))):
        near, laws = page.evaluate(NEAR, [proposal.tolist(), shift.tolist(), 5.0, 100.0])
        assert near == np.argsort(-np.max(laws, 0), kind="stable")[:9].tolist()


def test_the_chances_beside_a_word_are_those_of_its_law(page: Page) -> None:
    page.evaluate("() => (document.querySelector('#blocklist').value = '')")
    page.select_option("#mechanism", "dp-mlm-prior")
    page.fill("#text", TEXTS[0])
    until(page, "document.querySelector('.strip .text').textContent.includes('Lisbon')")
    until(page, "document.querySelector('#guarantee').textContent.includes('ε = 15 per word')")
    for at, word in ((1, "doctor"), (6, "sister"), (3, "Lisbon")):
        page.locator(".strip .text .word", has_text=word).first.click()
        until(page, f"document.querySelector('.strip .pair .from').textContent === '{word}'")
        page.evaluate("document.querySelector('.strip .tab-how').click()")
        page.wait_for_timeout(100)
        found = law(page, TEXTS[0], at, "dp-mlm-prior", 15.0)
        chances = dict(zip(found["candidates"], found["probs"], strict=True))
        rows = [row.split("\n") for row in page.locator(".strip .rows li:visible").all_inner_texts()]
        shown = {words.lower(): float(chance.strip("<>%")) / 100 for words, chance in rows if "others" not in words}
        # The likest, the original and the drawn one, which may be one of the two.
        assert len(shown) >= 2 and max(shown, key=shown.__getitem__) == max(chances, key=chances.__getitem__)
        # As they are rounded for showing.
        half = {
            w: next((u for least, u in ((0.1, 5e-3), (0.01, 5e-4), (1.1e-4, 5e-5)) if c >= least), 1e-4)
            for w, c in shown.items()
        }
        assert {w: c for w, c in shown.items() if abs(c - chances[w]) > 1.01 * half[w]} == {}


def test_a_file_that_is_dropped_takes_the_place_of_the_text(page: Page) -> None:
    drop = """([bytes, name]) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([Uint8Array.from(bytes)], name));
      return document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    }"""
    page.select_option("#mechanism", "custext")
    assert not page.evaluate(drop, [list("My aunt lives in Tromsø.".encode()), "a.txt"]), "the browser would open it"
    until(page, "document.querySelector('.strip .text').textContent.includes('aunt')")
    assert page.input_value("#text") == "My aunt lives in Tromsø."
    for data, name in ((b"\xff\xfe\x00", "<b>x</b>.png"), (b"a" * 100_001, "large.txt")):
        assert not page.evaluate(drop, [list(data), name])
        until(page, f"document.querySelector('#status').textContent.startsWith('“{name}” is no text file')")
    assert page.input_value("#text") == "My aunt lives in Tromsø."


def test_a_page_that_no_script_starts_says_what_it_needs(browser: Browser, address: str) -> None:
    for scripts in (False, True):
        context = browser.new_context(java_script_enabled=scripts, service_workers="block")
        page = context.new_page()
        page.goto(address)
        page.locator("#idle").wait_for(state="detached" if scripts else "visible", timeout=20_000)
        context.close()
