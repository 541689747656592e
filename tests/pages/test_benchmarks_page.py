"""The Benchmarks page and the links into Explore, by Streamlit's AppTest (which runs no JavaScript)."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from lab.results.test_curves import MEASURED, made_up, stored
from streamlit.testing.v1 import AppTest

import dptext_core as dpt
from dptext_core.text.cells import to_csv
from dptext_lab.results import anonymisers, belief, curves, total_budget
from dptext_lab.results import summary as results
from dptext_lab.results.rows import Row
from dptext_studio.components import links
from dptext_studio.exports.methods import FRESH
from dptext_studio.figures.metric_titles import metric_title
from dptext_studio.server.session import Session
from dptext_studio.views.benchmarks import page as bench_page

TOP = Path(__file__).resolve().parents[2]


@pytest.fixture
def found(tmp_path, monkeypatch) -> results.Results:
    whole = stored(tmp_path)
    monkeypatch.setattr(results, "bundled", lambda: whole)
    return whole


def page(**session) -> AppTest:
    at = AppTest.from_file(TOP / "pages" / "benchmarks.py", default_timeout=60)
    at.session_state["app"] = True
    for name, value in session.items():
        at.session_state[name] = value
    return at.run()


def all_charts(at: AppTest) -> list[dict]:
    return [json.loads(c.proto.spec) for c in at.get("plotly_chart")]


def charts(at: AppTest) -> list[dict]:
    """Return those of the points; charts of anonymisers, of certainty, of totals and of memory are above them."""
    plane, certain, totals, memory, *of_points = all_charts(at)
    assert plane["layout"]["xaxis"]["title"]["text"] == "Meaning preserved (cosine to the original)"
    assert certain["layout"]["xaxis"]["title"]["text"] == "Certainty of the optimal reader, %"
    assert totals["layout"]["xaxis"]["title"]["text"] == "Total ε of a text"
    assert memory["layout"]["xaxis"]["title"]["text"] == "Rewritten words"
    return of_points


def names(chart: dict) -> list[str]:
    return [t["name"] for t in chart["data"] if t.get("showlegend") is None and "name" in t]


def said(chart: dict) -> list[str]:
    return [a["text"] for a in chart["layout"]["annotations"]]


def panels(chart: dict) -> list[str]:
    """The mechanisms, each of which has a panel."""
    return [text[3:-4] for text in said(chart) if text.startswith("<b>")]


def axis(chart: dict) -> str:
    return said(chart)[-1]


def switches(at: AppTest) -> list[str]:
    return [t.key for t in at.toggle]


# --- the page -------------------------------------------------------------------------------------------------------


def test_without_results_the_page_says_what_measures_them(monkeypatch):
    monkeypatch.setattr(results, "bundled", lambda: None)
    at = page()
    assert not at.exception and "bench run --grid" in at.info[0].value and not at.selectbox

    def broken():
        raise dpt.InputError("results.json *line 3* is broken.")

    monkeypatch.setattr(results, "bundled", broken)
    at = page()
    assert not at.exception and "line 3" in at.error[0].value and "\\*" in at.error[0].value


def test_mechanisms_that_count_differently_are_first_shown_at_the_same_n_w(found):
    at = page()
    assert not at.exception
    kept, hidden = charts(at)
    assert "N_w" in axis(kept) and "N_w" in axis(hidden)
    bubble = at.button_group(key="bench_x_sst2_True").help
    assert "N_w" in bubble and "ε" in bubble
    assert panels(kept) == ["DP-MLM", "1-Diffractor", "CusText", "SanText", "MVC"]
    assert not kept["layout"]["showlegend"] and kept["layout"]["yaxis3"]["matches"] == "y"
    of_third = [t for t in kept["data"] if t.get("xaxis") == "x3" and t["x"]]
    assert of_third[0]["name"] == "others" and of_third[0]["hoverinfo"] == "skip", "the others stand behind it"
    assert [t["name"].partition(",")[0] for t in of_third[1:]] == ["CusText"]
    assert "bench_papers" not in switches(at), "no paper prints N_w: nothing would change"
    captions = " ".join(c.value for c in at.caption)
    assert "Equal ε is not equal privacy" in captions and "unit of distance" in captions
    assert (
        "Not measured on this axis: 1 point (MVC)" in captions.replace("\\", "")
        and "papers do not report this measure" in captions
    )


def test_alone_or_on_request_epsilon_is_the_axis_and_the_papers_marks_join(found):
    at = page()
    at.button_group(key="bench_x_sst2_True").set_value("ε").run()
    assert not at.exception
    kept = charts(at)[0]
    assert "ε" in axis(kept) and "bench_papers" in switches(at)
    assert any("Hollow: the papers." in c.value for c in at.caption)
    again = page(session=at.session_state["session"])  # as after another page, where Streamlit forgets controls
    assert again.button_group(key="bench_x_sst2_True").value == "ε"
    assert any("DP-MLM, Table 1" in m.value.replace("\\", "") for m in at.markdown), (
        "what a table of a paper holds is said"
    )
    hollow = [t for t in kept["data"] if "-open" in str(t.get("marker", {}).get("symbol")) and t["x"][0] is not None]
    assert hollow
    at.toggle(key="bench_papers").set_value(False).run()
    assert not any("-open" in str(t.get("marker", {}).get("symbol")) for t in charts(at)[0]["data"])
    at.multiselect(key="bench_mechanisms_sst2").set_value(["mvc"]).run()
    kept = charts(at)[0]
    assert axis(kept) == "ε per word and unit of distance" and panels(kept) == ["MVC"]
    assert "bench_all" not in switches(at), "it has one configuration"
    assert not any("Equal ε" in c.value for c in at.caption)


def test_curves_stand_where_an_attacker_is_right_equally_often(found, monkeypatch):
    at = page()
    assert "Same attacker" not in at.button_group(key="bench_x_sst2_True").options, "no attacker was measured"
    guessed = [replace(r, metric="attack_bayes", value=r.value / 2) for r in found.rows if r.metric == "n_w"]
    asked = [replace(r, metric="attack_query") for r in guessed if r.mechanism == "diffractor"]
    whole = replace(found, rows=(*found.rows, *guessed, *asked))
    monkeypatch.setattr(results, "bundled", lambda: whole)
    at = page()
    at.button_group(key="bench_x_sst2_True").set_value("Same attacker").run()
    assert not at.exception
    kept = charts(at)[0]
    assert axis(kept).partition("<br>")[0] == metric_title("attack_bayes") and len(panels(kept)) == 5
    assert not any("-open" in str(t.get("marker", {}).get("symbol")) for t in kept["data"]), "no paper prints it"
    assert "bench_papers" not in switches(at)
    values = {r.value for r in guessed if r.data == "sst2" and r.mechanism == "mvc"}
    (line,) = [t for t in kept["data"] if t["name"].startswith("MVC")]
    assert set(line["x"]) == values
    at.selectbox(key="bench_attacker_sst2").set_value("attack_query").run()
    assert not at.exception and panels(charts(at)[0]) == ["1-Diffractor"]
    captions = [c.value.replace("\\", "") for c in at.caption]
    left = next(c for c in captions if "Not measured on this axis: " in c)
    assert "MVC" in left and "Diffractor" not in left


def test_filters_and_all_configurations(found):
    at = page()
    at.toggle(key="bench_all").set_value(True).run()
    drawn = [t["name"] for t in charts(at)[0]["data"] if "customdata" in t and t["name"] != "chosen"]
    assert len(drawn) == len(MEASURED)
    at.selectbox(key="bench_data").set_value("reviews").run()
    assert not at.exception
    at.selectbox(key="bench_hidden_reviews_Curves_n_w").set_value("relative_gain_static").run()
    assert [said(c)[-2] for c in charts(at)] == ["Utility F1", "Relative gain, static"]
    at.multiselect(key="bench_mechanisms_reviews").set_value([]).run()
    assert not at.exception and not charts(at) and "There are no measurements" in at.info[0].value


def test_the_plane_and_the_table(found):
    at = page()
    at.button_group(key="bench_view").set_value("Plane").run()
    assert not at.exception
    (plane,) = charts(at)
    assert names(plane)[0] == "Pareto front" and plane["layout"]["xaxis"]["title"]["text"] == metric_title("n_w")
    at.button_group(key="bench_view").set_value("Table").run()
    assert not at.exception and not charts(at)
    shown = next(d.value for d in at.dataframe if "N_w" in d.value)
    assert set(shown["source"]) >= {"ours"} and {"low", "high", "n", "seeds", "point"} <= set(shown.columns)
    assert list(shown.columns)[:4] == ["series", "ε", "metric", "value"], "the first are not cut"
    assert any(s.startswith("DP-MLM, Table") for s in shown["source"])
    gates = next(d.value for d in at.dataframe if "majority" in d.value)
    assert list(gates["data"]) == ["cola"]


def test_a_point_shows_its_command_and_opens_in_explore(found):
    at = AppTest.from_file(TOP / "app.py", default_timeout=120)
    at.session_state["app_wanted"] = "benchmarks"
    at.session_state["session"] = Session(text="My doctor paid.")
    at.run()
    assert not at.exception and "bench_open" not in [b.key for b in at.button]
    point = next(r.point for r in found.rows if r.mechanism == "diffractor" and r.epsilon == 50.0)
    at.selectbox(key="bench_point").set_value(point).run()
    assert point in at.code[0].value
    assert any(all(w in m.value for w in ("Accuracy", "Cosine", "95%")) for m in at.markdown), "all that was measured"
    at.button(key="bench_open").click().run()
    assert not at.exception and at.selectbox(key="play_mechanism").value == "diffractor"
    assert at.selectbox(key="play-diffractor-oov").value == "keep"
    assert at.text_area(key="play_text").value == "My doctor paid."
    settle(at)
    run = at.session_state["session"].run
    assert run.mechanism.config.epsilon == 50.0 and run.inputs.text == "My doctor paid."


def test_a_press_counts_before_anything_is_drawn(found, monkeypatch):
    """A run that another event cuts short while it draws has taken the press already."""
    at = AppTest.from_file(TOP / "app.py", default_timeout=120)
    at.session_state["app_wanted"] = "benchmarks"
    at.run()
    point = next(r.point for r in found.rows if r.mechanism == "diffractor" and r.epsilon == 50.0)
    at.selectbox(key="bench_point").set_value(point).run()

    def drawn(*_):
        raise AssertionError("drawn before the press was taken")

    monkeypatch.setattr(curves, "data_sets", drawn)
    at.button(key="bench_open").click().run()
    assert not at.exception and at.selectbox(key="play_mechanism").value == "diffractor"


def test_a_choice_that_is_no_longer_shown_is_let_go(found):
    at = page()
    at.selectbox(key="bench_point").set_value(curves.series(found, "sst2", "s_w", ["mvc"])[0].points[1].row.point)
    at.run()
    assert at.code
    at.multiselect(key="bench_mechanisms_sst2").set_value(["dp-mlm"]).run()
    assert not at.exception and not at.code and "bench_open" not in [b.key for b in at.button]


# --- links ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "setting",
    [
        dpt.Setting("dp-mlm", {}, 250.0),
        dpt.Setting("dp-mlm", {"clip": "paper"}, 250.0),
        dpt.Setting("diffractor", {"lists": ["L0"], "noise": "tem"}, 0.1),
        dpt.Setting("custext", {"k": 50, "keep_stopwords": False, "strategy": "record"}, 3.0),
        dpt.Setting("dp-mlm-plus", {"add_prob": 0.25, "del_prob": 0.05}, 25.0),
        dpt.Setting("tem", {"gamma": 0.5, "space": "word2vec"}, 1 / 3),
        dpt.Setting("diffractor", {"lists": ["minilm-1", "fasttext-2"]}, 1.0),
    ],
)
def test_a_setting_goes_through_an_address_and_back(setting):
    query = links.to_query(setting)
    assert all(isinstance(v, str) for v in query.values())
    back, problem = links.from_query(query)
    assert problem is None and back.make().config == setting.make().config


def test_what_has_no_control_is_not_sent():
    query = links.to_query(dpt.Setting("custext", {"stopwords": "a/file", "k": 20}, 1))
    begun = {"loaded_words": "yes", "recase": "sentence"}
    assert query == {"mechanism": "custext", "epsilon": "1", **begun}, "k is at its default"


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"mechanism": "nope"}, "Unknown mechanism"),
        ({"mechanism": "custext", "epsilon": "nan"}, "finite"),
        ({"mechanism": "custext", "epsilon": "-1"}, "above 0"),
        ({"mechanism": "custext", "epsilon": "1e9"}, "at most"),
        ({"mechanism": "custext", "epsilon": "1,2"}, "number"),
        ({"mechanism": "custext", "epsilon": "1e-308"}, "at least 1e-09"),
        ({"mechanism": "custext", "epsilon": "1e-8"}, "preserves nothing"),
        ({"mechanism": "custext", "k": "2.5"}, "whole number"),
        ({"mechanism": "custext", "k": "inf"}, "whole number"),
        ({"mechanism": "custext", "k": "0"}, "at least 1"),
        ({"mechanism": "custext", "mapping": "best"}, "one of"),
        ({"mechanism": "custext", "keep_stopwords": "1"}, "yes or no"),
        ({"mechanism": "custext", "text": "secret"}, "no option"),
        ({"mechanism": "custext", "stopwords": "a/file"}, "no option"),
        ({"mechanism": "custext", "space": "../vectors.txt"}, "on this machine"),
        ({"mechanism": "dp-mlm", "model": "some/folder"}, "on this machine"),
        ({"mechanism": "dp-mlm", "clip_min": "0"}, "no option"),
        ({"mechanism": "diffractor", "lists": "minilm@7"}, "up to 10"),
        ({"mechanism": "diffractor", "lists": ""}, "empty entry"),
        ({"mechanism": "diffractor", "lists": "[]"}, "up to 10"),
        ({"mechanism": "custext", "k": "1_0"}, "whole number"),
        ({"mechanism": "custext", "epsilon": "1_0"}, "not a number"),
        ({"mechanism": "custext", "epsilon": "[1]"}, "one number"),
        ({"mechanism": "custext" * 100}, "Unknown mechanism"),
        ({"mechanism": "custext", "x" * 900: "1"}, "no option"),
        ({"mechanism": "custext", "space": "x" * 900}, "on this machine"),
    ],
)
def test_an_address_that_is_wrong_says_so(params, said):
    setting, problem = links.from_query(params)
    assert setting is None and said in problem and problem.startswith("This link was not followed")
    assert "x" * 100 not in problem and "custext" * 20 not in problem


def test_a_point_that_no_link_can_hold_says_so(found, monkeypatch):
    def with_no_such_window(row: Row) -> Row:
        return replace(row, setting=replace(row.setting, options={**row.options, "gamma": -1.0}))

    rows = tuple(with_no_such_window(r) if r.mechanism == "diffractor" else r for r in found.rows)
    monkeypatch.setattr(results, "bundled", lambda: replace(found, rows=rows))
    at = page()
    point = next(r.point for r in found.rows if r.mechanism == "diffractor" and r.epsilon == 50.0)
    at.selectbox(key="bench_point").set_value(point).run()
    at.button(key="bench_open").click().run()
    assert not at.exception and any("gamma must be" in e.value for e in at.error)


def test_an_address_without_a_setting_or_without_epsilon():
    assert links.from_query({}) == links.from_query({"utm": "x"}) == (None, None)
    setting, problem = links.from_query({"mechanism": "diffractor", "noise": "tem"})
    assert problem is None and setting.epsilon == setting.at(None).make().config.epsilon


# --- Explore follows -----------------------------------------------------------------------------------------


def explore(**query: str) -> AppTest:
    at = AppTest.from_file(TOP / "app.py", default_timeout=120)
    for name, value in query.items():
        at.query_params[name] = value
    return at


def settle(at: AppTest) -> AppTest:
    for _ in range(200):
        assert not at.exception
        if "session" not in at.session_state or at.session_state["session"].at("rewrite").job is None:
            break
        at.session_state["session"].at("rewrite").job.wait(1)
        at.run()
    return at


@pytest.mark.slow
def test_a_link_beyond_the_slider_widens_it_and_moves_the_browser():
    at = explore(mechanism="diffractor", epsilon="50", lists="L0")
    at.session_state["play_text"] = "My doctor paid."
    settle(at.run())
    run = at.session_state["session"].run
    assert settle(at.run()).session_state["session"].run is run, "the address stands, and is followed once"
    assert (
        run.mechanism.config.epsilon == 50.0
        and run.mechanism.config.lists == dpt.get_mechanism("diffractor", lists=("L0",)).config.lists
    )
    assert run.payload["hi"] == 50.0 and run.payload["cmd"]["eps"] == 50.0
    # The same settings at another ε: a new run although no control changed; what was on before stays off.
    at.session_state["session"].query = {"mechanism": "diffractor", "epsilon": "2", "lists": "L0"}
    settle(at.run())
    again = at.session_state["session"].run
    assert again.number > run.number and again.mechanism.config.epsilon == 2.0 and again.payload["cmd"]["eps"] == 2.0
    # An option of one's own afterwards: the axis is the mechanism's again.
    at.selectbox(key="play-diffractor-noise").set_value("tem")
    settle(at.run())
    assert at.session_state["session"].run.payload["hi"] < 20


@pytest.mark.slow
def test_options_of_before_do_not_stay_under_a_link():
    at = settle(explore().run())
    at.text_area(key="play_text").set_value("My *own* text about a doctor.")
    at.selectbox(key="play_mechanism").set_value("diffractor").run()
    at.number_input(key="play-diffractor-gamma").set_value(9)
    settle(at.selectbox(key="play-diffractor-noise").set_value("tem").run())
    assert at.session_state["session"].run.mechanism.config.gamma == 9
    at.session_state["session"].query = {"mechanism": "diffractor", "epsilon": "3", "oov": "mask"}
    settle(at.run())
    config = at.session_state["session"].run.mechanism.config
    assert (config.noise, config.gamma, config.oov, config.epsilon) == ("geometric", None, "mask", 3.0)
    assert at.session_state["session"].run.inputs.text == "My *own* text about a doctor."


def test_a_wrong_link_leaves_explore_as_it_is():
    at = settle(explore(mechanism="custext", epsilon="nan").run())
    assert any("not followed" in w.value for w in at.warning)
    assert at.selectbox(key="play_mechanism").value == "dp-mlm"
    at.run()
    assert any("not followed" in w.value for w in at.warning), "the page reruns by itself: it must not take it away"
    settle(at.text_area(key="play_text").set_value("My doctor paid.").run())
    assert not any("not followed" in w.value for w in at.warning)


def test_a_second_click_on_the_form_of_pictures_takes_it_not_away(found):
    form = page().segmented_control(key="bench_picture")
    assert form.value == "SVG" and form.proto.required


def test_the_downloads_hold_what_is_shown_and_everything(found):
    rows = curves.table(curves.series(found, "sst2", "accuracy"))
    assert len(list(csv.reader(to_csv(rows).splitlines()))) == len(rows) + 1
    at = page()
    labels = [b.proto.label for b in at.get("download_button")]
    assert labels == ["Current view (CSV)", "All results (CSV)", "All results (JSON)"]
    assert made_up()["rows"] == [r.to_dict() for r in found.rows]
    at.session_state["bench_methods"] = True
    text, bibtex = (c.value for c in at.run().code[:2])
    assert not at.exception and not at.error
    assert text.count("We rewrote texts with") >= 2 and bibtex.count("@software") == 1 and FRESH not in text
    shown = curves.series(found, "sst2", "accuracy")
    uses = bench_page.uses_of([replace(shown[0], points=()), *shown[1:]])
    assert len(uses) == len(shown) - 1, "what has no point on this axis is not described"


@pytest.mark.slow
def test_what_a_total_budget_buys_and_what_each_system_shows(found, monkeypatch):
    at = page()
    systems = list(dict.fromkeys(r.system for r in total_budget.bundled()))
    assert not at.exception and names(all_charts(at)[2]) == systems
    told = at.dataframe[0].value
    within = [
        "differential privacy within a group" if "CusText" in name else "pure differential privacy" for name in systems
    ]
    assert list(told["guarantee"]) == within and len(set(within)) == 2
    assert told["public part"][0] == "how many sentences there are"
    for measure in sorted({r.measure for r in total_budget.bundled() if r.data == "sst2"} - {"draws"})[:2]:
        at.segmented_control(key="bench_bought").set_value(measure)
        at.run()
        assert not at.exception
        assert all_charts(at)[2]["layout"]["yaxis"]["title"]["text"] == total_budget.MEASURES[measure]
        floor = [r.value for r in total_budget.bundled() if (r.data, r.measure, r.total) == ("sst2", measure, 0.0)]
        assert list(at.dataframe[0].value["text-independent baseline"]) == floor
    for data in {r.data for r in total_budget.bundled()}:
        own = {r.measure for r in total_budget.bundled() if r.data == data} - {"draws"}
        at.segmented_control(key="bench_bought").set_value("linked").run()
        at.segmented_control(key="bench_bought_data").set_value(data).run()
        assert not at.exception and at.segmented_control(key="bench_bought").value == "linked"
        assert len(at.segmented_control(key="bench_bought").options) == len(own)
    rows = total_budget.bundled()
    alone = [replace(r, data="atis") for r in rows if r.data == "sst2" and r.measure in ("cosine", "draws")]
    monkeypatch.setattr(total_budget, "bundled", lambda: (*rows, *alone))
    at.run()
    at.segmented_control(key="bench_bought_data").set_value("atis").run()
    assert not at.exception and at.segmented_control(key="bench_bought").value == "cosine", (
        "the only one of these texts"
    )
    monkeypatch.setattr(total_budget, "bundled", lambda: ())
    at = page()
    assert not at.exception and len(all_charts(at)) == 5


def test_all_anonymisers_are_on_one_plot_under_what_removing_names_protects(found, monkeypatch):
    at = page()
    rows = anonymisers.bundled()

    def shown(data: str, fact: str) -> None:
        chart = all_charts(at)[0]
        own = [r for r in rows if r.data == data]
        assert [t["name"] for t in chart["data"]] == list(dict.fromkeys(r.title for r in own))
        (removed,) = (t for t in chart["data"] if t["name"] == "Redaction")
        assert removed["y"] == [pytest.approx(100 * getattr(own[0], fact))] and own[0].mechanism == "redact"
        text = " ".join(m.value for m in at.markdown).replace("\\", "")
        assert all(sentence in text for sentence in anonymisers.finding(own))

    shown("sst2", "identifying")
    at.segmented_control(key="bench_anonymisers_data").set_value("notes")
    at.segmented_control(key="bench_anonymisers_fact").set_value("other").run()
    assert not at.exception
    shown("notes", "other")
    monkeypatch.setattr(anonymisers, "bundled", lambda: ())
    assert len(all_charts(page())) == 5


def test_what_is_preserved_over_the_certainty_of_the_optimal_reader(found, monkeypatch):
    at = page()
    rows = belief.bundled()

    def shown(data: str, metric: str) -> None:
        chart = all_charts(at)[1]
        systems = list(dict.fromkeys(r.mechanism for r in rows if r.data == data))
        traces = [t for t in chart["data"] if "customdata" in t]
        assert [t["name"] for t in traces] == [curves.title(m) for m in systems] and len(systems) > 5
        own = sorted((r for r in rows if (r.data, r.mechanism) == (data, "dp-mlm")), key=lambda r: r.certainty)
        mlm = traces[systems.index("dp-mlm")]
        assert mlm["x"] == pytest.approx([100 * r.certainty for r in own])
        assert mlm["y"] == pytest.approx([getattr(r, metric) for r in own])

    shown("sst2", "cosine")
    at.segmented_control(key="bench_certainty_data").set_value("snips")
    at.segmented_control(key="bench_certainty_metric").set_value("label_kept").run()
    assert not at.exception
    shown("snips", "label")
    text = " ".join(m.value for m in at.markdown).replace("\\", "")
    assert all(reason in text for reason in belief.refusals().values())
    monkeypatch.setattr(belief, "bundled", lambda: ())
    assert len(all_charts(page())) == 5
