"""Compare's answer at equal certainty, and all anonymisers with a tool of the visitor's, by Streamlit's AppTest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab.measurements.test_anonymisers_measurement import row
from streamlit.testing.v1 import AppTest

import dptext_core as dpt
from dptext_core.measure.equal_certainty import EqualCertainty
from dptext_core.measure.scored import ScoredFigure, Scores
from dptext_lab.results import anonymisers as results
from dptext_studio.server.session import Session
from dptext_studio.views.compare import anonymisers
from dptext_studio.views.compare import equal_certainty as answer

PAGE = Path(__file__).resolve().parents[2] / "pages" / "compare.py"
TEXT = "My doctor said that his heart is weak."
pytestmark = pytest.mark.usefixtures("letters")


def opened(settings=(), **state) -> AppTest:
    at = AppTest.from_file(PAGE, default_timeout=60)
    mine = at.session_state["session"] = Session()
    at.session_state["app"] = True
    for name, value in state.items():
        at.session_state[name] = value
    if settings:
        mine.compare(list(settings))
    return at.run()


def settle(at: AppTest, place: str) -> AppTest:
    while (job := at.session_state["session"].at(place).job) is not None:
        assert job.wait(60)
        at.run()
    assert not at.exception
    return at


def test_the_answer_at_equal_certainty_stands_above_a_table_for_the_text(monkeypatch):
    settings = [dpt.Setting("santext", {}, 9.0), dpt.Setting("custext", {}, 1.0)]
    state = {"compare_text": TEXT, "compare_fact": "heart", "compare_alternatives": "lung, kidney, liver"}
    at = settle(opened(settings, **state), answer.PLACE)
    found = at.session_state["session"].at(answer.PLACE).result
    assert isinstance(found, EqualCertainty) and found.level == 0.5 and found.best is found.rows[0]
    assert found.fact.alternatives == ("lung", "kidney", "liver")
    table = next(d.value for d in at.dataframe if answer.COLUMNS[1] in d.value)
    assert list(table["reader’s certainty"]) == ["50%", "not reached"] and table["ε"][1] == ""
    assert any(found.sentence() in m.value.replace("\\", "") for m in at.markdown)
    at.slider(key=answer.LEVEL_KEY).set_value(95).run()
    at = settle(at, answer.PLACE)
    again = at.session_state["session"].at(answer.PLACE).result
    assert again.level == 0.95 and again.rows[0].epsilon > found.rows[0].epsilon


def test_before_the_answer_the_table_names_the_settings_it_is_about(monkeypatch):
    monkeypatch.setattr(answer, "start", lambda *_: None)
    at = opened([dpt.Setting("santext", {}, 9.0), dpt.Setting("custext", {}, 1.0)], compare_text=TEXT)
    table = next(d.value for d in at.dataframe if set(answer.COLUMNS) == set(d.value))
    assert [name.split(" (")[0] for name in table["setting"]] == ["SanText", "CusText"]
    assert set(table["ε"]) == {"…"}


def test_the_epsilons_of_the_certainty_answer_can_be_used(monkeypatch):
    settings = [dpt.Setting("santext", {}, 9.0), dpt.Setting("santext", {"space": "word2vec"}, 9.0)]
    at = opened(settings, compare_text=TEXT, compare_fact="heart")
    at = settle(at, answer.PLACE)
    found = at.session_state["session"].at(answer.PLACE).result
    at.button(key="compare_level_use").click().run()
    assert [s.epsilon for _, s in at.session_state["session"].columns] == [r.epsilon for r in found.rows]


def scored(originals, rewrites, task):
    found = (ScoredFigure("cosine", "Cosine", "kept", 0.8, 0.7, 0.9, 2),)
    found += (ScoredFigure("same-word", "Same word", "found", 0.6, 0.4, 0.7, 2, 0.01),)
    found += (ScoredFigure("identifiers", "Names, dates and places remaining", "found", 0.1, 0.0, 0.3, 2),)
    return Scores(found, len(originals), 8, {})


def test_a_tool_that_was_scored_is_in_the_plot_without_a_guarantee(monkeypatch):
    monkeypatch.setattr(results, "bundled", lambda: (row("redact", None, 0.2, 1.0, 0.9),))
    monkeypatch.setattr(dpt, "score", scored)
    at = opened(compare_view="tools")
    assert not at.text_area, "the texts are public ones"
    assert results.finding(results.bundled())[0] in at.markdown[1].value.replace("\\", "")

    def marks() -> list[dict]:
        return json.loads(at.get("plotly_chart")[0].proto.spec)["data"]

    assert [t["name"] for t in marks()] == ["Redaction"]
    rows = "before,after,more\nOmar left home.,He left home.,1\nA dog barked.,A cat purred.,2\n"
    at.file_uploader(key="tool_file").set_value(("mine.csv", rows.encode(), "text/csv")).run()
    at.selectbox(key="tool_rewrite").set_value("after").run()
    at.button(key="tool_score").click().run()
    at = settle(at, anonymisers.PLACE)
    name, scores = at.session_state["session"].at(anonymisers.PLACE).result
    assert (name, scores.texts) == ("Your tool", 2)
    mark = marks()[-1]
    assert (mark["name"], mark["x"], mark["y"]) == ("Your tool", [0.8], [10.0]), "of identifying words"
    assert "none stated" in mark["customdata"][0][2]
    at.segmented_control(key="compare_anonymisers_fact").set_value(results.OTHER).run()
    assert marks()[-1]["y"] == [60.0]
    table = next(d.value for d in at.dataframe if "guarantee" in d.value)
    assert list(table["guarantee"]) == ["none stated"]
    at.file_uploader(key="tool_file").set_value(("one.csv", b"only\nOmar left.\n", "text/csv")).run()
    assert "one column" in at.error[0].value
