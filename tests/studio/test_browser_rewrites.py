"""The browser edition samples, states and writes what the library does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from browser_engine import MECHANISMS, ask, rewrite
from browser_texts import HOSTILE, NOTES, TEXTS
from scipy.stats import chi2

import dptext_core as dpt
from dptext_core.mechanisms.config import finished
from dptext_core.mechanisms.detected.stand_ins import candidates
from dptext_core.text.document import Document
from dptext_core.text.languages import ENGLISH
from dptext_core.text.readable import agreeing_article
from dptext_studio.browser.detection import DETECTORS

#: They take no ε in the library; the page ignores what it is given.
WITHOUT_EPSILON = ("redact", "surrogates")
NOTE = "Seen Thursday: Omar Haddad, 67, of 14 Meadow Lane, has lost weight since May. Mrs Brandt and Omar were worried."
LISTED = ("monday", "omar", "lane", "14", "my", "brandt")
LAW = """async (text, index, how) => {
  const d = (await prepare(text, how)).distributions[index];
  return [[...d.candidates], [...d.logProbs(how.epsilon)]];
}"""


def law(text: str, index: int, mechanism: str, epsilon: float, **how: Any) -> tuple[list[str], list[float]]:
    return tuple(ask(LAW, text, index, {"mechanism": mechanism, "epsilon": epsilon, **how}))


def made(name: str, epsilon: float = 8.1, **options: Any) -> Any:
    given = {} if name in WITHOUT_EPSILON else {"epsilon": epsilon}
    return dpt.get_mechanism(name, **given, **options)


def assert_same_guarantee(theirs: dict[str, Any], ours: dpt.Guarantee) -> None:
    assert theirs["sentence"] == ours.sentence()
    assert theirs["exposed"] == list(ours.exposed)
    for name in ("notion", "epsilon", "unit", "adjacency", "draws", "total"):
        assert theirs[name] == getattr(ours, name), name


@pytest.mark.parametrize("name", ["custext", "diffractor"])
def test_a_word_has_the_same_distribution(name):
    low, high, usual = dpt.get_mechanism(name).epsilon_range()
    compared = 0
    for epsilon in (low, usual, high):
        m = dpt.get_mechanism(name, epsilon=epsilon)
        for text in TEXTS[:4]:
            prepared: Any = m.prepare(text)
            for i in [i for i, reason in enumerate(prepared.reasons) if reason is None][-2:]:
                ours, (words, log_probs) = m.distribution(prepared, i), law(text, i, name, epsilon)
                assert words == list(ours.candidates)
                np.testing.assert_allclose(log_probs, ours.log_probs, rtol=0, atol=1e-9)
                compared += 1
    assert compared >= 24


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_guarantee_and_what_is_not_protected_are_the_same(name):
    texts = (*TEXTS, "doctor", "doctor sister", "the doctor.", "zzqx", "one two 🙂 three 🙂", "doctor " * 130)
    for epsilon in (1.0, 8.1, 9.2103, 9.2104, 12.345, 0.1 + 0.2, 50.0, 249.99):
        m = made(name, epsilon)
        for text in texts if epsilon == 8.1 else texts[:2]:
            asked = 1.0 if name in WITHOUT_EPSILON else epsilon
            assert_same_guarantee(rewrite(text, name, asked)["guarantee"], m.guarantee(text))
    assert name in WITHOUT_EPSILON or "1,300" in rewrite("doctor " * 1300, name, 1.0)["guarantee"]["sentence"]


def test_a_blocklist_has_the_same_effect():
    never = ("my", "doctor", "physician", "word", "🙂")
    m = dpt.get_mechanism("diffractor", epsilon=1.1, never=never)
    for text in (TEXTS[1] + " Word-by-word.", "🙂 " + TEXTS[3], ""):
        result, theirs = m.rewrite(text), rewrite(text, "diffractor", 1.1, never=never)
        assert_same_guarantee(theirs["guarantee"], result.guarantee)
        assert [r["origin"] == "drawn" for r in theirs["releases"]] == [u.is_sampled for u in result.units]
        for i in [i for i, u in enumerate(result.units) if u.is_sampled][-2:]:
            ours, (words, log_probs) = result.distribution(i), law(text, i, "diffractor", 1.1, never=never)
            assert words == list(ours.candidates)
            np.testing.assert_allclose(log_probs, ours.log_probs, rtol=0, atol=1e-9)
        released = {w for r in theirs["releases"] for w in Document.parse(r["text"]).words}
        assert not [w for w in released if m.never.bans(w)]


@pytest.mark.parametrize("recase", ["none", "sentence", "public"])
def test_sampled_and_copied_words_are_written_alike(recase):
    m: Any = dpt.get_mechanism("custext", epsilon=8.0, recase=recase)
    changed = 0
    for text in (
        *HOSTILE,
        *NOTES[:: 1 if recase == "public" else 6],
        "an old doctor told a friend . it 's a march hare , an apple , an usa map .",
    ):
        prepared = m.prepare(text)
        begins = prepared.skeleton.begins
        theirs = rewrite(text, "custext", 8.0, options={"recase": recase})
        words: list[str | None] = []
        for i, release in enumerate(theirs["releases"]):
            assert theirs["text"][release["start"] : release["end"]] == release["text"]
            words.append(release["text"] if prepared.reasons[i] is None else None)
            if words[i] is not None and i % 4 == 0:
                forms = {m._case(w, m._capital("", begins[i])) for w in m.distribution(prepared, i).candidates}
                assert words[i] in forms, (text, i)
        skeleton, written = finished(m.config, prepared.skeleton, words)
        assert theirs["text"] == skeleton.fill(words).text, text
        changed += len(written)
    assert (changed > 2) == (recase == "public")


@pytest.mark.parametrize("recase", ["none", "public"])
@pytest.mark.parametrize("allow", [(), LISTED])
def test_redaction_releases_the_same_text(recase, allow):
    for detector in DETECTORS:
        m = dpt.get_mechanism("redact", detector=detector, recase=recase, allowlist=allow)
        for text in [*NOTES, *HOSTILE, NOTE, "an anna saw a omar . the 3 may , in lisbon street"]:
            options = {"detector": detector, "recase": recase}
            ours, theirs = m.rewrite(text), rewrite(text, "redact", 1.0, options=options, allow=allow)
            assert theirs["text"] == ours.text, text
            assert theirs["guarantee"]["exposed"] == list(ours.guarantee.exposed)
            assert theirs["guarantee"]["sentence"] == ours.guarantee.sentence()


@pytest.mark.parametrize("recase", ["none", "public"])
@pytest.mark.parametrize("allow", [(), LISTED])
def test_surrogates_release_everything_but_the_flagged_words(recase, allow):
    m: Any = dpt.get_mechanism("surrogates", recase=recase, allowlist=allow)
    seen = set()
    for text in [*NOTES[:20], *HOSTILE, *[NOTE] * 20]:
        prepared = m.planned(text)
        theirs = rewrite(text, "surrogates", 1.0, options={"recase": recase}, allow=allow)
        words = [r["text"] if i in prepared.channels else None for i, r in enumerate(theirs["releases"])]
        assert all(words[i] in channel.candidates for i, channel in prepared.channels.items()), text
        assert all(words[i] == words[first] for i, first in prepared.first.items())
        skeleton, _ = finished(m.config, prepared.document.skeleton([w is not None for w in words]), words)
        assert theirs["text"] == skeleton.fill(words).text
        assert theirs["guarantee"]["exposed"] == list(m.guarantee(text).exposed)
        seen.add(theirs["text"] if text == NOTE else "")
    assert len(seen) > 15


@pytest.mark.parametrize("name, epsilon", [("custext", 8.1), ("diffractor", 1.1)])
@pytest.mark.parametrize("allow", [(), LISTED])
def test_a_mechanism_that_reads_stand_ins_is_the_same(name, epsilon, allow):
    m: Any = dpt.get_mechanism(name, epsilon=epsilon, surrogates=True, recase="public", allowlist=allow)
    for text in (NOTE, *HOSTILE[:6], *NOTES[:12]):
        prepared = m.planned(text)
        words = m.draw(prepared, dpt.NoiseStream(3))
        given = prepared.with_words(words)
        how = {"options": {"surrogates": True}, "standIns": {str(i): w for i, w in words.items()}, "allow": allow}
        theirs = rewrite(text, name, epsilon, **how)
        assert_same_guarantee(theirs["guarantee"], m.guarantee(text))
        released = [r["text"] for r in theirs["releases"]]
        assert {i: released[i] for i in words} == words
        reasons = [r["reason"] for r in theirs["releases"]]
        assert [r if r != "not in the vocabulary" else "" for r in reasons] == [r or "" for r in given.reasons]
        shown = [w if i in words or given.reasons[i] is None else None for i, w in enumerate(released)]
        skeleton, _ = finished(m.config, prepared.document.skeleton([w is not None for w in shown]), shown)
        assert theirs["text"] == skeleton.fill(shown).text
        for i in [i for i, reason in enumerate(given.reasons) if reason is None][-4:]:
            ours, (names, log_probs) = m.inner.distribution(given, i), law(text, i, name, epsilon, **how)
            assert names == list(ours.candidates)
            np.testing.assert_allclose(log_probs, ours.log_probs, rtol=0, atol=1e-9)


def test_stand_ins_are_drawn_again_and_none_is_on_the_blocklist():
    never = [*(w.lower() for w in candidates("weekday", ENGLISH)[:5]), "haddad"]
    options = {"surrogates": True}
    days = {rewrite(NOTE, "diffractor", 1.1, options=options, never=never)["releases"][1]["text"] for _ in range(20)}
    assert days == {"Saturday", "Sunday"}


def test_an_allowlist_is_refused_where_it_has_no_effect_or_meets_the_blocklist():
    failed = "(how) => prepare('doctor', how).then(() => '', (e) => e.message)"
    how = {"mechanism": "custext", "allow": ["omar"]}
    assert "does not support an allowlist" in ask(failed, how)
    both = {"mechanism": "diffractor", "options": {"surrogates": True}, "allow": ["omar"], "never": ["omar"]}
    assert ask(failed, both).startswith("“omar” is on both")
    with pytest.raises(dpt.ConfigError, match="on both"):
        dpt.get_mechanism("diffractor", surrogates=True, allowlist=("omar",), never=("omar",))


@pytest.mark.parametrize("name", ["custext", "diffractor"])
def test_only_an_epsilon_with_a_guarantee_is_taken(name):
    most = min(dpt.get_mechanism(name).max_epsilon, 1400)
    assert rewrite("doctor", name, most)["guarantee"]["epsilon"] == most
    check = """async (name, epsilons) => {
      const { spec } = await prepare("doctor", { mechanism: name });
      const said = (e) => { try { modules["choices.js"].check(spec, e); return ""; } catch (p) { return p.message; } };
      return epsilons.map(said);
    }"""
    refused = [-1, 0, 1e-10, most + 1, "abc", "8", None, True]
    for epsilon in (math.nan, math.inf, *refused):
        with pytest.raises(dpt.ConfigError):
            dpt.get_mechanism(name, epsilon=epsilon).rewrite("doctor")
    assert all(said.startswith("epsilon must be a number from") for said in ask(check, name, refused))


#: 12 scores, and as many among 500 others that are low: of most of those no noise is drawn.
SCORES = {"few": -np.arange(12) / 24.0, "many": np.concatenate([-np.arange(12) / 24.0, -0.5 - np.arange(500) / 1e4])}
DRAWS = """(kind, scores, epsilon, n) => {
  const SHAPE = { sigma: 2, low: 0, width: 0.4, growth: 0.16, widest: 5, firm: 6, power: 1, spread: 200 };
  const laws = modules["distributions.js"];
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
    if (noise.at(epsilon) !== at) throw new Error("the noise is not locked");
  }
  return [counts, ...[epsilon, 1.1 * epsilon].map((e) => [...law.logProbs(e)].map(Math.exp))];
}"""


def p_value(counts: np.ndarray, probs: np.ndarray) -> float:
    """Return the p-value of Pearson's test, in which words that are expected fewer than 5 times count as one."""
    n, rare = counts.sum(), probs * counts.sum() < 5
    seen = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(probs[~rare], probs[rare].sum()) * n
    some = expected > 0
    return float(chi2.sf(((seen - expected)[some] ** 2 / expected[some]).sum(), some.sum() - 1))


@pytest.mark.parametrize(
    "kind, scores, epsilon",
    [("scored", "few", 8.0), ("scored", "many", 8.0), ("scored", "many", 40.0), ("ranked", "few", 8.0),
     ("onList", "few", 0.7), ("alike", "few", 8.0), ("shifted", "few", 8.0)],
)  # fmt: skip
def test_words_are_sampled_from_their_distribution(kind, scores, epsilon):
    """χ² at 1e-6 with 20,000 draws; the same draws reject the distribution at an ε 10% larger."""
    counts, here, other = map(np.array, ask(DRAWS, kind, SCORES[scores].tolist(), epsilon, 20_000))
    assert p_value(counts, here) > 1e-6
    assert p_value(counts, other) < 1e-6


def test_flips_are_those_of_noise_on_every_candidate():
    """How often the word changes between two ε, and how often it is the original, as in the library's own draws."""
    call = """(scores, low, high, n) => {
      const law = modules["distributions.js"].scored(scores.map(String), Float64Array.from(scores), 0);
      const all = Array.from({ length: n }, () => law.noise().flips(low, high));
      return all.map((f) => [f.length, f[0][1] === 0, f.at(-1)[1] === 0]);
    }"""
    rng = np.random.default_rng(3)
    scores = np.concatenate([[0.0], np.clip(rng.normal(-0.3, 0.08, 2999), -0.5, 0)])
    theirs = np.array(ask(call, scores.tolist(), 10.0, 60.0, 2000), float)
    ours: list[list[float]] = []
    for _ in range(2000):
        noise = rng.gumbel(size=len(scores))
        winners = [int((e * scores + noise).argmax()) for e in np.geomspace(10, 60, 60)]
        ours.append([float(1 + np.count_nonzero(np.diff(winners))), float(winners[0] == 0), float(winners[-1] == 0)])
    a, b = theirs.mean(0), np.mean(ours, 0)
    spread = np.sqrt(theirs.var(0) / 2000 + np.var(ours, 0) / 2000)
    assert (np.abs(a - b) < 5 * spread + [0.05, 0, 0]).all(), (a, b)  # a grid misses a flip between two points


def test_uniforms_reach_far_below_the_smallest_that_64_bits_give():
    call = """() => {
      const { source, uniforms, logUniform } = modules["sampling.js"];
      const fill = source.fill;
      const zeros = (n) => {
        let left = n;
        source.fill = (words) => { for (let i = 0; i < words.length; i += 1) words[i] = left-- > 0 ? 0 : 2 ** 31; };
      };
      zeros(10);
      const u = uniforms(1)[0];
      zeros(100);
      const out = [u, logUniform()];
      source.fill = fill;
      return out;
    }"""
    u, log = ask(call)
    assert u == pytest.approx(2.0**-321, rel=1e-9) and log == pytest.approx(-3201 * np.log(2.0), rel=1e-12)


def test_the_words_worth_showing_are_the_likeliest_anywhere_on_the_axis():
    call = """(proposal, shift, low, high) => {
      const SHAPE = { sigma: 2, low: 0, width: 0.4, growth: 0.16, widest: 5, firm: 6, power: 1, spread: 200 };
      const [words, scores, above] = [proposal.map(String), Float64Array.from(proposal), Float64Array.from(shift)];
      const law = modules["distributions.js"].shifted(words, scores, above, SHAPE, -1, [low, high]);
      return [law.near, [0, 1, 2, 3, 4].map((k) => [...law.logProbs(low * (high / low) ** (k / 4))])];
    }"""
    rng = np.random.default_rng(1)
    for proposal, shift in ((rng.normal(0, 3, 3000), rng.normal(0, 4, 3000)), (np.zeros(50), rng.normal(0, 4, 50))):
        near, laws = ask(call, proposal.tolist(), shift.tolist(), 5.0, 100.0)
        assert near == np.argsort(-np.max(laws, 0), kind="stable")[:9].tolist()


def test_the_view_shows_copied_words_as_they_are_released():
    """An article changes with the word behind it, at any ε."""
    call = """async (text, epsilon) => {
      const prepared = await prepare(text, { mechanism: "custext" });
      const { data } = await modules["view.js"].payload(engine, prepared, { run: 1, draw: "", epsilon });
      return data.tokens;
    }"""
    tokens = ask(call, "an old doctor told a friend . It was a big apple .", 8.0)
    assert tokens[0]["forms"] == ["A", "An"] and tokens[4]["forms"] == ["a", "an"]
    vowels = [agreeing_article(ENGLISH, "a", word) == "an" for word in tokens[1]["c"]]
    assert [k for k, second in enumerate(vowels) if second] == tokens[1]["second"] and any(vowels)
    assert [t["o"] for t in tokens if "forms" in t] == ["an", "a", "a"]
    assert [t["pre"] for t in tokens if t["o"] == "."] == ["", ""]
