"""The measurement of public priors: points go on after an interruption, means and paired differences by plain loops."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.text.lexicons import stop_words
from dptext_lab.measurements import public_prior
from dptext_lab.results import public_prior as public_prior_rows

pytestmark = pytest.mark.usefixtures("stand_in_scores")

TWO = ["DP-MLM, tuned range", "with prior, parallel"]
ARGS = ["--sets", "builtin", "--max-texts", "2", "--epsilons", "20", "--seeds", "1"]


def row(system, epsilon, seed, **measures):
    return {"data": "d", "system": system, "epsilon": epsilon, "seed": seed, "measures": measures}


@pytest.mark.slow
def test_points_are_measured_once_and_a_cut_line_is_measured_again(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(public_prior, "ATTACKED", 0)  # the next test but one asks them
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
    assert written["about"]["texts"] == {"builtin": 2} and all(
        r.keys() == written["rows"][0].keys() for r in written["rows"]
    )
    stop = stop_words()
    words = [[t.text for t in dpt.Document.parse(r).tokens if t.kind == "word"] for r in found[0]["texts"]]
    share = np.mean([np.mean([w in stop for w in each]) for each in words])
    assert 0 < share < 1 and kept[TWO[0], "stop_words"]["mean"] == pytest.approx(share, rel=1e-4)
    assert public_prior_rows.MEASUREMENT.read(out) == tuple(public_prior_rows.PriorRow(**r) for r in written["rows"])


def originals():
    found = public_prior.data_sets.load("builtin", None, n_test=2, max_words=public_prior.MOST_WORDS)
    return [found.texts[i][0] for i in found.test]


def test_means_and_paired_differences():
    rng = np.random.default_rng(0)
    a, b, more = rng.normal(0.5, 0.1, (2, 40)), rng.normal(0.4, 0.1, (2, 40)), rng.normal(0.7, 0.1, (2, 40))
    tuned, paper, *_ = public_prior.SYSTEMS["with prior, parallel"].beside
    rows = [row(tuned, 5.0, s, cosine=list(a[s]), n_w=[math.nan] * 40) for s in (0, 1)]
    rows += [row(paper, 5.0, s, cosine=list(b[s]), judge_perplexity=list(b[s])) for s in (0, 1)]
    rows += [row("with prior, parallel", 5.0, s, cosine=list(more[s]), judge_perplexity=list(b[s])) for s in (0, 1)]
    found = {(m.system, m.measure): m for m in public_prior.means(rows)}
    m = found["with prior, parallel", "cosine"]
    apart = more.mean(axis=0) - a.mean(axis=0)
    assert m.beside == tuned and m.difference == pytest.approx(apart.mean()) and m.significance == 1
    assert m.difference_half == pytest.approx(1.96 * apart.std(ddof=1) / 40**0.5)
    assert (m.mean, m.texts, m.seeds) == (pytest.approx(more.mean()), 40, 2)
    same = found["with prior, parallel", "judge_perplexity"]
    assert same.beside == paper and same.difference == 0 == same.difference_half == same.significance
    assert (tuned, "n_w") not in found, "what has no value has no mean"
    shown = public_prior.table(list(found.values()), "d", list(public_prior.BETTER))
    assert "| 5 | with prior, parallel | 0." in shown and "*)" in shown and "(× 1.00 to 1.00)" in shown
    assert "n w" not in shown


def test_p_values_are_corrected_for_all_cells_and_the_strongest_attacker_is_named():
    rng = np.random.default_rng(3)
    base, gain = rng.normal(0.0, 1.0, (2, 100)), np.array([0.29, 0.24])
    rows = []
    for k, epsilon in enumerate((5.0, 10.0)):
        noise = rng.normal(0.0, 1.0, 100)
        noise += gain[k] - noise.mean()
        rows.append(row("SanText", epsilon, 1, cosine=list(base[k]), reader=[0.2] * 100, **{"best-guess": [0.3] * 100}))
        rows.append(row("SanText with prior", epsilon, 1, cosine=list(base[k] + noise), reader=[0.5] * 100))
    found = {(m.system, m.epsilon, m.measure): m for m in public_prior.means(rows)}
    each = [found["SanText with prior", e, "cosine"] for e in (5.0, 10.0)]
    alone = [math.erfc(m.difference / m.difference_half * 1.96 / math.sqrt(2)) for m in each]
    assert [m.p for m in each] == [pytest.approx(2 * alone[0]), pytest.approx(max(alone[1], 2 * alone[0]))]
    assert found["SanText", 5.0, "best_attacker"].mean == pytest.approx(0.3)
    top = found["SanText with prior", 5.0, "best_attacker"]
    assert top.mean == pytest.approx(0.5) and top.difference == pytest.approx(0.2) and top.significance == 1


@pytest.mark.slow
def test_the_range_by_epsilon_and_the_polish_are_what_is_measured():
    text, name = "The doctor told my friend.", "DP-MLM, range by ε"
    sigma = public_prior.SYSTEMS["DP-MLM, tuned range"].at(5.0, {}).config
    sigma = (sigma.clip_max - sigma.clip_min) / 6
    for epsilon, width in ((15.0, 3), (25.0, 6)):
        c = public_prior.SYSTEMS[name].at(epsilon, {}).config
        assert c.clip_max - c.clip_min == pytest.approx(width * sigma, rel=1e-3) and c.epsilon == epsilon
    m = public_prior.SYSTEMS[f"{name}, cleaned up"].at(50.0, {})
    ((maker, result),) = public_prior.rewrite_texts(m, [m.prepare(text)], [text], 1)
    polished = dpt.attacks.polish.polish(result, maker).text
    got = public_prior.measure_texts([text], [(maker, result)], [polished], 1)
    assert got["cosine"] == [pytest.approx(dpt.metrics.score("cosine", [text], [polished])[0])]
    hits, _ = dpt.attacks.best.guesses(maker, result)
    assert {who: got[who] for who in hits} == {who: [pytest.approx(np.mean(hit))] for who, hit in hits.items()}


def test_a_judge_is_asked_once_a_text_and_its_numbers_are_kept(tmp_path):
    rows = tmp_path / "rows.jsonl"
    one = row("SanText", 5.0, 1, cosine=[0.5, 0.5]) | {"texts": ["a b", "a b"]}
    other = row("SanText", 5.0, 2, cosine=[0.5, 0.5]) | {"texts": ["c", "c"]}
    rows.write_text("".join(json.dumps(x) + "\n" for x in (one, other)), encoding="utf-8")
    asked = []

    def judge(texts):
        asked.extend(texts)
        return [2.5] * len(texts)

    for _ in range(2):
        assert list(public_prior.judge_rows(rows, judge, "a judge")) == [(1, 2), (2, 2)]
    assert public_prior.read_rows(rows)[0]["judge"] == "a judge"
    assert asked == ["a b"], "of the first seed"
    assert public_prior.read_rows(rows)[0]["measures"]["judge_perplexity"] == [2.5, 2.5]


def test_every_system_and_what_it_is_beside_is_there():
    for name, system in public_prior.SYSTEMS.items():
        assert system.setting.make().name == system.setting.mechanism, name
        assert set(system.beside) <= set(public_prior.SYSTEMS)
