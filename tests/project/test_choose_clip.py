"""The tool that chooses clipping ranges: its judge, its criterion, and what counts as worse than the best."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest
from scripts import script
from tiny_generators import tiny_generator

import dptext_core as dpt
from dptext_core.attacks import polish

choose_clip = script("tools/choose_clip.py")
TEXTS = ["The doctor called the patient .", "The team won the game .", "The house has a garden ."]


def test_the_judge_weights_known_words_by_how_rare_they_are():
    judge = choose_clip.Judge(TEXTS)
    assert judge(TEXTS, TEXTS) == pytest.approx(1.0)
    near, far, dropped, lost = judge([TEXTS[0]] * 4, ["The doctor called the nurse .", "The doctor called the game .",
                                                      "doctor called patient", "Zzyx qwrt ."])  # fmt: skip
    assert near > far, "a related word is nearer than an unrelated one"
    assert dropped == pytest.approx(1.0), "a word of every text has the weight ln 1"
    assert lost == 0.0


def test_the_criterion_is_the_mean_over_the_logarithm_of_epsilon():
    # Linear in ln ε between 10, 100 and 1,000: the mean of the two trapezoids.
    values = np.array([[0.0, 1.0], [1.0, 1.0], [0.5, 1.0]])
    assert choose_clip.objective((10.0, 100.0, 1000.0), values) == pytest.approx([(0.5 + 0.75) / 2, 1.0])
    assert choose_clip.stated("dp-mlm") == (10.0, 25.0, 50.0, 100.0, 250.0)


def test_a_setting_is_worse_than_the_best_only_beyond_its_error():
    rng = np.random.default_rng(1)
    best = rng.normal(0.8, 0.1, 60)
    tied, worse = best + rng.normal(-0.001, 0.05, 60), best - 0.1 + rng.normal(0, 0.05, 60)
    first, second, third = choose_clip.compare(np.stack([worse, best, tied]))
    assert [c.number for c in (first, second, third)] == [1, 2, 0]
    assert (first.behind, first.p) == (0.0, 1.0) and second.p > 0.5 and third.p < 0.001
    assert third.behind_error == pytest.approx((worse - best).std(ddof=1) / math.sqrt(60))


def test_the_grid_of_ranges_has_the_present_and_the_papers_one():
    m = dpt.mechanism_class("dp-mlm").create()
    settings = choose_clip.candidates(m, TEXTS)
    for clip, title in (("tuned", "μ to μ + 6σ"), ("paper", "μ to μ + 4σ")):
        at = m.replace(clip=clip).config
        mine = {"clip_min": at.clip_min, "clip_max": at.clip_max}
        found = settings[choose_clip.place(mine, settings)]
        assert found.title == title and found.options == pytest.approx(mine, abs=1e-3)


def test_ranges_are_compared_where_words_stay_as_often():
    m = dpt.mechanism_class("dp-mlm").create()
    draws = choose_clip.levels(m, TEXTS[:1])
    epsilon = choose_clip.epsilon_at(m, draws, 0.3)
    assert np.mean([m.keep_probability(row, source, epsilon) for row, source in draws]) == pytest.approx(0.3, abs=0.01)
    assert choose_clip.epsilon_at(m, draws, 0.9999) is None


def run(monkeypatch, capsys, tmp_path, *given: str) -> str:
    """What the command prints about three texts, with two ranges."""
    path = tmp_path / "texts.txt"
    path.write_text(" ".join(f"The {w} went to the old house in the night ." for w in ("doctor", "king", "man")))
    monkeypatch.setattr(choose_clip, "LOW", (0.0,))
    monkeypatch.setattr(choose_clip, "HIGH", (4.0, 6.0))
    monkeypatch.setattr(choose_clip, "LEVELS", (0.2, 0.9999))
    monkeypatch.setattr(choose_clip, "LIKENESS", (0.0, 12.0))
    monkeypatch.setattr(sys, "argv", ["choose_clip.py", *given, "--texts", str(path), "--epsilons", "20", "80"])
    choose_clip.main()
    return capsys.readouterr().out


def test_the_command_prints_every_setting_and_writes_the_best(tmp_path, monkeypatch, capsys):
    (tmp_path / "spec.json").write_text('{"clip_min": -4, "clip_max": 8}')
    monkeypatch.setattr(choose_clip, "folder_of", lambda m: tmp_path)
    said = run(monkeypatch, capsys, tmp_path, "dp-mlm", "--seed", "3", "--write", "--match")
    assert "| μ to μ + 6σ (present) |" in said and "| μ to μ + 4σ |" in said and "3 texts, 1 draws, seed 3" in said
    assert "| 0.2 | μ to μ + 6σ |" in said and "| 0.9999 |" not in said, "no ε reaches this probability"
    spec = json.loads((tmp_path / "spec.json").read_text(encoding="utf-8"))
    assert (spec["clip_min"], spec["clip_max"]) == (-4, 8), "the paper's range is not estimated again"
    best = said.split("|---|---|---|---|\n| ")[1].split(" |")[0].removesuffix(" (present)")
    assert spec["tuned_source"].startswith(best) and spec["tuned_min"] == pytest.approx(-1.9101)


def test_a_generator_without_a_range_gets_both(tmp_path, monkeypatch, capsys):
    folder = tiny_generator(tmp_path / "tiny", "gpt2")
    (folder / "dptext.json").write_text('{"max_length": 120}', encoding="utf-8")
    said = run(
        monkeypatch, capsys, tmp_path, "dp-paraphrase", "--model", str(folder), "--seed", "1", "--write", "--match"
    )
    assert "(present)" not in said and "| 0.2 | μ to μ + 6σ |" in said
    found = dpt.mechanism_class("dp-paraphrase").known_ranges(str(folder))
    assert list(found) == ["tuned", "paper"] and found["tuned"].low == found["paper"].low < found["paper"].high


def test_the_weight_of_likeness_is_compared_with_no_clean_up(tmp_path, monkeypatch, capsys):
    said = run(monkeypatch, capsys, tmp_path, "dp-mlm", "--seed", "1", "--likeness")
    assert "| λ = 12 (present) |" in said and "| λ = 0 |" in said and "| without post-processing |" in said
    assert polish.LIKENESS == 12.0, "it is changed while it is compared only"
