"""The panel of the attackers, run by Streamlit's AppTest, and their figure."""

from __future__ import annotations

import math
import time

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest
from tiny_generators import tiny_generator

import dptext_core as dpt
from dptext_core.attacks import QueryCurve, bayes, which_text
from dptext_core.privacy.numbers import percent
from dptext_studio.figures import query_figure
from dptext_studio.views.explore import facts

TEXT = "The movie in Xyzzyville was wonderful."


def script() -> None:
    import streamlit as st

    import dptext_core as dpt
    from dptext_studio.server import runs
    from dptext_studio.views.explore import attackers

    state = st.session_state
    if "run" not in state:
        inputs = runs.Inputs(state["text"], dpt.Setting.of(state["mechanism"], **dict(state["options"])), 3)
        axis = state["axis"]
        state["run"] = runs.make_run(inputs, 1, axis[2], axis)
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
    while any(w.is_running(0) for w in jobs(at).values()):
        assert time.monotonic() < end, "the work did not end"
        time.sleep(0.2)
        at.run()
    at.run()
    assert not at.exception, at.exception
    return at


def jobs(at: AppTest) -> dict:
    """What was asked of each attacker."""
    work = at.session_state["session"].work if "session" in at.session_state else {}
    return {place.removeprefix("attack: "): w for place, w in work.items() if w.request is not None}


def metric(at: AppTest, label: str) -> str:
    return next(m for m in at.metric if m.label == label).value


def opened_tab(at: AppTest) -> str:
    """The title of the attacker whose tab is open at first."""
    container = at.get("tab_container")[0]
    return at.tabs[container.proto.tab_container.default_tab_index].label


def said(at: AppTest) -> str:
    return " ".join(m.value for m in [*at.markdown, *at.caption, *at.info]).replace("\\", "")


@pytest.fixture(scope="module")
def words() -> AppTest:
    """Of a mechanism that draws words; each test asks another attacker."""
    return page("custext")


def test_the_chosen_word_is_attacked_at_once(words):
    at = words
    posterior = jobs(at)["bayes"].result
    run = at.session_state["run"]
    assert posterior == bayes.attack(run.mechanism, run.result, 1)
    assert posterior.true == "movie" and metric(at, "Rank of your word") == f"{posterior.rank:,}"
    table = at.dataframe[0].value
    assert len(table) == len(posterior.top) + (posterior.rank > len(posterior.top))
    assert list(table["word"][table[""] != ""]) == ["movie"]
    assert posterior.sentence() in said(at)
    assert opened_tab(at) == "Strongest attacker"
    assert metric(at, "Answers needed").startswith(("about", "never"))
    assert jobs(at)["curve"].result.words == 1 and len(at.get("plotly_chart")) == 1
    assert jobs(at)["nearest"].result.sentence() in said(at)
    assert not {"language-model", "likely-text"} & set(jobs(at))


def test_the_release_is_read_when_it_is_asked_for_and_what_is_right_is_marked(words):
    at = words
    assert "reader" not in jobs(at)
    at.button(key="attack_start_reader").click()
    settle(at)
    found = jobs(at)["reader"].result
    assert found.sentence() in said(at) and found.text in said(at)
    (table,) = [d.value for d in at.dataframe if "read" in d.value]
    assert list(table[""] != "") == [w.rank == 1 for w in found.words]
    at.segmented_control(key="attack_reader_seen").set_value(4)
    at.run()
    at.button(key="attack_start_reader").click()
    settle(at)
    again = jobs(at)["reader"]
    assert again.error is None and again.result.answers == 4


def test_all_attackers_are_asked_when_it_is_wanted_and_the_best_has_its_name(words, plain_attackers):
    at = words
    assert "best" not in jobs(at)
    at.button(key="attack_start_best").click()
    settle(at)
    found = jobs(at)["best"].result
    assert metric(at, "Strongest attacker") == found.title and found.sentence() in said(at)
    (table,) = [d.value for d in at.dataframe if "attacker" in d.value]
    assert list(table["success"]) == list(found.shares.values()) and list(table[""]).count("◀ best") == 1
    assert list(table["attacker"][table[""] != ""]) == [found.title]


@pytest.mark.slow
def test_moving_epsilon_attacks_again_and_keeps_the_curve(words):
    at = words
    curve = jobs(at)["curve"]
    at.session_state["epsilon"] = 20.0
    settle(at)
    assert jobs(at)["bayes"].result.epsilon == 20.0 and jobs(at)["curve"] is curve
    at.button(key="attack_start_text curve").click()
    settle(at)
    assert jobs(at)["text curve"].result.words == 2
    assert "Half of the 2 words" in said(at)


@pytest.mark.slow
def test_what_has_no_posterior_says_what_to_use_instead():
    at = page("mvc")
    assert "Nearest words" in said(at) and "attack_start_curve" in {b.key for b in at.button}
    assert opened_tab(at) == "Strongest attacker", "what works is open"
    at = page("dp-mlm")
    assert "Use “Language model”, or “Contextual Bayes” for an approximation" in said(at)
    assert opened_tab(at) == "Strongest attacker"
    at.button(key="attack_start_language-model").click()
    settle(at)
    found = jobs(at)["language-model"].result
    assert found.sentence() in said(at) and metric(at, "First guess correct")


def test_an_attacker_whose_model_is_not_here_says_which_command_gets_it(words, monkeypatch, tmp_path):
    monkeypatch.setenv("DPTEXT_MODELS", str(tmp_path))
    at = words
    at.button(key="attack_start_likely-text").click()
    settle(at)
    assert any("models add gemma-3-270m" in e.value.replace("\\", "") for e in at.error)


@pytest.fixture(scope="module")
def writer(tmp_path_factory):
    """The options of a mechanism that writes a new text, with a tiny model."""
    return {"model": str(tiny_generator(tmp_path_factory.mktemp("writer"), "gpt2")), "max_tokens": 3}


def test_where_a_new_text_is_written_the_optimal_reader_weighs_facts_and_texts(writer):
    text = "My doctor <b>left</b>."
    at = page("dp-prompt", None, text, (5.0, 500.0, 40.0), **writer)
    (belief, several), run = jobs(at)["which text"].result, at.session_state["run"]
    others = at.text_input(key="attack_which_others").value.split(", ")
    assert belief.alternatives == ("doctor", *others) and len(others) == 3
    again = dpt.belief(run.mechanism, text, "doctor", others, run.result, draws=0)
    assert belief.posterior == pytest.approx(again.posterior) and several.releases == (1,)
    assert belief.sentence() in said(at) and metric(at, "Reader’s certainty").endswith("%")
    assert "does not replace single words" in said(at), "why attackers of words are not there"
    at.text_input(key="attack_which_others").set_value("nurse")
    at.button_group(key="attack_which_seen").set_value(4)
    settle(at)
    belief, several = jobs(at)["which text"].result
    assert (
        belief.alternatives == ("doctor", "nurse") and several.releases == (1, 2, 4) and several.expected_success == ()
    )
    at.button_group(key="attack_which_kind").set_value("A list of texts")
    settle(at)
    assert "Type at least one other text" in said(at)
    at.text_area(key="attack_which_list").set_value("**A** nurse left.\n\nMy doctor stayed.")
    settle(at)
    belief, _ = jobs(at)["which text"].result
    assert belief.alternatives == (text, "**A** nurse left.", "My doctor stayed.")
    at.text_area(key="attack_which_list").set_value(text)
    settle(at)
    assert any("at least one other" in e.value for e in at.error)


def test_several_releases_have_their_rows_and_ceilings(words):
    at = words
    fact = at.selectbox(key="attack_which_word")
    assert fact.value == "movie", "the chosen word is the fact"
    at.text_input(key="attack_which_others").set_value("film, music")
    at.run()
    at.button(key="attack_start_which text").click()
    settle(at)
    belief, several = jobs(at)["which text"].result
    assert several.releases == (1, 2, 4) and belief.alternatives == ("movie", "film", "music")
    assert belief.sentence() in said(at) and several.sentence() in said(at)
    (table,) = [d.value for d in at.dataframe if "success on average" in d.value]
    assert list(table["releases"]) == ["1", "2", "4"] and table["success on average"][0].endswith("exact")
    assert list(table["limit for any fact"]) == [percent(c) for c in several.success_bounds]
    (rows,) = [d.value for d in at.dataframe if "alternative" in d.value]
    order = [several.alternatives.index(w) for w in rows["alternative"]]
    assert list(rows["after 4"]) == [float(several.posterior[2][j]) for j in order]
    outside = [w for w, c in zip(several.alternatives, several.is_covered, strict=True) if not c]
    assert list(rows["alternative"][rows[""] == "not covered"]) == [w for w in rows["alternative"] if w in outside]
    for named, cut in ((facts.MOST, False), (facts.MOST + 49, True)):
        at.text_input(key="attack_which_others").set_value(",".join(f"film{k}" for k in range(named)))
        at.run()
        assert any(c.value == f"The first {facts.MOST} are used." for c in at.caption) == cut
    at.text_input(key="attack_which_others").set_value(" , ")
    at.run()
    assert "Enter at least one alternative" in said(at)


def test_where_no_posterior_can_be_worked_out_it_says_what_limits_any_attacker():
    at = page("adept", None, "Play some jazz music.", (1.0, 1000.0, 5.0))
    assert "total probability has no formula" in said(at) and "which text" not in jobs(at)
    n, limit = jobs(at)["limit"].result
    assert n == 8 and limit.sentence() in said(at) and 1 / 8 < limit.value < 0.5
    at = page("adept", None, "The of.", (1.0, 1000.0, 5.0))
    assert "Type at least one other text" in said(at)
    at.button_group(key="attack_which_kind").set_value("All but one word")
    assert "no word with known alternatives" in said(settle(at))


@pytest.mark.slow
def test_two_attackers_wait_for_words_side_by_side(monkeypatch):
    real = which_text.content_words
    monkeypatch.setattr(which_text, "content_words", lambda *given: (time.sleep(1.0), real(*given))[1])
    at = AppTest.from_function(script, default_timeout=120)
    given = {
        "mechanism": "adept",
        "text": "Play some jazz music.",
        "token": None,
        "options": (),
        "axis": (1.0, 1000.0, 5.0),
    }
    for name, value in given.items():
        at.session_state[name] = value
    at.run()
    assert not at.exception and len([b for b in at.button if b.label == "Stop"]) == 2
    settle(at)


def test_long_work_waits_for_a_button():
    at = page("santext-plus")
    assert "bayes" not in jobs(at) and "The first time for these options" in said(at)


def test_words_that_were_not_replaced_say_so():
    assert "is unchanged" in said(page("custext", token=0))
    at = page("custext", token=3)
    assert at.session_state["run"].result.steps[3].original == "Xyzzyville"
    assert "not in the vocabulary" in said(at) and metric(at, "Rank of your word") == "not listed"
    assert "nothing to guess" in said(page("custext", text="The of and."))


def elsewhere() -> None:
    import streamlit as st

    import dptext_core as dpt
    from dptext_studio.server import runs
    from dptext_studio.views.compare import equal_privacy

    state = st.session_state
    inputs = runs.Inputs(state["text"], dpt.Setting.of(state["mechanism"], **dict(state["options"])), 3)
    run = runs.make_run(inputs, 1, state["axis"][2], state["axis"])
    equal_privacy.panel(run, run.result)


def test_the_same_privacy_is_asked_for_by_what_the_mechanism_has(writer):
    at = AppTest.from_function(elsewhere, default_timeout=120)
    for mechanism, options, offered in (
        ("dp-prompt", writer, ["Total ε"]),
        ("dp-mlm-plus", {}, ["Strongest attacker", "N_w", "Total ε"]),
        ("custext", {}, ["Strongest attacker", "N_w", "Bayes success", "Total ε"]),
    ):
        axis = dpt.mechanism_class(mechanism).epsilon_range()
        at.session_state["mechanism"], at.session_state["axis"] = mechanism, axis
        at.session_state["text"] = "My doctor."
        at.session_state["options"] = tuple(sorted(options.items()))
        at.run()
        assert not at.exception
        (kinds,) = at.get("button_group")
        assert kinds.options == offered and kinds.value == offered[0]
        assert all(
            (f"{kind} is not available:" in said(at)) == (kind not in offered)
            for kind in ("Strongest attacker", "N_w", "Bayes success")
        )
        if mechanism == "dp-prompt":
            at.multiselect[0].set_value(["dp-mlm", "dp-paraphrase"])
            at.button(key="equal_start").click()
            settle(at)
            found = at.session_state["session"].at("equal privacy").result
            assert [c.epsilon is not None for c in found] == [True] * 3, "a tiny model is not asked to fill masks"


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
