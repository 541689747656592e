"""The measurement of public priors: points go on after an interruption, means and paired differences by plain loops."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.research import public_prior
from dptext_core.text.lexicons import stop_words

TWO = ["DP-MLM, tuned range", "with prior, parallel"]
ARGS = ["--sets", "builtin", "--n", "3", "--epsilons", "20", "--seeds", "1"]


def row(system, epsilon, seed, **measures):
    return {"data": "d", "system": system, "epsilon": epsilon, "seed": seed, "measures": measures}


def test_points_are_measured_once_and_a_cut_line_is_measured_again(tmp_path, capsys):
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.json"
    assert public_prior.main([*ARGS, "--systems", TWO[0], "--rows", str(rows)]) == 0
    first = rows.read_text(encoding="utf-8")
    rows.write_text(first + first[: len(first) // 2], encoding="utf-8")
    assert public_prior.main([*ARGS, "--systems", *TWO, "--rows", str(rows), "--out", str(out)]) == 0
    found = public_prior.read_rows(rows)
    assert [r["system"] for r in found] == TWO and found[0] == json.loads(first)
    text = found[0]["texts"][0]
    assert text and found[0]["measures"]["cosine"] == [
        pytest.approx(x) for x in dpt.metrics.score("cosine", originals(), found[0]["texts"])
    ]
    assert "with prior, parallel, ε 20, seed 1" in capsys.readouterr().out
    written = json.loads(out.read_text(encoding="utf-8"))
    kept = {(r["system"], r["measure"]): r for r in written["rows"]}
    assert kept[TWO[1], "cosine"]["beside"] == TWO[0] and kept[TWO[0], "cosine"]["beside"] == ""
    assert written["about"]["texts"] == {"builtin": 3} and all(
        r.keys() == written["rows"][0].keys() for r in written["rows"]
    )
    stop = stop_words()
    words = [[t.text for t in dpt.Document.parse(r).tokens if t.kind == "word"] for r in found[0]["texts"]]
    share = np.mean([np.mean([w in stop for w in each]) for each in words])
    assert 0 < share < 1 and kept[TWO[0], "stop_words"]["mean"] == pytest.approx(share, rel=1e-4)
    assert public_prior.MEASUREMENT.read(out) == tuple(public_prior.Mean(**r) for r in written["rows"])


def originals():
    found = public_prior.data_sets.load("builtin", None, n_test=3, max_words=public_prior.MOST_WORDS)
    return [found.texts[i][0] for i in found.test]


def test_means_and_paired_differences():
    rng = np.random.default_rng(0)
    a, b, better = rng.normal(0.5, 0.1, (2, 40)), rng.normal(0.4, 0.1, (2, 40)), rng.normal(0.7, 0.1, (2, 40))
    tuned, paper = public_prior.BESIDE["with prior, parallel"]
    rows = [row(tuned, 5.0, s, cosine=list(a[s]), n_w=[math.nan] * 40) for s in (0, 1)]
    rows += [row(paper, 5.0, s, cosine=list(b[s]), pseudo_perplexity=list(b[s])) for s in (0, 1)]
    rows += [row("with prior, parallel", 5.0, s, cosine=list(better[s]), pseudo_perplexity=list(b[s])) for s in (0, 1)]
    found = {(m.system, m.measure): m for m in public_prior.means(rows)}
    m = found["with prior, parallel", "cosine"]
    apart = better.mean(axis=0) - a.mean(axis=0)
    assert m.beside == tuned and m.difference == pytest.approx(apart.mean())
    assert m.difference_half == pytest.approx(1.96 * apart.std(ddof=1) / 40**0.5)
    assert (m.mean, m.texts, m.seeds) == (pytest.approx(better.mean()), 40, 2)
    same = found["with prior, parallel", "pseudo_perplexity"]
    assert same.beside == paper and same.difference == 0 == same.difference_half
    assert (tuned, "n_w") not in found, "what has no value has no mean"
    shown = public_prior.table(list(found.values()), "d", list(public_prior.BETTER))
    assert "| 5 | with prior, parallel | 0." in shown and "(× 1.00 to 1.00)" in shown and "n w" not in shown


def test_a_judge_is_asked_once_a_text_and_its_numbers_are_kept(tmp_path):
    rows = tmp_path / "rows.jsonl"
    one = row("SanText", 5.0, 1, cosine=[0.5, 0.5]) | {"texts": ["a b", "a b"]}
    rows.write_text(json.dumps(one) + "\n", encoding="utf-8")
    asked = []

    def judge(texts):
        asked.extend(texts)
        return [2.5] * len(texts)

    for _ in range(2):
        assert list(public_prior.judge_rows(rows, judge, "a judge")) == [(1, 1)]
    assert public_prior.read_rows(rows)[0]["judge"] == "a judge"
    assert asked == ["a b"] and public_prior.read_rows(rows)[0]["measures"]["judge_perplexity"] == [2.5, 2.5]


def test_every_system_and_what_it_is_beside_is_there():
    for name, setting in public_prior.SYSTEMS.items():
        assert setting.make().name == setting.mechanism, name
    assert set(public_prior.BESIDE) <= set(public_prior.SYSTEMS)
    assert {b for names in public_prior.BESIDE.values() for b in names} <= set(public_prior.SYSTEMS)
