"""Compare on a map, run by Streamlit's AppTest: points as they come, an answer, a point to read, files to take."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

import dptext_core as dpt
from dptext_core.attacks import best
from dptext_core.measure import trade_off, trade_off_advice
from dptext_core.mechanisms import recommended
from dptext_core.mechanisms.words import custext
from dptext_core.support.assets import examples
from dptext_studio.exports import FILE
from dptext_studio.figures.glossary import definition
from dptext_studio.figures.trade_off import AXES
from dptext_studio.server.session import Session
from dptext_studio.views.compare import plot_axes

PAGE = Path(__file__).resolve().parents[2] / "pages" / "compare.py"
TEXT = "My doctor sent a letter to my sister."
pytestmark = pytest.mark.usefixtures("letters")


def opened(**values) -> AppTest:
    at = AppTest.from_file(PAGE, default_timeout=120)
    at.session_state["app"] = True
    first = {"text": TEXT, "mechanisms": ["diffractor", "custext"], "points": 3, "draws": 3, "hidden": "n_w"}
    for name, value in (first | values).items():
        at.session_state["compare_text" if name == "text" else f"trade_{name}"] = value
    at.session_state["compare_view"] = "map"
    at.run()
    return at


def settle(at: AppTest) -> AppTest:
    at.run()
    end = time.monotonic() + 100
    while jobs := [w.job for w in mine(at).work.values() if w.job is not None]:
        assert jobs[0].wait(end - time.monotonic())
        at.run()
    assert not at.exception
    return at


def mine(at: AppTest):
    return at.session_state["session"]


@pytest.fixture(scope="module")
def page() -> AppTest:
    return settle(opened())


def test_the_points_are_measured_and_the_answer_is_that_of_the_core(page):
    points = mine(page).points
    assert {(p.setting, p.index) for p in points} == {(j, i) for j in range(2) for i in range(3)}
    assert all(p.has("cosine") and p.has("n_w") and len(p.texts) == 3 for p in points)
    advice = trade_off_advice.advise(points, "n_w", 0.3, "cosine")
    (said,) = [e.value.replace("\\", "") for e in page.success]
    assert said == advice.sentence() and "Start with" in said
    assert any("6 points and 3 draws" in c.value for c in page.caption)
    figure = page.get("plotly_chart")[0].proto.spec
    assert "start here" in figure and "doctor" not in figure
    assert page.select_slider(key="trade_points").help == definition("ε")
    assert "ε alone" in page.selectbox(key="trade_hidden").help


def test_another_measure_or_limit_draws_nothing_again(page):
    before = [p.texts for p in mine(page).points]
    page.selectbox(key="trade_kept").set_value("bleu")
    page.slider(key="trade_limit_n_w").set_value(1)
    settle(page)
    assert [p.texts for p in mine(page).points] == before and not page.success
    assert "No point has" in page.warning[0].value
    page.slider(key="trade_limit_n_w").set_value(30)
    page.selectbox(key="trade_kept").set_value("cosine")
    page.selectbox(key="trade_hidden").set_value("epsilon")
    settle(page)
    assert [p.texts for p in mine(page).points] == before and not page.success
    page.selectbox(key="trade_hidden").set_value("n_w")
    settle(page)


def test_a_chosen_point_shows_its_rewrites(page):
    point = mine(page).points[0]
    page.session_state["trade_point"] = (point.setting, point.epsilon)
    settle(page)
    shown = [j for e in page.get("bidi_component") if "copies" in (j := e.proto.json)]
    assert len(shown) == 3 and not any(json.loads(s)["button"] for s in shown)
    assert any("do not release them" in c.value for c in page.caption)
    assert not mine(page).ledger.entries


def test_what_is_taken_away_is_the_points_and_the_code_that_makes_them(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / FILE).write_text(TEXT, encoding="utf-8")
    (code,) = [c.value for c in page.code if c.language == "python"]
    scope: dict = {}
    exec(code.replace("draws=3", "draws=1").replace("print(", "str("), scope)
    assert [(p.setting, p.epsilon) for p in scope["points"]] == [(p.setting, p.epsilon) for p in mine(page).points]
    assert list(page.dataframe[0].value["epsilon"]) == [r["epsilon"] for r in trade_off.rows(mine(page).points)]


@pytest.mark.slow
def test_coming_back_to_the_page_draws_nothing_anew(page, monkeypatch):
    sets = custext._groups  # those of 20, which are there, in the place of the 5 that a link asks for
    monkeypatch.setattr(custext, "_groups", lambda space, k, *rest: sets(space, 20, *rest))
    page.slider(key="trade_limit_n_w").set_value(30)
    page.select_slider(key="trade_points").set_value(5)
    settle(page)
    page.selectbox(key="trade_kept").set_value("bleu")
    page.slider(key="trade_limit_n_w").set_value(40)
    settle(page)
    again = AppTest.from_file(PAGE, default_timeout=120)
    again.session_state["app"], again.session_state["session"] = True, mine(page)
    settle(again)
    assert mine(again).plot_request.points == 5 and mine(again).points is mine(page).points
    assert again.select_slider(key="trade_points").value == 5 and again.selectbox(key="trade_kept").value == "bleu"
    assert again.multiselect(key="trade_mechanisms").value == ["diffractor", "custext"]
    assert again.slider(key="trade_limit_n_w").value == 40
    # The address carries it all, and brings it to a session that knows nothing.
    (query,) = [dict(parse_qsl(q)) for e in again.get("bidi_component") if (q := json.loads(e.proto.json).get("query"))]
    assert query == {
        "view": "map",
        "1.mechanism": "diffractor",
        "2.mechanism": "custext",
        "points": "5",
        "draws": "3",
        "kept": "bleu",
        "hidden": "n_w",
        "limit": "40",
    }
    other = AppTest.from_file(PAGE, default_timeout=120)
    link = query | {"2.k": "5", "hidden": "unchanged", "limit": "70", "points": "3", "draws": "1"}
    link |= {"3.mechanism": "custext", "3.k": "5", f"{'9' * 5000}.mechanism": "tem"}
    other.session_state["app"], other.session_state["session"] = True, Session(query=link, text=TEXT)
    settle(other)
    asked = (dpt.Setting("diffractor"), dpt.Setting("custext", {"k": 5}))
    assert mine(other).plot_request.settings == tuple(map(recommended.with_recommended, asked))
    assert not mine(other).link_problem
    assert other.slider(key="trade_limit_unchanged").value == 70 and mine(other).plot_request.points == 3
    for wrong in ({"2.k": "6"}, {"points": "4"}, {"limit": "0"}, {"1.noise": "tem"}):
        mine(other).query = link | wrong
        other.run()
        assert "not followed" in other.warning[0].value


def test_the_certainty_of_the_optimal_reader_is_the_default_axis():
    example = next(iter(examples()))
    at = AppTest.from_file(PAGE, default_timeout=120)
    at.session_state["app"], at.session_state["compare_text"] = True, example.text
    at.session_state["compare_view"] = "map"
    chosen = ["santext", "custext", "mahalanobis"]
    for name, value in {"mechanisms": chosen, "points": 3, "draws": 1, "kept": "bleu"}.items():
        at.session_state[f"trade_{name}"] = value
    at.run()
    settle(at)
    assert at.selectbox(key="trade_hidden").value == "certainty" and at.slider(key="trade_limit_certainty").value == 50
    points = [p for p in mine(at).points if p.has("certainty")]
    assert {p.setting for p in points} == {0, 1} and {p.fact.word for p in points} == {example.sensitive}
    for p in points:
        expected = dpt.belief(p.mechanism, example.text, p.fact.word, p.fact.alternatives).expected_success
        assert p.value("certainty").mean == pytest.approx(expected.value)
    figure = json.loads(at.get("plotly_chart")[0].proto.spec)
    (dashed,) = [s for s in figure["layout"]["shapes"] if s["line"]["dash"] == "dash"]
    assert dashed["x0"] == dashed["x1"] == 0.25 and figure["layout"]["xaxis"]["range"][0] < 0.25
    marks = [t for t in figure["data"] if t["mode"] == "lines+markers"]
    assert sorted(x for t in marks for x in t["x"]) == pytest.approx(sorted(p.value("certainty").mean for p in points))
    assert any("Mahalanobis has no formula" in c.value for c in at.caption), "left out, with the reason"
    assert any("“heart” and “lung”, “kidney”, “liver”" in c.value for c in at.caption)
    assert all("heart" not in str(v) for v in at.dataframe[0].value.columns)
    (code,) = [c.value for c in at.code if c.language == "python"]
    assert "'certainty'" in code and "fact='heart'" in code


@pytest.mark.slow
def test_the_strongest_attacker_can_be_chosen(plain_attackers):
    at = AppTest.from_file(PAGE, default_timeout=120)
    text = "My sister wrote."
    at.session_state["app"], at.session_state["compare_text"], at.session_state["compare_view"] = True, text, "map"
    for name, value in {
        "mechanisms": ["diffractor"],
        "points": 3,
        "draws": 1,
        "kept": "bleu",
        "hidden": "best",
    }.items():
        at.session_state[f"trade_{name}"] = value
    at.run()
    settle(at)
    assert at.slider(key="trade_limit_best").value == 40
    points = sorted(mine(at).points, key=lambda p: p.epsilon)
    assert len(points) == 3 and all(p.measured["best"].by in best.ASKED for p in points)
    assert points[0].value("best").mean <= points[-1].value("best").mean
    assert all(p.value("best").low <= p.value("best").mean <= p.value("best").high for p in points)
    said = [e.value.replace("\\", "") for e in (*at.success, *at.warning)]
    assert trade_off_advice.advise(mine(at).points, "best", 0.4, "bleu").sentence() in said
    assert any("the strongest attacker recovers a replaced word" in s for s in said)
    figure = at.get("plotly_chart")[0].proto.spec
    assert AXES["best"] in figure and best.title(points[-1].measured["best"].by) in figure
    assert list(at.dataframe[0].value["best_by"]) == [p.measured["best"].by for p in points]
    (code,) = [c.value for c in at.code if c.language == "python"]
    assert "'best'" in code


def test_draw_again_is_fresh_noise_and_another_text_starts_anew(page):
    before = [p.texts for p in mine(page).points]
    page.button(key="trade_again").click()
    settle(page)
    assert [p.texts for p in mine(page).points] != before
    page.text_area(key="compare_text").set_value("My nurse wrote.")
    settle(page)
    assert all(len(t.split()) == 3 for p in mine(page).points for t in p.texts) and mine(page).text == "My nurse wrote."


def test_what_is_typed_is_measured_at_a_pause_and_the_page_says_so(page):
    (asked,) = [json.loads(c.proto.json) for c in page.get("bidi_component") if '"pause"' in c.proto.json]
    size = len(page.text_area(key="compare_text").value)
    assert asked == {"box": "compare_text", "size": size, "pause": 1500.0, "along": False, "busy": False, "shows": ""}
    assert any("plot updates when you stop typing for 1.5 seconds" in c.value for c in page.caption)


def test_stopping_keeps_the_points_that_are_there(monkeypatch):
    cls, going, gate = dpt.mechanism_class("diffractor"), threading.Event(), threading.Event()
    real = cls.rewrite_repeatedly

    def waits(self, prepared, n, stream, task):
        if going.is_set():
            gate.wait(20)
        going.set()
        return real(self, prepared, n, stream, task)

    monkeypatch.setattr(cls, "rewrite_repeatedly", waits)
    at = opened(mechanisms=["diffractor"], kept="bleu")
    job = mine(at).at("trade-off").job
    while not mine(at).points:
        time.sleep(0.01)
    at.run()
    assert at.get("plotly_chart") and "The advice appears when each mechanism" in at.info[0].value and not at.success
    at.button(key="trade_stop").click().run()
    gate.set()
    assert job.wait(20)
    settle(at)
    assert "Stopped" in at.warning[0].value and 1 <= len(mine(at).points) < 3
    assert at.get("plotly_chart") and at.dataframe, "what is there can be taken away"


def test_no_text_no_mechanism_and_too_long_a_text_say_what_to_do():
    at = opened(text=" ")
    assert "Type a text" in at.info[0].value and not mine(at).points
    for mark in ("word ", ". ", "'s "):
        at.text_area(key="compare_text").set_value(mark * 20_000).run()
        assert "up to 1,000 words and punctuation marks. This text has 20,000." in at.error[0].value
        assert mine(at).at("trade-off").job is None and not mine(at).points
    at.text_area(key="compare_text").set_value(TEXT).run()
    at.multiselect(key="trade_mechanisms").set_value([]).run()
    assert "Choose a mechanism" in at.info[0].value and not at.exception


def test_whatever_can_be_hidden_has_a_limit_an_axis_and_a_measure():
    measured = set(plot_axes.HIDDEN) - {"epsilon"}
    assert set(plot_axes.LIMITS) == measured <= set(trade_off.MEASURES) and next(iter(plot_axes.HIDDEN)) == "certainty"
    assert set(AXES) == set(plot_axes.HIDDEN)
    assert all(trade_off.describe_privacy(name) and trade_off.metric_info(name).title for name in measured)
