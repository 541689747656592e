"""Two texts told apart by their rewrites: the bound by hand, what it may not say, and how it is asked for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from foreign import Generator, Latent, Swap
from scipy.stats import beta

import dptext_core as dpt
from dptext_core import attacks
from dptext_core.attacks import classifier_scores, text_classifiers, two_texts, which_text
from dptext_core.privacy.sampling import NoiseStream
from dptext_lab.broken_mechanisms import broken, sound
from dptext_lab.measurements.two_texts import Coin, check_guarantee, coverage

CHEAP = ("words", "form", "likelihood")


def test_the_bound_is_the_one_of_clopper_and_pearson():
    n, tail, delta = 100, 0.025, 0.01
    for hits, others in [(90, 10), (100, 0), (60, 55), (10, 90), (0, 0), (100, 100), (100, 40)]:
        tpr = beta.ppf(tail, hits, n - hits + 1) if hits else 0.0
        fpr = beta.ppf(1 - tail, others + 1, n - others) if others < n else 1.0
        wanted = max(1.0, (tpr - delta) / fpr, (1 - fpr - delta) / (1 - tpr))
        found = classifier_scores._epsilon(np.array(hits), np.array(others), n, tail, delta)
        assert float(found) == pytest.approx(math.log(wanted), abs=1e-12)


@pytest.mark.slow
def test_the_bound_holds_on_a_mechanism_whose_epsilon_is_known():
    found = coverage(60, 2.0, draws=40, seed=5, classifiers=("likelihood",))
    p = math.exp(1.0) / (1 + math.exp(1.0))
    assert found.true == pytest.approx(math.log(p / (1 - p)))
    assert found.within >= 57 and 0 < found.mean < found.true
    # One that takes a bound at a coin's level for one at 95% is wrong far more often.
    coin, stream = Coin.create(epsilon=2.0), NoiseStream(5)
    careless = [
        two_texts.measure(
            coin, ("a", "b"), 40, classifiers=("likelihood",), confidence=0.5, stream=stream.at(k)
        ).epsilon
        for k in range(40)
    ]
    assert sum(x <= found.true for x in careless) < 38


def test_a_classifier_and_its_threshold_are_chosen_by_the_first_half_alone():
    told, silent = (np.arange(50.0) + 50, np.arange(50.0)), (np.zeros(50), np.zeros(50))
    chosen = classifier_scores._provable(classifier_scores._Scores(told, silent), "words", 0.025, 0.0)
    assert chosen == (pytest.approx(float(classifier_scores._epsilon(50, 0, 50, 0.025, 0.0))), "words", 49.5)
    assert classifier_scores._provable(classifier_scores._Scores(silent, told), "words", 0.025, 0.0)[0] == 0
    assert classifier_scores._at_its_best(classifier_scores._Scores(silent, told), "words").train_advantage == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["private-support", "counting-blanks", "copied-word"])
def test_a_broken_mechanism_loses_more_than_it_guarantees_and_its_twin_does_not(name):
    assert (found := check_guarantee(name, True, 80, seed=3).found) is not None and found.exceeds
    assert "the guarantee is violated" in found.sentence()
    assert (twin := check_guarantee(name, False, 80, seed=3).found) is not None and not twin.exceeds
    assert "not a guarantee" in twin.sentence()


def test_what_was_learnt_from_is_not_tested_on(monkeypatch):
    """Of rewrites that tell nothing, a classifier that knows its own by heart is right about these alone."""
    seen: list[set[str]] = []

    def by_heart(train, labels, test):
        seen.append(set(train) & set(test))
        return np.array([1.0 if t in train else 0.0 for t in test])

    monkeypatch.setitem(text_classifiers.CLASSIFIERS, "words", ("by heart", by_heart))
    m = sound("appended-original", epsilon=0.1)
    counted = iter(range(10_000))
    plain = type(m)._composed

    def numbered(self, original, drawn):
        text, pieces = plain(self, original, drawn)
        return f"{text} {next(counted)}", pieces

    monkeypatch.setattr(type(m), "_composed", numbered)
    finding = two_texts.measure(m, ("one", "another"), 100, classifiers=("words",), stream=NoiseStream(1))
    assert seen == [set()] * (classifier_scores.FOLDS + 1)
    assert finding.test_draws == 50 and finding.advantage == 0 and finding.epsilon == 0


def test_the_mechanisms_own_chances_tell_best_and_what_cannot_be_is_certain():
    m = Swap.create(epsilon=2.0)
    finding = two_texts.measure(m, ("doctor water", "nurse water"), 400, classifiers=CHEAP, stream=NoiseStream(2))
    by = {c.name: c.advantage for c in finding.classifiers}
    assert finding.allowed_loss == pytest.approx(4.0) and 0 < finding.epsilon <= 2.0
    assert by["likelihood"] >= by["words"] - 0.05 and abs(by["form"]) < 1
    apart = two_texts.measure(m, ("doctor and", "doctor or"), 40, classifiers=("likelihood",), stream=NoiseStream(2))
    assert apart.advantage == 1 and apart.epsilon == apart.largest_bound and apart.allowed_loss == math.inf
    assert "There is no guarantee between the texts" in apart.sentence()


@pytest.mark.parametrize("cls", [Generator, Latent])
def test_whatever_writes_a_new_text_is_told_apart_too(cls):
    finding = two_texts.measure(cls.create(), ("My sister is ill.", "The film was long."), 40, stream=NoiseStream(4))
    assert {c.name for c in finding.classifiers} >= {"words", "form", "meaning"} and not finding.exceeds
    assert finding.missing and "likelihood" in finding.missing


def test_the_attacker_is_asked_as_the_others_are():
    attacker = attacks.get_attacker("two-texts")
    assert isinstance(attacker, attacks.TextAttacker)
    m = dpt.get_mechanism("custext", epsilon=8)
    result = m.rewrite("My doctor treated my sister.", seed=1)
    finding = attacker.attack(m, result, word="doctor", draws=20)
    assert isinstance(finding, two_texts.DistinguishabilityFinding)
    assert finding.texts == which_text.lineup(m, result.original, "doctor", 2).texts
    assert finding.success == (1 + finding.advantage) / 2 and finding.chance == 0.5 and len(finding.rows()) == 4
    other = attacker.attack(m, result, candidates=["The film was long."], draws=20)
    assert isinstance(other, two_texts.DistinguishabilityFinding) and other.texts[1] == "The film was long."
    with pytest.raises(dpt.InputError, match="one other text, not 2"):
        attacker.attack(m, result, candidates=["a b", "c d"])
    with pytest.raises(dpt.InputError, match="Give only one"):
        attacker.attack(m, result, word="doctor", candidates=["a b"])


def test_what_it_cannot_be_asked():
    m = broken("appended-original")
    for pair, given, said in [
        (("a", "a"), {}, "the same"),
        (("a", "b"), {"draws": 19}, "20"),
        (("a", "b"), {"draws": 20_001}, "at most 20,000 times"),
        (("a", "b"), {"confidence": 1.0}, "confidence"),
        (("a", "b"), {"classifiers": ("magic",)}, "no such classifier"),
        (("a", "b"), {"classifiers": ()}, "no such classifier"),
    ]:
        with pytest.raises(dpt.DPTextError, match=said):
            two_texts.measure(m, pair, **given)
    with pytest.raises(dpt.NoDistribution):
        two_texts.measure(Latent.create(), ("a", "b"), 20, classifiers=("likelihood",))
    task = dpt.Task()
    task.cancel()
    with pytest.raises(dpt.Cancelled):
        two_texts.measure(m, ("a", "b"), 20, task=task)


def test_the_bundled_pairs_are_at_the_distances_that_are_said():
    assert [p.distance for p in two_texts.PAIRS] == list(two_texts.DISTANCES)
    word, sentence, text = two_texts.PAIRS
    a, b = word.first.split(), word.second.split()
    assert len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) == 1
    a, b = sentence.first.split(". "), sentence.second.split(". ")
    assert len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) == 1
    assert not {w for w in text.first.lower().split() if len(w) > 3} & set(text.second.lower().split())


@pytest.mark.parametrize("pair", ["ab", ("a", "b", "c"), ("a",), ("a", 3), None])
def test_what_is_no_pair_of_texts_is_refused(pair):
    with pytest.raises(dpt.InputError, match=r"a pair|a list"):
        two_texts.measure(dpt.get_mechanism("custext"), pair, 20)
