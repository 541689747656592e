"""DP-MLM and DP-MLM± against an independent recomputation with plain transformers, and their promises."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from guarantee_terms import entries, kinds
from scipy import stats

import dptext_core as dpt
from dptext_core.models import masked_lm_spec

TEXT = "The doctor told my friend that the pain was bad. She went home."
C_MIN, C_MAX = -4.0, 8.0  # the tiny model's range


@pytest.fixture
def mlm(tiny_model):
    return lambda name="dp-mlm", **options: dpt.get_mechanism(name, model=tiny_model, **options)


@cache
def plain(folder: str):
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    return AutoTokenizer.from_pretrained(folder), AutoModelForMaskedLM.from_pretrained(folder).eval()


def plain_logits(folder: str, context: str | None, masked: str) -> dict[str, float]:
    """Logits at the single mask of ``masked``, by plain transformers, of the tokenizer's whole words."""
    import torch

    tok, model = plain(folder)
    x = tok(context, masked, return_tensors="pt") if context is not None else tok(masked, return_tensors="pt")
    with torch.no_grad():
        logits = model(**x).logits[0, (x["input_ids"][0] == tok.mask_token_id).nonzero()[0, 0]]
    return {w: float(logits[i]) for w, i in tok.get_vocab().items()}


@pytest.mark.parametrize("contextualize", [True, False])
@pytest.mark.parametrize("epsilon", [10.0, 50.0])
def test_probabilities_equal_an_independent_recomputation(mlm, tiny_model, contextualize, epsilon):
    m = mlm(epsilon=epsilon, contextualize=contextualize)
    d = m.distribution(TEXT, 1)
    logits = plain_logits(tiny_model, TEXT if contextualize else None, TEXT.replace("doctor", "[MASK]"))
    clipped = np.clip([logits[w] for w in d.candidates], C_MIN, C_MAX).astype(np.longdouble)
    weight = np.exp((clipped - C_MAX) / (2 * np.longdouble(C_MAX - C_MIN) / epsilon))
    exact = (weight / weight.sum()).astype(float)
    # bfloat16 scores, where the processor has it, move log p by about epsilon/2 · 2^-8 of the range.
    assert np.abs(np.log(d.probs) - np.log(exact)).max() < 0.02 * epsilon
    assert d.source == "doctor"


def test_draws_follow_the_probabilities(mlm):
    # Chi-square at level 1e-5 over 20,000 draws: a shift of 3% of a tenth of the mass is found with power > 0.99.
    m = mlm(epsilon=20.0)
    d = m.distribution(TEXT, 1)
    seen = Counter(d.sample(20_000, seed=5))
    counts = np.array([seen[w] for w in d.candidates])
    expected = d.probs * 20_000
    used = expected > 5
    rest = (counts[~used].sum() - expected[~used].sum()) ** 2 / max(expected[~used].sum(), 1e-9)
    statistic = ((counts - expected)[used] ** 2 / expected[used]).sum() + (rest if (~used).any() else 0)
    assert stats.chi2.sf(statistic, used.sum()) > 1e-5


def test_rewrites_are_drawn_from_the_shown_distribution(mlm):
    """The released word of 600 rewrites against the distribution shown for it."""
    m = mlm(epsilon=5.0)
    p = m.prepare("my doctor")
    d = m.distribution(p, 1)
    words = [m.rewrite(p, seed=k).steps[1].replacement.casefold() for k in range(600)]
    top = {w for w, _ in d.top(len(d) // 4)}
    share = sum(d.p(w) for w in top)
    hits = sum(w in top for w in words)
    assert stats.binomtest(hits, 600, share).pvalue > 1e-5


def test_two_texts_have_the_same_support(mlm):
    m = mlm(epsilon=250.0)
    a = m.distribution("The doctor was here", 1)
    b = m.distribution("My cat paid nothing today", 1)
    assert tuple(a.candidates) == tuple(b.candidates)
    assert (a.probs > 0).all() and (b.probs > 0).all()


@pytest.mark.parametrize("epsilon", [1.0, 50.0, 250.0, 1400.0])
def test_no_two_contexts_exceed_epsilon(mlm, epsilon):
    """Pure ε-LDP on the log-probabilities themselves, over contexts and both halves."""
    m = mlm(epsilon=epsilon)
    texts = ["The doctor was here", "My cat paid nothing today", "zzz xqj " * 9, "bread wine fish"]
    logs = [m.distribution(t, 1).log_probs for t in texts]
    worst = max(np.abs(a - b).max() for a in logs for b in logs)
    assert worst <= epsilon + 1e-9


def test_epsilon_beyond_the_numeric_limit_is_refused_with_the_reason(mlm):
    with pytest.raises(dpt.ConfigError, match="float64"):
        mlm(epsilon=1500.0)


def test_kept_tokens_are_the_listed_ones(mlm):
    r = mlm().rewrite("The doctor told my friend — again 🙂!", seed=1)
    reasons = {s.original: s.reason for s in r.steps if s.action == "keep"}
    assert reasons["The"] == reasons["my"] == "stop word" and reasons["!"] == "punctuation"
    assert reasons["🙂"] == "symbol"
    everything = mlm(keep_stopwords=False, keep_punctuation=False).rewrite("The doctor told my friend!", seed=1)
    assert all(s.action == "replace" for s in everything.steps)


def test_the_list_of_stop_words_is_the_file_as_it_is_when_a_text_is_prepared(mlm, tmp_path):
    path = tmp_path / "stop.txt"
    path.write_text("doctor\n")
    m = mlm(stopwords=str(path))

    def kept(given) -> list[str]:
        return [s.original for s in m.rewrite(given, seed=1).steps if s.action == "keep"]

    before = m.prepare("doctor friend")
    assert kept("doctor friend") == ["doctor"]
    path.write_text("friend\n")
    assert kept("doctor friend") == ["friend"] and kept(before) == ["doctor"]
    named = [entries(m.guarantee(t), "kept-tokens")[0]["source"] for t in (before, "doctor friend")]
    assert named[0] != named[1] and named[0] == entries(m.rewrite(before).guarantee, "kept-tokens")[0]["source"]
    path.unlink()
    with pytest.raises(dpt.InputError, match=r"stop\.txt"):
        m.rewrite("doctor friend")


def test_capitals_follow_a_public_rule(mlm):
    names = mlm(keep_stopwords=False, epsilon=1.0)
    upper = names.rewrite("DOCTOR Friend PARIS. ana went", seed=3)
    lower = names.rewrite("doctor friend paris. ana went", seed=3)
    assert [s.replacement[:1].isupper() for s in upper.steps] == [s.replacement[:1].isupper() for s in lower.steps]
    assert upper.text[0].isupper()
    copied = mlm(keep_stopwords=False, recase="original").rewrite("doctor Friend", seed=3)
    assert copied.steps[1].replacement[0].isupper() and copied.steps[0].replacement[0].islower()
    assert "capitals" in kinds(copied.guarantee) and "capitals" not in kinds(upper.guarantee)


def test_a_list_of_epsilons_has_one_value_a_token(mlm):
    r = mlm(epsilon=[5, 10, 20]).rewrite("my doctor went", seed=1)
    assert [s.epsilon for s in r.steps] == [0.0, 10.0, 20.0]
    assert r.guarantee.total == 30 and r.guarantee.epsilon == 20
    with pytest.raises(dpt.ConfigError, match="3 tokens"):
        mlm(epsilon=[5, 10]).rewrite("my doctor went")
    with pytest.raises(dpt.ConfigError):
        mlm().sweep("my doctor went", epsilons=[[1.0, 2.0, 3.0]])


def test_a_list_of_epsilons_draws_what_each_epsilon_would(mlm):
    one, two = (
        mlm(epsilon=7.0).rewrite("doctor went home", seed=2),
        mlm(epsilon=90.0).rewrite("doctor went home", seed=2),
    )
    mixed = mlm(epsilon=[7.0, 90.0, 7.0]).rewrite("doctor went home", seed=2)
    assert mixed.steps[0].replacement == one.steps[0].replacement
    assert mixed.steps[1].replacement == two.steps[1].replacement


def test_the_sequential_order_sees_what_was_released(mlm, tiny_model):
    m = mlm(order="sequential", epsilon=30.0, recase="none")
    r = m.rewrite("doctor told friend", seed=4)
    d = r.distribution(2)
    masked = f"{r.steps[0].replacement} {r.steps[1].replacement} [MASK]"
    logits = plain_logits(tiny_model, "doctor told friend", masked)
    clipped = np.clip([logits[w] for w in d.candidates], C_MIN, C_MAX)
    exact = np.exp(30 * (clipped - C_MAX) / (2 * (C_MAX - C_MIN)))
    # The model's scores are rounded to bfloat16 where the processor has that.
    assert np.abs(np.log(d.probs) - np.log(exact / exact.sum())).max() < 0.02 * 30
    assert r.guarantee.total == 90
    assert "sweep" not in r.can and "sweep" in mlm().rewrite("doctor told", seed=1).can


def test_a_named_range_gives_the_ends_that_are_not_given():
    clips = masked_lm_spec("bundled").clips
    for name, c in clips.items():
        got = dpt.get_mechanism("dp-mlm", clip=name).config
        assert (got.clip, got.clip_min, got.clip_max) == (name, c.low, c.high)
    assert dpt.get_mechanism("dp-mlm").config.clip == "tuned"
    own = dpt.get_mechanism("dp-mlm", clip="paper", clip_max=5.0).config
    assert (own.clip_min, own.clip_max) == (clips["paper"].low, 5.0)
    with pytest.raises(dpt.ConfigError, match="tuned, paper"):
        dpt.get_mechanism("dp-mlm", clip="wide")


def test_another_name_or_model_brings_its_own_range(mlm, tiny_model):
    clips = masked_lm_spec("bundled").clips
    tuned = dpt.get_mechanism("dp-mlm")
    assert tuned.replace(clip="paper").config.clip_max == clips["paper"].high
    assert tuned.replace(clip="paper").replace(clip="tuned").config == tuned.config
    other = tuned.replace(model=tiny_model).config
    assert (other.clip, other.clip_min, other.clip_max) == ("paper", C_MIN, C_MAX), "the tiny model has one range"
    assert dpt.get_mechanism("dp-mlm", clip_max=5.0).replace(clip="paper").config.clip_max == 5.0, "given: it stays"
    assert tuned.replace(epsilon=7.0).config.clip_max == clips["tuned"].high


def test_the_named_range_changes_no_promise_and_no_score(mlm):
    tuned, paper = dpt.get_mechanism("dp-mlm"), dpt.get_mechanism("dp-mlm", clip="paper")
    assert tuned.key == paper.key and tuned.guarantee(TEXT) == paper.guarantee(TEXT)


def test_what_each_range_costs_at_one_word(mlm):
    m = dpt.get_mechanism("dp-mlm", clip="paper", epsilon=100.0)
    r = m.rewrite(TEXT, seed=1)
    k = next(i for i, s in enumerate(r.steps) if s.original == "doctor")
    logits = r.logits(k)
    costs = {c.name: c for c in m.clipping.costs(logits, "doctor", 100.0)}
    assert set(costs) == {"tuned", "paper"} and [c.name for c in costs.values() if c.is_used] == ["paper"]
    assert costs["paper"].keep == r.distribution(k).p_keep()
    assert costs["tuned"].keep == m.replace(clip="tuned").distribution(TEXT, k).p_keep()
    assert costs["paper"].tied == (logits >= masked_lm_spec("bundled").clip_max).sum() > costs["tuned"].tied
    own = {c.name: c.is_used for c in m.replace(clip_max=5.0).clipping.costs(logits, "doctor", 100.0)}
    assert own == {"tuned": False, "paper": False, "your own": True}


def test_the_first_example_goes_from_nothing_kept_to_most_kept_along_its_axis():
    from pathlib import Path

    from dptext_core.support.assets import assets_folder
    from dptext_studio import precomputed

    folder = Path(assets_folder()) / "examples"
    first = json.loads((folder / "index.json").read_text(encoding="utf-8"))[0]
    text = (folder / first["file"]).read_text(encoding="utf-8").strip()
    prepared = precomputed.load(text, dpt.Setting("dp-mlm"))
    assert prepared is not None

    def kept(epsilon: float, **options) -> float:
        m = dpt.get_mechanism("dp-mlm", epsilon=epsilon, **options)
        tables = m.tables(prepared, [(i, False) for i in prepared.targets])
        return float(np.mean([t.at(epsilon).p_keep() for t in tables]))

    low, high, default = dpt.mechanism_class("dp-mlm").epsilon_range()
    assert kept(low) < 0.01 and 0.2 < kept(default) < 0.5 and kept(high) > 0.5
    assert kept(high, clip="paper") < 0.15


def test_what_is_made_of_a_shared_text_is_kept_and_says_the_same(mlm):
    m, narrow = mlm(epsilon=20.0), mlm(epsilon=20.0, clip_max=(C_MIN + C_MAX) / 2)
    own, shared = m.prepare(TEXT), m.prepare(TEXT)
    shared.share()
    keys = [(i, False) for i in shared.targets]
    tables = m.tables(shared, keys)
    assert all(a is b for a, b in zip(tables, m.replace(epsilon=3.0).tables(shared, keys), strict=True))
    for way in (m, narrow, mlm(epsilon=20.0, score="similarity")):
        for a, b in zip(way.tables(shared, keys), way.tables(own, keys), strict=True):
            assert a is not b and np.array_equal(a.scores, b.scores) and a.source == b.source
        stream = dpt.NoiseStream(5)
        assert way.rewrite(shared, stream=stream).text == way.rewrite(own, stream=stream).text
    assert len(shared._tables) <= 2 * len(keys), "of two ways"
    assert not own._tables and own._shared == [], "what only one looks at holds none"


def test_everybody_has_the_same_scores_of_a_bundled_text_and_nobody_of_another():
    from dptext_core.support import assets
    from dptext_studio import precomputed

    text, setting = assets.examples()[0].text, dpt.Setting("dp-mlm")
    one = precomputed.load(text, setting.at(5.0))
    assert one is not None and precomputed.load(text, setting.at(50.0)) is one and one._shared
    assert precomputed.load(text, dpt.Setting("dp-mlm", {"loaded_words": False})) is not one
    assert precomputed.load(text + " ", setting) is None


def test_the_clipping_range_is_resolved_and_can_be_moved(mlm, tmp_path):
    assert (mlm().config.clip_min, mlm().config.clip_max) == (C_MIN, C_MAX)
    narrow = mlm(clip_min=0.0, clip_max=0.001, epsilon=10.0).distribution(TEXT, 1)
    assert narrow.probs.max() / narrow.probs.min() <= math.exp(5) * (1 + 1e-9)
    with pytest.raises(dpt.ConfigError, match="below"):
        mlm(clip_min=3.0, clip_max=3.0)


def test_the_similarity_score_keeps_its_sensitivity(mlm):
    m = mlm(score="similarity", alpha=0.003, epsilon=40.0)
    p = m.prepare("doctor friend zzzq")
    tables = m.tables(p, [(0, False), (1, False), (2, False)])
    spread = max(np.abs(a.scores - b.scores).max() for a in tables for b in tables)
    assert spread <= 0.5 + 1e-12
    assert m.distribution(p, 0).p_keep() == m.distribution(p, 0).probs.max(), "nothing is more like a word than itself"
    assert m.guarantee(p).notion == "pure"


def test_unlike_words_count_as_not_alike_so_that_the_similarity_keeps_its_sensitivity(mlm, monkeypatch):
    """Cosines reach −1: two texts between which they do so must not differ by more than between 0 and 1."""
    from dptext_core.mechanisms.masked import dp_mlm

    m = mlm(score="similarity", alpha=0.003, epsilon=40.0)
    cosines = {"doctor": np.linspace(-1, 1, len(m.candidates)), "friend": np.linspace(1, -1, len(m.candidates))}
    monkeypatch.setattr(dp_mlm, "_similarities", lambda model, language, word: cosines[word])
    one, other = m.tables(m.prepare("doctor friend"), [(0, False), (1, False)])
    assert 0.45 < np.abs(one.scores - other.scores).max() <= 0.5
    logs = [t.at(40.0).log_probs for t in (one, other)]
    assert np.abs(logs[0] - logs[1]).max() <= 40.0


def test_the_antonym_filter_removes_antonyms_and_the_guarantee(mlm, monkeypatch):
    from dptext_core.mechanisms.masked import dp_mlm

    class Antonyms:
        def of(self, word):
            return frozenset({"bad"}) if word.casefold() == "good" else frozenset()

    monkeypatch.setattr(dp_mlm, "antonyms", lambda **given: Antonyms())
    m = mlm(antonym_filter=True)
    assert m.distribution("good food", 0).p("bad") == 0
    assert m.distribution("good food", 1).p("bad") > 0
    g = m.guarantee("good food")
    assert g.notion == "none" and g.reason.kind == "antonym-filter" and g.reason in g.sentence()


def test_long_texts_use_a_window_and_are_scored_in_blocks(mlm):
    text = " ".join(["doctor friend paid money in the city"] * 40)
    r = mlm(epsilon=50.0).rewrite(text, seed=1)
    assert len(r.steps) == 280
    assert r.distribution(140).probs.sum() == pytest.approx(1)


# --- DP-MLM±


def test_plus_deletes_and_adds(mlm):
    r = mlm("dp-mlm-plus", add_prob=0.5, del_prob=0.4).rewrite(" ".join(["doctor friend money"] * 30), seed=1)
    actions = [s.action for s in r.steps]
    n = 90
    assert stats.binomtest(actions.count("delete"), n, 0.4).pvalue > 1e-4
    assert stats.binomtest(actions.count("insert"), n, 0.5).pvalue > 1e-4
    assert len(r.text.split()) == actions.count("replace") + actions.count("insert")


def test_plus_with_no_chances_is_dp_mlm(mlm):
    a = mlm("dp-mlm-plus", add_prob=0.0, del_prob=0.0).rewrite(TEXT, seed=8)
    b = mlm().rewrite(TEXT, seed=8)
    assert a.text == b.text and a.guarantee.total == b.guarantee.total


def test_plus_promises_the_worst_case(mlm):
    g = mlm("dp-mlm-plus", epsilon=10.0, add_prob=0.25, del_prob=0.05).guarantee("doctor friend money bread")
    assert g.total == 2 * 4 * 10 and g.expected == pytest.approx((1 - 0.05 + 0.25) * 4 * 10)
    assert "edited-token-count" in kinds(g) and "token-count" not in kinds(g)


def test_plus_composes_the_draws_of_what_it_may_add_too(mlm):
    """The second statement, over both draws of each word, by a plain search for the best α."""
    g = mlm("dp-mlm-plus", epsilon=1.0, add_prob=0.25).guarantee("doctor friend money bread " * 8)
    assert g.spent == (1.0,) * 64 and g.draws == 64 and g.total == 64
    alpha = 1 + np.geomspace(1e-3, 1e3, 200_001)
    rho = 64 * 1.0 / 8
    least = (alpha * rho + np.log1p(-1 / alpha) - (math.log(1e-5) + np.log(alpha)) / (alpha - 1)).min()
    assert g.zcdp() == pytest.approx(least, rel=1e-6)
    without = mlm("dp-mlm-plus", epsilon=1.0, add_prob=0.0).guarantee("doctor friend money bread " * 8)
    assert without.spent == (1.0,) * 32 and without.zcdp() < g.zcdp()


@pytest.mark.parametrize("order", ["parallel", "sequential"])
def test_plus_chooses_to_add_and_to_delete_apart(mlm, order):
    """Of 120 words at ½ each, 30 have both; with one number for both choices, 0 or 60 would."""
    m = mlm("dp-mlm-plus", add_prob=0.5, del_prob=0.5, order=order)
    steps = [s for seed in range(4) for s in m.rewrite(" ".join(["doctor friend money"] * 10), seed=seed).steps]
    both = sum(a.action == "delete" and b.action == "insert" for a, b in itertools.pairwise(steps))
    assert stats.binomtest(both, 120, 0.25).pvalue > 1e-5


def test_plus_removes_what_it_deletes_in_both_orders(mlm):
    for order in ("parallel", "sequential"):
        r = mlm("dp-mlm-plus", order=order, add_prob=0.0, del_prob=1.0).rewrite("Doctor friend, the money.", seed=1)
        assert [s.original for s in r.steps if s.action == "delete"] == ["Doctor", "friend", "money"]
        assert "money" not in r.text and "friend" not in r.text


@pytest.mark.parametrize("delete", [0.0, 1.0])
def test_plus_in_sequence_sees_what_was_added_and_not_what_was_deleted(mlm, tiny_model, delete):
    """Each draw against the masked text that was released by then, by plain transformers."""
    m = mlm("dp-mlm-plus", order="sequential", add_prob=1.0, del_prob=delete, epsilon=30.0, recase="none")
    text = "doctor told friend"
    r = m.rewrite(text, seed=4)
    before: list[str] = []
    drawn = 0
    for k, step in enumerate(r.steps):
        if step.action == "delete":
            continue
        rest = text.split()[step.index + 1 :]
        logits = plain_logits(tiny_model, text, " ".join([*before, "[MASK]", *rest]))
        d = r.distribution(k)
        clipped = np.clip([logits[w] for w in d.candidates], C_MIN, C_MAX)
        exact = np.exp(30 * (clipped - C_MAX) / (2 * (C_MAX - C_MIN)))
        assert np.abs(np.log(d.probs) - np.log(exact / exact.sum())).max() < 0.02 * 30
        before.append(step.text)
        drawn += 1
    assert drawn == (3 if delete else 6) and r.text.split() == before


def test_texts_that_are_drawn_in_step_are_drawn_as_each_by_itself(mlm):
    m = mlm(order="sequential", epsilon=40.0)
    texts = ["doctor told friend", "The pain was bad.", "", "doctor told friend", "wine and bread and money"]
    stream = dpt.NoiseStream(9)
    seen = []
    many = m.rewrite(texts, stream=stream, task=dpt.Task(lambda done, of: seen.append((done, of))))
    each = [m.rewrite_prepared(m.prepare(t), stream.at(i), dpt.Task()) for i, t in enumerate(texts)]
    assert [r.text for r in many] == [r.text for r in each] and many[0].text != many[3].text
    assert [r.guarantee.spent for r in many] == [r.guarantee.spent for r in each] and seen[-1] == (5, 5)
    fresh = m.rewrites("doctor told friend", 40, seed=3)
    assert len({r.noise_id for r in fresh}) == 40 and len({r.text for r in fresh}) > 10


def test_the_choice_to_delete_does_not_depend_on_epsilon(mlm):
    m = mlm("dp-mlm-plus", add_prob=0.3, del_prob=0.3)
    s = m.sweep("doctor friend money bread wine city", epsilons=[1.0, 400.0], seed=3)
    assert [x.action for x in s.results[0].steps] == [x.action for x in s.results[1].steps]


@pytest.mark.parametrize("name", ["dp-mlm", "dp-mlm-plus"])
def test_many_fresh_rewrites_follow_the_distribution(mlm, name):
    m = mlm(name, epsilon=20.0, **({"del_prob": 0.0} if name == "dp-mlm-plus" else {}))
    p = m.prepare("my doctor")
    many = m.rewrites(p, 400, seed=3)
    assert len(many) == 400 and len({r.noise_id for r in many}) == 400
    d = m.distribution(p, 1)
    best, share = d.top(1)[0]
    hits = sum(r.steps[1].replacement.casefold() == best for r in many)
    assert stats.binomtest(hits, 400, share).pvalue > 1e-5
    assert many[0].guarantee.seeded and many[0].steps[1].epsilon == 20.0


def test_only_words_that_are_drawn_at_once_can_be_looked_at_at_another_epsilon(mlm):
    for name in ("dp-mlm", "dp-mlm-plus"):
        assert ("sweep" in mlm(name).can, "sweep" in mlm(name, order="sequential").can) == (True, False)


def test_many_rewrites_delete_and_add_as_often_as_is_said(mlm):
    m = mlm("dp-mlm-plus", epsilon=20.0, del_prob=0.3, add_prob=0.2)
    words = "doctor friend money bread wine city"
    actions = [s.action for r in m.rewrites(words, 60, seed=3) for s in r.steps]
    for action, share, of in (("delete", 0.3, 360), ("insert", 0.2, 360)):
        assert stats.binomtest(actions.count(action), of, share).pvalue > 1e-3, action


def test_one_of_many_fresh_rewrites_cannot_be_looked_at_at_another_epsilon(mlm):
    m = mlm(epsilon=20.0)
    assert "sweep" in m.rewrite("my doctor").can
    for fresh in m.rewrites("my doctor", 2):
        assert fresh.can == m.can - {"sweep"}


def test_texts_of_a_batch_hold_their_own_scores_alone(mlm):
    """A text that somebody keeps does not keep the scores of the others in memory, and has the bits it has alone."""
    texts = [TEXT, "She went home.", "The pain was bad."]
    m = mlm()
    for text, prepared in zip(texts, m.prepare_many(texts), strict=True):
        keys = [(i, False) for i in prepared.targets]
        rows = list(prepared.rows(keys))
        whole = rows[0].base if rows[0].base is not None else rows[0]
        assert whole.nbytes == len(keys) * len(m.candidates) * 4
        np.testing.assert_array_equal(rows, m.prepare(text).logits(keys))
        assert all(again is row for again, row in zip(prepared.rows(keys), rows, strict=True)), "no copy"


def test_rows_are_computed_where_they_are_not_kept(mlm):
    m = mlm()
    plan = m.plan(TEXT)
    keys = [(i, False) for i in plan.targets]
    np.testing.assert_array_equal(list(plan.rows(keys)), m.prepare(TEXT).logits(keys))
