"""ε, N_w and cosine over the clipping range: the measurement against what it stands for, the asset and its figure."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.measure.metrics import score
from dptext_core.models import masked_lm_spec
from dptext_lab.measurements import clipping
from dptext_lab.results import clipping as clipping_rows
from dptext_lab.results import summary as results
from dptext_studio import figures

TEXTS = ["The doctor told my friend that the pain was bad.", "She sold the old house in London last year."]


def test_a_row_is_what_the_mechanism_gives():
    m = dpt.get_mechanism("dp-mlm")
    prepared = clipping.prepare(m, [*TEXTS, "the of and."])
    assert [p.text for p in prepared] == TEXTS, "a text without drawn words says nothing"
    ranges = clipping.ends(m, (4.0, 6.0))
    assert ranges[4.0] == (m.replace(clip="paper").config.clip_min, m.replace(clip="paper").config.clip_max)
    rows = clipping.measure(m, prepared, ranges, (25.0, 100.0))
    assert [(r.width, r.epsilon) for r in rows] == [(4.0, 25.0), (4.0, 100.0), (6.0, 25.0), (6.0, 100.0)]
    last = m.replace(epsilon=100.0, clip_min=ranges[6.0][0], clip_max=ranges[6.0][1])
    drawn = [(p, i) for p in prepared for i in p.targets]
    assert rows[-1].n_w == pytest.approx(np.mean([last.distribution(p, i).p_keep() for p, i in drawn]))
    out = [last.rewrite(p, stream=dpt.NoiseStream(clipping.SEED).at(k)).text for k, p in enumerate(prepared)]
    assert rows[-1].cosine == pytest.approx(np.mean(score("cosine", TEXTS, out)), abs=1e-6)
    assert (rows[-1].words, rows[-1].texts) == (len(drawn), 2)
    high = [(p.logits([(i, False)]) >= ranges[4.0][1]).sum() for p, i in drawn]
    assert rows[0].tied == rows[1].tied == pytest.approx(np.mean(high))


def test_the_command_writes_what_is_bundled(tmp_path, capsys, monkeypatch):
    folder = tmp_path / "sst2"
    folder.mkdir()
    body = "".join(f"{t}\t{i % 2}\n" for i, t in enumerate(TEXTS * 2))
    for name in ("train.tsv", "test.tsv"):
        (folder / name).write_text("sentence\tlabel\n" + body.replace("The", name[:2]), encoding="utf-8")
    out = tmp_path / "clipping.json"
    monkeypatch.setattr(clipping, "WIDTHS", (4.0, 6.0))
    monkeypatch.setattr(clipping, "EPSILONS", (10.0, 100.0))
    assert clipping.main(["--data", str(tmp_path), "--max-texts", "2", "--out", str(out)]) == 0
    data = json.loads(out.read_text(encoding="utf-8"))
    assert "bench clipping" in data["about"]["command"]
    assert data["rows"] and set(data["rows"][0]) == set(asdict(clipping_rows.bundled()[0]))
    assert "| 4σ | 10 |" in capsys.readouterr().out


def test_the_bundled_rows_cover_every_width_and_epsilon_with_the_models_ranges():
    rows = clipping_rows.bundled()
    assert {(r.width, r.epsilon) for r in rows} == {(w, e) for w in clipping.WIDTHS for e in clipping.EPSILONS}
    clips = masked_lm_spec("bundled").clips
    for name, width in (("paper", 4.0), ("tuned", 6.0)):
        mine = next(r for r in rows if r.width == width)
        assert mine.clip_min == pytest.approx(clips[name].low, abs=1e-3)
        assert mine.clip_max == pytest.approx(clips[name].high, abs=1e-3)
    assert all(0 <= r.n_w <= 1 and -1 <= r.cosine <= 1 and r.words >= r.texts >= 60 for r in rows)


@pytest.mark.parametrize("dark", [False, True])
def test_the_figure_has_one_line_an_epsilon_in_each_part(dark):
    rows = clipping_rows.bundled()
    figure = figures.clipping(rows, dark=dark)
    assert len(figure.data) == 2 * len(clipping.EPSILONS)
    first = [r for r in rows if r.epsilon == 10.0]
    assert list(figure.data[0].x) == [r.width for r in first] and list(figure.data[0].y) == [r.cosine for r in first]
    assert list(figure.data[1].y) == [r.n_w for r in first]
    assert len({t.line.color for t in figure.data}) == len(clipping.EPSILONS)


def test_the_benchmarks_name_the_range_they_were_measured_with():
    ours = [r for r in results.bundled().rows if r.mechanism in ("dp-mlm", "dp-mlm-plus")]
    # The tuned range is the default, which options leave out.
    for name in ("sst2", "snips", "reviews"):
        assert {r.options.get("clip", "tuned") for r in ours if r.data == name} == {"paper", "tuned"}, name
    assert all(r.options.get("clip") == "paper" for r in ours if r.data == "authors")
