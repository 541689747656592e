"""Several releases of one text: posterior and success against enumeration, and the certified ceiling."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from small_spaces import on, random_space, words

import dptext_core as dpt
from dptext_core.attacks.belief import BeliefQuestion
from dptext_core.attacks.expected_belief import enumerate_success
from dptext_core.attacks.several_releases import certified_ceiling, several_releases
from dptext_core.mechanisms.likelihood import require_likelihood

A, B, C, _, E = words(12)[:5]


@pytest.fixture(scope="module")
def space():
    return random_space(12)


def one_place(m, labels):
    """Return P(released word | original) by asking for the likelihood of every release, (outcomes, k)."""
    table = [np.exp(require_likelihood(m).in_places(m.prepare(w), [{0: z} for z in words(12)])) for w in labels]
    return np.array(table).T


def success(table: np.ndarray, prior: np.ndarray, r: int) -> float:
    """Return Σ max_j π_j Π p_j(z) over all tuples of outcomes."""
    return math.fsum(
        float((prior * np.prod(table[list(z)], axis=0)).max()) for z in itertools.product(range(len(table)), repeat=r)
    )


@pytest.mark.parametrize("name", ["custext", "santext", "tem"])
@pytest.mark.parametrize("prior", [None, (0.5, 0.3, 0.2)])
def test_posterior_and_success_are_exact_against_every_release(name, prior, space):
    m = on(space, name, epsilon=3.0, **({"k": 12} if name == "custext" else {}))
    question = BeliefQuestion.make(m, f"{A} {E}", A, [B, C], prior=prior)
    seen = m.rewrites(f"{A} {E}", 3, 7)
    found = several_releases(question, seen, (1, 2, 3))
    table, weights = one_place(m, (A, B, C)), question.prior
    for i, r in enumerate((1, 2, 3)):
        assert found.expected_success[i].value == pytest.approx(success(table, weights, r), abs=1e-9)
        assert found.expected_success[i].draws == 0 == found.expected_success[i].standard_error
        joint = weights * np.prod([table[words(12).index(z.text.split()[0].lower())] for z in seen[:r]], axis=0)
        assert found.posterior[i] == pytest.approx(joint / joint.sum())
    assert (np.diff([e.value for e in found.expected_success]) > 0).all()
    assert (found.posterior <= found.ceiling + 1e-9).all()


def test_many_outcomes_are_estimated_and_the_interval_covers_the_truth(space):
    m = on(space, "santext", epsilon=4.0)
    question = BeliefQuestion.make(m, A, A, [B, C])
    table, hits = one_place(m, (A, B, C)), 0
    truth = success(table, question.prior, 3)
    exact = enumerate_success(table, question.prior, (1, 3), most=1)
    assert set(exact) == {1}, "too many outcomes are left out"
    two = BeliefQuestion.make(m, f"{A} {B}", f"{A} {B}", [f"{B} {C}", f"{C} {A}"])  # two places decide
    for seed in range(40):
        found = several_releases(two, m.rewrites(f"{A} {B}", 2, seed), (1, 2), stream=dpt.NoiseStream(seed))
        assert found.expected_success[0].draws == 64
        low, high = found.expected_success[1].interval
        hits += low <= _two_places(one_place(m, (A, B, C))) <= high
    assert hits >= 34 and truth > exact[1].value


def _two_places(table: np.ndarray) -> float:
    """Return the success after two releases of A B, B C or C A."""
    pairs = np.array([np.outer(table[:, a], table[:, b]).ravel() for a, b in ((0, 1), (1, 2), (2, 0))]).T
    return float((pairs[:, None] * pairs[None]).reshape(-1, 3).max(axis=1).sum() / 3)


def test_whole_texts_are_alternatives_too(space):
    m = on(space, "custext", epsilon=2.0, k=12)
    texts = (f"{A} {E}", f"{B} {E}", f"{C} {E}")
    of_texts = BeliefQuestion.of_texts(m, texts)
    fact = BeliefQuestion.make(m, texts[0], A, [B, C])
    seen = m.rewrites(texts[0], 2, 3)
    assert of_texts.alternatives == texts
    assert of_texts.answer(seen).posterior == pytest.approx(fact.answer(seen).posterior)
    with pytest.raises(dpt.InputError, match="2 to 100"):
        BeliefQuestion.of_texts(m, [texts[0]])


def test_the_ceiling_of_a_fact_counts_every_release(space):
    m = on(space, "custext", epsilon=1.0, k=12)
    question = BeliefQuestion.make(m, f"{A} {E}", A, [B, C])
    found = several_releases(question, m.rewrites(f"{A} {E}", 4, 1), (1, 4))
    for row, r in zip(found.ceiling, (1, 4), strict=True):
        assert row == pytest.approx([math.exp(r) / (math.exp(r) + 2)] * 3)
    data = found.to_dict()
    assert data["releases"] == [1, 4] and len(data["expected"]) == len(data["certified"]) == 2


def test_releases_that_share_noise_or_are_too_few_are_refused(space):
    m = on(space, "custext", epsilon=1.0, k=12)
    question = BeliefQuestion.make(m, A, A, [B])
    r = m.rewrite(A, seed=1)
    with pytest.raises(dpt.InputError, match=r"1 release\."):
        several_releases(question, [r], (1, 2))
    with pytest.raises(dpt.InputError, match="share"):
        several_releases(question, [r, dataclasses.replace(r)], (1, 2))


def pure(epsilon: float, draws: int = 1, **more) -> dpt.Guarantee:
    return dpt.Guarantee("pure", epsilon, "released word", "any two texts", draws, epsilon * draws, **more)


@pytest.mark.parametrize("k", [2, 4, 9])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_randomised_response_among_k_reaches_the_certified_ceiling(k, epsilon):
    best = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    assert certified_ceiling(pure(epsilon), k) == pytest.approx(best)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(("epsilon", "draws", "releases"), [(0.1, 1, 12), (0.3, 4, 2), (1.0, 2, 3)])
def test_no_reader_of_many_responses_exceeds_it(k, epsilon, draws, releases):
    """k-ary randomised response, the same answer asked for many times: enumerated by how often each is released."""
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    n = draws * releases
    table = np.full((k, k), (1 - keep) / (k - 1)) + np.eye(k) * (keep - (1 - keep) / (k - 1))
    reached = enumerate_success(table, np.full(k, 1 / k), (n,))[n].value
    ceiling = certified_ceiling(pure(epsilon, draws), k, releases)
    assert reached <= ceiling + 1e-12
    if k == 2:  # optimal composition is exact for binary responses; only the grid of δ is coarse
        assert ceiling <= reached + 0.03
    assert ceiling <= math.exp(epsilon * n) / (math.exp(epsilon * n) + k - 1) + 1e-12


def test_other_notions_have_a_ceiling_where_they_state_a_loss():
    metric = dpt.Guarantee("metric", 2.0, "word", "any", 3, 6.0, metric="steps", largest=0.5)
    assert certified_ceiling(metric, 4) == pytest.approx(math.exp(3) / (math.exp(3) + 3))
    assert certified_ceiling(dataclasses.replace(metric, largest=None), 4) == 1.0
    none = dpt.Guarantee("none", 1.0, "word", "any", 1, 1.0, reason="No.")
    assert certified_ceiling(none, 4) == 1.0
    approx = dpt.Guarantee("approx", 1.0, "text", "any", 1, 1.0, delta=0.1)
    assert certified_ceiling(approx, 2) == pytest.approx((math.e + 0.1) / (math.e + 1))
    assert certified_ceiling(approx, 2, 20) == 1.0
