"""The printed promise says its odds, its total, and when there is none."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from dptext_core import Guarantee
from dptext_core.guarantee import number, odds_text

PROMISE = Guarantee("pure", 2.0, "released word", "any two texts", draws=3, total=6.0, exposed=("the spacing",))


def test_the_sentence_holds_odds_per_word_and_total():
    text = PROMISE.sentence()
    assert "7.39 times" in text and "ε = 2 a word" in text and "ε = 6" in text and "3 words are drawn" in text
    assert "at most 3 draws" not in PROMISE.formal() and "3 draws" in PROMISE.formal()


def test_one_word_is_singular_and_none_protects_nothing():
    assert "1 word is drawn" in dataclasses.replace(PROMISE, draws=1, total=2.0).sentence()
    assert "nothing is protected" in dataclasses.replace(PROMISE, draws=0, total=0.0).sentence()


def test_an_expectation_is_called_information():
    formal = dataclasses.replace(PROMISE, expected=4.5).formal()
    assert "worst case" in formal and "4.5" in formal and "not a guarantee" in formal and "at most 3 draws" in formal


def test_without_a_guarantee_the_reason_stands_there():
    none = dataclasses.replace(PROMISE, notion="none", reason="the filter depends on the word.")
    assert "no privacy guarantee" in none.sentence() and "the filter" in none.sentence()
    assert "No finite ε" in none.formal()


def test_a_seeded_promise_is_void():
    assert "not private" in dataclasses.replace(PROMISE, seeded=True).sentence()


def test_it_is_plain_data():
    data = json.loads(json.dumps(PROMISE.to_dict()))
    assert data["total"] == 6.0 and data["exposed"] == ["the spacing"] and data["sentence"] == PROMISE.sentence()


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [(0.5, "1.65 times"), (1, "2.72 times"), (5, "148 times"), (10, "2.2 × 10⁴ times"), (50, "5.2 × 10²¹ times")],
)
def test_odds(epsilon, expected):
    assert odds_text(epsilon) == expected


def test_odds_of_any_epsilon_can_be_written():
    assert odds_text(1400).startswith("1.") or "× 10⁶⁰⁸" in odds_text(1400)


@pytest.mark.parametrize(("x", "expected"), [(50.0, "50"), (2.5, "2.5"), (12000.0, "12,000"), (math.inf, "∞")])
def test_numbers(x, expected):
    assert number(x) == expected
