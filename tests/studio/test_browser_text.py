"""The browser edition reads texts and word lists as the library does."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from browser_engine import ask
from browser_texts import HOSTILE, NOTES, TELLING, TEXTS

import dptext_core as dpt
from dptext_core.detectors import detector
from dptext_core.detectors.rules import KINDS, find_pii
from dptext_core.mechanisms.blocklist import Blocklist, fold
from dptext_core.mechanisms.detected.flags import FORMS, flag_tokens
from dptext_core.mechanisms.detected.stand_ins import candidates
from dptext_core.support.assets import examples
from dptext_core.text.document import Document
from dptext_core.text.languages import ENGLISH
from dptext_core.text.readable import readable
from dptext_studio.browser.detection import DETECTORS

PII = """(texts, name) => texts.map((text) => {
  const document = engine.language.parse(text);
  return modules["identifiers.js"].findPii(document, engine.core.language, name)
    .map((t) => [t.kind, t.text, t.words.map((k) => document.tokens[k].text)]);
})"""
FLAGS = """(texts, name, allow) => texts.map((text) =>
  modules["flags.js"].flagTokens(engine.language.parse(text), engine.core.language, name, listed(allow))
    .map(({ token, kind, form, same }) => [token, kind, form, same]))"""
READABLE = """(cases) => cases.map(([text, words]) => {
  const { cleanUp, copied, tight } = modules["readable.js"];
  const { skeleton, spaced } = modules["text.js"];
  const { closed } = modules["detected.js"];
  const document = engine.language.parse(text);
  const whole = skeleton(document, words.map((w) => w !== null));
  const deleted = new Set([...words.keys()].filter((i) => words[i] === ""));
  const clean = cleanUp(whole, engine.language, deleted);
  const frame = tight(whole, engine.language);
  const gaps = deleted.size ? closed(frame, deleted) : spaced(frame);
  const at = (i) => words[i] ?? document.tokens[i].text;
  return document.tokens.map((t, i) => gaps[i] + (words[i] ?? copied(engine.language, clean, t.text, i, at))).join("")
    + gaps[gaps.length - 1];
})"""


def mixed(seed: int, size: int, count: int, more: list[str]) -> list[str]:
    """Return texts of random words of notes and hostile texts."""
    rng = np.random.default_rng(seed)
    words = " ".join([*HOSTILE[:-2], *NOTES]).split() + more
    return [" ".join(rng.choice(words, size)) for _ in range(count)]


def test_a_text_has_the_same_tokens_and_sentences():
    texts = [*TEXTS, *HOSTILE, *NOTES, "One. Two."]
    call = """(texts) => texts.map((text) => {
      const { text: seen, tokens } = engine.language.parse(text);
      const sentences = engine.language.sentenceSpans(seen).map(([a, b]) => seen.slice(a, b));
      return [tokens.map((t) => [t.text, t.kind]), sentences];
    })"""
    for text, (tokens, sentences) in zip(texts, ask(call, texts), strict=True):
        document = Document.parse(text)
        assert tokens == [list(pair) for pair in zip(document.words, document.kinds, strict=True)], text
        assert sentences == [document.visible.text[a:b] for a, b in document.visible.sentences], text


def test_the_same_characters_of_a_text_are_visible():
    """Of every character, behind a letter and alone; and how many are not is counted."""
    codes = [*range(0xD800), *range(0xE000, 0x32000), *range(0xE0000, 0xE2000)]
    blocks = ["".join([f"a{chr(c)} {chr(c)}" for c in codes[i : i + 4096]]) for i in range(0, len(codes), 4096)]
    call = (
        "(texts) => texts.map((t) => { const { text, removed } = engine.language.visible(t); return [text, removed]; })"
    )
    documents = [Document.parse(text) for text in blocks]
    assert ask(call, blocks) == [[d.visible.text, d.removed] for d in documents]


def test_the_rules_find_the_same_identifiers():
    """In texts with names, dates and addresses of all kinds, and the same without capitals."""
    rng = np.random.default_rng(1)
    texts = [*TEXTS, TELLING, *(e.text for e in examples())]
    words = TELLING.split() + list(".,;:\n“”") + ["'s", "—", "2001-2004", "é", "²"]
    texts += [" ".join(rng.choice(words, 12)) for _ in range(300)]
    texts += ["Mrs\nHalvorsen called Dr \r\n Okafor.", "The doctor\nDiagnosis", "Dr\n\nPlan", "mrs\nHall and mrs\nhall"]
    texts += [t.lower() for t in texts] + [t.upper() for t in texts[:60]]
    seen = [Document.parse(text).visible.text for text in texts]
    expected = [[[t.kind, t.text, [text[a:b] for a, b in t.words]] for t in find_pii(text)] for text in seen]
    assert {t: f for t, f, e in zip(texts, ask(PII, texts, "rules"), expected, strict=True) if f != e} == {}
    assert {kind for each in expected for kind, _, _ in each} == set(KINDS)


@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.parametrize("allow", [(), ("monday", "omar", "lane", "march", "14", "straße")])
def test_a_detector_has_the_same_flags(name, allow):
    """The same spans, types, forms and repetitions, in notes, in hostile texts, and in words at random."""
    texts = [*NOTES, *HOSTILE, *mixed(5, 12, 200, [*".,;:\n“”(", "'s", "—"])]
    texts = [
        Document.parse(t).visible.text
        for t in texts + [t.lower() for t in texts[:60]] + [t.upper() for t in texts[:60]]
    ]
    if not allow:
        expected = [[[s.kind, s.text, [t[a:b] for a, b in s.words]] for s in detector(name)(t, ENGLISH)] for t in texts]
        assert {t: s for t, s, e in zip(texts, ask(PII, texts, name), expected, strict=True) if s != e} == {}
    flags = ask(FLAGS, texts, name, list(allow))
    ours = [[[f.token, f.kind, f.form, f.same] for f in flag_tokens(Document.parse(t), name, allow)] for t in texts]
    assert {t: f for t, f, e in zip(texts, flags, ours, strict=True) if f != e} == {}
    assert name == "words" or allow or {f[2] for each in ours for f in each} >= {*FORMS}


def test_stand_ins_come_from_the_same_lists():
    """Of every list, and of shapes that are numbers, dates, times and codes."""
    shapes = ["9", "99", "999", "9,999", "99/99/9999", "9999-99-99", "9.9.99", "9999/9/9", "9.9.9999", "AA9999999"]
    shapes += ["9aaa", "9kg", "99-year-old", "999-9999", "+99 999", "9" * 130, "Aé9", "99aa-99"]
    shapes += ["9:99", "99:99", "99:99:99", "9:99pm", "99:99am", "9/9999", "99/9999", "9999-99"]
    theirs = ask("(forms) => forms.map((form) => engine.standIns.of(form))", [*FORMS, *shapes])
    for form, words in zip([*FORMS, *shapes], theirs, strict=True):
        assert words == list(candidates(form, ENGLISH)), form


def test_the_same_stop_words_are_kept():
    rng = np.random.default_rng(2)
    words = [*TELLING.split(), *".,;:\n“", "one", "two", "hundred", "may", "will", "The", "OH", "first", "point", "NOT"]
    words += ["dear", "tHe", "i", "w", "room", "past", "to", "of", "May", "o'clock", "in", "third", "oh-one", "'s"]
    texts = [TELLING, *(" ".join(rng.choice(words, 15)) for _ in range(200))]
    call = """(texts) => Promise.all(texts.map(async (text) => {
      const p = await prepare(text, { mechanism: "custext" });
      return p.reasons.map((r, i) => r ?? (p.known[i] ? null : "unknown"));
    }))"""
    m = dpt.get_mechanism("custext")
    prepared = [m.prepare(text) for text in texts]
    expected = [
        [reason if row != -1 else "unknown" for reason, row in zip(p.reasons, p.rows.tolist(), strict=True)]  # type: ignore[attr-defined]
        for p in prepared
    ]
    assert {t: f for t, f, e in zip(texts, ask(call, texts), expected, strict=True) if f != e} == {}


def test_words_of_a_list_are_compared_in_the_same_form():
    """Every letter that is folded, and some that stand together."""
    texts = [chr(c) for c in range(0x20, 0x3100) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
    texts += ["Straße", "ΑΣ", "e\u0301te\u0301", "so\u00adft", "Ｗｉｄｅ", "İstanbul", "ﬁne", "O’Neil", "w\u0336o"]
    theirs = ask('(texts) => texts.map(modules["blocklist.js"].fold)', texts)
    assert {t: b for t, b in zip(texts, theirs, strict=True) if b != fold(t)} == {}
    words, tokens = ("don't", "heck"), ("don’t-knows", "what-the-heck", "don", "'don't'", "hecks", "can't", "x_don't_y")
    bans = "(words, tokens) => { const l = listed(words); return tokens.map((t) => l.bans(t)); }"
    assert ask(bans, words, tokens) == [Blocklist(frozenset(words)).bans(t) for t in tokens]


def test_the_public_clean_up_writes_the_same_text():
    """Any words, in any places, in notes, hostile texts and sentences with articles and loose marks."""
    rng = np.random.default_rng(7)
    texts = [*NOTES, *HOSTILE, *(t.lower() for t in NOTES[:20])]
    texts += mixed(
        8,
        14,
        300,
        [
            *[
                "a",
                "a",
                "a",
                "an",
                "an",
                "A",
                "An",
                "AN",
                ".",
                ",",
                ";",
                ":",
                "?",
                "!",
                ")",
                "(",
                "[",
                "]",
                "%",
                "$",
                "n't",
                "'s",
                "'m",
                ":)",
                "\n",
                "“",
                "”",
                "i",
                "I",
            ],
            "USA",
        ],
    )
    texts += [
        " ".join(t)
        for t in rng.choice(["a", "an", "A", "An", "AN", "the", "cat", "( ", "(", ")", ".", "i", "\n"], (300, 9))
    ]
    new = [
        "Owl",
        "apple",
        "user",
        "hour",
        "MRI",
        "8",
        "18-year-old",
        "US",
        "one",
        "house",
        "Ünit",
        "[NAME]",
        "x",
        "ouija",
        "'s",
    ]
    cases, expected = [], []
    for text in texts:
        document = Document.parse(text)
        n = len(document.words)
        words = [None if rng.random() < 0.6 else "" if rng.random() < 0.15 else str(rng.choice(new)) for _ in range(n)]
        skeleton, _ = readable(document.skeleton([w is not None for w in words]), words)
        cases.append((text, words))
        expected.append(skeleton.fill(words).text)
    found = ask(READABLE, cases)
    assert {c[0]: (f, e) for c, f, e in zip(cases, found, expected, strict=True) if f != e} == {}
    assert sum(" an " in e for e in expected) > 50
