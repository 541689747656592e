"""Anonymisers on the same texts and questions: words that are asked about, lines, rows, the finding, and the figure."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import dptext_core as dpt
from dptext_core.attacks import best
from dptext_core.errors import ConfigError, InputError
from dptext_core.measure.detection import MarkedText, read_marked
from dptext_lab.measurements import anonymisers as bench
from dptext_lab.results import anonymisers as results
from dptext_lab.results.paired_comparison import pack
from dptext_studio import figures
from dptext_studio.figures.anonymisers import ScoredTool
from dptext_studio.figures.mechanism_style import mechanism_style

NOTES = """
Then {name|Omar} saw the doctor in the hospital on {date|Monday}.
# a comment
The garden was green and the village quiet.
Then {name|xqzt} asked a question about the hospital garden.
"""


@pytest.fixture(scope="module")
def texts():
    return bench.asked_texts(read_marked(NOTES.splitlines()), 10, dpt.get_mechanism("santext"))


@pytest.fixture(scope="module")
def lines(texts):
    names = ("redact", "surrogates", "custext", "custext+surrogates")
    made = [dataclasses.replace(bench.ANONYMISERS[n], epsilons=bench.ANONYMISERS[n].epsilons[:2]) for n in names]
    return [line for a in made for line in bench.measure_block(a, a.make({}), "notes", texts)]


def test_a_text_is_asked_about_an_identifying_word_and_another_one(texts):
    assert [t.asked[results.IDENTIFYING][0] for t in texts] == ["Omar", "xqzt"]
    for t in texts:
        (name, names), (word, words) = t.asked[results.IDENTIFYING], t.asked[results.OTHER]
        assert name in t.text and word in t.text and word.islower()
        assert len({name, *names}) == len({word, *words}) == results.ALTERNATIVES
    found = bench.asked_texts([MarkedText("omar saw the doctor", (), complete=False)], 1, dpt.get_mechanism("santext"))
    assert found[0].asked[results.IDENTIFYING][0] == "omar" and all(map(str.islower, found[0].asked["identifying"][1]))


def test_redaction_hides_a_flagged_name_and_no_other_word_and_a_missed_name_is_certain(lines):
    for name in ("redact", "surrogates"):
        flagged, missed = (line for line in lines if line["name"] == name)
        assert flagged["identifying"] == [pytest.approx(1 / 8, abs=1e-4)] and flagged["epsilons"] == []
        assert missed["identifying"][0] > 0.9 and flagged["other"] == missed["other"] == [1.0]
        assert 0.3 < flagged["cosine"][0] < 1


def test_surrogates_before_a_mechanism_hide_the_name_and_leave_the_other_word_as_it_was(lines):
    plain, hybrid = (next(x for x in lines if x["name"] == n) for n in ("custext", "custext+surrogates"))
    assert hybrid["identifying"] == pytest.approx([1 / 8] * 2, abs=1e-4) and plain["identifying"][1] > 0.2
    assert hybrid["other"] == pytest.approx(plain["other"]) and hybrid["releases"] == 0
    assert hybrid["options"]["surrogates"] is True


def test_rows_are_of_the_texts_that_all_anonymisers_have(lines, tmp_path, capsys):
    rows = bench.rows_of(lines)
    assert [(r.title, r.epsilon) for r in rows] == [
        ("Redaction", None),
        ("Surrogates", None),
        ("CusText", 1.0),
        ("CusText", 5.0),
        ("CusText with surrogates", 1.0),
        ("CusText with surrogates", 5.0),
    ]
    own = [line["other"][1] for line in lines if line["name"] == "custext"]
    assert rows[3].other == pytest.approx(sum(own) / 2, abs=1e-5) and rows[3].texts == 2
    low, high = rows[3].interval("other")
    assert low <= rows[3].other <= high
    assert {r.texts for r in bench.rows_of(lines[:-1])} == {1}
    path, out = tmp_path / "lines.jsonl", tmp_path / "anonymisers.json"
    path.write_text("".join(json.dumps(x) + "\n" for x in lines))
    assert bench.main(["--lines", str(path), "--out", str(out)]) == 0
    assert "| notes | Redaction | – | 2 |" in capsys.readouterr().out
    assert results.MEASUREMENT.read(out) == tuple(rows)
    with pytest.raises(ConfigError, match="--lines"):
        bench.main([])
    with pytest.raises(ConfigError, match="--notes"):
        bench.main(["--lines", str(path), "--data", str(tmp_path), "--sets", "notes"])


def test_attackers_are_measured_in_a_file_of_their_own(lines, tmp_path, monkeypatch, capsys):
    few = {n: dataclasses.replace(a, epsilons=a.epsilons[:2]) for n, a in bench.ANONYMISERS.items()}
    monkeypatch.setattr(bench, "ANONYMISERS", {n: few[n] for n in ("redact", "surrogates", "custext+surrogates")})
    known = [line for line in lines if line["name"] in bench.ANONYMISERS][:-1]
    path, notes, attackers = tmp_path / "lines.jsonl", tmp_path / "notes.txt", tmp_path / "attackers.jsonl"
    path.write_text("".join(json.dumps(x) + "\n" for x in known))
    notes.write_text(NOTES)
    arguments = ["--notes", str(notes), "--sets", "notes", "--lines", str(path), "--attackers", str(attackers)]
    assert bench.main([*arguments, "--out", str(tmp_path / "rows.json")]) == 0
    assert len(path.read_text().splitlines()) == len(known)
    found = [json.loads(line) for line in attackers.read_text().splitlines()]
    assert {(x["name"], x["text"]) for x in found} == {(x["name"], x["text"]) for x in known}
    for line in found:
        assert list(line["right"]) == list(best.ASKED)
        assert all(0 <= r <= n for right in line["right"].values() for r, n in zip(right, line["words"], strict=True))
        # Both rewrites of the first text: its name and its weekday alone, or all words but stop words.
        n = 2 if line["name"] != "custext+surrogates" else 5
        assert line["text"] or line["words"][0] == 2 * n
    row = results.MEASUREMENT.read(tmp_path / "rows.json")[-1]
    assert row.attacker in best.ASKED and 0 < row.recovered_low < row.recovered < row.recovered_high
    assert f"{row.recovered:.2f}" in capsys.readouterr().out
    monkeypatch.setattr(bench, "attack_block", None)  # nothing is left to measure
    assert bench.main(arguments) == 0
    assert results.bundled() and not any(r.attacker for r in bench.rows_of(known)), "lines without attackers are valid"


def test_the_strongest_attacker_of_a_row_is_that_of_all_its_texts():
    def line(words, **right):
        return {"words": [words], "right": {name: [n] for name, n in right.items()}}

    some = [line(4, reader=4, same=0), line(0, reader=0, same=0), line(8, reader=2, same=6)]
    found = bench.recovered(some, 0)
    assert (found["attacker"], found["recovered"]) == ("reader", 0.625)
    assert bench.recovered([some[1]], 0) == bench.recovered([some[0], None], 0) == {}


def test_the_boards_and_the_figure_show_what_attackers_recover_where_they_were_measured(monkeypatch):
    rows = [row("redact", None, 0.2, 1.0, 0.9), row("custext", 1.0, 0.9, 0.4, 0.3)]
    monkeypatch.setattr(bench, "bundled", lambda: rows)
    assert "recovered" not in bench.boards()
    more = {"attacker": "reader", "recovered": 0.5, "recovered_low": 0.25, "recovered_high": 0.75}
    rows[1] = dataclasses.replace(rows[1], **more)
    assert "sst2: recovered" in bench.boards() and "0.50 ± 0.25 (Contextual Bayes)" in bench.boards()
    hover = [t["customdata"][0][2] for t in figures.anonymisers(rows)["data"]]
    assert ["50% (25% to 75%)" in text for text in hover] == [False, True]


def test_the_document_has_the_bundled_rows_and_their_finding(capsys):
    assert bench.main(["--boards"]) == 0
    printed = capsys.readouterr().out
    document = Path(__file__).parents[3] / "docs/measurements/belief.md"
    assert printed.count("| Redaction |") == 1 and printed in document.read_text(encoding="utf-8")
    rows = results.bundled()
    assert set(results.data_sets(rows)) == set(bench.SETS)
    for data in bench.SETS:
        assert len([r for r in rows if r.data == data]) == sum(len(a.epsilons) or 1 for a in bench.ANONYMISERS.values())


def row(mechanism: str, epsilon: float | None, identifying: float, other: float, cosine: float, **options):
    packed = (pack([x, x], -1, 1, short=True) for x in (identifying, other, cosine))
    return results.AnonymiserRow(mechanism, options, "sst2", epsilon, 2, 0, 5, identifying, other, cosine, *packed)


def test_the_finding_follows_the_rows():
    removed = row("redact", None, 0.2, 1.0, 0.9)
    rows = [removed, row("custext", 1.0, 0.9, 0.4, 0.3), row("dp-mlm", 20.0, 0.3, 0.45, 0.5)]
    first, second = results.finding(rows)
    assert "20%" in first and "does not" not in first
    assert "does not" in second and "100%" in second and "45% under DP-MLM at ε = 20" in second
    assert results.preserves_most(rows, results.OTHER) is rows[2]
    assert results.preserves_most(rows, results.OTHER, 0.3) is None
    unlike = dataclasses.replace(removed, identifyings=pack([0.0, 1.0], -1, 1, short=True))
    assert "partly protects" in results.finding([unlike])[0]
    first, second = results.finding([row("redact", None, 0.8, 0.3, 0.9)])
    assert "does not" in first and "80%" in first and "does not" not in second and second.endswith("30% of the time.")
    assert results.finding(rows[1:]) == ()


def test_the_figure_has_a_line_for_each_anonymiser_in_the_colour_of_its_mechanism():
    rows = [
        row("redact", None, 0.2, 1.0, 0.9),
        row("custext", 5.0, 0.9, 0.6, 0.6),
        row("custext", 1.0, 0.8, 0.4, 0.3),
        row("custext", 1.0, 0.125, 0.4, 0.2, surrogates=True),
    ]
    tool = ScoredTool("A <b>tool", 3, (0.7, 0.6, 0.8), (0.25, 0.1, 0.4), (0.05, 0.0, 0.2))
    figure = figures.anonymisers(rows, results.OTHER, [tool])
    traces = {t["name"]: t for t in figure["data"]}
    assert list(traces["CusText"]["x"]) == [0.3, 0.6] and list(traces["CusText"]["y"]) == pytest.approx([40, 60])
    assert traces["Redaction"]["y"] == [100.0]
    colour = mechanism_style("custext", False)[0]
    assert traces["CusText"]["line"]["color"] == traces["CusText with surrogates"]["line"]["color"] == colour
    shown = traces["A &lt;b&gt;tool"]
    assert (shown["x"], shown["y"]) == ([0.7], [25.0]) and "none stated" in shown["customdata"][0][2]
    assert figures.anonymisers(rows)["layout"]["yaxis"]["range"] == figure["layout"]["yaxis"]["range"]
    assert rows[1].command in figures.anonymisers(rows)["data"][1]["customdata"][1][2].replace("<br> ", "")
    with pytest.raises(InputError):
        figures.anonymisers([])
