"""The leaderboard at equal measured privacy: its order, doubt and tables; and what a contributed file must pass."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from functools import partial

import numpy as np
import plotly.graph_objects as go
import pytest
from scipy import stats

import dptext_core as dpt
from dptext_core.errors import ConfigError, InputError
from dptext_core.measure.metrics import measure
from dptext_core.text.cells import to_csv
from dptext_lab.commands import bench_leaderboard
from dptext_lab.results import curves, leaderboard, leaderboard_text
from dptext_lab.results import summary as results
from dptext_lab.results.latex import latex
from dptext_lab.results.rows import Row, RunLine, point_id
from dptext_lab.results.summary import Results
from dptext_lab.runner import contributions as contributed
from dptext_lab.runner import grid, group_run
from dptext_studio import figures
from dptext_studio.figures.mechanism_style import mechanism_style

#: Boards at the same N_w, which is exact.
board = partial(leaderboard.board, privacy="n_w")


def row(mechanism: str, metric: str, epsilon: float | None, value: float, half: float = 0.01, **options) -> Row:
    setting = dpt.Setting(mechanism, options, epsilon)
    return Row(setting, "sst2", "utility", metric, value, value - half, value + half, 100, 3, "p")


def points(mechanism: str, *found: tuple[float, float, float], **options) -> list[Row]:
    """(ε, N_w, accuracy) of a setting."""
    return [
        r
        for e, n_w, x in found
        for r in (row(mechanism, "n_w", e, n_w, 0.0, **options), row(mechanism, "accuracy", e, x, **options))
    ]


def table_of(*rows: Row) -> leaderboard.Rows:
    return leaderboard.Rows([Results({}, (), tuple(rows))])


ROWS = (
    *points("tem", (10.0, 0.1, 0.5), (15.0, 0.31, 0.6), (20.0, 0.5, 0.8)),
    *points("mvc", (50.0, 0.1, 0.5), (75.0, 0.2, 0.6), (100.0, 0.4, 0.72)),
    *points("diffractor", (0.6, 0.3, 0.665), lists=["L2"]),
    *points("mahalanobis", (50.0, 0.01, 0.5), (150.0, 0.9, 0.8)),
    *points("santext", (15.0, 0.3, 0.9), keep_stopwords=False),
    row("baseline", "accuracy", None, 0.8),
)


def test_settings_stand_where_their_privacy_is_the_same_the_best_first():
    leaderboard = board(table_of(*ROWS), "sst2", "accuracy", at=0.3)
    assert [e.label for e in leaderboard.entries] == ["1-Diffractor", "MVC", "TEM"]
    assert [e.place for e in leaderboard.entries] == [1, 2, 3]
    between, there = leaderboard.entries[1], leaderboard.entries[2]
    assert between.value == pytest.approx(0.66) and between.between == (75.0, 100.0)
    assert len(between.point.split(", ")) == 2, "the ids of both measured points"
    assert (there.epsilon, there.value, there.between, there.privacy) == (15.0, 0.6, (), 0.31)
    assert leaderboard.omitted_names == ("Mahalanobis",), "its points are too far apart to read between"
    assert [e.is_significant for e in leaderboard.entries] == [
        False,
        False,
        True,
    ] and leaderboard.together == leaderboard.entries[1:2]
    assert leaderboard.whole is not None and leaderboard.whole.value == 0.8


def test_what_is_read_between_two_points_is_as_uncertain_as_the_less_certain_one():
    def between(*halves: float | None) -> leaderboard.BoardEntry:
        rows = [
            r
            for e, n_w, x, half in zip((50.0, 100.0), (0.2, 0.4), (0.6, 0.7), halves, strict=True)
            for r in (row("mvc", "n_w", e, n_w, 0.0), row("mvc", "accuracy", e, x, half or 0.0))
        ]
        rows = [
            dataclasses.replace(r, low=None, high=None)
            if r.metric == "accuracy" and halves[r.epsilon == 100.0] is None
            else r
            for r in rows
        ]
        (entry,) = board(table_of(*rows), "sst2", "accuracy", at=0.3).entries
        assert entry.between == (50.0, 100.0) and entry.value == pytest.approx(0.65)
        return entry

    for halves in ((0.01, 0.05), (0.05, 0.01)):
        entry = between(*halves)
        assert (entry.low, entry.high) == pytest.approx((0.6, 0.7))
    for halves in ((None, 0.05), (0.05, None)):
        assert (between(*halves).low, between(*halves).high) == (None, None)


def test_unprotected_text_has_one_score_on_both_pages():
    whole, shown = leaderboard.bundled().whole, results.bundled()
    there = {at: curves.baseline(shown, *at) for at in whole}
    assert sum(row is not None for row in there.values()) > 20
    assert {at for at, row in there.items() if row and row.value != whole[at].value} == set()


def test_the_order_by_every_judge():
    turned = [dataclasses.replace(r, metric="perplexity") for r in ROWS if r.metric == "accuracy"]
    same = [dataclasses.replace(r, metric="cosine", value=r.value / 2) for r in ROWS if r.metric == "accuracy"]
    rows = table_of(*ROWS, *turned, *same)
    leaderboard = board(rows, "sst2", "accuracy", at=0.3)
    places, alike = leaderboard_text.rankings(rows, leaderboard)
    assert [line["mechanism"] for line in places] == ["1-Diffractor", "MVC", "TEM"]
    by = {name: [line[name] for line in places] for name in places[0] if name != "mechanism"}
    titles = [measure(m).title for m in ("accuracy", "perplexity", "cosine")]
    assert [by[title] for title in titles] == [[1, 2, 3], [3, 2, 1], [1, 2, 3]], "of perplexity less is better"
    assert [alike[title] for title in titles[1:]] == pytest.approx([-1.0, 1.0])
    said = leaderboard_text.correlation_text(leaderboard, alike)
    assert "with Accuracy: " in said and "+1.00" in said and "−1.00" in said
    assert (
        leaderboard_text.correlation_text(leaderboard, {}) == ""
        and leaderboard_text.rankings(table_of(*ROWS), leaderboard)[1] == {}
    )


def test_a_metric_of_which_less_is_better_turns_the_order():
    rows = [
        dataclasses.replace(r, metric="perplexity", value=100 * r.value, low=99 * r.value, high=101 * r.value)
        if r.metric == "accuracy"
        else r
        for r in ROWS
    ]
    assert board(table_of(*rows), "sst2", "perplexity", at=0.3).entries[0].label == "TEM"


def test_only_settings_that_draw_the_same_words_stand_together():
    leaderboard = board(table_of(*ROWS), "sst2", "accuracy", at=0.3, stop_words=False)
    assert [e.label for e in leaderboard.entries] == ["SanText"]


def test_a_mechanism_that_is_not_installed_here_stands_there_by_its_name():
    rows = (*ROWS, *points("somebodys", (1.0, 0.3, 0.7), window=3))
    leaderboard = board(table_of(*rows), "sst2", "accuracy", at=0.3, stop_words=False)
    assert [e.label for e in leaderboard.entries] == ["SanText", "somebodys"]


def test_of_each_mechanism_one_setting_where_not_all_are_asked_for():
    two = (*ROWS, *points("diffractor", (0.5, 0.25, 0.6), (0.7, 0.35, 0.62), lists=["L0"]))
    every = board(table_of(*two), "sst2", "accuracy", at=0.3)
    one = board(table_of(*two), "sst2", "accuracy", at=0.3, every=False)
    assert [e.label for e in every.entries if e.mechanism == "diffractor"] == ["1-Diffractor, L2", "1-Diffractor, L0"]
    assert [e.label for e in one.entries if e.mechanism == "diffractor"] == ["1-Diffractor"], "the one measured there"


def test_a_setting_that_can_be_read_there_stands_for_one_with_more_points_that_cannot():
    far = points("diffractor", (0.1, 0.8, 0.6), (0.2, 0.85, 0.6), (0.3, 0.9, 0.6), lists=["L0"])
    near = points("diffractor", (0.5, 0.2, 0.5), (0.7, 0.4, 0.7), lists=["L1"])
    (found,) = board(table_of(*far, *near), "sst2", "accuracy", at=0.3, every=False).entries
    assert (found.label, found.between) == ("1-Diffractor, L1", (0.5, 0.7)), "not its defaults: so it is said"
    assert found.value == pytest.approx(0.6)


@pytest.mark.parametrize("first", [0, 1])
def test_of_two_that_can_be_read_there_the_defaults_stand_for_both(first: int):
    two = [points("dp-mlm", (25.0, 0.2, 0.5), (50.0, 0.4, 0.6), clip=clip) for clip in ("paper", "tuned")]
    found = board(table_of(*two[first], *two[1 - first]), "sst2", "accuracy", at=0.3, every=False).entries
    assert [(e.label, json.loads(e.setting)[1]["clip"]) for e in found] == [("DP-MLM", "tuned")]


def test_the_sentence_and_its_doubt_are_made_from_the_rows():
    leaderboard = board(table_of(*ROWS), "sst2", "accuracy", at=0.3)
    said, doubt = leaderboard_text.answer(leaderboard, "SST-2")
    assert said == (
        "When 30% of the sampled words are unchanged, 1-Diffractor is first on SST-2, without a significant lead: "
        "accuracy 66.5% ± 1.0%. Without rewriting: 80.0%."
    )
    assert doubt.startswith("1-Diffractor is not significantly different from MVC. 1 other is significantly worse. ")
    clear = board(
        table_of(*points("tem", (1.0, 0.3, 0.9)), *points("mvc", (1.0, 0.3, 0.5))), "sst2", "accuracy", at=0.3
    )
    assert clear.detectable == pytest.approx((1.96 + 0.8416) * math.hypot(0.01, 0.01) / 1.96, rel=1e-3)
    said, doubt = leaderboard_text.answer(clear, "SST-2")
    assert "TEM preserves the most on SST-2: accuracy 90.0%" in said
    assert doubt == "1 other is significantly worse. A difference of 2.0 points is detected with 80% power."
    none = board(table_of(*ROWS), "sst2", "accuracy", at=0.77)
    said, what = leaderboard_text.answer(none, "SST-2")
    assert not none.entries and said.endswith("no setting has a measured point near this level on SST-2.")
    assert what == "Choose another level or judge, or measure more ε."
    nothing = leaderboard_text.answer(board(table_of(ROWS[-1]), "sst2", "accuracy"), "SST-2")
    assert "no setting was measured on SST-2." in nothing[0] and nothing[1].startswith("Choose another")


def test_of_one_that_promises_nothing_the_sentence_says_so():
    leaderboard = board(table_of(*points("gumbel", (1.0, 0.3, 0.9))), "sst2", "accuracy", at=0.3)
    assert "Truncated Gumbel was measured" in leaderboard_text.answer(leaderboard, "SST-2")[0]
    rows = (*points("gumbel", (1.0, 0.3, 0.9)), *points("mvc", (1.0, 0.3, 0.5)))
    leaderboard = board(table_of(*rows), "sst2", "accuracy", at=0.3)
    sentence, _ = leaderboard_text.answer(leaderboard, "SST-2")
    assert ", Truncated Gumbel, which has no guarantee, preserves the most on" in sentence


def test_what_else_is_known_of_the_first_is_part_of_the_doubt():
    rows = [*ROWS, row("diffractor", "s_w", 0.6, 13.0, lists=["L2"]), row("tem", "s_w", 15.0, 70.0)]
    doubt = leaderboard_text.answer(board(table_of(*rows), "sst2", "accuracy", at=0.3), "SST-2")[1]
    assert "100 samples of a word give 13 different words with 1-Diffractor, and 70 with TEM." in doubt


def test_other_judges_agree_or_name_another():
    rows = [
        *ROWS,
        *(dataclasses.replace(r, metric="cosine") for r in ROWS if r.metric == "accuracy"),
        *(
            dataclasses.replace(r, metric="bleu", value=-r.value, low=-1.0, high=0.0)
            for r in ROWS
            if r.metric == "accuracy"
        ),
    ]
    leaderboard = board(table_of(*rows), "sst2", "accuracy", at=0.3)
    assert "1 of 2" in leaderboard_text.agreement(table_of(*rows), leaderboard)
    named = leaderboard_text.first_by_judge(table_of(*rows), leaderboard)
    assert f"{leaderboard.first.label} (Cosine to the original)" in named and "TEM (BLEU)" in named


def test_a_column_in_which_nothing_would_stand_is_not_shown():
    leaderboard = board(table_of(*ROWS), "sst2", "accuracy", at=0.3)
    columns = set(leaderboard_text.display_rows(leaderboard)[0])
    assert "different words in 100 draws" not in columns and {"place", "ε", "point", "seeds"} <= columns
    known = [dataclasses.replace(e, different_words=20.0) for e in leaderboard.entries[:1]]
    assert (
        "different words in 100 draws"
        in leaderboard_text.display_rows(dataclasses.replace(leaderboard, entries=tuple(known)))[0]
    )
    assert leaderboard_text.display_rows(dataclasses.replace(leaderboard, entries=())) == []


def test_a_row_without_a_test_says_why():
    found = board(table_of(*ROWS), "sst2", "accuracy", at=0.3)
    assert len(found.entries) >= 3 and found.entries[0].p is None
    tested = zip(found.entries[:2], (None, 0.0), strict=True)
    entries = [dataclasses.replace(e, p=p, is_significant=p == 0.0) for e, p in tested]
    entries += [dataclasses.replace(e, p=None) for e in found.entries[2:]]
    rows = leaderboard_text.display_rows(dataclasses.replace(found, entries=tuple(entries)))
    assert [r["p against the first"] for r in rows][:3] == ["is the first", "< 0.001", "not tested"]
    assert [r["significantly less"] for r in rows][:3] == ["is the first", "yes", "not tested"]
    alone = leaderboard_text.display_rows(dataclasses.replace(found, entries=found.entries[:1]))[0]
    assert "p against the first" not in alone and "significantly less" not in alone


def test_judges_and_settings_with_a_comma_in_their_names_are_told_from_each_other():
    bag = (dataclasses.replace(r, metric="accuracy_bag") for r in ROWS if r.metric == "accuracy")
    cosine = (dataclasses.replace(r, metric="cosine") for r in ROWS if r.metric == "accuracy")
    rows = table_of(*ROWS, *bag, *cosine)
    leaderboard = board(rows, "sst2", "accuracy", at=0.3)
    alone = board(table_of(*ROWS), "sst2", "accuracy", at=0.3)
    assert "All 2" in leaderboard_text.agreement(rows, leaderboard)
    assert "(Accuracy, bag of words; Cosine to the original)" in leaderboard_text.first_by_judge(rows, leaderboard)
    assert leaderboard_text.join_names(("CusText, K = 5", "TEM")) == "CusText, K = 5; TEM"
    assert (
        leaderboard_text.join_names(alone.omitted_names) == "Mahalanobis"
        and leaderboard_text.join_names(("a", "b")) == "a, b"
    )


def test_the_best_possible_guess_comes_before_the_chance_that_a_word_stays():
    rows = table_of(*ROWS, row("tem", "s_w", 10.0, 20.0))
    assert rows.measures("sst2") == ["n_w", "s_w"] and rows.judges("sst2") == ["accuracy"]
    known = leaderboard.measure

    def measured(name):
        return dataclasses.replace(known("n_w"), name=name) if name == "attack_bayes" else known(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leaderboard, "measure", measured)
        more = table_of(*ROWS, row("tem", "attack_bayes", 10.0, 0.3), row("mvc", "attack_bayes", 50.0, 0.7))
        assert more.measures("sst2") == ["n_w", "attack_bayes"]
        assert more.levels("sst2", "attack_bayes") == (0.4, 0.5, 0.6)
    level = leaderboard_text.level_text("attack_bayes", 0.4)
    assert level == "the Bayes-optimal guess is right for 40% of the replaced words"


def test_another_measure_of_privacy_may_name_another():
    rows = [
        *ROWS,
        *(
            row(m, "s_w", e, x, **o)
            for m, e, x, o in (
                ("tem", 20.0, 20.0, {}),
                ("mvc", 100.0, 20.0, {}),
                ("diffractor", 0.6, 60.0, {"lists": ["L2"]}),
            )
        ),
    ]
    leaderboard = board(table_of(*rows), "sst2", "accuracy", at=0.3)
    ((sentence, other),) = leaderboard_text.elsewhere(table_of(*rows), leaderboard)
    assert (other.privacy, other.at, other.first.mechanism) == ("s_w", 20.0, "tem")
    assert "1-Diffractor has no" in sentence
    more = [
        *rows,
        row("diffractor", "s_w", 0.7, 20.0, lists=["L2"]),
        row("diffractor", "accuracy", 0.7, 0.3, lists=["L2"]),
    ]
    sentence = leaderboard_text.elsewhere(table_of(*more), leaderboard)[-1][0]
    assert sentence.endswith("TEM is first, significantly ahead.")
    few = [r for r in rows if (r.mechanism, r.metric) != ("mvc", "s_w")]
    assert leaderboard_text.elsewhere(table_of(*few), leaderboard) == (), "a board of one setting says nothing"
    assert leaderboard_text.elsewhere(table_of(*ROWS), leaderboard) == ()


def test_comparisons_with_the_first_are_corrected_for_their_number():
    rows = [r for i in range(12) for r in points("diffractor", (0.6, 0.3, 0.6 - 0.036 * (i > 0)), lists=[f"x{i}"])]
    few = board(table_of(*rows[:4]), "sst2", "accuracy", at=0.3)
    many = board(table_of(*rows), "sst2", "accuracy", at=0.3)
    assert few.entries[1].p is not None and many.entries[1].p is not None
    z = 0.036 / math.hypot(0.01, 0.01) * 1.96
    assert [few.entries[1].p, many.entries[1].p] == pytest.approx(
        [stats.studentized_range.sf(z * math.sqrt(2), k, np.inf) for k in (2, 12)], rel=1e-3
    )


def test_a_board_is_a_table_for_a_file_and_for_a_paper():
    leaderboard = board(table_of(*ROWS), "sst2", "accuracy", at=0.3)
    read = list(csv.DictReader(io.StringIO(to_csv(leaderboard_text.table(leaderboard)))))
    assert [r["mechanism"] for r in read] == ["1-Diffractor", "MVC", "TEM"] and read[1]["between"] == "75 and 100"
    printed = leaderboard_text.to_latex(leaderboard, "SST-2")
    assert r"2 & MVC & 75 to 100 & 66.0\% $\pm$ 1.0\%" in printed and printed.count(r"\\") == 4
    assert latex("a_b & 5% $x$ {y} \\ ε") == r"a\_b \& 5\% \$x\$ \{y\} \textbackslash{} $\varepsilon$"


@pytest.mark.parametrize("dark", [False, True])
def test_the_figure_has_a_mark_for_each_setting_hollow_where_it_was_read_between(dark):
    leaderboard = board(table_of(*ROWS), "sst2", "accuracy", at=0.3)
    figure = go.Figure(figures.leaderboard(leaderboard, dark=dark))
    colours = figures.DARK if dark else figures.LIGHT
    assert [t.x[0] for t in figure.data] == pytest.approx([66.5, 66.0, 60.0])
    assert [t.marker.color for t in figure.data] == [
        mechanism_style("diffractor", dark)[0],
        colours["page"],
        colours["bar"],
    ]
    assert figure.data[0].error_x.array[0] == pytest.approx(1.0)
    assert list(figure.layout.yaxis.ticktext) == ["1-Diffractor", "MVC", "TEM"]
    assert [s.x0 for s in figure.layout.shapes] == [80.0]


@pytest.mark.slow
def test_the_command_prints_each_form_and_refuses_what_is_not_there(capsys):
    assert bench_leaderboard.main(["--judge", "cosine", "--privacy", "n_w", "--at", "0.1"]) == 0
    said = capsys.readouterr().out
    assert "DP-MLM" in said and "\n  1 " in said
    for form, start in (("csv", "place,mechanism"), ("latex", r"\begin{table}"), ("json", "[")):
        assert bench_leaderboard.main(["--format", form]) == 0 and capsys.readouterr().out.startswith(start)
    assert bench_leaderboard.main(["--judges"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("mechanism,Accuracy,") and "Rank correlation (Kendall's τ) with Accuracy: " in err
    assert bench_leaderboard.main(["--judges", "--format", "json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"places", "tau"}
    for wrong in (["--set", "nowhere"], ["--judge", "n_w"], ["--privacy", "cosine"], ["--rerun", "3"]):
        with pytest.raises(ConfigError):
            bench_leaderboard.main(wrong)


def test_the_command_says_of_whom_it_does_not_know_the_defaults(tmp_path, capsys):
    """Whether stop words stay is an option of a mechanism, which only a plugin that is loaded can tell."""
    rows = (*points("somebodys", (6.0, 0.3, 0.7), window=3), *points("tem", (15.0, 0.3, 0.6)))
    rows = [dataclasses.replace(r, data="builtin") for r in rows]
    path = tmp_path / "mine.json"
    results.write(Results(results.bundled().about, (), tuple(rows)), path)
    assert bench_leaderboard.main(["--rows", str(path), "--set", "builtin", "--privacy", "n_w", "--at", "0.3"]) == 0
    out, err = capsys.readouterr()
    assert "only TEM was measured on Invented notes." in out
    assert "somebodys is not registered" in err and "--plugin FILE" in err


# --- contributed points ---------------------------------------------------------------------------------------------


def line(mechanism: str, seed: int, epsilon: float | None = None, **more) -> RunLine:
    """A point as ``bench run`` writes it."""
    setting = {
        "mechanism": mechanism,
        "options": more.pop("options", {}),
        "epsilon": epsilon,
        "data": "builtin",
        "seed": seed,
        "n_train": 12,
        "n_test": 6,
        "max_words": 10,
    }
    scores = {"accuracy": 0.7 + 0.01 * seed, "cosine": 0.6 + 0.01 * seed, "f1_static": 0.5, "tokens_per_second": 9.0}
    made = {
        "version": "1",
        "command": "python -m dptext_core bench run",
        "data_sha256": "abc",
        "device": "cpu",
        "machine": "one",
        "stopwords": "a list",
        "finished": "2026-01-31T12:00:00Z",
    }
    return RunLine.read(
        {
            **setting,
            "id": point_id(setting),
            "scores": scores,
            "errors": dict.fromkeys(scores, 0.01),
            "counts": dict.fromkeys(scores, 6),
            "outcomes": {},
            "seconds": 1.0,
            "tokens": 60,
            "provenance": made,
            "gates": [],
            "dataset": {},
            **more,
        }
    )


@pytest.fixture
def lines():
    """Unprotected text and a setting with three seeds."""
    return [line("baseline", 0), *(line("diffractor", seed, 1.0, options={"lists": ["L2"]}) for seed in (1, 2, 3))]


@pytest.fixture
def against():
    """The results that points are to join."""
    whole = dataclasses.replace(row("baseline", "f1_static", None, 0.525, 0.475), data="builtin")
    about = {"version": "1", "stopwords": "a list", "data": {"builtin": {"sha256": "abc"}}}
    return Results(about, (), (whole,))


def changed(one: RunLine, **values) -> RunLine:
    made = {k: v for k, v in values.items() if k in RunLine.__dataclass_fields__}
    of = {k: v for k, v in values.items() if k in ("mechanism", "options", "epsilon")}
    made["setting"] = dataclasses.replace(one.setting, **of)
    other = {k: v for k, v in values.items() if k not in made and k not in of}
    return dataclasses.replace(one, **made, provenance=dataclasses.replace(one.provenance, **other))


def test_points_that_were_run_as_the_results_were_have_no_fault(lines, against):
    assert contributed.check(lines, against) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda x: [x[0], *x[1:3]], "fewer than 3 seeds"),
        (lambda x: [*x, x[1]], "Repeated points: 1, such as"),
        (lambda x: x[1:], "Unprotected text is missing"),
        (lambda x: [], "has no points"),
        (lambda x: [x[0], *(changed(y, mechanism="mine") for y in x[1:])], "mechanism 'mine' is unknown"),
        (lambda x: [x[0], *(changed(y, options={"lists": ["L9"]}) for y in x[1:])], "options are invalid"),
        (lambda x: [x[0], *(changed(y, epsilon=-1.0) for y in x[1:])], "not above 0"),
        (lambda x: [x[0], changed(x[1], scores=dict(x[1].scores) | {"cosine": 1.5}), *x[2:]], "cosine is 1.5"),
        (lambda x: [x[0], changed(x[1], scores=dict(x[1].scores) | {"mine": 1.5}), *x[2:]], "metric mine is unknown"),
        (lambda x: [x[0], changed(x[1], errors=dict(x[1].errors) | {"cosine": -1}), *x[2:]], "is negative"),
        (lambda x: [x[0], changed(x[1], counts={}), *x[2:]], "no number of texts"),
        (lambda x: [changed(y, version="9.9") for y in x], "have version 1"),
        (lambda x: [changed(y, stopwords="mine") for y in x], "have stopwords"),
        (lambda x: [changed(y, data_sha256="0") for y in x], "files of builtin differ"),
        (lambda x: [changed(y, finished="2999-01-01T00:00:00Z") for y in x], "in the future"),
        (lambda x: [changed(y, finished="yesterday") for y in x], "must have the form"),
        (lambda x: [changed(y, machine=" ") for y in x], "its machine is missing"),
        (lambda x: [changed(x[0], scores={k: 0.0 for k in x[0].scores}), *x[1:]], "outside its interval"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(lines, against, change, fault):
    found = contributed.check(change(lines), against)
    assert any(fault in said for said in found), found


@pytest.mark.slow
def test_points_are_measured_again_and_a_score_that_was_made_up_lies_outside(light):
    setup = group_run.RunConfig(command="c")
    size = grid.Size(12, 6, 10, 8.0)
    setting = dpt.Setting("diffractor", {"lists": ("L2",)}, 1.0)
    points = [grid.GridPoint(setting, "builtin", seed, size) for seed in (1, 2, 3)]
    lines = list(group_run.run_group(points, setup))
    again = contributed.repeat_points(lines, contributed.choose_points(lines, 1, "hash"), setup)
    assert {a.metric for a in again} >= {"accuracy", "cosine"} and all(a.inside for a in again)
    assert "tokens_per_second" not in {a.metric for a in again}
    better = [changed(x, scores=dict(x.scores) | {"cosine": 0.999}) for x in lines]
    found = {a.metric: a.inside for a in contributed.repeat_points(better, better[:1], setup)}
    assert not found["cosine"] and found["accuracy"]


def test_which_points_are_measured_again_follows_from_the_files_hash(lines):
    many = []
    for x in lines[1:]:
        for epsilon in range(1, 9):
            moved = changed(x, epsilon=float(epsilon))
            many.append(changed(moved, id=point_id(moved.named)))
    one, other = ([x.epsilon for x in contributed.choose_points(many, 4, digest)] for digest in ("a", "b"))
    assert one == [x.epsilon for x in contributed.choose_points(many, 4, "a")] and one != other
    assert len(set(one)) == 4, "no setting twice as long as there are others"
    assert len(contributed.choose_points(lines, 99, "a")) == 3


def test_the_check_ends_as_a_command_does(lines, against, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(results, "bundled", lambda: against)
    inside = contributed.RepeatedScore("x", "cosine", 0.6, 0.5, 0.7)
    asked = []
    monkeypatch.setattr(contributed, "repeat_points", lambda lines, some, setup: asked.append(some) or [inside])
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(x.to_dict()) + "\n" for x in lines), encoding="utf-8")
    assert bench_leaderboard.main(["--check", str(path), "--rerun", "1"]) == 0
    said = capsys.readouterr().out
    assert "mine.jsonl: 3 points of 2 settings, accepted, 0 problems." in said
    assert "1 point repeated. Scores inside their intervals: 1 of 1." in said
    assert [x.mechanism for x in asked[0]] == ["diffractor"]
    inside = dataclasses.replace(inside, value=0.9)
    assert bench_leaderboard.main(["--check", str(path), "--rerun", "1"]) == 1 and "OUTSIDE" in capsys.readouterr().out
    path.write_text("".join(json.dumps(x.to_dict()) + "\n" for x in lines[1:]), encoding="utf-8")
    assert (
        bench_leaderboard.main(["--check", str(path)]) == 1 and "Unprotected text is missing" in capsys.readouterr().out
    )
    with pytest.raises(InputError, match="no file"):
        bench_leaderboard.main(["--check", str(tmp_path / "none.jsonl")])
