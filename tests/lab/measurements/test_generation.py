"""bench generators: what is measured of systems that write, beside DP-MLM."""

from __future__ import annotations

import json
import math

import pytest
from tiny_generators import tiny_generator

from dptext_core.cli import main
from dptext_lab.measurements import generation
from dptext_lab.results import generation as generation_rows


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return str(tiny_generator(tmp_path_factory.mktemp("tiny"), "gpt2"))


@pytest.mark.slow
def test_every_system_is_measured_and_compared_with_dp_mlm(tiny, tiny_model, tmp_path, capsys):
    out = tmp_path / "g.json"
    systems = ["DP-MLM", "DP-Paraphrase with prior"]
    call = ["bench", "generators", "--set", "builtin", "--max-texts", "2", "--epsilons", "20", "200", "--model", tiny]
    assert main([*call, "--out", str(out), "--systems", *systems]) == 0
    rows = json.loads(out.read_text())["rows"]
    assert [(r["system"], r["epsilon"]) for r in rows] == [(s, e) for s in systems for e in (20.0, 200.0)]
    for r in rows:
        assert r["texts"] == 2 and r["tokens"] > 4 and r["seconds"] > 0 and -1 <= r["cosine"] <= 1
        assert r["log_perplexity"] is None
    near = {r["epsilon"]: r["cosine"] for r in rows if r["system"] == "DP-MLM"}
    assert near[200.0] > near[20.0]
    printed = capsys.readouterr().out
    own = [line for line in printed.splitlines() if "| DP-MLM |" in line]
    assert own[0].startswith("| 20 |") and [line.endswith("| 1.00 |") for line in own] == [True, True]


@pytest.mark.parametrize("judged", [math.log(50.0), math.inf])
def test_one_text_has_a_mean_and_no_interval(judged, monkeypatch, tmp_path):
    times = iter(range(100))
    monkeypatch.setattr(generation.time, "perf_counter", lambda: next(times) * 1e-9)
    lines = [*generation.run("builtin", ["DP-MLM"], [100.0], None, 1, {}, lambda texts: [judged])]
    (line,) = lines
    assert (line.texts, line.cosine_half, line.log_perplexity_half, line.seconds) == (1, None, None, 0.0)
    assert line.log_perplexity == (judged if math.isfinite(judged) else None)
    (said,) = generation.table(lines).splitlines()[2:]
    assert f"| {line.cosine:.3f} (interval unknown) |" in said and "nan" not in said and said.endswith("|  |")
    generation_rows.MEASUREMENT.write(tmp_path / "one.json", lines, {})
    assert json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))["rows"][0]["cosine_half"] is None


def test_a_judge_is_asked_for_every_text():
    asked = []

    def judge(texts):
        asked.extend(texts)
        return [math.log(50.0)] * len(texts)

    (line,) = generation.run("builtin", ["DP-MLM"], [100.0], None, 3, {}, judge)
    assert len(asked) == 3 and line.log_perplexity == pytest.approx(math.log(50.0)) and line.log_perplexity_half == 0
    assert "| 50 |" in generation.table([line])
