"""Rows of a benchmark as series, planes, tables and figures. The values are made up by a formula."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

import dptext_core as dpt
from dptext_core import ConfigError, InputError
from dptext_core.measure.front import pareto
from dptext_core.measure.metrics import REGISTRY, measure
from dptext_core.text.cells import to_csv
from dptext_lab.results import curves, papers
from dptext_lab.results import summary as results
from dptext_studio import figures
from dptext_studio.figures import benchmarks as benchmark_figures
from dptext_studio.figures.mechanism_style import mechanism_style

#: Mechanism, options, ε: several configurations of two mechanisms, several notions.
MEASURED = [
    ("dp-mlm", {}, (10.0, 25.0, 50.0, 100.0, 250.0)),
    ("diffractor", {"lists": ["L0"], "noise": "geometric", "oov": "keep"}, (0.1, 1.0, 10.0)),
    ("diffractor", {"lists": ["L2"], "noise": "geometric", "oov": "keep"}, (0.1, 0.5, 1.0, 5.0, 50.0)),
    ("custext", {"k": 5, "mapping": "balanced", "oov": "keep"}, (1.0,)),
    ("custext", {"k": 50, "mapping": "balanced", "oov": "keep"}, (1.0, 3.0, 10.0)),
    ("santext", {"oov": "keep"}, (1.0, 10.0, 17.0, 25.0)),
    ("mvc", {"oov": "keep"}, (10.0, 100.0, 150.0)),
]
METRICS = {
    "sst2": {"accuracy": "utility", "cosine": "similarity", "n_w": "deniability", "s_w": "deniability"},
    "reviews": {
        "f1": "utility",
        "f1_static": "privacy",
        "relative_gain_static": "privacy",
        "n_w": "deniability",
    },
}


def value(metric: str, share: float) -> float:
    """share: how far along its range of ε a point is, 0 to 1."""
    return {
        "accuracy": 0.55 + 0.3 * share**0.7,
        "cosine": 0.2 + 0.75 * share,
        "n_w": 0.02 + 0.93 * share,
        "s_w": 80 - 75 * share,
        "f1": 0.5 + 0.2 * share,
        "f1_static": 0.4 + 0.5 * share**2,
        "relative_gain_static": 0.3 * share * (1 - share),
    }[metric]


def made_up(measured=MEASURED) -> dict:
    """A results file as the merge writes it."""
    rows = []

    def add(mechanism, options, epsilon, data, metric, task, v, point, seeds=3):
        half = 0.02 * abs(v)
        rows.append(
            {
                "mechanism": mechanism,
                "options": options,
                "epsilon": epsilon,
                "data": data,
                "task": task,
                "metric": metric,
                "value": v,
                "low": v - half,
                "high": v + half,
                "n": 400,
                "seeds": seeds,
                "point": point,
            }
        )

    for data, metrics in METRICS.items():
        for metric, task in metrics.items():
            if task in ("utility", "privacy") and "gain" not in metric:
                add("baseline", {}, None, data, metric, task, value(metric, 1.0) + 0.02, "0" * 12, 1)
            for i, (mechanism, options, epsilons) in enumerate(measured):
                for j, epsilon in enumerate(epsilons):
                    share = (j + 1) / (len(epsilons) + 1) * (0.75 + 0.25 * math.sin(i))
                    point = f"{i:02d}{j:02d}{'ab' if data == 'sst2' else 'cd'}000000"
                    if (metric, mechanism, j) != ("n_w", "mvc", 0):  # one N_w was not measured
                        add(mechanism, options, epsilon, data, metric, task, value(metric, share), point)
    sets = {
        d: {
            "title": d.upper(),
            "file": f"{d}/test.tsv",
            "sha256": "0" * 64,
            "n_train": 2000,
            "n_test": 400,
            "max_words": None,
            "tokens": 8000,
            "note": "",
        }
        for d in METRICS
    }
    gates = [
        {
            "data": "sst2",
            "task": "sentiment",
            "role": "utility",
            "metric": "accuracy",
            "score": 0.82,
            "majority": 0.51,
            "se": 0.02,
            "n_test": 400,
            "enters": True,
        },
        {
            "data": "reviews",
            "task": "author",
            "role": "privacy",
            "metric": "f1",
            "score": 0.9,
            "majority": 0.35,
            "se": 0.02,
            "n_test": 400,
            "enters": True,
        },
        {
            "data": "cola",
            "task": "acceptability",
            "role": "utility",
            "metric": "accuracy",
            "score": 0.7,
            "majority": 0.69,
            "se": 0.02,
            "n_test": 400,
            "enters": False,
        },
    ]
    about = {
        "command": "python -m dptext_core bench run --grid full",
        "version": "0.1.0",
        "machine": "a machine",
        "device": "cpu",
        "finished": "2025-01-01",
        "seeds": [1, 2, 3],
        "points": 100,
        "missing": {},
        "core_minutes": 80.0,
        "cut": "Long texts.",
        "data": sets,
    }
    return {"about": about, "gates": gates, "rows": rows}


def stored(folder: Path, whole: dict | None = None) -> results.Results:
    path = folder / "results.json"
    path.write_text(json.dumps(whole or made_up(), ensure_ascii=False), encoding="utf-8")
    return results.read(path)


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> results.Results:
    return stored(tmp_path_factory.mktemp("results"))


# --- series ---------------------------------------------------------------------------------------------------------


def test_a_series_is_a_configuration_over_epsilon(found):
    every = curves.series(found, "sst2", "accuracy")
    assert [len(s.points) for s in every] == [5, 5, 3, 4, 3, 3, 1]
    labels = [s.label for s in every]
    assert len(set(labels)) == len(labels)
    assert labels[:4] == ["DP-MLM", "1-Diffractor, L2", "CusText, K = 50", "SanText"], "what does not vary is not said"
    for s in every:
        assert [p.x for p in s.points] == sorted(p.row.epsilon for p in s.points)
        assert all(p.low < p.value < p.high and p.row.metric == "accuracy" for p in s.points)
    assert [s.mechanism for s in curves.series(found, "sst2", "accuracy", ["mvc"])] == ["mvc"]
    assert curves.series(found, "sst2", "accuracy", []) == [] == curves.series(found, "cola", "accuracy")


def test_a_configuration_has_one_number_among_those_of_its_mechanism_in_every_figure(found):
    every = curves.series(found, "sst2", "accuracy")
    index = {s.label: s.variant for s in every}
    assert len({(s.mechanism, s.variant) for s in every}) == len(every) == 7
    assert {s.mechanism for s in every if s.variant == 0} == {s.mechanism for s in every}
    for data, metric in (("sst2", "cosine"), ("reviews", "f1_static")):
        assert all(index[s.label] == s.variant for s in curves.series(found, data, metric, ["custext", "mvc"]))
    main = curves.main_series(curves.series(found, "sst2", "accuracy"))
    assert [s.label for s in main] == ["DP-MLM", "1-Diffractor, L2", "CusText, K = 50", "SanText", "MVC"]


def test_at_equal_measured_privacy_a_point_stands_at_its_own_n_w(found):
    (mvc,) = curves.series(found, "sst2", "accuracy", ["mvc"], "n_w")
    assert mvc.num_omitted == 1 and [p.row.epsilon for p in mvc.points] == [100.0, 150.0]
    n_w = {r.epsilon: r.value for r in found.rows if r.mechanism == "mvc" and r.metric == "n_w"}
    assert [p.x for p in mvc.points] == [n_w[100.0], n_w[150.0]] == [p.n_w for p in mvc.points]
    # The other data set has its own.
    (other,) = curves.series(found, "reviews", "f1", ["mvc"], "n_w")
    assert {p.row.data for p in other.points} == {"reviews"}
    # At an attacker's success it stands at that, and keeps its N_w.
    named = [
        replace(r, metric="attack_bayes", value=r.value / 2, low=None, high=None)
        for r in found.rows
        if r.metric == "n_w"
    ]
    attacked = replace(found, rows=(*found.rows, *named))
    (half,) = curves.series(attacked, "sst2", "accuracy", ["mvc"], "attack_bayes")
    assert [p.x for p in half.points] == [n_w[100.0] / 2, n_w[150.0] / 2] and half.points[0].n_w == n_w[100.0]
    with pytest.raises(ConfigError, match="n_w"):
        curves.series(found, "sst2", "accuracy", x="total")


def test_baseline_and_majority_are_those_of_the_metric(found):
    assert curves.baseline(found, "sst2", "accuracy").value == pytest.approx(0.87)
    assert curves.baseline(found, "sst2", "s_w") is None
    assert curves.majority(found, "sst2", "accuracy") == 0.51
    assert curves.majority(found, "reviews", "f1_static") == 0.35 and curves.majority(found, "reviews", "f1") is None
    assert curves.majority(found, "sst2", "cosine") is None


def test_what_there_is(found):
    assert curves.data_sets(found) == {"sst2": "SST2", "reviews": "REVIEWS"}
    assert curves.metrics_of(found, "reviews", ("privacy", "gain")) == ["f1_static", "relative_gain_static"]
    assert curves.mechanisms_of(found, "sst2") == ["dp-mlm", "diffractor", "custext", "santext", "mvc"]
    assert len(curves.units(["dp-mlm", "santext", "mvc", "gumbel", "adept"])) == 4
    assert curves.units(["santext", "mvc"]) == {
        "metric differential privacy, per word and unit of distance": ["SanText", "MVC"]
    }


def test_every_metric_of_the_papers_that_is_measured_has_a_meaning(found):
    assert all(measure(r.metric).about for r in found.rows)
    assert measure("new").title == "new"
    tuned = measure("f1_static_finetuned")
    assert (tuned.kind, tuned.better, tuned.title) == ("privacy", -1, "Attacker's F1, static, fine-tuned")
    assert {m.better for m in REGISTRY.values()} == {-1, 0, 1}


# --- papers ---------------------------------------------------------------------------------------------------------


def test_papers_stand_in_our_units_and_take_the_index_of_ours(found):
    ours = curves.series(found, "sst2", "accuracy")
    printed = curves.paper_series("sst2", "accuracy", ours=ours)
    assert printed and all(0 < p.value < 1 and p.x > 0 for s in printed for p in s.points)
    by_label = {(s.label, s.paper): s for s in printed}
    mlm = by_label["DP-MLM", "DP-MLM, Table 1"]
    assert (mlm.points[0].x, mlm.points[0].value) == (10.0, pytest.approx(0.685))
    assert ("DP-MLM", "DP-MLM, Table 2") not in by_label, "the same numbers are not shown twice"
    index = {s.label: s.variant for s in ours}
    assert {s.variant for s in printed if s.options.get("lists") == ("L0",)} == {index["1-Diffractor, L0"]}
    assert {s.variant for s in printed if s.options.get("k") == 5} == {index["CusText, K = 5"]}
    best = [s for s in printed if "best_of" in s.options]
    assert best and all("best of noise+lists" in s.label for s in best)
    assert all(s.mechanism == "mvc" for s in curves.paper_series("sst2", "accuracy", ["mvc"]))


def test_rows_without_a_place_are_not_drawn(monkeypatch):
    real = papers.paper_rows("sst2", "dp-mlm", "accuracy")[:4]
    anywhere, nothing = (real[i].setting.at(e) for i, e in ((1, None), (2, 0)))
    changes = [{"value": None}, {"setting": anywhere}, {"setting": nothing}, {"note": "more than this"}]
    monkeypatch.setattr(
        curves, "paper_rows", lambda *_: [dataclasses.replace(r, **c) for r, c in zip(real, changes, strict=True)]
    )
    assert curves.paper_series("sst2", "accuracy") == []


def test_other_data_stands_in_only_where_the_metric_allows_it():
    gains = curves.paper_series("reviews", "relative_gain_static")
    assert gains and all("on trustpilot" in s.label or "on yelp" in s.label for s in gains)
    assert curves.paper_series("reviews", "f1") == []


# --- a user's own settings ------------------------------------------------------------------------------------------


def test_a_users_options_find_the_series_they_are_nearest_to(found):
    own = dpt.Setting("diffractor", {"lists": ("L0",), "oov": "keep"})
    (exact,) = curves.nearest_series(found, own)
    assert exact.label == "1-Diffractor, L0" and curves.differences(exact, own) == []
    (default,) = curves.nearest_series(found, dpt.Setting("diffractor", {}))
    assert default.options["lists"] == ("L2",), "an option that is not given has its default"
    assert curves.differences(default, dpt.Setting("diffractor", {})) == ["unknown words: keep"]
    other = dpt.Setting("diffractor", {"oov": "keep", "gamma": 7})
    assert curves.differences(default, other) == ["gamma at its default"]
    both = curves.nearest_series(found, dpt.Setting("custext", {"k": 20, "oov": "keep"}))
    assert {s.options["k"] for s in both} == {5, 50}
    assert curves.nearest_series(found, dpt.Setting("tem", {})) == []


# --- the plane ------------------------------------------------------------------------------------------------------


def test_the_plane_pairs_the_metrics_of_one_setting(found):
    spots = curves.plane(found, "reviews", "f1", "f1_static")
    assert len(spots) == sum(len(e) for _, _, e in MEASURED)
    for s in spots:
        assert s.x_point.row.point == s.y_point.row.point and s.y_point.row.metric == "f1"
        assert (s.x, s.y) == (s.x_point.value, s.y_point.value)
    assert len(curves.plane(found, "sst2", "accuracy", "n_w")) == len(spots) - 1
    printed = curves.paper_plane("trustpilot", "f1", "f1_static", ["dp-mlm"])
    assert [round(s.x, 4) for s in printed[:2]] == [0.5974, 0.6126]


@pytest.mark.parametrize(
    ("better", "front"),
    [((-1, 1), [0, 2, 4]), ((1, 1), [4]), ((-1, -1), [0]), ((1, -1), [0, 1, 3])],
)
def test_the_front_is_what_no_other_point_beats(better, front):
    points = [(0.1, 0.2), (0.3, 0.25), (0.2, 0.5), (0.4, 0.4), (0.4, 0.9), (0.1, 0.2)]
    assert pareto(points, better) == front
    assert pareto([], better) == []
    for i in front:
        assert not any(
            all(b * q >= b * p for b, p, q in zip(better, points[i], other, strict=True)) and other != points[i]
            for other in points
        )
    with pytest.raises(ConfigError, match="direction"):
        pareto(points, (0, 1))


# --- tables ---------------------------------------------------------------------------------------------------------


def test_the_table_holds_every_point_and_how_to_measure_it_again(found):
    shown = [*curves.series(found, "sst2", "accuracy"), *curves.paper_series("sst2", "accuracy", ["dp-mlm"])]
    rows = curves.table(shown)
    assert len(rows) == sum(len(s.points) for s in shown)
    assert rows[0]["again"].endswith(f"bench run --point {rows[0]['point']} --data DIR --stopwords FILE")
    assert rows[0]["seeds"] == 3 and rows[0]["source"] == "ours"
    assert rows[-1]["source"].startswith("DP-MLM, Table") and rows[-1]["again"] == ""
    back = list(csv.DictReader(io.StringIO(to_csv(rows))))
    assert len(back) == len(rows) and float(back[0]["value"]) == rows[0]["value"]
    whole = list(csv.DictReader(io.StringIO(to_csv(curves.flat(found)))))
    assert len(whole) == len(found.rows) and "K = 50" in {o for r in whole for o in r["options"].split(", ")}


# --- figures --------------------------------------------------------------------------------------------------------


def drawn(figure, mode="lines+markers"):
    return [t for t in figure.data if t.mode == mode and t.x[0] is not None]


@pytest.mark.parametrize("dark", [False, True])
def test_ours_and_the_papers_marks_are_told_apart_without_colour(found, dark):
    ours = curves.series(found, "sst2", "accuracy")
    printed = curves.paper_series("sst2", "accuracy", ours=ours)
    figure = benchmark_figures.curves(ours, printed, "accuracy", dark=dark, baseline=0.9, majority=0.5)
    traces = drawn(figure)
    hollow = [t for t in traces if t.marker.symbol.endswith("-open")]
    filled = [t for t in traces if not t.marker.symbol.endswith("-open")]
    assert (len(hollow), len(filled)) == (len(printed), len(ours))
    assert all(t.line.dash == "dot" and t.line.width < 2 and not t.showlegend for t in hollow)
    looks = [(t.line.dash, t.marker.symbol) for t in filled]
    assert len(set(looks)) == len(looks), "two of ours differ in colour alone"
    assert {t.line.color for t in filled} == {mechanism_style(s.mechanism, dark)[0] for s in ours}
    assert {t.line.color for t in filled} <= set(figures.LINES_DARK if dark else figures.LINES_LIGHT)
    assert [t.name for t in figure.data if t.showlegend is None][-1] == benchmark_figures.PAPERS
    assert figure.layout.paper_bgcolor == (figures.DARK if dark else figures.LIGHT)["page"]
    levels = {a.text.removeprefix("╌╌ "): a for a in figure.layout.annotations}
    assert set(levels) == {"unprotected: 0.9", "always guessing: 0.5"}
    above = levels["unprotected: 0.9"]
    assert (above.yref, above.y, above.yanchor) == ("paper", 1, "bottom"), "no bar is above the axes"
    assert {type(a.x) for a in levels.values()} == {float} and {a.x for a in levels.values()} == {1.0}
    assert figure.layout.xaxis.type == "log" and figure.layout.xaxis.title.text == "ε (units differ)"


def test_marks_carry_their_interval_and_where_they_are_from(found):
    (s,) = curves.series(found, "sst2", "accuracy", ["mvc"])
    figure = benchmark_figures.curves([s], [], "accuracy", chosen=s.points[1].row.point)
    (trace,) = drawn(figure)
    assert trace.error_y.array == pytest.approx([p.high - p.value for p in s.points])
    assert trace.error_y.arrayminus == pytest.approx([p.value - p.low for p in s.points])
    point, said = trace.customdata[1]
    assert point == s.points[1].row.point
    for part in ("n = 400", "3 seeds", "95%", point, "--point", "per word and unit of distance", "N_w"):
        assert part in said
    (ring,) = drawn(figure, "markers")
    assert (ring.x[0], ring.y[0]) == (s.points[1].x, s.points[1].value)
    assert figure.layout.xaxis.title.text == "ε per word and unit of distance"
    assert trace.unselected.marker.opacity == 1, "a chosen mark fades the others"


def test_a_point_without_an_interval_gets_no_bar(found):
    bare = dataclasses.replace(found, rows=tuple(dataclasses.replace(r, low=None, high=None) for r in found.rows))
    (s,) = curves.series(bare, "sst2", "s_w", ["santext"], "n_w")
    figure = benchmark_figures.curves([s], [], "s_w", "n_w")
    (trace,) = drawn(figure)
    assert set(trace.error_y.array) == {0} and "95%" not in trace.customdata[0][1]
    assert figure.layout.xaxis.range == (-0.02, 1.02)


@pytest.mark.parametrize("dark", [False, True])
def test_the_plane_draws_its_front_over_the_better_corner(found, dark):
    spots = curves.plane(found, "reviews", "f1", "f1_static")
    figure = benchmark_figures.plane(spots, [], "f1", "f1_static", dark=dark, baseline=0.7)
    (front,) = [t for t in figure.data if t.name == benchmark_figures.FRONT]
    assert list(front.x) == sorted(front.x) and list(front.y) == sorted(front.y) and front.line.shape == "hv"
    assert "↖ better" in {a.text for a in figure.layout.annotations}
    traces = drawn(figure)
    assert sum(len(t.x) for t in traces) == len(spots)
    assert all(t.error_x.array and t.error_y.array for t in traces)
    said = traces[0].customdata[0][1]
    assert "Utility F1" in said and "static attacker" in said and said.count("95%") == 2
    without = benchmark_figures.plane(curves.plane(found, "sst2", "cosine", "s_w"), [], "cosine", "s_w")
    assert next(t for t in without.data if t.name == benchmark_figures.FRONT).line.shape == "vh"


def test_names_are_shown_literally_and_nothing_to_draw_is_said(found):
    (s,) = curves.series(found, "sst2", "accuracy", ["mvc"])
    odd = [curves.Series("<b>x</b>", dpt.Setting("<i>m</i>"), s.points, 3), s]
    figure = benchmark_figures.curves(odd, [], "accuracy")
    assert figure.data[0].name == "&lt;i&gt;m&lt;/i&gt;" and "&lt;b&gt;x" in figure.data[0].customdata[0][1]
    with pytest.raises(InputError):
        benchmark_figures.curves([], [], "accuracy")
    with pytest.raises(InputError):
        benchmark_figures.plane([], [], "f1", "f1_static")


def test_of_each_mechanism_the_setting_is_shown_that_pages_begin_with():
    bundled = results.bundled()
    assert bundled is not None
    shown = {}
    for data in ("sst2", "authors"):
        metric = "accuracy" if data == "sst2" else "f1_adaptive"
        found = curves.main_series(curves.series(bundled, data, metric, ["dp-mlm"]))
        shown[data] = [dict(s.setting.options) for s in found]
    assert shown == {"sst2": [{}], "authors": [{"clip": "paper"}]}
    first = next(c for c in curves.configurations(bundled).values() if c.mechanism == "dp-mlm")
    assert not first.setting.options
