"""Words that are never released: what is drawn over the smaller set is the mechanism over that set."""

from __future__ import annotations

import gc
import json
import re
import runpy
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import small_banks
from guarantee_terms import kinds
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from small_spaces import random_space, words
from tiny_generators import tiny_generator

import dptext_core as dpt
from dptext_core import attacks, cli
from dptext_core.mechanisms.blocklist import Blocklist, fold, forms, public_blocklist, word_set
from dptext_core.mechanisms.masked.model_words import candidates
from dptext_core.mechanisms.words.mvc import nearest_words
from dptext_core.mechanisms.words.word_groups import build_groups, utilities
from dptext_core.mechanisms.writing.spelling import Spelling
from dptext_core.words import WordSpace
from dptext_core.words import smaller_spaces as made_smaller
from dptext_lab.results import deniability

N = 30
LISTED = tuple(words(N)[i] for i in (0, 3, 4, 11, 29))
LEFT = tuple(w for w in words(N) if w not in LISTED)
TEXT = " ".join(words(N)[1:9])
SPACE_NAMES = ("santext", "santext-plus", "custext", "tem", "mvc", "mahalanobis", "vickrey", "gumbel")


@pytest.fixture(scope="module")
def space(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("never") / "space.npz"
    np.savez(path, words=np.array(words(N)), vectors=random_space(N).vectors)
    return str(path)


def made(name: str, space: str, **options):
    where = {"lists": (f"{space}@1", f"{space}@2")} if name == "diffractor" else {"space": space}
    return dpt.get_mechanism(name, **{"keep_stopwords": False, "recase": "none", "never": LISTED} | where | options)


def smaller() -> WordSpace:
    whole = random_space(N)
    return WordSpace("small", "", LEFT, whole.vectors[whole.rows(LEFT)])


def test_the_set_is_the_vocabulary_without_them(space):
    assert fold("Ｄamn\u200b") == "damn" and forms("Sea-Side") == ("sea-side", "sea", "side")
    assert {"don't-knows", "don't", "knows"} < set(forms("Don’t-knows")) and "o'clock" in forms("o'clock'")
    for name in (*SPACE_NAMES, "diffractor"):
        m = made(name, space)
        assert set(m.vocabulary.words) == set(LEFT)
        # A listed word that was written is a word that the vocabulary does not have.
        assert m.token_row(m.prepare(f"{LISTED[0]} {LEFT[0]}"), 0) is None
        assert m.distribution(LISTED[0], 0).probs == pytest.approx(np.full(len(m.distribution(LISTED[0], 0)), 1 / 25))


#: One of each kind that Unicode calls default ignorable: joiners, hyphens that are not shown, directions, selectors,
#: fillers, tags, and what is reserved for more of them.
INVISIBLE = (
    "\u00ad",
    "\u034f",
    "\u061c",
    "\u115f",
    "\u1160",
    "\u17b4",
    "\u17b5",
    "\u180b",
    "\u180e",
    "\u180f",
    "\u200b",
    "\u200c",
    "\u200d",
    "\u200e",
    "\u202e",
    "\u2060",
    "\u2065",
    "\u2069",
    "\u206f",
    "\u3164",
    "\ufe00",
    "\ufe0f",
    "\ufeff",
    "\uffa0",
    "\ufff0",
    "\ufff8",
    "\U0001bca0",
    "\U0001d173",
    "\U000e0000",
    "\U000e0041",
    "\U000e0100",
    "\U000e01ef",
    "\U000e0fff",
)


@pytest.mark.parametrize("hidden", INVISIBLE, ids=ascii)
def test_what_is_invisible_makes_no_other_word(hidden):
    never = Blocklist(frozenset(["heck", "café"]))
    for spelled in (f"he{hidden}ck", f"{hidden}heck", f"heck{hidden}", f"H{hidden}e{hidden}CK", f"sea-he{hidden}ck"):
        assert never.bans(spelled), ascii(spelled)
    assert never.bans(f"cafe{hidden}\u0301"), "what is hidden between a letter and its accent keeps them apart"
    assert word_set("never", [f"he{hidden}ck"]) == ("heck",)
    # A piece with it changes words that stand around it, and cannot be compared by itself.
    assert 0 in Spelling([hidden, "he", "ck"], never).banned([1])


def test_letters_that_unicode_calls_the_same_are_the_same_and_others_are_not():
    never = Blocklist(frozenset(["heck", "café"]))
    marked = ("he\u0338ck", "he\u20ddck", "h\u1ab2eck", "cafe\u0301", "cafe\u0338\u0301")
    for same in ("ｈｅｃｋ", "HECK", "ℎeck", "CAFÉ", *marked):
        assert never.bans(same), ascii(same)
    # Another letter, however alike, is another letter: й and é are not и and e, and Cyrillic is not Latin.
    for other in ("hеck", "héck", "cafe", "hecks"):
        assert not never.bans(other), ascii(other)


@given(st.text(st.one_of(st.characters(), st.sampled_from("aeh’ſıİßé\u0301\u0338\u0345\u034f\u1160ㅤ각가")), max_size=12))
def test_folding_twice_is_folding_once(text):
    once = fold(text)
    assert fold(once) == once


def test_a_word_with_something_invisible_in_it_is_not_kept(space):
    for name in SPACE_NAMES:
        m = made(name, space, oov="keep", never=("heck",))
        for hidden in ("\u034f", "\ufe0f", "\u3164"):
            assert "ck" not in m.rewrite(f"he{hidden}ck {LEFT[0]}", seed=1).text


def test_distributions_are_those_of_the_smaller_space_worked_out_by_hand(space):
    x = smaller().vectors.astype(np.float64)
    d, row = cdist(x, x), LEFT.index(words(N)[1])

    def stated(name: str, epsilon: float, **options) -> np.ndarray:
        found = made(name, space, epsilon=epsilon, **options).distribution(TEXT, 0)
        return np.array([found.p(w) for w in LEFT])

    def normal(weights: np.ndarray) -> np.ndarray:
        return weights / weights.sum()

    assert stated("santext", 4.0) == pytest.approx(normal(np.exp(-2.0 * d[row])), rel=1e-6)
    assert stated("tem", 4.0, gamma=1.5) == pytest.approx(normal(np.exp(-2.0 * np.minimum(d[row], 1.5))), rel=1e-6)
    groups = build_groups(smaller(), 6, "balanced")
    outputs = groups.outputs[groups.group[row]]
    wanted = np.zeros(len(LEFT))
    wanted[outputs] = normal(np.exp(1.5 * utilities(smaller(), np.array([row]), outputs[None], "cosine")[0]))
    assert stated("custext", 3.0, k=6) == pytest.approx(wanted, rel=1e-6)
    lists = [[w for w in dpt.word_list(f"{space}@{seed}").words if w in LEFT] for seed in (1, 2)]
    places = [{w: i for i, w in enumerate(one)} for one in lists]
    wanted = np.zeros(len(LEFT))
    for at in places:
        here = at[LEFT[row]]
        far = np.array([abs(at[w] - here) for w in LEFT])
        ends = np.array([at[w] in (0, len(LEFT) - 1) for w in LEFT])
        q = np.exp(-0.7 * far)
        wanted += q * np.where(ends, 1 / (1 + np.exp(-0.7)), np.tanh(0.35)) / 2
    assert wanted.sum() == pytest.approx(1.0)
    assert stated("diffractor", 0.7) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("name", ["mvc", "mahalanobis", "vickrey"])
def test_noise_becomes_the_nearest_word_that_may_be_released(space, name):
    m = made(name, space, epsilon=3.0)
    points = np.random.default_rng(0).normal(size=(40, 6))
    rows = nearest_words(m.vocabulary, points)[0][:, 0]
    assert [m.vocabulary.words[r] for r in rows] == [LEFT[i] for i in cdist(points, smaller().vectors).argmin(axis=1)]
    assert set(m.rewrite(" ".join([LEFT[0]] * 200), seed=1).text.split()) <= set(LEFT)


def test_bounds_of_the_whole_space_hold_in_the_smaller_one():
    m = dpt.get_mechanism("santext", never=["doctor", "hospital"])
    whole = dpt.word_space()
    assert len(m.vocabulary) == len(whole) - 2 and m.vocabulary.bounds == whole.known_delta
    g = m.guarantee("pain")
    assert (g.epsilon, g.largest) == (m.config.epsilon, whole.delta[1])
    rows = whole.rows(["pain", "disease"])
    assert m.distances(["pain", "disease"])[0, 1] == pytest.approx(float(whole.distance_rows(rows[:1])[0, rows[1]]))
    assert np.isnan(m.distances(["pain", "doctor"])[0, 1])


@pytest.mark.slow
@pytest.mark.usefixtures("few_rewrites")
@pytest.mark.parametrize("name", ["santext", "dp-mlm"])
def test_the_audit_holds(space, name, tiny_model):
    m, inputs = dpt.get_mechanism("dp-mlm", model=tiny_model, never=["friend"]), ["My friend paid.", "My nurse paid."]
    if name != "dp-mlm":
        m, inputs = made(name, space), list(LEFT[:6])
    report = dpt.audit(m, inputs=inputs, draws=100)
    assert report.verdict == "holds", str(report)


@pytest.mark.parametrize("name", ["dp-mlm", "dp-mlm-prior"])
def test_candidates_are_those_of_the_model_without_them(tiny_model, name):
    """By the scores of the whole model: with the listed ones taken out, the rest shares all of the chance."""
    text, listed = "The doctor told my friend of pain.", ("pain", "friend", "wine")
    fixed = {"shift_min": -1.0, "shift_max": 1.0} if name == "dp-mlm-prior" else {}
    plain, m = (dpt.get_mechanism(name, model=tiny_model, never=never, **fixed) for never in ((), listed))
    known = candidates(tiny_model, m.language)
    assert [w for w in known if w not in m.candidates] == [w for w in known if w in listed]
    r = m.rewrite(text, seed=2)
    drawn = m.replace(never=("the",)).rewrite(text, seed=2).steps[0]
    assert (r.steps[0].action, drawn.action, drawn.epsilon) == ("keep", "replace", m.config.epsilon)
    for i in (1, 4, 6):
        before, now = plain.distribution(text, i), m.distribution(text, i)
        left = before.probs[[known.index(w) for w in m.candidates]]
        assert now.probs == pytest.approx(left / left.sum(), rel=1e-6)
        assert now.p_keep() == (0.0 if i != 1 else pytest.approx(before.p_keep() / left.sum()))
    assert len(r.logits(1) if name == "dp-mlm" else m.candidates) == len(m.candidates)


def test_a_text_in_pieces_never_spells_one(tmp_path):
    """At every step the tokens that are left share the chance; which they are follows from what was written."""
    pieces = ["", " ass", "ass", "ume", " ", "-", " as", "s", "um", " bass-ass", "é", "\ufffd", "\u0301", " A\nss"]
    spelling = Spelling(pieces, Blocklist(frozenset(["ass", "as"])))

    def allowed(*written: int) -> set[int]:
        return set(range(len(pieces))) - set(spelling.banned(written).tolist())

    always = {1, 6, 9, 11, 12}
    assert allowed() == set(range(14)) - always - {2}
    assert allowed(10) == set(range(14)) - always  # "éass" is another word
    assert allowed(13) == set(range(14)) - always
    assert Spelling(["a", "s", " a"], Blocklist(frozenset(["as"]))).banned([0]).tolist() == [1]
    assert Spelling(["a", "s", " a"], Blocklist(frozenset(["as"]))).banned([1, 2]).tolist() == [1]

    folder = tiny_generator(tmp_path, "gpt2")
    plain = dpt.get_mechanism("dp-paraphrase", model=str(folder), max_tokens=6)
    text = "my doctor told me"
    listed = sorted({t.strip() for t in plain.generator().surfaces if t.strip().isalpha() and t.isascii()})[::2][:40]
    m = plain.replace(never=listed)
    r = m.rewrite(text, seed=1)
    shown = m.generator().surfaces
    for i in range(len(r.releases)):
        d, before = r.distribution(i), r.trace.written.tokens[:i]
        so_far = "".join(shown[t] for t in before)
        whole = [all(c.isascii() or unicodedata.category(c)[0] in "LN" for c in t) for t in shown]
        fits = [w and not set(forms(so_far + t)) & set(m.config.never) for w, t in zip(whole, shown, strict=True)]
        full = plain.table(r.logits(i)).at(m.config.epsilon).probs * fits
        assert d.probs == pytest.approx(full / full.sum(), rel=1e-6)
    other = m.likelihood.given(m.prepare("your nurse left"), r)
    assert [np.isinf(o.log_probs).tolist() for o in other] == [
        np.isinf(r.distribution(i).log_probs).tolist() for i in range(len(r.releases))
    ]
    assert np.isfinite(m.likelihood.log([m.prepare(text)], [r])).all()


def test_what_is_no_word_is_refused_with_what_to_do(space):
    assert word_set("never", ["Heck ", "darn", "heck", ""]) == ("darn", "heck")
    for listed, why in {
        "two words": "not one word",
        "x" * 101: "not one word",
        "...": "is punctuation",
        "f*ck": "is read as 3 words",
    }.items():
        with pytest.raises(dpt.ConfigError, match=why):
            dpt.get_mechanism("santext", never=[listed])
    with pytest.raises(dpt.ConfigError, match="60,000 letters"):
        dpt.get_mechanism("santext", never=[f"w{i:05}" for i in range(9000)])
    for listed in ("heck", [3], {"heck": 1}):
        with pytest.raises(dpt.ConfigError, match="list of words"):
            dpt.get_mechanism("dp-mlm", never=listed)
    with pytest.raises(dpt.ConfigError, match="another treatment of unknown words"):
        dpt.get_mechanism("tem", never=["mask"], oov="mask")
    with pytest.raises(dpt.ConfigError, match="letters and digits"):
        dpt.get_mechanism("dp-prompt", never=["word-by-word"])
    for name in ("santext", "diffractor"):
        with pytest.raises(dpt.ConfigError, match="leaves no word"):
            made(name, space, never=words(N)).rewrite("a")


def test_a_mechanism_with_a_vocabulary_of_its_own_does_not_take_a_list_and_ignore_it(space):
    from dptext_core.mechanisms.words.santext import SanText

    example = runpy.run_path(str(Path(__file__).parents[2] / "docs/examples/randomised_response.py"))
    dpt.unregister("randomised-response")
    taken = example["RandomisedResponse"].create(space=space, never=LISTED, oov="keep")
    assert taken.vocabulary.words == LEFT
    assert not {*LISTED} & set(taken.rewrite(" ".join(words(N)), seed=1).text.lower().split())

    class Own(SanText):
        vocabulary = random_space(N)

    with pytest.raises(dpt.ConfigError, match="does not support a blocklist"):
        Own.create(never=LISTED).rewrite("a")
    with pytest.raises(dpt.ConfigError, match="does not support a blocklist"):
        type("Deaf", (SanText,), {"takes_never": False}).create(never=LISTED)


def test_the_command_takes_words_and_files_and_is_written_back(tmp_path, space, capsys):
    (tmp_path / "w.txt").write_text("\n".join(LISTED[2:]), encoding="utf-8")
    options = ["rewrite", "--mechanism", "santext", "--space", space, "--oov", "keep", "--no-keep-stopwords", "--quiet"]
    given = ["--never", ",".join(LISTED[:2]), "--never-file", str(tmp_path / "w.txt")]
    assert cli.main([*options, *given, " ".join(words(N) * 4)]) == 0
    assert set(capsys.readouterr().out.lower().split()) <= set(LEFT)
    with pytest.raises(SystemExit):
        cli.main([*options, "--never-file", str(tmp_path / "none.txt"), "a"])
    assert "none.txt cannot be read" in capsys.readouterr().err
    m = made("santext", space)
    assert ["--never", ",".join(sorted(LISTED))] in [m.setting.flags()[i : i + 2] for i in range(9)]
    assert "5 words never released" in m.setting.described()


def smaller_spaces() -> int:
    gc.collect()
    return len(made_smaller._smaller)


@pytest.mark.slow
def test_a_space_without_some_words_goes_with_the_last_who_uses_it(space, monkeypatch, new_objects):
    """Else each visitor's list would leave a copy of a word space in the process: all caches are by weak reference."""
    made_smaller._without.cache_clear()
    before = smaller_spaces()
    for k, name in enumerate(("santext", "custext", "mvc", "gumbel")):
        for word in words(N)[5:7]:
            m = made(name, space, never=(word,))
            m.rewrite(TEXT, seed=k)
            del m
    attacks.public_prior(made("santext", space))
    # Two for whoever asks again, and two with noise that MVC keeps.
    assert smaller_spaces() - before <= 4
    # What a server of strangers holds at most: one more is refused with what to do, until one is gone.
    monkeypatch.setattr(made_smaller, "most_smaller", smaller_spaces() + 1)
    held = [made("santext", space, never=(word,)) for word in words(N)[5:9]]
    for m in held[:3]:
        m.vocabulary  # noqa: B018
    with pytest.raises(dpt.Busy, match="Empty the list, or try again"):
        held[3].rewrite(TEXT)
    del held[:2], m
    assert LEFT and held[-1].rewrite(TEXT).text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["santext", "diffractor"])
def test_word_spaces_leave_loaded_words_out_as_they_leave_out_a_list(name):
    plain = dpt.get_mechanism(name)
    without = plain.replace(loaded_words=False)
    listed = plain.replace(never=sorted(public_blocklist()))
    assert plain.config.loaded_words and not plain.never, "by itself it is the published mechanism"
    gone = set(plain.vocabulary.words) - set(without.vocabulary.words)
    assert len(gone) == 66 and gone <= public_blocklist() and without.vocabulary.words == listed.vocabulary.words
    text = "My doctor paid for a pistol."
    assert without.rewrite(text, seed=3).text == listed.rewrite(text, seed=3).text
    mine, theirs = without.guarantee(text), plain.guarantee(text)
    assert (mine.epsilon, mine.never, mine.loaded, theirs.loaded) == (theirs.epsilon, 0, len(public_blocklist()), 0)
    assert "blocklist" not in kinds(mine)
    assert "unknown-replaced" in kinds(mine), "pistol is a word that it does not have"
    assert deniability.bundled_curve(without) is deniability.bundled_curve(plain)


def test_everyones_space_takes_no_room_that_lists_of_visitors_have(monkeypatch):
    monkeypatch.setattr(made_smaller, "most_smaller", 0)
    name = "santext"
    spaces = [dpt.get_mechanism(name, loaded_words=False).vocabulary for _ in range(2)]
    assert spaces[0] is spaces[1] and spaces[0] not in made_smaller._smaller


def test_a_bank_leaves_out_sentences_with_loaded_words(tmp_path):
    loud = ("He had a Pistol.", "The nipple-high water rose.", "A whore!")
    bank = str(small_banks.write(tmp_path / "bank", (*small_banks.SENTENCES, *loud)))
    plain = dpt.get_mechanism("dp-sentence", bank=bank)
    assert tuple(plain.candidates) == (*small_banks.SENTENCES, *loud)
    assert tuple(plain.replace(loaded_words=False).candidates) == small_banks.SENTENCES


@pytest.mark.parametrize("name", ["dp-mlm", "dp-mlm-plus", "dp-mlm-prior"])
def test_without_loaded_words_it_is_the_mechanism_over_the_others(name):
    text, epsilon = "My brother paid the clinic for a whore.", 20.0
    plain = dpt.get_mechanism(name, epsilon=epsilon)
    without = plain.replace(loaded_words=False)
    assert plain.config.loaded_words and not plain.never, "by itself it is the published mechanism"
    rows = without.distribution(text, 1), plain.distribution(text, 1)
    if name == "dp-mlm-prior":  # a proposal over fewer words has another normaliser
        pairs = [(a, rows[1].candidates.index(a)) for a in rows[0].candidates[:50]]
        ratios = [np.log(rows[0].probs[k] / rows[1].probs[j]) for k, (_, j) in enumerate(pairs)]
        assert np.ptp(ratios) < 0.1
    else:
        kept = np.isin(rows[1].candidates, rows[0].candidates)
        np.testing.assert_allclose(rows[0].probs, rows[1].probs[kept] / rows[1].probs[kept].sum(), rtol=1e-6)
    gone = set(rows[1].candidates) - set(rows[0].candidates)
    assert len(gone) == 66 and {"whore", "nipple", "pistol"} < gone and gone <= public_blocklist()
    assert not public_blocklist() & {"hiv", "protestant", "homosexual", "stupid", "god"}, (
        "no illness, faith or plain word"
    )
    assert "whore" not in without.rewrite(text, seed=1).text, "a listed word is drawn as any other"
    mine, theirs = without.guarantee(text), plain.guarantee(text)
    assert (mine.epsilon, mine.total, mine.never, mine.loaded) == (
        theirs.epsilon,
        theirs.total,
        0,
        len(public_blocklist()),
    )
    assert mine.exposed == theirs.exposed, "everybody's list tells nothing of this text"
    own = without.replace(never=("clinic",)).guarantee(text)
    assert (own.never, own.loaded) == (1, len(public_blocklist())) and "blocklist" in kinds(own)
    program, user = (line for line in own.lines() if "blocklist:" in line)
    assert "1,372 offensive words" in program and "Your blocklist: 1 word is" in user


def test_bundled_scores_serve_the_others_too():
    from dptext_core.support.assets import examples
    from dptext_studio import precomputed

    text = examples()[0].text
    whole, fewer = (precomputed.load(text, dpt.Setting("dp-mlm", o)) for o in ({}, {"loaded_words": False}))
    assert whole is not None and fewer is not None
    keys = [(i, False) for i in whole.targets[:3]]
    model = dpt.get_mechanism("dp-mlm").config.model
    kept = [
        k for k, w in enumerate(candidates(model, dpt.get_mechanism("dp-mlm").language)) if w not in public_blocklist()
    ]
    np.testing.assert_array_equal(fewer.logits(keys), whole.logits(keys)[:, kept])


def test_the_list_that_comes_with_the_program_is_read_whole():
    public_blocklist.cache_clear()
    found = public_blocklist()
    assert len(found) == 1372 and {"alligatorbait"} <= found and not {"doctor", ""} & found
    assert all(w == w.casefold().strip() for w in found)


def test_no_word_of_a_list_stands_in_what_may_be_released():
    m = dpt.get_mechanism("custext", never=("bergen", "heart"))
    r = m.rewrite("She has heart trouble in Bergen.")
    assert r.to_dict()["config"]["never"] == "2 words"
    assert r.to_dict(trace=True)["config"]["never"] == ("bergen", "heart")
    released = json.dumps(r.to_dict()["config"]) + " ".join(m.setting.flags(places=False))
    assert not {"bergen", "heart"} & set(re.findall(r"\w+", released.lower()))
    assert "bergen,heart" in m.setting.flags()
