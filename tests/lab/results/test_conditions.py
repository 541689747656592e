"""Rows are compared only where they were measured under the same conditions."""

from __future__ import annotations

from dataclasses import replace

import pytest

import dptext_core as dpt
from dptext_core.errors import InputError
from dptext_lab.commands import bench_leaderboard
from dptext_lab.results import leaderboard, leaderboard_text
from dptext_lab.results import summary as results
from dptext_lab.results.rows import Row
from dptext_lab.results.summary import Results

ABOUT = {
    "version": "1",
    "stopwords": "a list",
    "data": {"sst2": {"sha256": "abc", "n_train": 2000, "n_test": 872, "max_words": 40}},
}


def summary(about: dict, *settings: tuple[str, float, dict]) -> Results:
    """Each setting with its accuracy, where 30% of the words stay."""
    rows = [
        Row(dpt.Setting(name, options, 1.0), "sst2", "utility", metric, value, value, value, 100, 3, "p")
        for name, accuracy, options in settings
        for metric, value in (("n_w", 0.3), ("accuracy", accuracy))
    ]
    return Results(about, (), tuple(rows))


def board(*summaries: Results) -> leaderboard.Board:
    return leaderboard.board(leaderboard.Rows(summaries), "sst2", "accuracy", "n_w", 0.3)


KEEP = {"oov": "keep"}
USUAL = summary(ABOUT, ("mvc", 0.7, KEEP), ("vickrey", 0.6, KEEP), ("dp-mlm", 0.5, {}))


@pytest.mark.parametrize(
    ("about", "options", "reason"),
    [
        ({"version": "2"}, KEEP, "version: 2 instead of 1"),
        ({"stopwords": "mine"}, KEEP, "stop words: mine instead of a list"),
        ({"data": {"sst2": {"n_train": 300}}}, KEEP, "training texts: 300 instead of 2000"),
        ({"data": {"sst2": {"n_test": 9}}}, KEEP, "test texts: 9 instead of 872"),
        ({"data": {"sst2": {"sha256": "def"}}}, KEEP, "data: def instead of abc"),
    ],
)
def test_a_setting_that_was_measured_otherwise_is_refused_with_the_reason(about, options, reason):
    found = board(USUAL, summary(ABOUT | about, ("tem", 0.9, options)))
    assert [e.mechanism for e in found.entries] == ["mvc", "vickrey", "dp-mlm"]
    assert found.refused == (f"TEM ({reason})",)
    assert leaderboard_text.refused_text(found) == f"Not compared: TEM ({reason})."


def test_rows_are_compared_at_one_policy_for_unknown_words_the_default_where_it_was_measured():
    rows = leaderboard.Rows([USUAL, summary(ABOUT, ("tem", 0.9, {"oov": "random"}))])

    def found(policy: str = "") -> tuple[list[str], tuple[str, ...]]:
        b = leaderboard.board(rows, "sst2", "accuracy", "n_w", 0.3, unknown_words=policy)
        return [e.mechanism for e in b.entries], b.refused

    clear = "unknown words: released in clear instead of replaced at random"
    assert found() == found("random") == (["tem", "dp-mlm"], (f"MVC, Vickrey ({clear})",))
    other = "unknown words: replaced at random instead of released in clear"
    assert found("keep") == (["mvc", "vickrey", "dp-mlm"], (f"TEM ({other})",))
    assert [e.mechanism for e in board(USUAL).entries] == ["mvc", "vickrey", "dp-mlm"], "where no row has the default"


def test_what_a_summary_does_not_say_refuses_nothing():
    found = board(USUAL, summary({}, ("tem", 0.9, KEEP)))
    assert found.first.mechanism == "tem" and found.refused == () and leaderboard_text.refused_text(found) == ""


def test_a_board_states_what_becomes_of_unknown_words():
    found = board(USUAL)
    assert [e.unknown_words for e in found.entries] == ["keep", "keep", ""]
    assert leaderboard_text.unknown_words_text(found) == (
        "Unknown words: released in clear (MVC, Vickrey); none: every word is known (DP-MLM)."
    )
    assert [line["unknown words"] for line in leaderboard_text.table(found)] == ["keep", "keep", ""]
    assert leaderboard_text.unknown_words_text(board(summary(ABOUT, ("mvc", 0.7, KEEP)))) == ""


def test_rows_of_a_file_are_refused_too(tmp_path, capsys):
    about = results.bundled().about | {"version": "0.0.1"}
    path = tmp_path / "mine.json"
    results.write(summary(about, ("tem", 0.9, {"oov": "keep", "gamma": 1.0})), path)
    assert bench_leaderboard.main(["--rows", str(path), "--privacy", "n_w", "--at", "0.3"]) == 0
    out, err = capsys.readouterr()
    assert "Not compared: TEM" in err and "version: 0.0.1 instead of 0.1.0" in err and "90.0%" not in out


def line(about: dict, name: str, *points: tuple[float, float, float], options: dict = KEEP) -> Results:
    """One setting at several (ε, N_w, accuracy)."""
    rows = [
        Row(dpt.Setting(name, options, epsilon), "sst2", "utility", metric, value, value, value, 100, 3, "p")
        for epsilon, n_w, accuracy in points
        for metric, value in (("n_w", n_w), ("accuracy", accuracy))
    ]
    return Results(about, (), tuple(rows))


ELSEWHERE = ABOUT | {"version": "9.9.9"}
MEASURED = line(ABOUT, "tem", (1.0, 0.2, 0.6), (3.0, 0.4, 0.7))


def test_one_point_of_a_setting_that_was_measured_otherwise_is_refused_alone():
    found = board(line(ELSEWHERE, "tem", (2.0, 0.3, 0.99)), USUAL, MEASURED)
    (tem,) = (e for e in found.entries if e.mechanism == "tem")
    assert tem.between == (1.0, 3.0) and tem.value == pytest.approx(0.65)
    assert found.refused == ("TEM at ε 2 (version: 9.9.9 instead of 1)",)


def test_a_row_that_was_measured_otherwise_does_not_replace_one_under_the_usual_conditions():
    same_point = line(ELSEWHERE, "tem", (1.0, 0.3, 0.99))
    rows = leaderboard.Rows([same_point, USUAL, line(ABOUT, "tem", (1.0, 0.3, 0.6))])
    found = leaderboard.board(rows, "sst2", "accuracy", "n_w", 0.3)
    assert {e.mechanism: e.value for e in found.entries}["tem"] == 0.6


def test_a_privacy_value_that_was_measured_otherwise_is_refused():
    n_w, accuracy = line(ABOUT, "tem", (1.0, 0.3, 0.9)).rows
    found = board(Results(ELSEWHERE, (), (n_w,)), USUAL, Results(ABOUT, (), (accuracy,)))
    assert "tem" not in {e.mechanism for e in found.entries} and "9.9.9" in found.refused[0]


def test_rows_of_fewer_texts_are_refused():
    n_w, accuracy = line({}, "tem", (1.0, 0.3, 0.9)).rows
    found = board(USUAL, Results({}, (), (n_w, replace(accuracy, n=30))))
    assert found.refused == ("TEM (test texts: 30 instead of 100)",)


def test_a_value_outside_its_scale_is_no_row():
    _, accuracy = line({}, "tem", (1.0, 0.3, 0.9)).rows
    wrong = accuracy.to_dict() | {"value": 7.5, "low": 7.0, "high": 8.0}
    with pytest.raises(InputError, match="accuracy must be between 0 and 1"):
        Row.read(wrong)


def test_the_command_names_bundled_rows_that_a_file_replaces(tmp_path, capsys):
    bundled = results.bundled()
    one = next(r for r in bundled.rows if (r.mechanism, r.data, r.metric) == ("mvc", "sst2", "accuracy"))
    rows = (replace(one, value=(one.low + one.value) / 2, runs=(), texts=""),)
    path = tmp_path / "mine.json"
    results.write(Results(bundled.about, (), rows), path)
    assert bench_leaderboard.main(["--rows", str(path), "--privacy", "n_w", "--at", "0.3"]) == 0
    assert f"Your rows count instead of the bundled ones: MVC at ε {rows[0].epsilon:g}." in capsys.readouterr().err
    results.write(Results(bundled.about | {"version": "0.0.1"}, (), rows), path)
    assert bench_leaderboard.main(["--rows", str(path), "--privacy", "n_w", "--at", "0.3"]) == 0
    assert "Your rows count" not in capsys.readouterr().err, "the bundled row counts"


def test_the_policy_of_a_mechanism_that_is_not_registered_is_not_stated():
    found = board(USUAL, summary(ABOUT, ("my-mechanism", 0.9, {"keep_stopwords": True})))
    assert "not stated (my-mechanism)" in leaderboard_text.unknown_words_text(found)
