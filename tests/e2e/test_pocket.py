"""The site that rewrites in the browser, held to the core: tokens, laws, promises, draws, and whom it asks."""

from __future__ import annotations

import dataclasses
import math
import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pocket_page import LOG_P, TELLING, TEXTS, drawn, law, rewrite, until
from scipy.stats import chi2

import dptext_core as dpt
from dptext_core.detectors.rules import KINDS, find_pii
from dptext_core.mechanisms.blocklist import Blocklist, fold
from dptext_core.mechanisms.sentence.dp_sentence import DPSentence, DPSentenceConfig
from dptext_core.support.assets import examples
from dptext_core.text.document import Document
from dptext_studio.browser.site import MECHANISMS

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

#: What the rounding of the sentence encoder's weights may change of a sentence's likeness.
COSINE, SENTENCE_TV = 0.012, 0.12


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


#: They sample nothing by the original words: the core takes no ε for them, and the page ignores it.
WITHOUT_EPSILON = ("redact", "surrogates")


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
        given = {} if mechanism in WITHOUT_EPSILON else {"epsilon": epsilon}
        m = dpt.get_mechanism(mechanism, **given)
        for text in texts if epsilon == 8.1 else few:
            ours = m.guarantee(text)
            asked = 1.0 if mechanism in WITHOUT_EPSILON else epsilon  # there it is a placeholder
            made = rewrite(page, text, mechanism, asked)
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


@pytest.mark.parametrize("name", [m for m in MECHANISMS if m not in WITHOUT_EPSILON])
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
