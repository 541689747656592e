"""A guarantee as data: its arithmetic, its typed values, plain strings in their place, and rounding to the safe side.

The wording is in ``test_sentences``.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm

from dptext_core import ConfigError, Guarantee
from dptext_core.privacy import kinds, sentences
from dptext_core.privacy.guarantee import zcdp_epsilon, zcdp_rho
from dptext_core.privacy.numbers import at_least, bound, number, odds_text, percent, scientific
from dptext_core.privacy.terms import Adjacency, Condition, NotProtected, ProtectedUnit

GUARANTEE = Guarantee("pure", 2.0, "released word", "any two texts", draws=3, total=6.0, exposed=("the spacing",))


@pytest.mark.parametrize("kind", kinds.UnitKind)
def test_a_unit_is_known_by_its_noun(kind):
    unit = ProtectedUnit(kind, **({"text": "answer"} if kind == "custom" else {}))
    given = dataclasses.replace(GUARANTEE, unit=str(unit)).unit
    assert given == unit and given.kind is kind
    assert given.is_word == (kind in ("released-word", "distinct-word"))
    assert given.counts_distinct_words == (kind == "distinct-word")


def test_a_noun_with_a_known_word_in_it_is_a_unit_of_its_own():
    unit = dataclasses.replace(GUARANTEE, unit="password that is distinct").unit
    assert unit.is_custom and not unit.is_word and not unit.counts_distinct_words and unit.noun == unit


def test_plain_strings_become_custom_values():
    g = Guarantee(
        "group",
        2.0,
        "answer",
        "Any two texts.",
        5,
        10.0,
        exposed=("which words are asked for",),
        group="its class",
        among="of one length",
    )
    assert g.notion is kinds.Notion.GROUP and g.notion == "group"
    assert (g.unit, g.group, g.among) == ("answer", "its class", "of one length")
    assert all(value.is_custom for value in (g.unit, g.group, *g.exposed))
    assert g.adjacency.is_any_texts and g.among.custom and not g.reason and not g.metric
    assert ", ".join(g.exposed) == "which words are asked for" and g.group.size is None
    assert g == dataclasses.replace(g, unit="answer") == Guarantee(**vars(g))


def test_words_of_a_plugin_leave_the_conditions_known():
    own = Adjacency(Condition("token-count"), "what I state") + ", where all is well"
    assert own == dataclasses.replace(GUARANTEE, adjacency=own).adjacency and own.endswith(", where all is well")
    assert [c.kind for c in own.conditions] == ["token-count", "custom"] and not own.is_any_texts
    more = own.where(Condition("same-group"))
    assert more.startswith(own) and more.conditions[-1].kind == "same-group"


def test_values_of_one_wording_and_another_meaning_differ():
    spacing = NotProtected("spacing")
    assert spacing != NotProtected.of(str(spacing)) and spacing == str(spacing)
    assert Condition("spacing") != spacing and Adjacency() != Adjacency(custom=sentences.ANY_TEXTS)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_a_copy_has_the_same_values(copied):
    g = dataclasses.replace(
        GUARANTEE, exposed=(NotProtected("seed"), "x"), adjacency=Adjacency(Condition("sensitive-words", share=0.5))
    )
    other = copied(g)
    assert other == g and [e.kind for e in other.exposed] == ["seed", "custom"]
    assert other.adjacency.conditions[0].parameters == {"share": 0.5}


@pytest.mark.parametrize(
    ("cls", "kind", "given", "named"),
    [
        (NotProtected, "spaces", {}, "spacing"),
        (NotProtected, "token-limit", {}, "count"),
        (NotProtected, "repetitions", {"where": "here"}, "repetitions"),
        (NotProtected, "kept-tokens", {"count": 2}, "kept"),
        (NotProtected, "word-group", {"outputs": 2}, "overlap"),
        (Condition, "sensitive-words", {}, "share"),
        (ProtectedUnit, "custom", {}, "text"),
    ],
)
def test_a_value_without_its_parameters_is_refused(cls, kind, given, named):
    with pytest.raises(ConfigError, match=named):
        cls(kind, **given)


def test_a_value_cannot_be_changed():
    with pytest.raises(TypeError):
        NotProtected("token-limit", count=3).parameters["count"] = 4
    with pytest.raises(dataclasses.FrozenInstanceError):
        GUARANTEE.unit = "answer"
    for value, name in ((NotProtected("seed"), "kind"), (Adjacency(), "conditions")):
        with pytest.raises(AttributeError):
            setattr(value, name, ())
    assert "notion='pure'" in repr(GUARANTEE)


def test_where_nothing_is_guarantee_no_number_stands_for_a_guarantee():
    none = dataclasses.replace(GUARANTEE, notion="none", reason="no noise is added.", spent=(2.0, 2.0, 2.0)).to_dict()
    assert [none[k] for k in ("epsilon", "delta", "total", "expected", "zcdp")] == [None] * 5 and none["spent"] == []
    assert "no noise is added." in none["sentence"]


def test_it_is_plain_data():
    data = json.loads(json.dumps(GUARANTEE.to_dict()))
    assert data["total"] == 6.0 and data["exposed"] == ["the spacing"] and data["sentence"] == GUARANTEE.sentence()


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [(0.5, "1.65 times"), (1, "2.72 times"), (5, "149 times"), (10, "22,027 times"), (50, "more than a billion times")],
)
def test_odds(epsilon, expected):
    assert odds_text(epsilon) == expected


@pytest.mark.parametrize(("epsilon", "odds"), [(2.0, "7.39 times"), (15.0, "3,269,018 times")])
def test_odds_of_near_words_are_numbers_at_every_epsilon(epsilon, odds):
    g = Guarantee("metric", epsilon, "released word", "x", 1, epsilon, metric="d", near=1.0)
    assert f"{odds} for the nearest word" in g.sentence()


def test_odds_beyond_a_billion_are_words():
    assert odds_text(math.log(1e9) - 1e-9) == "999,999,999 times"
    assert odds_text(math.log(1e9) + 1e-9) == odds_text(1400) == odds_text(math.inf) == "more than a billion times"


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (0.25, "0.25"),
        (0.123456, "0.123456"),
        (0.001, "0.001"),
        (0.00099, "0.001"),
        (1e-5, "1e−5"),
        (1.1e-5, "2e−5"),
        (0.0, "0"),
    ],
)
def test_a_delta_has_one_digit_where_it_is_small(x, said):
    assert scientific(x) == said


def test_nothing_spent_is_nothing_lost():
    assert zcdp_epsilon(0.0, 1e-5) == 0.0


@pytest.mark.parametrize(
    ("x", "expected"), [(50.0, "50"), (2.5, "2.5"), (12000.0, "12,000"), (999.7, "1,000"), (math.inf, "∞")]
)
def test_numbers(x, expected):
    assert number(x) == expected


# --- rounding to the safe side


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (50.0, "50"),
        (2.5, "2.5"),
        (1234.49, "1,235"),
        (2.3449, "2.35"),
        (999.1, "1,000"),
        (99.95, "100"),
        (0.1 + 0.2, "0.3"),
        (0.30001, "0.301"),
        (1e-9, "1e-09"),
        (0.0, "0"),
        (123456.0, "123,456"),
        (math.inf, "∞"),
    ],
)
def test_a_bound_is_rounded_up_and_exact_values_stay(x, expected):
    assert bound(x) == expected


def value(text: str) -> tuple[float, float]:
    """What a printed number says, and one unit of its last digit."""
    plain = text.replace(",", "").replace("−", "-")
    mantissa, _, power = plain.partition("e")
    unit = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    return float(plain), unit


@given(st.floats(1e-12, 1e12))
def test_a_bound_is_never_below_and_at_most_one_digit_above(x):
    said, unit = value(bound(x))
    assert x * (1 - 1e-12) <= said <= x + unit
    said, unit = value(at_least(x))
    assert x - unit <= said <= x * (1 + 1e-12)


@given(st.floats(1e-300, 1.0))
def test_a_delta_is_never_below_and_at_most_one_digit_above(x):
    said, unit = value(scientific(x))
    assert x * (1 - 1e-11) <= said <= (x + unit) * (1 + 1e-9)


@given(st.floats(1e-3, 20.0))
def test_odds_are_never_below(epsilon):
    said = float(odds_text(epsilon).removesuffix(" times").replace(",", ""))
    assert math.exp(epsilon) * (1 - 1e-11) <= said <= math.exp(epsilon) * 1.01


def test_every_guarantee_is_rounded_up():
    uneven = dataclasses.replace(GUARANTEE, epsilon=2.3449, total=1234.49)
    for text in (uneven.sentence(), uneven.formal()):
        assert "ε = 2.35" in text and "ε = 1,235" in text and "2.34 " not in text and "1,234" not in text
    group = dataclasses.replace(uneven, notion="group", group="the words that share its set").sentence()
    assert "ε = 2.35 " in group and "ε = 1,235" in group
    metric = dataclasses.replace(uneven, notion="metric", metric="Euclidean", near=1.0).sentence()
    assert "ε = 2.35 " in metric and "10.5 times" in metric, "e^2.3449 is 10.43"
    approx = dataclasses.replace(uneven, notion="approx", delta=1.2e-6).sentence()
    assert "δ = 2e−6" in approx and "δ = 4e−6" in approx
    many = dataclasses.replace(GUARANTEE, epsilon=0.5, draws=200, total=100.0)
    closer = many.optimal()
    assert closer is not None and value(many.extra().split("ε = ")[1].split(" ")[0])[0] >= closer


METRIC = Guarantee(
    "metric",
    2.0,
    "released word",
    "any two texts of one length",
    3,
    6.0,
    metric="Euclidean, in the word space minilm",
    near=0.5,
    largest=1.5,
)


def test_a_metric_guarantee_gives_odds_near_and_far():
    text = METRIC.sentence()
    assert "2.72 times for the nearest" in text and "20.1 times for the most different" in text
    assert METRIC.metric in text and METRIC.metric in METRIC.formal()


def test_far_words_of_a_large_epsilon_are_not_hidden():
    text = dataclasses.replace(METRIC, epsilon=60.0).sentence()
    assert "more than a billion times for the nearest word" in text
    near = dataclasses.replace(METRIC, epsilon=20.0).sentence()
    assert "22,027 times for the nearest word" in near


def test_plain_data_holds_the_metric():
    data = METRIC.to_dict()
    assert (data["metric"], data["near"], data["largest"], data["group"]) == (METRIC.metric, 0.5, 1.5, "")
    assert dataclasses.replace(METRIC, distance="Euclidean").to_dict() == data, "what a total counts is for totals"


# --- the second statement, by zCDP


def renyi(p: np.ndarray, q: np.ndarray, alpha: float) -> float:
    return float(logsumexp(alpha * np.log(p) + (1 - alpha) * np.log(q)) / (alpha - 1))


ALPHAS = np.concatenate([1 + np.geomspace(1e-4, 1, 30), np.geomspace(2, 500, 30)])


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 3.0, 10.0])
def test_rho_of_a_pure_draw_holds_for_randomised_response_and_nothing_smaller_does(epsilon):
    keep = 1 / (1 + math.exp(-epsilon))
    p, q = np.array([keep, 1 - keep]), np.array([1 - keep, keep])
    rho = zcdp_rho(epsilon)
    ratios = [renyi(p, q, a) / a for a in ALPHAS]
    assert max(ratios) <= rho * (1 + 1e-9) and max(ratios) > 0.995 * rho
    assert rho <= epsilon**2 / 2


def test_rho_of_bounded_range_holds_for_random_score_tables():
    rng = np.random.default_rng(5)
    worst = 0.0
    for epsilon in (0.5, 2.0, 6.0):
        for _ in range(12):
            n = int(rng.integers(2, 40))
            # Scores at the ends of their range are the worst.
            a, b = (np.where(rng.random(n) < rng.random(), -0.5, 0.0) for _ in "ab")
            p, q = (np.exp(epsilon * s - logsumexp(epsilon * s)) for s in (a, b))
            share = max(renyi(p, q, x) / x for x in ALPHAS) / zcdp_rho(epsilon, bounded_range=True)
            worst = max(worst, share)
    assert 0.7 < worst <= 1 + 1e-9
    assert zcdp_rho(2.0, True) == 0.5 < zcdp_rho(2.0)


@pytest.mark.parametrize(("rho", "delta"), [(0.001, 1e-5), (0.5, 1e-5), (3.0, 1e-6), (200.0, 1e-5), (0.5, 0.1)])
def test_epsilon_of_zcdp_is_a_bound_for_the_gaussian_and_below_the_simple_one(rho, delta):
    found = zcdp_epsilon(rho, delta)
    assert 0 < found < rho + 2 * math.sqrt(rho * math.log(1 / delta))
    # The Gaussian mechanism with sensitivity 1 and σ² = 1/(2ρ) is ρ-zCDP; its δ at ε is known exactly.
    sigma = math.sqrt(1 / (2 * rho))
    exact = norm.cdf(0.5 / sigma - found * sigma) - math.exp(found + norm.logcdf(-0.5 / sigma - found * sigma))
    assert 0 <= exact <= delta


def test_the_second_statement_comes_where_it_is_smaller_and_never_instead():
    many = dataclasses.replace(GUARANTEE, epsilon=0.5, draws=200, total=100.0)
    closer = many.zcdp()
    assert closer is not None and closer == pytest.approx(zcdp_epsilon(200 * 0.5 * math.tanh(0.25), 1e-5))
    assert closer < 100 and "total ε = 100" in many.formal()
    assert f"ε = {bound(many.optimal())} in total ({bound(closer)} by zCDP" in many.extra()
    assert many.extra() in many.formal()
    assert "together at most ε = 100" in many.sentence() and "zCDP" not in many.sentence()
    data = json.loads(json.dumps(many.to_dict()))
    assert data["total"] == 100.0 and data["zcdp"] == {"epsilon": closer, "delta": 1e-5}
    few = dataclasses.replace(GUARANTEE, draws=3)
    assert few.zcdp() is None and few.extra() == "" and "Also" not in few.formal() and few.to_dict()["zcdp"] is None


def test_the_second_statement_takes_the_epsilon_of_each_draw_and_the_bounded_range():
    uneven = dataclasses.replace(GUARANTEE, epsilon=2.0, draws=200, total=118.0, spent=(0.5,) * 188 + (2.0,) * 12)
    rho = 188 * zcdp_rho(0.5) + 12 * zcdp_rho(2.0)
    assert uneven.zcdp() == pytest.approx(zcdp_epsilon(rho, 1e-5))
    tighter = dataclasses.replace(uneven, bounded_range=True).zcdp()
    assert tighter < uneven.zcdp() and tighter == pytest.approx(zcdp_epsilon(188 / 32 + 12 / 2, 1e-5))


@pytest.mark.parametrize("notion", ["metric", "group", "approx", "none"])
def test_only_pure_guarantees_have_a_second_statement(notion):
    said = {"group": "a set", "metric": "steps", "reason": "No."}
    other = dataclasses.replace(GUARANTEE, notion=notion, epsilon=0.1, draws=1000, total=100.0, **said)
    assert other.zcdp() is None and other.extra() == ""


# --- odds and lines


def test_an_approximate_guarantee_names_its_delta():
    one = Guarantee("approx", 2.0, "released text", "any two texts", 1, 2.0, delta=1e-5)
    assert "δ = 1e−5" in one.sentence() and "ε = 2, δ = 1e−5" in one.formal()
    three = dataclasses.replace(one, draws=3, total=6.0)
    assert three.total_delta == pytest.approx(3e-5)
    assert "ε = 6 and δ = 3e−5" in three.sentence() and "total ε = 6, δ = 3e−5" in three.formal()
    many = dataclasses.replace(one, draws=200_000, total=400_000.0)
    assert many.total_delta == 1.0
    assert "400,000" not in many.sentence() and "400,000" not in many.formal(), "a δ of 1 bounds nothing"


@pytest.mark.parametrize(
    ("notion", "numbers"),
    [
        ("pure", {"epsilon": math.nan}),
        ("pure", {"total": math.inf}),
        ("pure", {"spent": (1.0, -1.0, 1.0)}),
        ("pure", {"delta": 0.01}),
        ("approx", {"delta": math.nan}),
        ("approx", {"delta": 1.0}),
        ("secure", {}),
    ],
)
def test_a_guarantee_of_impossible_numbers_cannot_be_made(notion, numbers):
    with pytest.raises(ConfigError):
        dataclasses.replace(GUARANTEE, notion=notion, **numbers)


@pytest.mark.parametrize("guarantee", [GUARANTEE, METRIC, dataclasses.replace(GUARANTEE, expected=4.5, seeded=True)])
def test_lines_are_short_and_make_up_the_formal_statement(guarantee):
    lines = guarantee.lines()
    assert guarantee.formal() == " ".join(lines) and len(lines) >= 3
    assert all(len(line) < 160 and line.endswith(".") for line in lines)
    assert ("Seeded" in lines[-1]) == guarantee.seeded


@pytest.mark.parametrize(("x", "expected"), [(1e-5, "1e−5"), (2e-12, "2e−12"), (0.01, "0.01")])
def test_small_numbers(x, expected):
    assert scientific(x) == expected


@pytest.mark.parametrize(
    ("p", "text"), [(0, "0%"), (1e-9, "< 0.01%"), (0.00123, "0.12%"), (0.042, "4.2%"), (0.0999, "10%"), (1, "100%")]
)
def test_percent(p, text):
    assert percent(p) == text
