"""A whole corpus: links by each look against a plain search, ties, and what is counted."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from foreign import Generator
from hypothesis import given, settings
from hypothesis import strategies as st

import dptext_core as dpt
from dptext_core import attacks
from dptext_core.attacks import best, corpus
from dptext_core.support.statistics import clopper_pearson

pytestmark = pytest.mark.usefixtures("stand_in_scores")

TEXTS = [
    "My doctor in Lisbon treated my sister for diabetes.",
    "The train to Paris was late again this morning.",
    "Our neighbour plays the violin in a small orchestra.",
    "She bought three tickets for the cinema on Friday.",
    "A storm has damaged the roof of the old church.",
]


@pytest.fixture(scope="module")
def released():
    m = dpt.get_mechanism("custext", epsilon=3)
    return m, m.rewrite(TEXTS, seed=5)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 5), st.integers(0, 10_000))
def test_one_to_one_is_the_permutation_with_the_largest_sum(n, seed):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, n))
    table[rng.random((n, n)) < 0.2] = -np.inf
    np.fill_diagonal(table, rng.normal(size=n))  # no text excludes its own rewrite
    found = corpus.linked_one_to_one(table, rng.permutation(n))
    sums = {p: sum(table[k, p[k]] for k in range(n)) for p in permutations(range(n))}
    largest = max(sums, key=sums.__getitem__)
    assert found.tolist() == [float(largest[k] == k) for k in range(n)]


def test_by_itself_the_likest_counts_and_ties_are_shared():
    table = np.array([[0.9, 0.1, 0.0], [0.5, 0.5, 0.0], [0.8, 0.0, 0.7]])
    assert corpus.linked_share(table).tolist() == [1.0, 0.5, 0.0]
    assert corpus.linked_share(np.array([[-3.0, -np.inf], [-np.inf, -5.0]])).tolist() == [1.0, 1.0]


def test_the_order_of_the_texts_tells_nothing():
    # 600 matchings of 5 rewrites that say nothing: one in five is right by chance, and 3 of its errors are 0.03.
    nothing = np.zeros((5, 5))
    shares = [corpus.linked_one_to_one(nothing, np.random.default_rng(k).permutation(5)).mean() for k in range(600)]
    assert np.mean(shares) == pytest.approx(0.2, abs=0.03)


def test_shares_are_those_of_each_look_and_the_interval_is_corrected(released):
    m, results = released
    finding = corpus.attack(m, results, seed=1)
    assert (
        finding.texts == 5
        and finding.chance == 0.2
        and list(finding.shares) == list(corpus.LINK_SCORES)
        and not finding.omissions
    )
    cosine = corpus.vectors_alike([r.text for r in results], TEXTS)
    assert finding.shares["vectors"] == np.mean(cosine.argmax(axis=1) == np.arange(5))
    # What is kept between the drawn words is of one text alone, so that no other can have given a rewrite.
    assert finding.shares["chances"] == finding.one_to_one_shares["chances"] == 1.0 == finding.success
    low, high = clopper_pearson(5, 5, 1 - 0.05 / 6)
    assert finding.low == pytest.approx(low) and finding.high == pytest.approx(high)
    assert "all 5 texts" in finding.sentence() and "100%" in finding.sentence() and len(finding.rows()) == 3
    assert not any(t in repr(finding) for t in TEXTS)


def test_who_knows_that_each_has_one_rewrite_links_more():
    table = np.array([[0.9, 0.1], [0.6, 0.5]])
    assert corpus.linked_share(table).mean() == 0.5
    assert corpus.linked_one_to_one(table, np.array([1, 0])).mean() == 1.0


def test_same_texts_count_once_by_their_first_rewrite(released):
    m, results = released
    again = m.rewrite(TEXTS[0], seed=99)
    assert corpus.attack(m, [*results, again], seed=1) == corpus.attack(m, results, seed=1)


def test_where_there_is_no_formula_the_others_are_asked():
    m = Generator.create()
    finding = corpus.attack(m, m.rewrite(TEXTS, seed=2), seed=1)
    assert list(finding.shares) == ["words", "vectors"] and "was not used" in finding.sentence()


def test_many_texts_are_not_each_held_under_each(released, monkeypatch):
    m, results = released
    monkeypatch.setattr(corpus, "MOST_CHANCES", 4)
    finding = corpus.attack(m, results, seed=1)
    assert "at most 4 texts, and there are 5" in finding.omissions["chances"]
    monkeypatch.setattr(corpus, "MOST", 4)
    with pytest.raises(dpt.InputError, match="at most 4"):
        corpus.attack(m, results)
    with pytest.raises(dpt.InputError, match="two different texts"):
        corpus.attack(m, results[:1] * 2)


@pytest.mark.slow
def test_over_texts_each_text_counts_as_much(released):
    m, results = released
    results = results[:2]
    found = best.over_texts(m, results)
    each = [best.guesses(m, r)[0] for r in results]
    assert found.shares["same-word"] == pytest.approx(np.mean([np.mean(x["same-word"]) for x in each]))
    assert found.words == sum(len(x["same-word"]) for x in each) and found.chance > 0
    with pytest.raises(dpt.NoDistribution, match="No word of these texts"):
        best.over_texts(m, m.rewrite(["and the", "or a"], seed=1))


def test_both_are_attackers_by_name(released):
    m, results = released
    assert [a.name for a in attacks.attackers("corpus")] == ["linking", "best-of-texts"]
    for name, kind in (("linking", corpus.LinkageResult), ("best-of-texts", best.StrongestAttack)):
        attacker = attacks.get_attacker(name)
        assert isinstance(attacker, attacks.CorpusAttacker)
        attacker.check(m)
        finding = attacker.attack(m, results[:2])
        assert isinstance(finding, kind) and 0 <= finding.chance < finding.success <= 1
    with pytest.raises(dpt.NoDistribution):
        attacks.get_attacker("best-of-texts").check(Generator.create())


def test_the_work_can_be_stopped(released):
    m, results = released

    class Stopped(dpt.Task):
        def check(self) -> None:
            raise dpt.Cancelled("stopped")

    with pytest.raises(dpt.Cancelled):
        corpus.attack(m, results, task=Stopped())
