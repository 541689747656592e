"""The measurement of two texts: what it prints and writes."""

from __future__ import annotations

import json

import dptext_core as dpt
from dptext_core.attacks import two_texts
from dptext_lab.measurements import two_texts as bench
from dptext_lab.results import attacker_rows, leaderboard, leaderboard_text
from dptext_lab.results import two_texts as two_texts_rows
from dptext_lab.results.rows import Row
from dptext_lab.results.summary import Results


def test_it_prints_and_writes_a_row_for_each_pair_and_adds_others(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(two_texts.measure.__kwdefaults__, "classifiers", ("words", "form"))
    out = tmp_path / "rows.json"
    given = ["--mechanism", "custext", "--draws", "20", "--out", str(out)]
    assert bench.main([*given, "--epsilon", "8"]) == 0
    printed = capsys.readouterr().out.splitlines()
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert [r["distance"] for r in rows] == list(two_texts.DISTANCES) and len(printed) == len(rows)
    assert all(
        r["draws"] == 20 and r["promised"] is None and "no guarantee" in line
        for r, line in zip(rows, printed, strict=True)
    )
    assert two_texts_rows.MEASUREMENT.read(out)[0].mechanism == "custext"
    assert bench.main([*given, "--pair", "one word", "--add", "--epsilon", "1", "--epsilon", "8"]) == 0
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert sorted((r["epsilon"], r["distance"]) for r in rows) == sorted(
        [(1.0, "one word"), *((8.0, d) for d in two_texts.DISTANCES)]
    )
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_two_texts_stand_beside_the_rows_of_their_setting_where_there_are_no_words():
    told = [
        two_texts_rows.TwoTextsRow(
            "dp-prompt", 25.0, distance, 40, 0.5, -0.2, 0.7, "bag of words", 0.1, 1.59, 600.0, 1.0
        )
        for distance in two_texts.DISTANCES
    ]
    rows = [
        Row(dpt.Setting("dp-prompt", options, epsilon), data, "utility", "accuracy", 0.7, 0.6, 0.8, 100, 1, "p")
        for options, epsilon, data in (({}, 25.0, "sst2"), ({"clip": "paper"}, 25.0, "sst2"), ({}, 50.0, "snips"))
    ]
    (made,) = attacker_rows.of_two_texts(Results({}, (), tuple(rows)), told)
    assert (made.metric, made.data, made.setting, made.point) == ("attack_two_texts", "sst2", rows[0].setting, "p")
    assert (made.value, made.low, made.high, made.n) == (0.75, 0.5, 0.85, 40)
    board = leaderboard.Rows([Results({}, (), (*rows, made))])
    assert board.measures("sst2") == ["attack_two_texts"]
    found = leaderboard.board(board, "sst2", "accuracy", "attack_two_texts", 0.75, stop_words=False)
    assert [e.mechanism for e in found.entries] == ["dp-prompt"]
    assert "distinguished from those of a text with one word changed" in leaderboard_text.answer(found, "SST-2")[0]


def test_coverage_is_printed_for_three_true_epsilons(capsys):
    assert bench.main(["--coverage", "1"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in said] == ["True ε 0.500", "True ε 1.000", "True ε 2.000"]
    assert all("of 1 bounds" in line for line in said)


def test_without_a_mechanism_that_is_there_nothing_ends(capsys):
    assert bench.main(["--mechanism", "dp-prompt", "--draws", "3"]) == 0
    assert "not measured" in capsys.readouterr().out
