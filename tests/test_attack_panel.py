"""The panel of the attackers, run by Streamlit's AppTest, and their figure."""

from __future__ import annotations

import math
import time

import plotly.graph_objects as go
import pytest
from marks import slow_but
from streamlit.testing.v1 import AppTest

import dptext_core as dpt
from dptext_core.attacks import QueryCurve, bayes
from dptext_core.figures import query_figure

TEXT = "The movie was wonderful but the weather in Xyzzyville ruined our holiday."


def script() -> None:
    import streamlit as st

    from pages.ui import attackers, runs

    state = st.session_state
    if "run" not in state:
        inputs = runs.Inputs(state["text"], state["mechanism"], state["options"], 3)
        axis = state["axis"]
        state["run"] = runs.make(inputs, 1, axis[2], axis)
    run = state["run"]
    attackers.panel(run, run.at(state["epsilon"]) if "epsilon" in state else run.result, state["token"])


def page(mechanism: str, token: int | None = 1, text: str = TEXT, axis=None, **options) -> AppTest:
    at = AppTest.from_function(script, default_timeout=120)
    at.session_state["mechanism"], at.session_state["text"], at.session_state["token"] = mechanism, text, token
    at.session_state["options"] = tuple(sorted(options.items()))
    at.session_state["axis"] = axis or dpt.mechanism_class(mechanism).epsilon_range()
    return settle(at)


def settle(at: AppTest) -> AppTest:
    """Run until no job is under way."""
    at.run()
    end = time.monotonic() + 100
    while any(w.running(0) for w in jobs(at).values()):
        assert time.monotonic() < end, "the work did not end"
        time.sleep(0.2)
        at.run()
    at.run()
    assert not at.exception, at.exception
    return at


def jobs(at: AppTest) -> dict:
    """What was asked of each attacker."""
    work = at.session_state["session"].work if "session" in at.session_state else {}
    return {place.removeprefix("attack: "): w for place, w in work.items() if w.asked is not None}


def metric(at: AppTest, label: str) -> str:
    return next(m for m in at.metric if m.label == label).value


def said(at: AppTest) -> str:
    return " ".join(m.value for m in [*at.markdown, *at.caption, *at.info]).replace("\\", "")


@pytest.mark.parametrize("mechanism", slow_but(["custext"], ["custext", "diffractor", "santext", "tem"]))
def test_the_chosen_word_is_attacked_at_once(mechanism):
    at = page(mechanism)
    posterior = jobs(at)["bayes"].result
    run = at.session_state["run"]
    assert posterior == bayes.attack(run.mechanism, run.result, 1)
    assert posterior.true == "movie" and metric(at, "Place of your word") == f"{posterior.rank:,}"
    table = at.dataframe[0].value
    assert len(table) == len(posterior.top) + (posterior.rank > len(posterior.top))
    assert list(table["word"][table[""] != ""]) == ["movie"]
    assert posterior.sentence() in said(at)
    assert at.get("tab_container")[0].proto.tab_container.default_tab_index == 0
    assert metric(at, "Answers needed").startswith(("about", "never"))
    assert jobs(at)["curve"].result.words == 1 and len(at.get("plotly_chart")) == 1
    assert jobs(at)["nearest"].result.sentence() in said(at)
    assert not {"language-model", "likely-text"} & set(jobs(at))


def test_moving_epsilon_attacks_again_and_keeps_the_curve():
    at = page("custext")
    curve = jobs(at)["curve"]
    at.session_state["epsilon"] = 20.0
    settle(at)
    assert jobs(at)["bayes"].result.epsilon == 20.0 and jobs(at)["curve"] is curve
    at.button(key="attack_start_text curve").click()
    settle(at)
    assert jobs(at)["text curve"].result.words == 5
    assert "Half of the 5 words" in said(at)


def test_what_has_no_posterior_says_what_to_use_instead():
    at = page("mvc")
    assert "nearest neighbour attack" in said(at) and "attack_start_curve" in {b.key for b in at.button}
    assert at.get("tab_container")[0].proto.tab_container.default_tab_index == 1, "what works is open"
    at = page("dp-mlm")
    assert "mask inference" in said(at)
    assert at.get("tab_container")[0].proto.tab_container.default_tab_index == 1
    at.button(key="attack_start_language-model").click()
    settle(at)
    found = jobs(at)["language-model"].result
    assert found.sentence() in said(at) and metric(at, "First guess right")


def test_an_attacker_whose_model_is_not_here_says_which_command_gets_it(monkeypatch, tmp_path):
    monkeypatch.setenv("DPTEXT_MODELS", str(tmp_path))
    at = page("custext")
    at.button(key="attack_start_likely-text").click()
    settle(at)
    assert any("models add gemma-3-270m" in e.value.replace("\\", "") for e in at.error)


def test_long_work_waits_for_a_button():
    at = page("santext-plus")
    assert "bayes" not in jobs(at) and "all pairs of words" in said(at)


def test_words_that_were_not_replaced_say_so():
    assert "stays as it is" in said(page("custext", token=0))
    at = page("custext", token=8)
    assert at.session_state["run"].result.steps[8].original == "Xyzzyville"
    assert "not in the vocabulary" in said(at) and metric(at, "Place of your word") == "not listed"
    assert "nothing to guess" in said(page("custext", text="The of and."))


def test_markup_in_the_text_is_shown_as_it_is():
    at = page("custext", token=0, text="**doctor** <b>nurse</b> $x$", keep_stopwords=False, oov="keep")
    assert not at.exception


def test_the_figure_puts_never_on_top():
    curve = QueryCurve((1.0, 2.0, 4.0), (math.inf, 5000.0, 3.0), (1.0, 0.0, 0.0), 1)
    for dark in (False, True):
        figure = go.Figure(query_figure({"<b>word</b>": curve}, epsilon=2.0, dark=dark))
        (line,) = figure.data
        assert line.y[0] > line.y[1] > line.y[2] and line.customdata[0] == "never"
        assert line.name == "&lt;b&gt;word&lt;/b&gt;"
        assert "never" in figure.layout.yaxis.ticktext and 10 ** figure.layout.yaxis.range[1] > line.y[0]
    never = go.Figure(query_figure({"w": QueryCurve((1.0, 2.0), (math.inf, math.inf), (1.0, 1.0), 1)}))
    assert set(never.data[0].customdata) == {"never"}
    plain = go.Figure(query_figure({"w": QueryCurve((1.0, 2.0), (9.0, 1.0), (0.0, 0.0), 1)}))
    assert "never" not in plain.layout.yaxis.ticktext
    with pytest.raises(dpt.InputError, match="no curve"):
        query_figure({})
