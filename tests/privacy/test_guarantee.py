"""The printed promise says its odds, its total, and when there is none."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm

from dptext_core import ConfigError, Guarantee
from dptext_core.privacy.guarantee import (
    at_least,
    bound,
    number,
    odds_text,
    percent,
    scientific,
    zcdp_epsilon,
    zcdp_rho,
)

PROMISE = Guarantee("pure", 2.0, "released word", "any two texts", draws=3, total=6.0, exposed=("the spacing",))


def test_the_sentence_holds_odds_per_word_and_total():
    text = PROMISE.sentence()
    assert "7.39 times" in text and "ε = 2 a word" in text and "ε = 6" in text and "3 words are drawn" in text
    assert "at most 3 draws" not in PROMISE.formal() and "3 draws" in PROMISE.formal()


def test_one_word_is_singular_and_none_protects_nothing():
    assert "1 word is drawn" in dataclasses.replace(PROMISE, draws=1, total=2.0).sentence()
    assert "protects nothing" in dataclasses.replace(PROMISE, draws=0, total=0.0).sentence()


def test_an_expectation_is_called_information():
    formal = dataclasses.replace(PROMISE, expected=4.5).formal()
    assert "worst case" in formal and "4.5" in formal and "not a guarantee" in formal and "at most 3 draws" in formal


def test_without_a_guarantee_the_reason_stands_there():
    none = dataclasses.replace(PROMISE, notion="none", reason="the filter depends on the word.")
    assert "no privacy guarantee" in none.sentence() and "the filter" in none.sentence()
    assert "No finite ε" in none.formal()


def test_a_seeded_promise_is_void():
    assert "not private" in dataclasses.replace(PROMISE, seeded=True).sentence()


def test_where_nothing_is_promised_no_number_stands_for_a_promise():
    none = dataclasses.replace(PROMISE, notion="none", reason="no noise is added.", spent=(2.0, 2.0, 2.0)).to_dict()
    assert [none[k] for k in ("epsilon", "delta", "total", "expected", "zcdp")] == [None] * 5 and none["spent"] == []
    assert "no noise is added." in none["sentence"]


def test_it_is_plain_data():
    data = json.loads(json.dumps(PROMISE.to_dict()))
    assert data["total"] == 6.0 and data["exposed"] == ["the spacing"] and data["sentence"] == PROMISE.sentence()


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [(0.5, "1.65 times"), (1, "2.72 times"), (5, "149 times"), (10, "2.3 × 10⁴ times"), (50, "5.2 × 10²¹ times")],
)
def test_odds(epsilon, expected):
    assert odds_text(epsilon) == expected


@pytest.mark.parametrize(("draws", "said"), [(1, False), (2, True)])
def test_the_total_is_said_where_there_are_several_draws(draws, said):
    text = Guarantee("pure", 2.0, "whole text", "any two texts", draws=draws, total=2.0 * draws)
    assert ("Together at most ε = 4." in text.sentence()) == said and "(ε = 2)." in text.sentence()
    piece = Guarantee("pure", 2.0, "released token", "any two texts", draws=draws, total=2.0 * draws)
    assert (f"At most {draws} tokens are drawn, together at most ε = 4." in piece.sentence()) == said
    word = Guarantee("pure", 2.0, "released word", "any two texts", draws=draws, total=2.0 * draws)
    assert f"together at most ε = {2 * draws}." in word.sentence()


@pytest.mark.parametrize(("epsilon", "said"), [(22.9, "8.9 × 10⁹ times for"), (23.0, "any number of times for")])
def test_odds_between_far_words_are_said_as_long_as_they_say_something(epsilon, said):
    g = Guarantee("metric", epsilon, "released word", "x", 1, epsilon, metric="d", near=1.0)
    assert said in g.sentence()


def test_odds_that_are_rounded_up_to_ten_carry():
    assert odds_text(math.log(9.96e7)) == "1.0 × 10⁸ times" and odds_text(math.log(9.84e7)) == "9.9 × 10⁷ times"


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


def test_odds_of_any_epsilon_can_be_written():
    assert odds_text(1400).startswith("1.") or "× 10⁶⁰⁸" in odds_text(1400)


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


@given(st.floats(1e-3, 1400.0))
def test_odds_are_never_below(epsilon):
    mantissa, _, power = odds_text(epsilon).removesuffix(" times").replace(",", "").partition(" × 10")
    exponent = int(power.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")) or 0)
    assert (0.1 if exponent == 0 else 1) <= float(mantissa) and (not power or float(mantissa) < 10)
    log = math.log(float(mantissa)) + exponent * math.log(10)
    assert epsilon - 1e-9 <= log <= epsilon + 0.11


def test_every_promise_is_rounded_up():
    uneven = dataclasses.replace(PROMISE, epsilon=2.3449, total=1234.49)
    for text in (uneven.sentence(), uneven.formal()):
        assert "ε = 2.35" in text and "ε = 1,235" in text and "2.34 " not in text and "1,234" not in text
    group = dataclasses.replace(uneven, notion="group", group="the words that share its set").sentence()
    assert "ε = 2.35 a word" in group and "ε = 1,235" in group
    metric = dataclasses.replace(uneven, notion="metric", metric="Euclidean", near=1.0).sentence()
    assert "ε = 2.35 for each unit" in metric and "10.5 times" in metric, "e^2.3449 is 10.43"
    approx = dataclasses.replace(uneven, notion="approx", delta=1.2e-6).sentence()
    assert "δ = 2e−6" in approx and "δ = 4e−6" in approx
    many = dataclasses.replace(PROMISE, epsilon=0.5, draws=200, total=100.0)
    closer = many.zcdp()
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


def test_a_metric_promise_names_its_distance_and_gives_odds_near_and_far():
    text, formal = METRIC.sentence(), METRIC.formal()
    assert "2.72 times for its nearest neighbour" in text and "20.1 times for the most different word" in text
    assert (
        "3 words are drawn, with ε = 2 for each unit of distance (Euclidean, in the word space minilm)"
        in text.lower().replace("euclidean, in", "Euclidean, in")
    )
    assert formal.startswith("Metric differential privacy, ε = 2 per released word and unit of distance (Euclidean")
    assert "total ε = 6" in formal and "sum of ε × distance" in formal
    assert "together at most" not in text, "ε of a metric promise is no total for any two texts"


def test_far_words_of_a_large_epsilon_are_not_hidden():
    text = dataclasses.replace(METRIC, epsilon=60.0).sentence()
    assert (
        "practically any number of times for the most different word" in text
        and "10¹³ times for its nearest" not in text
    )
    near = dataclasses.replace(METRIC, epsilon=20.0).sentence()
    assert "2.3 × 10⁴ times for its nearest neighbour" in near


def test_a_metric_promise_without_examples_still_reads():
    text = dataclasses.replace(METRIC, near=None, largest=None).sentence()
    assert "None" not in text and "()" not in text and "ε = 2 for each unit" in text


def test_a_group_promise_names_the_group():
    group = Guarantee(
        "group", 3.0, "distinct word", "any two texts", 2, 6.0, group="the words that share its set (K = 20)"
    )
    text, formal = group.sentence(), group.formal()
    assert "20.1 times" in text and "of the words that share its set (K = 20)" in text and "nowhere else" in text
    assert "2 words are drawn, together at most ε = 6" in text
    assert "Differential privacy within a group, ε = 3 per distinct word within the words that share its set" in formal
    seeded = dataclasses.replace(group, seeded=True).sentence()
    assert "not private" in seeded and "share its set" in seeded


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
    many = dataclasses.replace(PROMISE, epsilon=0.5, draws=200, total=100.0)
    closer = many.zcdp()
    assert closer is not None and closer == pytest.approx(zcdp_epsilon(200 * 0.5 * math.tanh(0.25), 1e-5))
    assert closer < 100 and "total ε = 100" in many.formal()
    assert "approximate DP by zCDP composition, δ = 1e−5" in many.formal() and bound(closer) in many.extra()
    assert "together at most ε = 100" in many.sentence() and "zCDP" not in many.sentence()
    data = json.loads(json.dumps(many.to_dict()))
    assert data["total"] == 100.0 and data["zcdp"] == {"epsilon": closer, "delta": 1e-5}
    few = dataclasses.replace(PROMISE, draws=3)
    assert few.zcdp() is None and few.extra() == "" and "zCDP" not in few.formal() and few.to_dict()["zcdp"] is None


def test_the_second_statement_takes_the_epsilon_of_each_draw_and_the_bounded_range():
    uneven = dataclasses.replace(PROMISE, epsilon=2.0, draws=200, total=118.0, spent=(0.5,) * 188 + (2.0,) * 12)
    rho = 188 * zcdp_rho(0.5) + 12 * zcdp_rho(2.0)
    assert uneven.zcdp() == pytest.approx(zcdp_epsilon(rho, 1e-5))
    tighter = dataclasses.replace(uneven, bounded_range=True).zcdp()
    assert tighter < uneven.zcdp() and tighter == pytest.approx(zcdp_epsilon(188 / 32 + 12 / 2, 1e-5))


@pytest.mark.parametrize("notion", ["metric", "group", "approx", "none"])
def test_only_pure_promises_have_a_second_statement(notion):
    said = {"group": "a set", "metric": "steps", "reason": "No."}
    other = dataclasses.replace(PROMISE, notion=notion, epsilon=0.1, draws=1000, total=100.0, **said)
    assert other.zcdp() is None and other.extra() == ""


# --- odds and lines


def test_odds_are_named_as_e_to_the_epsilon():
    assert (
        "at most e^ε = 2.72 times as likely under your text as under any other"
        in dataclasses.replace(PROMISE, epsilon=1.0, total=3.0).sentence()
    )


def test_an_approximate_promise_names_its_delta():
    one = Guarantee("approx", 2.0, "released text", "any two texts", 1, 2.0, delta=1e-5)
    assert "the released text is at most" in one.sentence() and "δ = 1e−5" in one.sentence()
    assert "word" not in one.sentence() and one.formal().startswith("Approximate differential privacy, ε = 2, δ = 1e−5")
    three = dataclasses.replace(one, draws=3, total=6.0)
    assert three.total_delta == pytest.approx(3e-5)
    assert "ε = 6 and δ = 3e−5" in three.sentence() and "total ε = 6, δ = 3e−5" in three.formal()
    many = dataclasses.replace(one, draws=200_000, total=400_000.0)
    assert "nothing is promised" in many.sentence() and "no finite ε" in many.formal(), "a δ of 1 bounds nothing"
    assert "400,000" not in many.sentence() and "400,000" not in many.formal()


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
def test_a_promise_of_impossible_numbers_cannot_be_made(notion, numbers):
    with pytest.raises(ConfigError):
        dataclasses.replace(PROMISE, notion=notion, **numbers)


def test_a_text_of_which_nothing_was_drawn_is_not_called_unchanged():
    """Unknown words are replaced without being looked at: no draw, and yet another text."""
    text = dataclasses.replace(PROMISE, draws=0, total=0.0).sentence()
    assert "released as it is" not in text and "protects nothing" in text


@pytest.mark.parametrize("promise", [PROMISE, METRIC, dataclasses.replace(PROMISE, expected=4.5, seeded=True)])
def test_lines_are_short_and_make_up_the_formal_statement(promise):
    lines = promise.lines()
    assert promise.formal() == " ".join(lines) and len(lines) >= 3
    assert all(len(line) < 160 and line.endswith(".") for line in lines)
    assert ("Seeded" in lines[-1]) == promise.seeded


@pytest.mark.parametrize(("x", "expected"), [(1e-5, "1e−5"), (2e-12, "2e−12"), (0.01, "0.01")])
def test_small_numbers(x, expected):
    assert scientific(x) == expected


@pytest.mark.parametrize("notion", ["pure", "group"])
def test_odds_beyond_ten_thousand_are_called_large(notion):
    promise = dataclasses.replace(PROMISE, notion=notion, group="a set")
    small, large = (dataclasses.replace(promise, epsilon=e, total=3 * e).sentence() for e in (9.0, 10.0))
    assert "hide little" in large and "hide little" not in small


@pytest.mark.parametrize(
    ("p", "text"), [(0, "0%"), (1e-9, "< 0.01%"), (0.00123, "0.12%"), (0.042, "4.2%"), (0.0999, "10%"), (1, "100%")]
)
def test_percent(p, text):
    assert percent(p) == text
