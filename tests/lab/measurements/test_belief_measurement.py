"""The certainty of the optimal reader over data sets: facts, lines, rows, and what they are compared by."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.errors import ConfigError, InputError
from dptext_lab.measurements import belief
from dptext_lab.results import belief as belief_rows
from dptext_lab.results import leaderboard
from dptext_lab.results.paired_comparison import unpack
from dptext_lab.results.rows import Row
from dptext_lab.runner import data_sets
from dptext_studio import figures

TEXTS = (
    "the doctor praised a wonderful garden",
    "a terrible hotel in the village",
    "the novel was boring and the ending sad",
    "of it and to the",
)


@pytest.fixture
def data(monkeypatch) -> data_sets.Data:
    """Four test texts, the last without a content word, and two to train on."""
    texts = tuple((t,) for t in ("a wonderful film", "a terrible film", *TEXTS))
    labels = {"label": ("1", "0", "1", "0", "0", "1")}
    made = data_sets.Data("sst2", "SST-2", texts, labels, (0, 1), (2, 3, 4, 5), "hash", "file")
    monkeypatch.setattr(data_sets, "load", lambda *args, **more: made)
    return made


@pytest.fixture
def lines(data, monkeypatch):
    monkeypatch.setattr(belief, "EPSILONS", {"santext": (10.0, 16.0), "custext": (1.0,)})
    facts = belief.fact_texts(data, 3, dpt.get_mechanism("santext"))
    judges = belief.Judges.of(data)
    return {
        name: list(belief.measure_block(dpt.get_mechanism(name), "sst2", facts, judges))
        for name in ("santext", "custext")
    }


def test_the_fact_is_the_rarest_word_with_seven_alternatives_in_a_fixed_order(data):
    facts = belief.fact_texts(data, 10, dpt.get_mechanism("santext"))
    assert [f.number for f in facts] == [0, 1, 2] and {f.text for f in facts} == set(TEXTS[:3])
    for f in facts:
        assert f.word in f.text and len({*f.alternatives, f.word}) == 8
        assert f.label == dict(zip(TEXTS, ("1", "0", "0", "1"), strict=True))[f.text]
    assert belief.fact_texts(data, 2, dpt.get_mechanism("santext")) == facts[:2]


def test_the_certainty_of_a_line_is_the_expected_success_of_the_optimal_reader(data, lines):
    facts = belief.fact_texts(data, 3, dpt.get_mechanism("santext"))
    for fact, line in zip(facts, lines["santext"], strict=True):
        assert line["text"] == fact.number and line["epsilons"] == [10.0, 16.0] and line["releases"] == 0
        for epsilon, certainty in zip(line["epsilons"], line["certainty"], strict=True):
            m = dpt.get_mechanism("santext", epsilon=epsilon)
            found = dpt.belief(m, fact.text, fact.word, fact.alternatives)
            assert certainty == pytest.approx(found.expected_success.value, abs=1e-5)
        assert line["certainty"][0] < line["certainty"][1] and "oov" not in line["options"]
        assert all(0 <= x <= 1 for x in line["label"]) and all(-1 <= x <= 1 for x in line["cosine"])
    assert dpt.get_mechanism("santext").config.oov == "random"


def test_rows_are_of_the_texts_that_all_mechanisms_have_before_the_first_gap(lines):
    one, other = lines["santext"], lines["custext"]
    (row,) = [r for r in belief.rows_of([*one, other[0], other[2]]) if r.epsilon == 10.0]
    assert (row.texts, row.certainty) == (1, pytest.approx(one[0]["certainty"][0], abs=1e-5))
    elsewhere = [x | {"data": "snips"} for x in other[:2]]
    rows = belief.rows_of([*one, *elsewhere])
    assert [(r.mechanism, r.epsilon, r.texts) for r in rows] == [
        ("santext", 10.0, 3),
        ("santext", 16.0, 3),
        ("custext", 1.0, 2),
    ]
    assert rows[0].certainty == pytest.approx(np.mean([x["certainty"][0] for x in one]), abs=1e-5)
    assert unpack(rows[0].cosines) == pytest.approx([x["cosine"][0] for x in one], abs=0.02)
    for row in belief_rows.as_results(rows).rows:
        assert Row.read(row.to_dict()) == row and row.n == {"santext": 3, "custext": 2}[row.mechanism]


def test_a_run_that_was_stopped_continues(data, lines, tmp_path, capsys):
    path, out = tmp_path / "lines.jsonl", tmp_path / "belief.json"
    path.write_text("".join(json.dumps(x) + "\n" for x in lines["santext"]) + '{"mechanism": "cust')
    call = ["--lines", str(path), "--data", str(tmp_path), "--texts", "3", "--sets", "sst2", "--out", str(out)]
    assert belief.main(call) == 0
    printed = capsys.readouterr().out
    assert "sst2 custext: texts 0 to 10" in printed and "sst2 santext" not in printed
    assert len(belief.read_lines(path)) == 6
    assert {r.mechanism: r.texts for r in belief_rows.MEASUREMENT.read(out)} == {"santext": 3, "custext": 3}
    before = out.read_bytes()
    assert belief.main(call[:2] + call[-2:]) == 0 and out.read_bytes() == before
    path.write_text("no JSON\n")
    with pytest.raises(InputError, match="not JSON"):
        belief.main(call)


def test_mechanisms_without_a_certainty_say_why():
    named = {spec.name for spec in dpt.mechanisms()}
    refused = belief.refusals(named - set(belief.EPSILONS))
    assert set(refused) == named - set(belief.EPSILONS) and all(refused.values())
    assert refused == belief_rows.refusals(), "measure again: bench belief"
    assert belief.refusals([]) == belief.NOT_MEASURED


def test_the_document_has_the_boards_of_the_bundled_rows(capsys):
    assert belief.main(["--boards"]) == 0
    printed = capsys.readouterr().out
    document = Path(__file__).parents[3] / "docs/measurements/leaderboard.md"
    assert printed.count("| 1 |") == 6 and printed in document.read_text(encoding="utf-8")
    with pytest.raises(ConfigError, match="--lines"):
        belief.main([])


def test_tem_is_santext_at_every_epsilon_that_is_measured():
    for epsilon in belief.EPSILONS["santext"]:
        one, other = (
            dpt.get_mechanism(name, epsilon=epsilon).distribution("a wonderful film", 1) for name in ("tem", "santext")
        )
        assert one.probs == pytest.approx(other.probs, abs=1e-12)


def made(mechanism: str, *points: tuple[float, float, float], spread: float = 0.0) -> list[belief_rows.BeliefRow]:
    """Rows by ε, certainty and cosine, of 50 texts around them."""
    around = np.linspace(-1, 1, 50)
    return [
        belief_rows.BeliefRow(
            mechanism,
            {},
            "sst2",
            epsilon,
            50,
            0,
            5,
            certainty,
            cosine,
            0.5,
            belief.pack(certainty + spread * around, short=True),
            belief.pack(cosine + 0.1 * around, -1, 1, short=True),
            belief.pack([0.0, 1.0] * 25, steps=5, short=True),
        )
        for epsilon, certainty, cosine in points
    ]


def test_mechanisms_are_compared_where_the_reader_is_as_certain():
    rows = [
        *made("dp-mlm", (20.0, 0.4, 0.4), (30.0, 0.6, 0.6)),
        *made("santext", (15.0, 0.45, 0.3), (16.0, 0.55, 0.4)),
        *made("custext", (1.0, 0.7, 0.9)),
        *made("dp-sentence", (10.0, 0.2, 0.1)),
    ]
    board = leaderboard.board(
        leaderboard.Rows((belief_rows.as_results(rows),)), "sst2", "cosine", belief_rows.METRIC, 0.5, None
    )
    assert [(e.mechanism, e.between) for e in board.entries] == [("dp-mlm", (20.0, 30.0)), ("santext", (15.0, 16.0))]
    assert [e.value for e in board.entries] == pytest.approx([0.5, 0.35]) and board.entries[1].is_significant
    assert belief_rows.outside(rows, "sst2") == (
        "Outside this level at every measured ε: CusText (never below 70%), Sentence bank (never above 20%)."
    )
    assert belief_rows.outside(rows[:4], "sst2") == ""


def test_an_uncertain_certainty_widens_the_interval():
    sure, unsure = (
        leaderboard.board(
            leaderboard.Rows((belief_rows.as_results(made("dp-mlm", (20.0, 0.4, 0.2), (30.0, 0.6, 0.6), spread=-x)),)),
            "sst2",
            "cosine",
            belief_rows.METRIC,
            0.5,
            None,
        ).entries[0]
        for x in (0.0, 0.3)
    )
    assert sure.value == unsure.value == pytest.approx(0.4)
    # The slope is 2: a text's score, 0.1·x, is corrected by 2·0.3·x of the opposite sign.
    assert (unsure.high - unsure.low) / (sure.high - sure.low) == pytest.approx(7, rel=0.1)


def test_the_figure_has_a_line_for_each_mechanism_and_a_mark_for_each_epsilon():
    rows = [*made("dp-mlm", (20.0, 0.4, 0.4), (30.0, 0.6, 0.6)), *made("custext", (1.0, 0.7, 0.9))]
    figure = figures.certainty(rows)
    assert [(t["name"], list(t["x"]), list(t["customdata"])) for t in figure["data"]] == [
        ("DP-MLM", pytest.approx([40.0, 60.0]), [20.0, 30.0]),
        ("CusText", pytest.approx([70.0]), [1.0]),
    ]
    with pytest.raises(InputError):
        figures.certainty([])
