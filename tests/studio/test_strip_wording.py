"""What the token view says of a belief and of a guarantee: the numbers in it, worked out by its own JavaScript."""

from __future__ import annotations

import re

import numpy as np
import pytest
from small_spaces import on, random_space
from small_spaces import words as small_words
from token_engine import call

import dptext_core as dpt
from dptext_studio.components.token_strip import MOST_TYPED
from dptext_studio.figures.odds_view import odds_view


@pytest.mark.parametrize("released", ["heart", "lungs", ""])
def test_a_secret_is_called_given_away_only_where_the_reader_is_sure(released):
    belief = {"words": ["heart", "lung"], "prior": [0.5, 0.5], "covered": [True, True], "draws": 0}
    shown = {"released": released, "copied": False, "text": "A quiet day."}
    said = {p: call("remark", belief, {"p": [p, 1 - p], "guess": 0}, shown) for p in (0.7, 0.9, 0.95, 0.99)}
    given_away = {p: "the reader knows it" in text or "still reveals it" in text for p, text in said.items()}
    assert given_away == {0.7: False, 0.9: False, 0.95: True, 0.99: True}


def test_a_kept_word_is_named_and_doubt_about_it_explained():
    """Another word could have been replaced by the kept one, so a reader can be less than certain."""
    belief = {"words": ["his", "hand"], "prior": [0.5, 0.5], "covered": [True, False], "draws": 0}
    shown = {"released": "his", "copied": True, "text": ""}
    sure, unsure = (call("remark", belief, {"p": [p, 1 - p], "guess": 0}, shown) for p in (1.0, 0.62))
    assert all("“his” is kept as it is" in said for said in (sure, unsure))
    assert [re.search("not certain", said) is not None for said in (sure, unsure)] == [False, True]


def test_words_that_are_always_replaced_are_not_counted_as_unchanged():
    always, sampled = {"drawn": True, "src": -1}, {"drawn": True, "src": 3}
    said = [call("countedWords", t, 0, len(t)) for t in ([always], [always, always], [sampled], [always, sampled], [])]
    assert said[:2] == ["1 word replaced", "2 words replaced"]
    assert said[2:] == ["0 of 1 word unchanged", "0 of 2 words unchanged", "0 of 0 words unchanged"]


def test_a_gauge_without_a_certainty_says_what_to_do():
    said = [call("gaugeHint", told, aligned) for told in ({"why": ""}, {"why": "x"}) for aligned in (True, False)]
    assert said == ["choose a word", "enter a word", "enter alternatives", "enter alternatives"]


@pytest.mark.parametrize("copied", [True, False])
def test_without_a_guarantee_a_remark_names_no_epsilon(copied):
    belief = {"words": ["heart", "lung"], "prior": [0.5, 0.5], "covered": [False, False], "draws": 0}
    shown = {"released": "heart", "copied": copied, "text": ""}
    said = call("remark", belief, {"p": [1.0, 0.0], "guess": 0}, shown)
    assert "ε" not in said and "no guarantee" in said and ("“heart”" in said) is copied


def test_a_reload_goes_on_at_the_step_of_the_tour_and_no_other_opening_does():
    assert [call("stepAfter", "reload", stored, 5) for stored in ("1", "3", "5")] == [1, 3, 5]
    assert [call("stepAfter", "reload", stored, 5) for stored in (None, "", "0", "6", "2.5", "x")] == [0] * 6
    assert [call("stepAfter", kind, "3", 5) for kind in ("navigate", "back_forward", None)] == [0] * 3


def test_a_list_of_alternatives_that_is_too_long_is_refused_with_its_length():
    assert call("tooLong", "a" * MOST_TYPED + " ") == ""
    assert re.findall(r"\d+", call("tooLong", "a" * (MOST_TYPED + 1))) == [str(MOST_TYPED + 1), str(MOST_TYPED)]


@pytest.mark.parametrize(
    ("draws", "ceiling", "numbers"),
    [
        (0, 0.711, ["25", "72"]),
        (37, 0.5, ["25", "50"]),
        (1, 0.9899, ["25", "99"]),
        (0, 0.995, ["20"]),
        (37, 0.9999, ["20", "37"]),
    ],
)
def test_a_ceiling_is_a_limit_rounded_up_or_none_with_the_draws_that_it_counts(draws, ceiling, numbers):
    said = call("ceilingWords", {"draws": draws}, 20.0, 0.25, ceiling)
    assert re.findall(r"[\d.]*\d", said) == numbers
    assert ("no practical limit" in said) == (numbers[0] == "20")


def test_a_certainty_is_matched_where_an_epsilon_gives_it_and_not_elsewhere():
    odds = [np.log([p, 1 - p]).tolist() for p in (0.6, 0.7, 0.97)]
    points = [{"eps": e, "log": log, "ceiling": [1.0, 1.0]} for e, log in zip((1.0, 2.0, 4.0), odds, strict=True)]
    belief, epsilons = {"points": points, "now": None}, [0.5, 1.0, 2.0, 4.0]
    ends = {"low": pytest.approx(0.6), "high": pytest.approx(0.97)}
    for target, eps, p, reached in (
        (0.34, 1.0, 0.6, False),
        (0.58, 1.0, 0.6, True),
        (0.72, 2.0, 0.7, True),
        (0.8, 2.0, 0.7, False),
        (0.99, 4.0, 0.97, True),
    ):
        found = call("matchCertainty", belief, epsilons, target)
        assert found == {"eps": eps, "p": pytest.approx(p), "reached": reached} | ends
    assert call("matchCertainty", belief, [8.0], 0.5) is None


def test_a_guarantee_is_stated_in_odds():
    assert [call("oddsPair", x) for x in (0.0, 1.0, 10.0)] == ["50:50", "73:27", "99.995:0.005"]
    word = {"notion": "pure", "unit": "word", "draws": 37, "loss": 1.0}
    assert "99.995:0.005" in call("oddsWords", word, 10.0) and "73:27" not in call("oddsWords", word, 10.0)
    assert "73:27" in call("oddsWords", word, 50.0) and "ε = 50," in call("oddsWords", word, 50.0)
    for notion, within in (("group", "For words that share a set, "), ("metric", "Per unit of distance, ")):
        assert call("oddsWords", word | {"notion": notion, "loss": 0.5}, 3.0).startswith(
            f"{within}50:50 becomes at most 82:18."
        )
        assert ":" not in call("oddsWords", word | {"notion": notion}, 13.0), "no odds where they exclude nothing"
    assert call("oddsWords", {"notion": ""}, 3.0) == ""


@pytest.mark.parametrize(("name", "options"), [("custext", {"k": 4, "mapping": "conservative"}), ("santext", {})])
def test_the_odds_of_one_draw_grow_with_epsilon_as_its_guarantee_does(name, options):
    m = on(random_space(12), name, epsilon=2.0, **options)
    prepared = m.prepare(" ".join(small_words(12)[:3]))
    guarantee = m.guarantee(prepared)
    view = odds_view(m, prepared, guarantee, 0.5, 8.0)
    assert view["notion"] == guarantee.notion and view["draws"] == guarantee.draws
    assert view["loss"] * m.config.epsilon == pytest.approx(guarantee.epsilon)


def test_the_step_with_the_slider_says_in_odds_what_epsilon_is():
    said = call("tourSteps")[4]["say"]
    assert f"at ε = 1, a 50:50 guess becomes at most {call('oddsPair', 1.0)}." in said
    assert all(len(sentence.split()) <= 25 for step in call("tourSteps") for sentence in step["say"].split(". "))


def odds(notion: str, loss: float, draws: int) -> dict:
    return {"notion": notion, "unit": "word", "draws": draws, "loss": loss}


@pytest.mark.parametrize("view", [odds("pure", 1, 1), odds("pure", 1, 37), odds("group", 1, 9), odds("metric", 2, 5)])
def test_the_end_of_the_dial_is_called_private_only_where_the_guarantee_of_the_whole_text_limits_a_reader(view):
    epsilons = np.geomspace(0.01, 500.0, 200).tolist()
    private = [call("dialEnd", view, eps) == "private" for eps in epsilons]
    assert private == [view["draws"] * view["loss"] * eps <= 12 for eps in epsilons]
    assert any(private) and not all(private)
    for eps, is_private in zip(epsilons, private, strict=True):
        assert not is_private or "no practical limit" not in call("oddsWords", view, eps)


@pytest.mark.parametrize("name", ["dp-mlm", "dp-sentence", "custext", "mahalanobis"])
def test_no_dial_calls_an_epsilon_private_beside_a_guarantee_without_a_practical_limit(name):
    low, high, _ = dpt.mechanism_class(name).epsilon_range()
    for eps in np.geomspace(low, high, 157).tolist():
        for notion in ("pure", "group", "metric", "none", ""):
            view = odds(notion, 1.0, 37)
            limited = "no practical limit" not in call("oddsWords", view, eps)
            assert "private" not in call("dialEnd", view, eps) or limited


def test_identifying_words_that_are_gone_are_counted_beside_what_a_reader_still_infers():
    words = ["heart", "lung"]
    said = {
        p: call("inferredWords", {"p": [p, 1 - p], "guess": int(p < 0.5), "exact": True}, words)
        for p in (1.0, 0.98, 0.51, 0.5, 0.1)
    }
    assert [re.findall(r"heart: (\d+)%", text) for text in said.values()] == [["100"], ["98"], ["51"], [], []]
    assert call("inferredWords", None, []) == said[0.5] == said[0.1] != "", "where no belief is known"
