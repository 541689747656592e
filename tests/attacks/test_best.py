"""The best of all attackers: the same guesses as theirs, the choice, and an interval that holds despite it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from foreign import Generator

import dptext_core as dpt
from dptext_core.attacks import best, corpus, mask_inference, nearest, reader
from dptext_core.support.statistics import clopper_pearson

pytestmark = pytest.mark.usefixtures("stand_in_scores")

TEXT = "My doctor treated my sister for diabetes."


@pytest.fixture(scope="module")
def released():
    m = dpt.get_mechanism("diffractor", epsilon=0.7)
    return m, m.rewrites(m.prepare(TEXT), 2, seed=4)


def test_each_guess_is_that_of_the_attacker_and_the_best_finds_most_over_all_rewrites(released):
    m, results = released
    each = []
    for result in results:
        hits, left_out = best.guesses(m, result)
        each.append(hits)
        drawn = [i for i, s in enumerate(result.steps) if s.is_sampled]
        assert not left_out and list(hits) == list(best.ASKED) and {len(h) for h in hits.values()} == {len(drawn)}
        read = reader.read_releases(m, result)
        assert np.mean(hits["reader"]) == pytest.approx(read.success)
        assert np.mean(hits["best-guess"]) == pytest.approx(read.context_free_share)
        assert np.mean(hits["same-word"]) == pytest.approx(read.unchanged_share)
        near = nearest.attack(m, result)
        assert np.mean(hits["nearest-words"]) == pytest.approx(near.nearest)
        assert np.mean(hits["language-model"]) == pytest.approx(mask_inference.attack(m, result).top1)
    finding = best.ask(m, results)
    shares = {name: np.mean([x for hits in each for x in hits[name]]) for name in best.ASKED}
    assert finding.shares == pytest.approx(shares) and finding.success == max(finding.shares.values())
    assert finding.shares[finding.name] == finding.success and finding.words == 2 * len(each[0]["reader"])
    assert f"“{best.ASKED[finding.name]}” recovers the most" in finding.sentence()
    tied = dataclasses.replace(finding, shares=dict.fromkeys(best.ASKED, finding.success))
    assert sum(f"“{name}”" in tied.sentence() for name in best.ASKED.values()) == len(best.ASKED)
    assert [name for name, _ in finding.rows()] == list(best.ASKED.values())


def test_words_that_are_drawn_without_being_looked_at_do_not_count():
    """Each attacker finds two words of two, where all but nothing changes, and not two of six."""
    m = dpt.get_mechanism("custext", epsilon=60.0)
    result = m.rewrite("My doctor Halvorsen Zyxqv treated Qwertz Blorpf.", seed=1)
    assert [s.depends_on_original for s in result.steps if s.is_sampled] == [True, False, False, True, False, False]
    finding = best.ask(m, result)
    assert (finding.success, finding.words) == (1.0, 2) and "100% of 2 replaced words" in finding.sentence()
    assert nearest.attack(m, result).same == reader.read_releases(m, result).success == 1.0
    named = mask_inference.attack(m, result).guesses
    assert [result.steps[g.step].original for g in named] == ["doctor", "treated"]
    assert result.polished().unchanged_shares == (1.0, 1.0)
    assert "of the 2 that depend on an original word" in result.polished().sentence()
    nobody = m.rewrite("Halvorsen Zyxqv 2031", seed=1)
    with pytest.raises(dpt.NoDistribution, match="nothing to guess"):
        best.ask(m, nobody)
    assert reader.read_releases(m, nobody).success == nearest.attack(m, nobody).success == 0


def test_of_those_that_find_as_much_it_is_the_plainest():
    assert best.strongest({"same-word": 0.5, "best-guess": 0.5, "reader": 0.5}) == "same-word"
    assert best.strongest({"same-word": 0.4, "best-guess": 0.5, "reader": 0.5}) == "best-guess"


def test_the_interval_is_as_wide_as_all_of_them_together_need():
    finding = best.compare_guesses({"a": [True] * 3 + [False] * 17, "b": [True] * 9 + [False] * 11})
    low, high = clopper_pearson(9, 20, 0.975)
    assert (finding.name, finding.low, finding.high) == ("b", pytest.approx(low), pytest.approx(high))
    assert high - low > np.diff(clopper_pearson(9, 20))[0]


@pytest.mark.parametrize("n", [20, 200])
def test_the_interval_holds_the_success_of_the_best_despite_the_choice(n):
    # 1,000 repetitions of which 95% are to hold: 930 or fewer have a chance of 0.3%.
    rng, chances = np.random.default_rng(3), [0.3, 0.32, 0.28, 0.31, 0.3]
    held = 0
    for _ in range(1000):
        finding = best.compare_guesses({str(k): rng.random(n) < p for k, p in enumerate(chances)})
        held += finding.low <= max(chances) <= finding.high
    assert held > 930


def test_over_texts_the_spread_is_that_of_the_texts():
    hits = {"a": [[True, True], [False, False], [True, True], [False, False]], "b": [[True, False]] * 4}
    found = best.compare_texts(hits)
    assert found.shares == {"a": 0.5, "b": 0.5} and found.name == "a" and found.words == 8
    assert found.low < 0.2 and found.high == 1.0, "four texts that are all right or all wrong tell little"
    alike = best.compare_texts({"b": [[True, False]] * 4})
    assert (alike.low, alike.high) == pytest.approx(clopper_pearson(4, 8)), "what is all alike is not exact"


def test_of_a_long_text_some_words_are_attacked_evenly_chosen(monkeypatch):
    assert best.choose_places([], 4) == [] and best.choose_places([5, 6, 7], 4) == [5, 6, 7]
    assert best.choose_places(list(range(100)), 3) == [0, 50, 99]
    assert len(best.choose_places(list(range(100)))) == best.WORDS
    monkeypatch.setattr(best.choose_places, "__defaults__", (5,))
    m = dpt.get_mechanism("diffractor", epsilon=1.0)
    result = m.rewrite(" ".join(["doctor lawyer nurse"] * 3), seed=1)
    hits, _ = best.guesses(m, result)
    assert {len(h) for h in hits.values()} == {5}
    some, _ = best.guesses(m, result, {result.steps[3].span[0]})
    assert {len(h) for h in some.values()} == {1}


def test_who_cannot_be_asked_is_named(released, monkeypatch):
    def refuses(mechanism):
        raise dpt.NoDistribution("It states no chances.")

    monkeypatch.setattr(reader, "check", refuses)
    m, results = released
    finding = best.ask(m, results[:1])
    assert list(finding.shares) == ["same-word", "nearest-words", "language-model"]
    assert "“Contextual Bayes” was not used: It states no chances." in finding.sentence()


def test_where_nothing_can_be_guessed_it_says_why():
    with pytest.raises(dpt.NoDistribution, match="does not replace single words"):
        best.ask(Generator.create(), [Generator.create().rewrite("a b", seed=1)])
    m = dpt.get_mechanism("diffractor", epsilon=1.0)
    with pytest.raises(dpt.NoDistribution, match="No word of this text was sampled"):
        best.ask(m, [m.rewrite("and the", seed=1)])


def test_one_rewrite_is_as_good_as_a_list_and_anything_else_is_refused(released):
    m, results = released
    assert best.ask(m, results[0]) == best.ask(m, results[:1])
    for ask in (best.ask, best.over_texts, corpus.attack, reader.read_releases):
        for given in ("My doctor", 3, [TEXT]):
            with pytest.raises(dpt.InputError):
                ask(m, given)


def test_where_nobody_finds_a_word_nobody_is_called_the_best():
    finding = best.compare_guesses({"same-word": [False] * 4, "reader": [False] * 4}, chance=0.1)
    assert finding.sentence().startswith("Of 2 attackers, none recovers anything: 0%")
