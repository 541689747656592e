"""Explore's panel of benchmark curves and the page of findings, run by Streamlit's AppTest."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from lab.results.test_curves import stored
from lab.runner.test_run import SLOW
from streamlit.testing.v1 import AppTest

import dptext_core as dpt
from dptext_core.measure.metrics import measure
from dptext_core.mechanisms.words import custext
from dptext_lab.findings import verdicts
from dptext_lab.results import curves, data_titles, total_budget
from dptext_lab.results import summary as results
from dptext_studio.figures import benchmarks as benchmark_figures

TOP = Path(__file__).resolve().parents[2]
TEXT = "The movie was wonderful."


@pytest.fixture
def found(tmp_path, monkeypatch) -> results.Results:
    whole = stored(tmp_path)
    monkeypatch.setattr(results, "bundled", lambda: whole)
    monkeypatch.setattr(verdicts, "sources", lambda: "other results")
    sets = custext._groups  # those of 20, which other tests have made, in the place of the 50 that results stand for
    monkeypatch.setattr(custext, "_groups", lambda space, k, *rest: sets(space, 20, *rest))
    return whole


def script() -> None:
    import streamlit as st

    import dptext_core as dpt
    from dptext_studio.server import runs
    from dptext_studio.views.explore import evidence

    state = st.session_state
    if "run" not in state:
        inputs = runs.Inputs(state["text"], dpt.Setting.of("custext", **dict(state["options"])), 3)
        state["run"] = runs.make_run(inputs, 1, state["epsilon"], (1.0, 28.0, state["epsilon"]))
    evidence.panel(state["run"], state["run"].result, state["epsilon"])


def panel(epsilon: float, **options) -> AppTest:
    at = AppTest.from_function(script, default_timeout=60)
    at.session_state["text"], at.session_state["epsilon"] = TEXT, epsilon
    at.session_state["options"] = tuple(sorted(options.items()))
    at.run()
    assert not at.exception, at.exception
    return at


def figure(at: AppTest) -> dict:
    (chart,) = at.get("plotly_chart")
    return json.loads(chart.proto.spec)


def trace(at: AppTest, name: str) -> dict | None:
    return next((t for t in figure(at)["data"] if t.get("name") == name), None)


def test_the_users_epsilon_stands_on_the_curve_of_the_nearest_configuration(found):
    at = panel(3.0, k=50)
    (series,) = curves.nearest_series(found, dpt.Setting("custext", {"k": 50}), "sst2", "accuracy")
    assert series.options["k"] == 50
    at_3 = next(p.value for p in series.points if p.x == 3.0)
    assert trace(at, benchmark_figures.YOURS)["y"] == [pytest.approx(at_3)]
    assert "These differ from yours: unknown words: keep" in " ".join(c.value for c in at.caption).replace("\\", "")
    between = trace(panel(2.0, k=50), benchmark_figures.YOURS)["y"][0]
    first = next(p.value for p in series.points if p.x == 1.0)
    assert min(first, at_3) < between < max(first, at_3)


def test_beyond_the_measured_points_there_is_a_line_and_no_star(found):
    at = panel(20.0, k=50)
    assert trace(at, benchmark_figures.YOURS) is None
    assert any(s["x0"] == 20.0 for s in figure(at)["layout"]["shapes"])


def test_n_w_of_the_users_own_text_is_the_mean_over_its_drawn_words(found):
    at = panel(3.0, k=50)
    at.selectbox(key="play_bench_sst2").set_value("n_w").run()
    star = trace(at, benchmark_figures.YOUR_TEXT)
    result = at.session_state["run"].result
    drawn = [i for i, s in enumerate(result.steps) if s.action == "replace" and not s.reason]
    assert star["y"] == [pytest.approx(sum(result.distribution(i).p_keep() for i in drawn) / len(drawn))]


def test_without_results_the_panel_and_the_page_say_what_measures_them(monkeypatch):
    monkeypatch.setattr(results, "bundled", lambda: None)
    assert "bench run --grid full" in panel(3.0).info[0].value
    assert "bench run --grid full" in findings_page().info[0].value


def findings_page() -> AppTest:
    at = AppTest.from_file(TOP / "pages" / "findings.py", default_timeout=60)
    at.session_state["app"] = True
    at.run()
    assert not at.exception, at.exception
    return at


@pytest.mark.slow
def test_the_page_of_findings_answers_its_question_and_opens_every_claim():
    from dptext_lab.findings import CLAIMS, Runs
    from dptext_lab.findings.base import OURS
    from dptext_lab.results import leaderboard, leaderboard_text

    at = findings_page()
    labels = [e.label.replace("\\", "") for e in at.expander if "-badge[" in e.label]
    found, made = results.bundled(), verdicts.bundled()
    assert len(labels) == len(CLAIMS)
    for finding in made:
        (label,) = [one for one in labels if finding.of.claim in one]
        assert f" {finding.verdict.partition(' (')[0]}]" in label and (finding.effect or "–") in label
    # A row opens: the paper's words, what decides, the numbers, and the rows with their commands.
    finding = next(f for f in made if f.rows and f.of.quote and f.itself)
    at.session_state[f"claim_{finding.name}"] = at.session_state["claim_clipping_range"] = True
    at.run()
    text = " ".join(m.value for m in at.markdown).replace("\\", "")
    for said in (
        finding.of.quote,
        finding.of.test.quantity,
        finding.numbers[0],
        finding.of.turns,
        finding.itself,
        finding.of.differences,
    ):
        assert said in text
    assert not at.dataframe, "rows are listed where they are opened"
    at.session_state["conclusion_claims_rows"] = True
    at.run()
    listed = next(d.value for d in at.dataframe if {"claim", "verdict"} <= set(d.value))
    of_papers = [c for c in CLAIMS if c.paper != OURS]
    assert len(listed) == len(of_papers) < len(CLAIMS) and f"Of {len(of_papers)} claims in papers" in text
    stands_on = finding.of.look(Runs(found.rows, found.gates)).rows
    charts = len(at.get("plotly_chart"))
    at.toggle(key="found_clipping").set_value(True)  # which draws a chart when it is asked
    at.toggle(key=f"found_rows_{finding.name}").set_value(True).run()
    assert len(at.get("plotly_chart")) == charts + 1
    assert not at.exception and set(at.dataframe[-1].value["point"]) == {r.point for r in stands_on}
    at.button_group(key="found_verdict").set_value(["replicated"]).run()
    assert {f.of.claim for f in made if f.verdict == "replicated"} == {
        f.of.claim for f in made if any(f.of.claim in e.label.replace("\\", "") for e in at.expander)
    }
    # And above them the question, answered from the rows: where the best attacker finds as much, or as words stay.
    assert at.selectbox(key="found_privacy_sst2").value == "attack_best"
    at.selectbox(key="found_privacy_sst2").set_value("n_w").run()
    board = leaderboard.board(leaderboard.bundled(), "sst2", "accuracy", "n_w", 0.3, every=False)
    said, _ = leaderboard_text.answer(board, "SST-2")
    text = " ".join(m.value for m in at.markdown).replace("\\", "")
    assert said in text and leaderboard_text.significance_text(board) in text and board.first.label in said
    assert leaderboard_text.power_text(board) in " ".join(c.value for c in at.caption).replace("\\", "")
    assert trace_of(at, "found_board") == [e.label for e in board.entries]
    at.selectbox(key="found_judge_sst2").set_value("cosine").run()
    at.toggle(key="found_every").set_value(True).run()
    assert not at.exception
    at.session_state["found_rows"] = True
    at.run()
    places = next(d.value for d in at.dataframe if {"mechanism", "Accuracy"} <= set(d.value))
    assert not at.exception and len(places) > 3 and any("Kendall" in c.value for c in at.caption)
    other = leaderboard.board(leaderboard.bundled(), "sst2", "cosine", "n_w", 0.3)
    assert leaderboard_text.answer(other, "SST-2")[0] in " ".join(m.value for m in at.markdown).replace("\\", "")
    assert trace_of(at, "found_board") == [e.label for e in other.entries]
    # One click from each sentence on another measure of privacy to its rows.
    text = " ".join(m.value for m in at.markdown).replace("\\", "")
    elsewhere = leaderboard_text.elsewhere(leaderboard.bundled(), other)
    listed = [list(d.value["point"]) for d in at.dataframe if "point" in d.value]
    assert elsewhere
    for sentence, rows in elsewhere:
        assert sentence in text and [e.point for e in rows.entries] in listed


def test_the_rows_of_a_total_epsilon_hold_every_number_of_its_sentences():
    at = findings_page()
    at.session_state["conclusion_budget_rows"] = True
    at.run()
    rows = next(d.value for d in at.dataframe if {"system", "total", "measure"} <= set(d.value))
    bundled = total_budget.bundled()
    sentences = [*total_budget.sentences_by_mechanism(bundled).values(), total_budget.label_sentence(bundled)]
    sentences.append(total_budget.groups_sentence(bundled))
    text = " ".join(m.value for m in at.markdown).replace("\\", "")
    named = {float(x) for sentence in sentences for x in re.findall(r"\d\.\d\d", sentence)}
    assert len(named) > 6 and all(sentence in text for sentence in sentences)
    assert named <= {round(x, 2) for column in ("value", "half") for x in rows[column].dropna()}


def test_the_page_of_findings_compares_mechanisms_at_one_certainty_of_the_reader():
    from dptext_lab.results import belief, leaderboard, leaderboard_text

    at = findings_page()
    rows = leaderboard.at_equal_belief()

    def shown(data: str, judge: str, level: float) -> None:
        board = leaderboard.board(rows, data, judge, belief.METRIC, level, None)
        text = " ".join(m.value for m in at.markdown).replace("\\", "")
        said = leaderboard_text.answer(board, data_titles.in_sentence(data))[0]
        assert said in text and leaderboard_text.significance_text(board) in text
        assert trace_of(at, "certainty_board") == [e.label for e in board.entries] and len(board.entries) > 1
        captions = " ".join(c.value for c in at.caption).replace("\\", "")
        assert belief.outside(belief.bundled(), data, level) in captions

    at.session_state["certainty_rows"] = True
    at.run()
    shown("sst2", "cosine", 0.5)
    at.button_group(key="certainty_data").set_value("snips")
    at.button_group(key="certainty_judge").set_value("label_kept")
    at.button_group(key="certainty_level").set_value(0.7).run()
    assert not at.exception
    shown("snips", "label_kept", 0.7)
    listed = " ".join(m.value for m in at.markdown).replace("\\", "")
    assert all(reason in listed for reason in belief.refusals().values())


def trace_of(at: AppTest, key: str) -> list[str]:
    (chart,) = [e for e in at.get("plotly_chart") if key in str(e.proto)]
    return [t["name"] for t in json.loads(chart.proto.spec)["data"]]


def test_the_registry_knows_every_mechanism_of_the_bundled_results():
    whole = results.bundled()
    assert whole is not None, "assets/benchmarks/results.json is missing"
    names = {r.mechanism for r in whole.rows} - {curves.BASELINE}
    assert names <= {s.name for s in dpt.mechanisms()} and len(names) > 10


def test_every_row_of_the_bundled_results_is_points_that_anyone_can_run():
    """Every curve of the app is rows of this file, of the declared grid or of an edition before it."""
    from argparse import Namespace

    from dptext_lab.commands import bench_run

    whole = results.bundled()
    assert whole is not None
    assert whole.about["missing"] == {}
    args = Namespace(grid="full", data="here", max_texts=None)
    for row in {r.point: r for r in whole.rows}.values():
        point = bench_run.find_point(row.point, args, whole)[1]
        assert (row.setting, row.data) == (point.setting, point.data)
        first = row.metric in ("bertscore", "lm_perplexity") or "finetuned" in row.metric or measure(row.metric).once
        once = row.mechanism in SLOW or first
        assert row.mechanism == curves.BASELINE or (row.seeds == 1 if once else row.seeds >= 3)
    for data in curves.data_sets(whole):
        for metric in curves.metrics_of(whole, data):
            for series in curves.series(whole, data, metric):
                assert all(any(p.row is r for r in whole.rows) and p.value == p.row.value for p in series.points)
