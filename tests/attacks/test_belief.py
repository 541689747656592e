"""What a reader can infer about one fact: enumeration, simulation, the ceiling, and the attacker "which-text"."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from small_spaces import diffractor, on, over, random_space, shuffled_lists, words
from tiny_generators import tiny_generator

import dptext_core as dpt
from dptext_core.attacks import Lineup, which_text
from dptext_core.attacks.alternatives import suggest_alternatives
from dptext_core.attacks.belief import fact_spans

A, B, C, D = words(12)[:4]
NOTE = "The doctor said the pain in my heart is bad."


@pytest.fixture(scope="module")
def space():
    return random_space(12)


def bayes(likelihoods, prior):
    joint = np.array(likelihoods) * np.array(prior)
    return joint / joint.sum()


# --- word by word


@pytest.mark.parametrize("name", ["custext", "santext", "tem", "santext-plus"])
def test_the_posterior_is_bayes_rule_on_the_stated_probabilities(name, space):
    m = on(space, name, epsilon=3.0, **({"k": 12} if name == "custext" else {}))
    r = m.rewrite(f"{D} {A}", seed=5)
    word = r.text.split()[1]
    prior = [0.5, 0.3, 0.2]
    b = dpt.belief(m, f"{D} {A}", A, [B, C], result=r, prior=prior)
    likelihoods = [m.distribution(w, 0).p(word) for w in (A, B, C)]
    assert b.alternatives == (A, B, C) and b.prior.tolist() == pytest.approx(prior)
    assert b.posterior == pytest.approx(bayes(likelihoods, prior), rel=1e-9)


def test_each_epsilon_has_its_row_and_a_given_release_is_weighed_at_each(space):
    m, epsilons = on(space, "santext", epsilon=3.0), [0.5, 3.0, 30.0]
    r = m.rewrite(A, seed=5)
    b = dpt.belief(m, A, A, [B, C], result=r, epsilons=epsilons)
    assert b.posterior.shape == b.ceiling.shape == b.is_covered.shape == (3, 3) and b.epsilons == tuple(epsilons)
    for row, e in zip(b.posterior, epsilons, strict=True):
        m_e = m.replace(epsilon=e)
        assert row == pytest.approx(bayes([m_e.distribution(w, 0).p(r.text) for w in (A, B, C)], [1, 1, 1]), rel=1e-9)
    assert b.certainty.shape == (3,) and b.guess.shape == (3,)


def test_a_question_serves_every_epsilon_without_preparing_a_text_again(space, monkeypatch):
    m, epsilons, texts = on(space, "santext", epsilon=3.0), [0.5, 3.0, 30.0], []
    prepare = type(m).prepare
    monkeypatch.setattr(type(m), "prepare", lambda self, text, **k: (texts.append(text), prepare(self, text, **k))[1])
    question = dpt.BeliefQuestion.make(m, f"{D} {A}", A, [B, C], prior=[2, 1, 1])
    assert texts == [f"{D} {A}", f"{D} {B}", f"{D} {C}"]
    releases = [m.replace(epsilon=e).rewrite(question.prepared[0], seed=5) for e in epsilons]
    along, one = question.answer_each(releases), question.answer(releases[1])
    assert len(texts) == 3, "a release at another ε needs no pass"
    whole = dpt.belief(m, f"{D} {A}", A, [B, C], prior=[2, 1, 1], epsilons=epsilons, seed=5)
    assert along.epsilons == whole.epsilons == tuple(epsilons)
    for name in ("posterior", "ceiling", "is_covered"):
        assert getattr(along, name) == pytest.approx(getattr(whole, name), rel=1e-12)
        assert getattr(one, name) == pytest.approx(getattr(along, name)[1], rel=1e-12)
    with pytest.raises(dpt.errors.InputError):
        question.answer_each([])
    with pytest.raises(dpt.errors.InputError):
        question.answer(on(space, "tem", epsilon=3.0).rewrite(A, seed=1))


def test_fresh_releases_are_those_of_a_sweep_with_the_same_seed(space):
    m, epsilons = on(space, "santext", epsilon=3.0), [1.0, 8.0, 30.0]
    sweep = m.sweep(f"{A} {B}", epsilons, seed=4)
    fresh = dpt.belief(m, f"{A} {B}", A, [C], epsilons=epsilons, seed=4)
    assert [row[0].text for row in fresh.releases] == [r.text for r in sweep.results]
    assert dpt.belief(m, f"{A} {B}", A, [C], result=sweep).posterior == pytest.approx(fresh.posterior)


def test_several_releases_multiply(space):
    m = on(space, "santext", epsilon=3.0)
    seen = m.rewrites(A, 3, seed=1)
    b = dpt.belief(m, A, A, [B, C], result=seen)
    likelihoods = [math.prod(m.distribution(w, 0).p(r.text) for r in seen) for w in (A, B, C)]
    assert b.posterior == pytest.approx(bayes(likelihoods, [1, 1, 1]), rel=1e-9)


def test_it_agrees_with_which_text(space):
    for m in (on(space, "custext", epsilon=2.0, k=12), diffractor(shuffled_lists(12, 2), epsilon=0.4)):
        texts = [f"{w} {B}" for w in (A, C, D)]
        r = m.rewrite(texts[0], seed=3)
        found = which_text.attack(m, [r], Lineup(tuple(texts), 0))
        assert dpt.belief(m, texts[0], A, [C, D], result=r).posterior == pytest.approx(found.p, rel=1e-9)


def test_words_that_share_a_draw_count_once(space):
    m = on(space, "custext", epsilon=2.0, k=12, strategy="record")
    text = f"{A} {B} {A}"
    r = next(r for r in m.rewrites(text, 40, seed=1) if len(set(r.text.split())) == 2)
    (a, b_, _), alternatives = r.text.split(), [B, C]
    belief = dpt.belief(m, text, A, alternatives, result=r)
    own, other = m.distribution(A, 0).p(a), m.distribution(C, 0).p(a)
    # With B in the place of A one draw would fill all three places, which the release excludes.
    assert belief.posterior == pytest.approx(bayes([own, 0.0, other], [1, 1, 1]), rel=1e-9) and a != b_
    assert (belief.posterior == 0).tolist() == [False, True, False]


# --- the expected success


def test_the_expected_success_is_enumerated_where_one_place_decides(space):
    m, prior = on(space, "santext", epsilon=4.0), [0.5, 0.3, 0.2]
    table = np.array([m.distribution(w, 0).probs for w in (A, B, C)]) * np.array(prior)[:, None]
    b = dpt.belief(m, f"{D} {A}", A, [B, C], prior=prior, seed=0)
    assert b.expected_success.value == pytest.approx(table.max(axis=0).sum(), rel=1e-12)
    assert b.expected_success.draws == 0 and b.expected_success.interval == (
        b.expected_success.value,
        b.expected_success.value,
    )


def test_the_estimate_covers_the_enumerated_value(space):
    """60 estimates of 200 draws: of their 95% intervals 57 hold it on average, and fewer than 49 with p < 1e-4."""
    m = on(space, "santext", epsilon=4.0)
    exact = dpt.belief(m, A, A, [B, C, D], seed=0).expected_success.value
    found = [dpt.belief(m, A, A, [B, C, D], draws=200, seed=s).expected_success for s in range(60)]
    hits = sum(e.interval[0] <= exact <= e.interval[1] for e in found)
    assert hits >= 49 and all(e.draws == 200 and e.standard_error > 0 for e in found)


def test_certainty_is_calibrated(space):
    """Of 600 releases of alternatives drawn from the prior, the guess is right as often as its certainty says: the
    standard error of the difference is below 0.02."""
    m = on(space, "santext", epsilon=6.0)
    right, certainty = [], []
    for j, w in enumerate((A, B, C)):
        others, beliefs = [x for x in (A, B, C) if x != w], {}
        for r in m.rewrites(w, 200, seed=j):
            if r.text not in beliefs:  # the belief is about the released word alone
                beliefs[r.text] = dpt.belief(m, w, w, others, result=r, draws=0)
            right.append(beliefs[r.text].guess == 0)
            certainty.append(float(beliefs[r.text].certainty))
    assert abs(np.mean(right) - np.mean(certainty)) < 0.08


# --- the ceiling


def test_the_ceiling_is_that_of_the_guarantee(space):
    m = on(space, "santext", epsilon=2.0)
    loss = 2.0 * m.audit_support.distances([A, B])[0, 1]
    b = dpt.belief(m, f"{C} {A}", A, [B], seed=1)
    assert b.ceiling == pytest.approx([1 / (1 + math.exp(-loss))] * 2) and b.is_covered.all()
    assert (b.posterior <= b.ceiling + 1e-12).all()
    two = dpt.belief(m, f"{C} {A}", A, [B], result=m.rewrites(f"{C} {A}", 2, seed=1))
    assert two.ceiling == pytest.approx([1 / (1 + math.exp(-2 * loss))] * 2)
    skewed = dpt.belief(m, f"{C} {A}", A, [B], seed=1, prior=[1, 3])
    assert skewed.ceiling[0] == pytest.approx(0.25 / (0.25 + 0.75 * math.exp(-loss)))


def test_no_posterior_exceeds_the_ceiling(space):
    for name, options in (("santext", {}), ("tem", {}), ("custext", {"k": 12})):
        m = on(space, name, epsilon=1.5, **options)
        b = dpt.belief(m, A, A, [B, C, D], epsilons=np.geomspace(0.1, 50, 40).tolist(), seed=2)
        assert (b.posterior <= b.ceiling + 1e-12).all()


def test_alternatives_of_another_group_are_not_covered(space):
    m = on(space, "custext", epsilon=2.0, k=3, mapping="conservative")
    same = [w for w in words(12) if w != A and np.isfinite(m.audit_support.distances([A, w])[0, 1])]
    other = next(w for w in words(12) if w != A and w not in same)
    b = dpt.belief(m, A, A, [same[0], other], seed=1)
    assert b.is_covered.tolist() == [True, True, False] and b.posterior[2] == 0
    assert b.ceiling.tolist() == pytest.approx([1 / (1 + math.exp(-2.0))] * 2 + [1.0])
    assert [row[-1] for row in b.rows()] == ["88%", "88%", "no guarantee"] and "at most 88%" in b.sentence()


def test_alternatives_of_another_length_are_not_covered(space):
    b = dpt.belief(on(space, "santext", epsilon=2.0), f"{A} {B}", A, [f"{C} {D}", C], seed=1)
    assert b.is_covered.tolist() == [True, False, True] and b.posterior[1] == 0


def test_the_total_of_a_text_bounds_mechanisms_that_read_it_whole(tmp_path):
    """A writer of at most two tokens at ε = 0.25 each."""
    m = dpt.get_mechanism("dp-prompt", model=str(tiny_generator(tmp_path, "gpt2")), epsilon=0.25, max_tokens=2)
    b = dpt.belief(m, "a day", "day", ["night"], seed=1)
    total = m.guarantee("a day").total
    assert total == 0.5 and b.ceiling == pytest.approx([1 / (1 + math.exp(-total))] * 2)
    assert (b.posterior <= b.ceiling + 1e-12).all()


def test_without_a_guarantee_nothing_is_covered(space):
    class Unproven(type(on(space, "santext"))):
        def guarantee(self, text):
            return dataclasses.replace(super().guarantee(text), notion="none", reason="of a test")

    b = dpt.belief(over(space, Unproven, epsilon=2.0, keep_stopwords=False), A, A, [B], seed=1)
    assert b.ceiling.tolist() == [1.0, 1.0] and b.is_covered.tolist() == [False, False]


@pytest.mark.parametrize("name", ["redact", "surrogates"])
def test_a_belief_without_a_guarantee_states_no_limit(name):
    b = dpt.belief(dpt.get_mechanism(name), NOTE, "heart", ["lung", "liver"], seed=1, draws=0)
    assert not b.is_covered.any() and "There is no guarantee" in b.sentence() and "at most" not in b.sentence()
    assert {row[-1] for row in b.rows()} == {"no guarantee"}


def test_a_mechanism_without_epsilon_takes_no_list_of_them():
    with pytest.raises(dpt.ConfigError):
        dpt.belief(dpt.get_mechanism("redact"), NOTE, "heart", ["lung"], epsilons=[1.0, 2.0])


# --- models


@pytest.mark.parametrize("order", ["parallel", "sequential"])
def test_a_language_model_reads_each_alternative(tiny_model, order):
    m = dpt.get_mechanism("dp-mlm", model=tiny_model, epsilon=30.0, order=order)
    prepared = m.prepare(NOTE)
    r = m.rewrite(prepared, seed=1)
    b = dpt.belief(m, prepared, "heart", ["blood", "road"], result=r)
    texts = [NOTE.replace("heart", w) for w in ("heart", "blood", "road")]
    assert b.posterior == pytest.approx(which_text.attack(m, [r], Lineup(tuple(texts), 0)).p, rel=1e-6)
    assert b.ceiling == pytest.approx([1.0] * 3) and b.is_covered.all()


def test_writers_have_a_belief(tmp_path):
    m = dpt.get_mechanism("dp-prompt", model=str(tiny_generator(tmp_path, "gpt2")), epsilon=40.0, max_tokens=4)
    r = m.rewrite("The doctor told my friend.", seed=2)
    b = dpt.belief(m, "The doctor told my friend.", "doctor", ["lawyer"], result=r, epsilons=[1.0, 40.0])
    assert b.posterior.sum(axis=1) == pytest.approx([1.0, 1.0]) and b.expected_success is None
    assert abs(b.posterior[0, 0] - 0.5) < abs(b.posterior[1, 0] - 0.5) + 0.05


@pytest.mark.parametrize("name", ["adept", "dp-bart", "mvc", "mahalanobis", "vickrey", "gumbel", "dp-mlm-plus"])
def test_mechanisms_without_probabilities_refuse(name):
    with pytest.raises(dpt.NoDistribution):
        dpt.belief(dpt.get_mechanism(name), NOTE, "heart", ["lung"])


# --- the fact and its alternatives


def test_a_fact_stands_wherever_its_words_do_and_keeps_its_capitals(space):
    m = on(space, "santext", epsilon=2.0)
    text = f"{A.capitalize()} {B} and {A} {B}, not {B}."
    b = dpt.belief(m, text, f"{A} {B}", [f"{C} {D}"], seed=1)
    (r,) = b.releases[0]
    assert b.alternatives[0] == f"{A.capitalize()} {B}" and r.original == text
    start = text.rindex(B)
    one = dpt.belief(m, text, (start, start + len(B)), [C], seed=1)
    assert one.alternatives == (B, C)


def test_a_fact_is_exchanged_whole_where_it_holds_invisible_characters():
    hidden = NOTE.replace("heart", "he\u200bart")
    document = dpt.Document.parse(hidden)
    ((start, end),) = fact_spans(document, "heart")
    assert hidden[start:end] == "he\u200bart"


@pytest.mark.parametrize(
    ("fact", "alternatives"),
    [
        *((fact, ["lung"]) for fact in ("", "absent", "hea", (0, 0), (3, 900), 3)),
        *(("heart", given) for given in ([], ["heart", "Heart"], [""], [7], "lung", [f"w{i}" for i in range(200)])),
    ],
)
def test_a_fact_or_alternatives_that_cannot_be_used_are_refused(fact, alternatives):
    with pytest.raises(dpt.DPTextError):
        dpt.belief(dpt.get_mechanism("custext"), NOTE, fact, alternatives)


@pytest.mark.parametrize(
    "more",
    [
        *({"prior": p} for p in ([1.0], [0.0, 0.0], [1.0, -1.0], [math.nan, 1.0])),
        *({"epsilons": e} for e in ([], [math.nan], [-1.0])),
        {"draws": -1},
    ],
)
def test_numbers_out_of_range_are_refused(more):
    with pytest.raises(dpt.DPTextError):
        dpt.belief(dpt.get_mechanism("custext"), NOTE, "heart", ["lung"], **more)


def test_a_release_of_another_mechanism_or_text_is_refused(space):
    m = on(space, "santext", epsilon=2.0)
    with pytest.raises(dpt.InputError):
        dpt.belief(m, A, A, [B], result=m.replace(epsilon=3.0).rewrite(A, seed=1))
    with pytest.raises(dpt.InputError):
        dpt.belief(m, A, A, [B], result=m.rewrite(f"{A} {B}", seed=1))


def test_suggestions_are_of_one_kind_and_leave_out_the_word():
    m = dpt.get_mechanism("custext")
    assert suggest_alternatives("Heart", m) == ["lung", "kidney", "liver"]
    assert suggest_alternatives("kidney", m) == ["heart", "lung", "liver"]
    near = suggest_alternatives("guitar", m, 5)
    assert len(set(near)) == 5 and not any(w.startswith("guitar") for w in near)
    assert suggest_alternatives("guitar", m.replace(epsilon=2.0), 5) == near
    with pytest.raises(dpt.InputError):
        suggest_alternatives("zzqx", m)


def test_it_is_plain_values_in_json(space):
    m = on(space, "santext", epsilon=2.0)
    b = dpt.belief(m, A, A, [B], epsilons=[1.0, 2.0], seed=1)
    plain = json.loads(json.dumps(b.to_dict()))
    assert plain["posterior"] == b.posterior.tolist() and len(plain["releases"]) == len(plain["expected"]) == 2
    assert A not in repr(b) and len(b.rows()) == 2 and b.sentence().count("\n") == 1
