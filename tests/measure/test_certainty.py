"""The certainty of the optimal reader about one fact: the same fact for all settings, and the core's own numbers."""

from __future__ import annotations

import dataclasses
import math

import pytest
from foreign import Latent

import dptext_core as dpt
from dptext_core.attacks import alternatives
from dptext_core.measure import trade_off
from dptext_core.measure.certainty import Fact, FactReader, shared_fact
from dptext_core.measure.trade_off_advice import advise
from dptext_core.privacy.sampling import NoiseStream

TEXT = "My doctor said that his heart is weak."
EPSILONS = (9.0, 14.0)


@pytest.fixture(autouse=True, scope="module")
def registered():
    dpt.register(Latent)
    yield
    dpt.unregister(Latent.name)


def points(settings, measures=("certainty",), **options):
    return list(trade_off.tradeoff(TEXT, settings, EPSILONS, 1, measures, 7, **options))


def test_the_certainty_is_the_expected_success_of_the_belief_about_the_same_alternatives():
    settings = [dpt.get_mechanism("santext"), dpt.get_mechanism("custext")]
    found = points(settings, fact="heart")
    (fact,) = {p.fact for p in found}
    assert fact == Fact("heart", ("lung", "kidney", "liver")) and fact.chance == 0.25
    for p in found:
        expected = dpt.belief(p.mechanism, TEXT, "heart", fact.alternatives).expected_success
        v = p.value("certainty")
        assert (v.mean, v.draws) == (pytest.approx(expected.value), None) and v.low == v.mean == v.high
    low, high = (p.value("certainty").mean for p in sorted(found, key=lambda p: p.epsilon) if p.setting == 0)
    assert fact.chance < low < high < 1


def test_the_enumeration_is_the_sum_of_the_likeliest_alternative_over_all_released_words():
    m = dpt.get_mechanism("santext", epsilon=12.0)
    fact = shared_fact(TEXT, [m], "heart")
    place = m.document(TEXT).words.index("heart")
    chances = {}
    for word in ("heart", *fact.alternatives):
        table = m.distribution(TEXT.replace("heart", word), place)
        for released, p in zip(table.candidates, table.probs.tolist(), strict=True):
            chances[released] = max(chances.get(released, 0.0), p)
    found = FactReader([m], "heart").certainty(m, m.prepare(TEXT), NoiseStream(1))
    assert found.value == pytest.approx(math.fsum(chances.values()) / 4)


def test_a_certainty_that_is_sampled_has_an_interval_and_repeats_with_its_seed():
    bank = dpt.get_mechanism("dp-sentence")
    one, two = ([p.value("certainty") for p in points([bank], fact="heart")] for _ in range(2))
    assert one == two
    for v in one:
        assert v.draws and 0 <= v.low <= v.mean <= v.high <= 1


def test_what_refuses_says_why_and_the_others_keep_their_fact():
    settings = [dpt.get_mechanism(Latent.name), dpt.get_mechanism("mahalanobis"), dpt.get_mechanism("santext")]
    found = points(settings)
    refused = [p for p in found if not p.has("certainty")]
    assert {p.setting for p in refused} == {0, 1} and all(p.reasons["certainty"] for p in refused)
    (fact,) = {p.fact for p in found if p.has("certainty")}
    assert fact.word.casefold() in TEXT.casefold() and fact.word not in fact.alternatives


def test_more_measures_the_same_as_a_run_that_asks_for_it_at_once():
    settings = [dpt.get_mechanism("santext"), dpt.get_mechanism("custext")]
    found, bare = points(settings), points(settings, ("n_w",))
    assert not any(p.has("certainty") for p in bare)
    again = list(trade_off.add_metrics(bare, ("certainty",), lambda m: m.prepare(TEXT)))
    assert [(p.fact, p.measured["certainty"]) for p in again] == [(p.fact, p.measured["certainty"]) for p in found]


def test_alternatives_come_from_a_space_that_no_setting_samples_in():
    asked = [dpt.get_mechanism("santext"), dpt.get_mechanism("santext", space="word2vec")]
    spaces = {m.by_word.space.name for m in asked}
    assert spaces == {"minilm", "word2vec"}
    assert alternatives.public_space(asked[0], spaces).name == "cooccurrence"
    assert alternatives.public_space(asked[0], ("cooccurrence",)).name == "word2vec"
    assert alternatives.public_space(asked[0], ("cooccurrence", *spaces)).name == "cooccurrence", "one is always asked"


def test_a_fact_that_the_text_lacks_is_refused_and_advice_counts_the_certainty():
    (point,) = (p for p in points([dpt.get_mechanism("santext")], fact="kidney") if p.epsilon == EPSILONS[0])
    assert not point.has("certainty") and "does not contain" in point.reasons["certainty"]
    found = points([dpt.get_mechanism("santext")], ("certainty", "unchanged"), fact="heart")
    limit = max(p.value("certainty").mean for p in found) - 1e-6
    best = advise(found, "certainty", limit, "unchanged").best
    assert best is not None and best.epsilon == EPSILONS[0]
    rows = trade_off.rows(found)
    assert all(r["certainty_low"] <= r["certainty"] <= r["certainty_high"] for r in rows)
    assert "heart" not in trade_off.to_csv(found) and "heart" not in repr(dataclasses.replace(found[0], texts=()))


def test_named_alternatives_take_the_place_of_public_ones():
    m = dpt.get_mechanism("custext", epsilon=3.0)
    fact = shared_fact(TEXT, [m], "heart", ["brain", "Heart", "skin"])
    assert fact.alternatives == ("brain", "skin") and fact.chance == pytest.approx(1 / 3)
    with pytest.raises(dpt.InputError, match="at least one"):
        shared_fact(TEXT, [m], "heart", ["heart"])
    point = next(trade_off.tradeoff(TEXT, [m], [3.0], 1, ("certainty",), fact="heart", alternatives=["brain", "skin"]))
    assert point.fact == fact
    bare = list(trade_off.tradeoff(TEXT, [m], [3.0], 1, ()))
    (again,) = trade_off.add_metrics(
        bare, ("certainty",), lambda m: m.prepare(TEXT), fact="heart", alternatives=["brain", "skin"]
    )
    assert again.fact == fact and again.value("certainty").mean == point.value("certainty").mean
