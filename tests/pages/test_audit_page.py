"""The Audit page, run by Streamlit's AppTest (which runs no JavaScript)."""

from __future__ import annotations

import json
import shlex
import threading
import time
from pathlib import Path

import plotly.graph_objects as go
import pytest
from small_spaces import random_space
from streamlit.testing.v1 import AppTest

import dptext_core as dpt
from dptext_core import auditing as core
from dptext_core import cli
from dptext_core.privacy.numbers import percent
from dptext_lab.broken_mechanisms import FAULTS
from dptext_lab.broken_mechanisms.stated import TinyLatent
from dptext_lab.measurements import audit as bench
from dptext_lab.results import audit as audit_rows
from dptext_studio.components.text import literal
from dptext_studio.exports.two_texts import curve_command, curve_python
from dptext_studio.figures import audit_figure, detection_curve
from dptext_studio.figures.detection_curve import RATES
from dptext_studio.figures.glossary import definition
from dptext_studio.views.audit import two_texts

TOP = Path(__file__).resolve().parents[2]


def app(**session) -> AppTest:
    at = AppTest.from_file(TOP / "pages" / "audit.py", default_timeout=120)
    at.session_state["app"] = True
    for name, value in session.items():
        at.session_state[name] = value
    return at.run()


def settle(at: AppTest) -> AppTest:
    """Press the button and run until no job is under way."""
    at.button(key="audit_run").click().run()
    while (job := at.session_state["session"].at("audit").job) is not None:
        assert job.wait(100), "the audit did not end"
        at.run()
    assert not at.exception
    return at


def choose(at: AppTest, mechanism: str) -> AppTest:
    at.selectbox(key="audit_mechanism").set_value(mechanism).run()
    assert not at.exception
    return at


def planted(at: AppTest, fault: str) -> AppTest:
    at.radio(key="audit_kind").set_value("A deliberately broken mechanism").run()
    at.selectbox(key="audit_fault").set_value(fault).run()
    assert not at.exception
    return at


def metric(at: AppTest, label: str) -> str:
    return next(m.value for m in at.metric if m.label == label)


def test_the_empty_page_says_what_to_do():
    at = app()
    assert not at.exception and "Run the audit" in at.info[0].value and not at.metric
    assert at.number_input[0].help == definition("ε")


@pytest.mark.slow
def test_typed_words_are_audited(quick_audits):
    at = choose(app(), "diffractor")
    at.text_area(key="audit_lines").set_value("doctor, nurse the\npatient *Qwzzx*").run()
    at.select_slider(key="audit_draws").set_value(200).run()
    settle(at)
    assert "No violation found" in at.success[0].value and "3 pairs" not in at.success[0].value
    told = " ".join(m.value for e in at.expander if e.label.startswith("What was tested") for m in e.markdown)
    assert "3 pairs" in told and "Proven" in told and "Tested" in told
    assert float(metric(at, "Detectable from draws")) > 0 and metric(at, "Smallest detectable leak").endswith("%")
    assert metric(at, "Claimed") == metric(at, "Measured")
    left_out = next(d.value for d in at.dataframe if "why" in d.value)
    assert list(left_out["input"]) == ["the", "*Qwzzx*"]
    # Another page was shown: Streamlit has forgotten the controls, and the session has not.
    again = app(session=at.session_state["session"])
    assert again.text_area(key="audit_lines").value == at.text_area(key="audit_lines").value
    assert again.selectbox(key="audit_mechanism").value == "diffractor" and again.success


@pytest.mark.slow
def test_a_broken_mechanism_is_found_and_its_twin_is_not(monkeypatch, quick_audits):
    monkeypatch.setattr(TinyLatent, "vocabulary", random_space(40, 4))  # in the place of 21,719 words
    at = planted(app(), "l2-clipping")
    assert any(literal(FAULTS["l2-clipping"].explanation)[:30] in c.value for c in at.caption)
    at.select_slider(key="audit_draws").set_value(200).run()
    settle(at)
    assert at.error and "Violated" in at.error[0].value
    results = next(d.value for d in at.dataframe if "check" in d.value)["result"].tolist()
    assert results[-1] == "violated" and not {"refuted", "tested"} & set(results), "in the field's words"
    at.toggle(key="audit_twin").set_value(True).run()
    settle(at)
    assert at.success and not at.error


@pytest.mark.slow
def test_an_own_claim_is_held_against_it(quick_audits):
    at = choose(app(), "custext")
    at.text_area(key="audit_lines").set_value("doctor\nbanana").run()
    at.select_slider(key="audit_draws").set_value(200).run()
    settle(at)
    assert "Inconclusive" in at.warning[0].value
    assert not any("results of the previous settings" in c.value for c in at.caption)
    at.toggle(key="audit_own").set_value(True).run()
    assert any("results of the previous settings" in c.value for c in at.caption), "what is chosen now is another one"
    settle(at)
    assert "Violated" in at.error[0].value and metric(at, "Measured") == "∞"
    assert not any("results of the previous settings" in c.value for c in at.caption)


def test_words_that_stay_give_an_error_in_plain_words():
    at = choose(app(), "diffractor")
    at.text_area(key="audit_lines").set_value("the").run()
    settle(at)
    assert "replaces no word of" in at.error[0].value and not at.metric


def test_too_many_lines_are_refused():
    at = app()
    at.text_area(key="audit_lines").set_value("\n".join(f"w{i}" for i in range(501))).run()
    at.button(key="audit_run").click().run()
    assert not at.exception and "501" in at.error[0].value
    assert "session" not in at.session_state or at.session_state["session"].at("audit").job is None


@pytest.mark.slow
def test_a_long_audit_can_be_stopped(monkeypatch):
    started = threading.Event()

    def endless(m, inputs, claim, *, draws, task):
        started.set()
        while True:
            task.report(1, 4)
            time.sleep(0.01)

    monkeypatch.setattr(core, "audit", endless)
    at = app()
    at.button(key="audit_run").click().run()
    assert started.wait(10)
    at.session_state["session"].at("audit").job.task.cancel()
    end = time.monotonic() + 20
    while at.session_state["session"].at("audit").job is not None:
        assert time.monotonic() < end
        time.sleep(0.1)
        at.run()
    assert not at.exception and "Stopped" in at.error[0].value


def test_the_bundled_table_is_shown_or_the_command_that_makes_it(monkeypatch):
    own = bench.row_of_report(dpt.Setting("tem", {"space": "minilm", "gamma": None, "oov": "keep"}), report())
    monkeypatch.setattr(audit_rows, "bundled_rows", lambda: [own])
    shown = next(d.value for d in app().dataframe if "verdict" in d.value)
    assert shown["options"].tolist() == ["minilm, γ from ε, unknown words: keep"]
    assert shown["verdict"].tolist() == ["Inconclusive"] and shown["claimed"].tolist() == ["∞"]
    monkeypatch.setattr(audit_rows, "bundled_rows", list)
    assert any("bench audit" in c.value for c in app().caption)


def report(**more) -> core.AuditReport:
    values = {
        "mechanism": "tem",
        "epsilon": 2.0,
        "notion": "none",
        "claimed": float("inf"),
        "measured": 1.0,
        "exact": True,
        "detectable": float("inf"),
        "verdict": "inconclusive",
        "reason": "x",
        "witness": None,
        "unit": "",
        "inputs": 2,
        "pairs": 1,
        "skipped": (),
        "draws": 0,
        "sampler_p": None,
        "confidence": 0.95,
    }
    return core.AuditReport(**(values | more))


@pytest.mark.parametrize(("claimed", "measured"), [(2.0, 1.0), (2.0, float("inf")), (float("inf"), float("inf"))])
def test_the_figure_takes_infinite_losses(claimed, measured):
    for detectable in (float("inf"), 0.5):
        picture = audit_figure(report(claimed=claimed, measured=measured, detectable=detectable))
        (bar,) = picture.data
        assert all(0 < x < 10 for x in bar.x)
        assert [t == "∞" for t in bar.text] == [measured == float("inf"), claimed == float("inf")]


@pytest.mark.slow
def test_two_texts_are_told_apart_under_the_chosen_setting(light):
    at = planted(app(), "copied-word")
    at.number_input(key="audit-epsilon-fault-copied-word").set_value(0.1).run()
    at.segmented_control(key="audit_two_pair").set_value("another text").run()
    at.button(key="audit_two_start").click().run()
    while (job := at.session_state["session"].at("two texts: audit_two").job) is not None:
        assert job.wait(100)
        at.run()
    assert not at.exception
    (row,) = next(d.value for d in at.dataframe if "ε at least" in d.value.columns).to_dict("records")
    assert row["advantage"] == "1.00" and row["ε at least"] == row["detectable ε"] == "3.28"
    assert any("the guarantee is violated" in e.value for e in at.error)
    assert not any("for the previous settings" in w.value for w in at.warning)
    at.segmented_control(key="audit_two_pair").set_value("one word").run()
    assert any("for the previous settings" in w.value for w in at.warning)


def curve_of(at: AppTest) -> dpt.TradeOffCurve:
    """Press the button for two texts and run until the curve is there."""
    at.button(key="audit_curve_start").click().run()
    while (job := at.session_state["session"].at("trade-off curve").job) is not None:
        assert job.wait(100)
        at.run()
    assert not at.exception
    return at.session_state["session"].at("trade-off curve").result[0]


def test_two_named_texts_have_their_curve_its_numbers_files_and_calls(monkeypatch):
    files = {}

    def record(label, data, name, *args, **given):
        files[name] = data

    monkeypatch.setattr(two_texts.download, "button", record)
    at = choose(app(), "santext")
    at.number_input[0].set_value(15.0).run()
    one, other = "My doctor treated my sister.", "My doctor treated my brother."
    at.text_area(key="audit_curve_one").set_value(one).run()
    at.text_area(key="audit_curve_other").set_value(other).run()
    found = curve_of(at)
    rates = [i / 200 for i in range(201)]
    setting = at.session_state["session"].at("trade-off curve").request[2]  # with the program's blocklist
    own = dpt.trade_off_curve(setting.make(), one, other, false_alarms=rates)
    assert found.to_dict() == own.to_dict()
    assert metric(at, "Detection rate") == percent(float(own.upper[10])) == "40%"
    assert metric(at, "Reader’s success") == percent(float(own.success[0]))
    assert files["detections.csv"]() == own.to_csv()
    data = json.loads(files["detections.json"]())
    assert data["upper"] == own.upper.tolist() and data["setting"]["mechanism"] == "santext"
    assert one not in files["detections.json"]() and "plotly" in files["detections.html"]().lower()
    python, command = (c.value for c in at.code[:2])
    assert "epsilon=15" in python and "trade-off-curve" in command and "--epsilon 15" in command
    at.text_area(key="audit_curve_other").set_value("My doctor treated my uncle.").run()
    assert any("for the previous settings" in w.value for w in at.warning)


def test_the_total_stands_below_the_curve_with_its_optimal_composition():
    at = choose(app(), "custext")
    at.number_input[0].set_value(2.0).run()
    words = "doctor sister hospital medicine brother kitchen garden station window teacher"
    at.text_area(key="audit_curve_one").set_value(words).run()
    at.text_area(key="audit_curve_other").set_value(words.replace("doctor", "nurse")).run()
    curve_of(at)
    (g,) = at.session_state["session"].at("trade-off curve").result[1:]
    said = next(c.value for c in at.caption if "Total ε" in c.value)
    assert g.total == 20 and g.optimal() is None and "20" in said and "optimal" not in said


def test_the_calls_repeat_the_curve(capsys, monkeypatch, tmp_path):
    setting = dpt.Setting.of("santext", epsilon=15.0)
    texts = "My doctor treated my sister.", "My doctor treated my uncle."
    for name, text in zip(("text.txt", "other.txt"), texts, strict=True):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    own = dpt.trade_off_curve(setting.make(), *texts, false_alarms=[i / 10 for i in range(11)])
    exec(curve_python(setting, 10), {})
    assert capsys.readouterr().out == f"{own.sentence()}\n{own.to_csv()}\n"
    assert cli.main([*shlex.split(curve_command(setting))[3:], "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["loss"] == own.loss.tolist()


def test_texts_without_a_curve_say_why():
    at = choose(app(), "mahalanobis")
    at.button(key="audit_curve_start").click().run()
    while (job := at.session_state["session"].at("trade-off curve").job) is not None:
        assert job.wait(100)
        at.run()
    assert not at.exception and not at.get("plotly_chart")
    assert any("Mahalanobis" in i.value for i in at.info)
    at = choose(app(), "santext")
    at.text_area(key="audit_curve_other").set_value(two_texts.PAIRS[0].first).run()
    at.button(key="audit_curve_start").click().run()
    while (job := at.session_state["session"].at("trade-off curve").job) is not None:
        assert job.wait(100)
        at.run()
    assert any("the same" in e.value for e in at.error)


@pytest.mark.parametrize("dark", [False, True])
def test_the_curve_has_chance_the_guarantee_and_the_optimal_reader(dark):
    m = dpt.get_mechanism("santext", epsilon=4.0)
    curve = dpt.trade_off_curve(m, "My sister slept.", "My brother slept.", false_alarms=RATES)
    figure = go.Figure(detection_curve(curve, dark=dark))
    by_name = {t.name: t for t in figure.data if t.name}
    assert set(by_name) == {"Guessing", "Limit of the guarantee", "Optimal reader"}
    assert list(by_name["Optimal reader"].y) == pytest.approx(curve.upper.tolist())
    assert list(by_name["Limit of the guarantee"].y[1:]) == pytest.approx(curve.ceiling.tolist())
    assert list(by_name["Guessing"].x) == list(by_name["Guessing"].y) == [0, 1]
    assert figure.layout.xaxis.title.text.startswith("False alarms") and figure.layout.yaxis.title.text
    assert "5% false alarms" in figure.layout.annotations[0].text
    assert percent(float(curve.upper[10])) in figure.layout.annotations[0].text
