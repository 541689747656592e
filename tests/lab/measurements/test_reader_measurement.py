"""What the reader and the polish are measured to do: figures on a few texts against the attackers themselves."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from tiny_causal import write_model
from tiny_generators import tiny_generator

import dptext_core as dpt
from dptext_core.attacks import best
from dptext_core.attacks import reader as reading
from dptext_core.measure import metrics, scored
from dptext_core.measure.metrics import measure
from dptext_core.models.causal import Judge
from dptext_lab.measurements import polish, reader
from dptext_lab.results import attacker_rows
from dptext_lab.results import polish as polish_rows
from dptext_lab.results import reader as reader_rows
from dptext_lab.results.rows import Row
from dptext_lab.results.summary import Results

pytestmark = pytest.mark.usefixtures("stand_in_scores")

TEXTS = ["My doctor treated my sister.", "The film was long.", "and the"]


@pytest.fixture(scope="module")
def m():
    return dpt.get_mechanism("diffractor", epsilon=0.6, oov="keep")


@pytest.fixture(scope="module")
def row(m):
    return reader.measure("sst2", m, TEXTS)


@pytest.mark.slow
def test_both_attackers_look_at_one_rewrite_of_each_text_that_has_a_word(m, row):
    every = [reading.read_releases(m, m.rewrite(text, seed=k)) for k, text in enumerate(TEXTS[:2])]
    assert (row.texts, row.words) == (2, sum(len(f.words) for f in every))
    assert row.reader == pytest.approx(np.mean([f.success for f in every]))
    assert row.alone == pytest.approx(np.mean([f.context_free_share for f in every]))
    assert row.gain == pytest.approx(row.reader - row.alone) and row.low <= row.gain <= row.high and row.exact
    found = best.compare_texts(
        {
            name: [
                hits[name] for k, text in enumerate(TEXTS[:2]) for hits, _ in [best.guesses(m, m.rewrite(text, seed=k))]
            ]
            for name in best.ASKED
        }
    )
    assert (row.best, row.best_low, row.best_high) == (found.name, found.low, found.high)
    assert {name: getattr(row, column) for name, column in reader_rows.COLUMNS.items()} == found.shares
    assert row.seconds > 0 and row.options == {"oov": "keep"}


def test_the_best_of_all_attackers_is_a_row_of_results_with_its_name(m, row, monkeypatch):
    made, read = attacker_rows.of_reader([row]).rows
    assert (made.metric, read.metric) == ("attack_best", "attack_reader") and made.setting == m.setting.ordered()
    assert made.low <= made.value <= made.high
    assert made.value == pytest.approx(getattr(row, reader_rows.COLUMNS[row.best]), abs=1e-6)
    assert made.value == pytest.approx(max(getattr(row, c) for c in reader_rows.COLUMNS.values()), abs=1e-6)
    assert read.value == pytest.approx(row.reader, abs=1e-6)
    monkeypatch.setattr(reader_rows, "bundled", lambda: (row,))
    assert attacker_rows.strongest_attacker("diffractor", 0.6, "sst2") == best.title(row.best)
    assert attacker_rows.strongest_attacker("diffractor", 0.7, "sst2") == ""


def test_of_the_grids_attackers_the_best_is_a_row_that_says_who_is_not_among_them():
    setting = dpt.Setting("custext", {}, 1.0)
    rows = [
        Row(setting, "sst2", "deniability", metric, value, low, high, 200, 1, "p")
        for metric, value, low, high in (
            ("n_w", 0.3, 0.2, 0.4),
            ("attack_bayes", 0.35, 0.3, 0.4),
            ("attack_mask", 0.05, 0.0, 0.1),
        )
    ]
    given = Results({}, (), tuple(rows))
    *same, made = attacker_rows.with_attackers(given).rows
    assert tuple(same) == given.rows and (made.metric, made.value, made.point) == ("attack_best_few", 0.35, "p")
    assert made.low == pytest.approx(0.35 - 0.05 * 2.394 / 1.96, abs=1e-3), "Bonferroni over three"
    assert made.high == pytest.approx(0.3 + 0.1 * 2.394 / 1.96, abs=1e-3), "the widest one may be the best"
    assert (
        attacker_rows.strongest_at(given, rows[0]) == "Optimal guess"
        and "is excluded" in measure(made.metric).about
    )
    assert len(attacker_rows.with_attackers(Results({}, (), tuple(rows[:1]))).rows) == 1


def test_a_polish_is_measured_before_and_after(m):
    row = polish.measure("given", m, TEXTS[:2])
    every = [m.rewrite(text, seed=k).polished(m) for k, text in enumerate(TEXTS[:2])]
    cosines = [
        metrics.score("cosine", TEXTS[:2], [t(p) for p in every])
        for t in (lambda p: p.sampled_result.text, lambda p: p.text)
    ]
    assert (row.cosine_before, row.cosine_after) == tuple(pytest.approx(np.mean(c)) for c in cosines)
    assert row.gain == pytest.approx(row.cosine_after - row.cosine_before)
    assert (row.kept_before, row.kept_after) == tuple(
        pytest.approx(np.mean([p.unchanged_shares[k] for p in every])) for k in (0, 1)
    )


@pytest.mark.slow
def test_how_a_polish_reads_is_told_by_a_judge_and_its_ratio_is_paired(tmp_path):
    judge = Judge(write_model(tmp_path / "judge", "gpt2"), dtype="float32", device="cpu")
    m = dpt.get_mechanism("dp-prompt", model=str(tiny_generator(tmp_path / "t5", "t5")), epsilon=20, max_tokens=10)
    row = polish.measure("given", m, TEXTS[:2], judge)
    every = [m.rewrite(text, seed=k).polished(m) for k, text in enumerate(TEXTS[:2])]
    before, after = judge([p.sampled_result.text for p in every]), judge([p.text for p in every])
    assert row.reads_before == pytest.approx(np.exp(np.mean(before))) and row.reads_after == pytest.approx(
        np.exp(np.mean(after))
    )
    assert row.ratio == pytest.approx(row.reads_after / row.reads_before) and row.ratio_low <= row.ratio
    assert (row.kept_before, row.kept_after) == (None, None), "a new text is written"
    assert polish.measure("given", m, TEXTS[:1]).ratio is None


def test_every_mechanism_is_polished_at_four_epsilons_and_where_it_works():
    found = polish.epsilons()
    assert set(found) == {s.name for s in dpt.mechanisms()}
    assert all(set(polish.EPSILONS) <= set(some) for some in found.values())
    assert found["diffractor"][0] < 5 and found["dp-bart"][-1] > 50 and found["santext"] == polish.EPSILONS


@pytest.mark.slow
def test_the_commands_write_their_rows_add_others_and_measure_them_anew(tmp_path, capsys, monkeypatch):
    def rows() -> list[tuple[str, str, float]]:
        return [(r["data"], r["mechanism"], r["epsilon"]) for r in json.loads(out.read_text(encoding="utf-8"))["rows"]]

    out = tmp_path / "rows.json"
    given = ["--set", "builtin", "--mechanism", "diffractor", "--texts", "1", "--out", str(out), "--epsilon"]
    for module in (polish, reader):
        assert module.main([*given, "1"]) == 0
        assert capsys.readouterr().out.startswith("diffractor   ε 1 ")
        assert rows() == [("builtin", "diffractor", 1.0)]
    made = dataclasses.replace(reader_rows.MEASUREMENT.read(out)[0], low=0.0, high=1.0)
    monkeypatch.setattr(reader, "measure", lambda data, m, *_: dataclasses.replace(made, epsilon=m.config.epsilon))
    for epsilon in ("2", "1"):
        assert reader.main([*given, epsilon, "--add"]) == 0
    assert rows() == [("builtin", "diffractor", 1.0), ("builtin", "diffractor", 2.0)]
    assert reader.main([*given, "2"]) == 0 and len(rows()) == 1


def test_a_list_of_stop_words_is_of_those_that_keep_some(monkeypatch, tmp_path, capsys):
    stop = tmp_path / "stop.txt"
    stop.write_text("the\nand\n", encoding="utf-8")
    asked: list[dict] = []

    def measure(data, m, texts, judge=None):
        asked.append(dict(m.setting.options))
        return polish_rows.PolishRow(
            data, m.name, "", m.config.epsilon, 1, *[None] * 5, 0.5, 0.5, 0.0, 0.0, 0.0, *[None] * 2, {}
        )

    monkeypatch.setattr(polish, "measure", measure)
    given = ["--set", "builtin", "--texts", "1", "--epsilon", "5", "--stopwords", str(stop)]
    polish.main([*given, "--mechanism", "custext", "--mechanism", "dp-bart", "--out", str(tmp_path / "x.json")])
    assert [row.mechanism for row in polish_rows.MEASUREMENT.read(tmp_path / "x.json")] == ["custext", "dp-bart"]
    assert asked[0]["stopwords"] == str(stop) and "stopwords" not in asked[1]


@pytest.mark.slow
def test_attackers_without_a_mechanism_are_asked_before_the_polish_and_after():
    """A mechanism that changes nothing is named by the first of them, and its polish changes nothing either."""
    texts = ["The old doctor visited a small hospital."]
    row = polish.measure("builtin", dpt.get_mechanism("custext", epsilon=1_000.0), texts)
    assert set(row.found) == set(scored.WORDS)
    assert row.found["same-word"] == (1.0, 1.0) and row.kept_before == row.kept_after == 1.0
    hidden = polish.measure("builtin", dpt.get_mechanism("custext", epsilon=0.1), texts)
    assert all(before < 0.5 for before, _ in hidden.found.values())
    assert "words recovered same-word 1.000 to 1.000" in polish.row_text(row)
