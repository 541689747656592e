"""The measurement of two texts: what it prints and writes."""

from __future__ import annotations

import json

from dptext_core.attacks import two_texts
from dptext_core.research import two_texts as bench


def test_it_prints_and_writes_a_row_for_each_pair(tmp_path, capsys):
    out = tmp_path / "rows.json"
    assert bench.main(["--mechanism", "custext", "--epsilon", "8", "--draws", "20", "--out", str(out)]) == 0
    printed = capsys.readouterr().out.splitlines()
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert [r["distance"] for r in rows] == list(two_texts.DISTANCES) and len(printed) == len(rows)
    assert all(
        r["draws"] == 20 and r["promised"] is None and "nothing promised" in line
        for r, line in zip(rows, printed, strict=True)
    )
    assert bench.MEASUREMENT.read(out)[0].mechanism == "custext"


def test_coverage_is_printed_for_three_true_epsilons(capsys):
    assert bench.main(["--coverage", "3"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in said] == ["True ε 0.500", "True ε 1.000", "True ε 2.000"]
    assert all("of 3 bounds" in line for line in said)


def test_without_a_mechanism_that_is_there_nothing_ends(capsys):
    assert bench.main(["--mechanism", "dp-prompt", "--draws", "3"]) == 0
    assert "not measured" in capsys.readouterr().out
