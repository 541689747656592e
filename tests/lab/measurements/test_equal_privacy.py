"""Points beside the grid: ε from closed forms, single lists, and the query attack at the same chance of staying."""

from __future__ import annotations

import json
import math

import pytest
from small_spaces import on, random_space

import dptext_core as dpt
from dptext_core.errors import ConfigError
from dptext_lab.measurements import equal_privacy, queries
from dptext_lab.results import equal_privacy as equal_privacy_rows
from dptext_lab.results import queries as queries_rows
from dptext_lab.results import summary as results
from dptext_lab.runner import grid


def test_an_epsilon_is_found_where_a_chance_is_passed_and_nowhere_else():
    for share in (0.1, 0.3, 0.5, 0.8):
        found = equal_privacy.epsilon_where(lambda e: math.tanh(e / 2), share)
        assert found == pytest.approx(2 * math.atanh(share), rel=1e-3)
    again = equal_privacy.epsilon_where(lambda e: math.tanh(e / 2) if e < 100 else 0.0, 0.5)
    assert again == pytest.approx(2 * math.atanh(0.5), rel=1e-3), "it may fall again"
    assert equal_privacy.epsilon_where(lambda e: 0.4, 0.3) is None, "it does not fall so far"
    assert equal_privacy.epsilon_where(lambda e: 0.2, 0.3) is None, "it does not rise so far"


def test_every_system_keeps_stop_words_and_is_one_that_can_be_made():

    for system in equal_privacy.SYSTEMS:
        assert system.at(1.0).make().config.keep_stopwords


def test_points_stand_at_the_crossings_and_the_lists_are_single_ones_too():
    size = grid.Size(12, 6, 10, 8.0)
    found = [
        equal_privacy_rows.Crossing(dpt.Setting("tem", {"oov": "keep"}, e), n, True)
        for n, e in ((0.1, 12.7), (0.5, None), (0.8, 20.0))
    ]
    points = equal_privacy.points_of("equal", "sst2", size, (1, 2), found)
    assert [(p.mechanism, p.epsilon, p.seed) for p in points] == [
        ("baseline", None, 1),
        ("baseline", None, 2),
        ("tem", 12.7, 1),
        ("tem", 12.7, 2),
    ]
    lists = equal_privacy.points_of("lists", "sst2", size, (1,), ())
    names = {tuple(p.options["lists"]) for p in lists[1:]}
    assert names == {("L0",), ("L1",), ("L2",), *equal_privacy_rows.SINGLE} and len(equal_privacy_rows.SINGLE) == 5
    assert len({p.id for p in lists}) == len(lists)


@pytest.mark.slow
def test_n_w_and_s_w_of_the_lists_are_those_of_the_closed_form():
    rows = equal_privacy.deniability_of_lists(words=2)
    geometric = [r for r in rows if r.options["noise"] == "geometric"]
    for row in geometric:
        if row.metric == "n_w":
            assert row.value == pytest.approx(math.tanh(row.epsilon / 2), abs=0.03)
    s_w = {r.options["lists"][0]: r.value for r in geometric if (r.metric, r.epsilon) == ("s_w", 0.1)}
    assert s_w["L1"] > s_w["L0"] > s_w["L2"], "more lists have more neighbours"
    assert all(r.low <= r.value <= r.high for r in rows)


@pytest.mark.slow
def test_the_command_measures_where_the_chance_is_the_same(light, tmp_path, capsys, monkeypatch):
    out, summary = tmp_path / "equal.jsonl", tmp_path / "equal.json"
    # Not those that pass through all words of the vocabulary, or a model: test_attacked has them.
    monkeypatch.setattr(equal_privacy, "ATTACKERS", ("attack_query",))
    given = ["equal", "--set", "builtin", "--max-texts", "5", "--mechanism", "diffractor", "--seeds", "1"]
    assert equal_privacy.main([*given, "--out", str(out), "--summary", str(summary)]) == 0
    found = results.read(summary)
    n_w = sorted(r.value for r in found.rows if r.metric == "n_w")
    assert n_w == pytest.approx([0.1, 0.3, 0.5], abs=1e-3)
    at = {c["n_w"]: c["epsilon"] for c in found.about["crossings"]}
    # The known words are all but a few, so that their ε is a little above that of N_w = tanh(ε/2).
    assert 0.2007 <= at[0.1] < 0.25 and 2.197 <= at[0.8] < 3.0
    both = ["--unknown-words", "keep", "--into", str(summary), "--out", str(tmp_path / "clear.jsonl")]
    assert equal_privacy.main([*given, *both, "--summary", str(tmp_path / "both.json")]) == 0
    joined = results.read(tmp_path / "both.json")
    assert {c["options"].get("oov"): c["epsilon"] for c in joined.about["crossings"] if c["n_w"] == 0.1}.keys() == {
        None,
        "keep",
    }
    kept = [r for r in joined.rows if r.options.get("oov") == "keep" and r.metric == "n_w"]
    assert len(kept) == 3 and len([r for r in joined.rows if r.metric == "n_w"]) == 6
    assert "--unknown-words keep" in joined.about["cut"] and joined.about["missing"] == {}
    capsys.readouterr()
    for module in (equal_privacy_rows, equal_privacy):
        monkeypatch.setattr(module, "bundled", lambda what: found if what == "equal" else None)
    row = min((r for r in found.rows if r.metric == "cosine" and r.epsilon), key=lambda r: r.epsilon)
    assert equal_privacy_rows.command(row).startswith(
        f"python -m dptext_core bench equal-privacy equal --point {row.point}"
    )
    assert equal_privacy.main(["equal", "--set", "builtin", "--point", row.point]) == 0
    said = capsys.readouterr().out
    assert said.count("inside") > 3 and "cosine" in said and "tokens" not in said
    anew, merged = tmp_path / "words.jsonl", tmp_path / "words.json"
    assert equal_privacy.main(["equal", "--words", "--out", str(anew), "--summary", str(merged)]) == 0
    assert results.read(merged).to_dict()["rows"] == found.to_dict()["rows"], "the same seed says the same"
    assert results.read(merged).about["crossings"] == found.about["crossings"]
    capsys.readouterr()
    for policy, points in (("random", 3), ("keep", 0)):
        assert equal_privacy.main(["equal", "--words", "--unknown-words", policy, "--list"]) == 0
        assert capsys.readouterr().out.count("diffractor") == points
    with pytest.raises(ConfigError, match="--into"):
        equal_privacy.main(["equal", "--words", "--into", str(merged), "--list"])
    with pytest.raises(ConfigError, match="which is missing"):
        equal_privacy.main(["lists", "--words", "--out", str(anew), "--summary", str(merged)])
    capsys.readouterr()
    with pytest.raises(ConfigError, match="no point 'none'"):
        equal_privacy.main(["equal", "--point", "none"])
    with pytest.raises(ConfigError, match="--mechanism"):
        equal_privacy.main(["equal", "--set", "builtin", "--mechanism", "none", "--list"])
    with pytest.raises(ConfigError, match="--summary"):
        equal_privacy.main(["lists"])


def test_answers_are_counted_at_the_same_chance_whatever_the_size_of_the_set(tmp_path, monkeypatch):
    space = random_space()
    monkeypatch.setattr(queries, "get_mechanism", lambda name, space, vectors=space, **o: on(vectors, name, **o))
    rows = list(queries.queries_at_equal_probability("minilm", space.words[:1], (5,), (0.1, 0.5, 0.8), repeats=50))
    assert [(r.k, round(r.p, 2)) for r in rows] == [(5, 0.5), (5, 0.8)], "of 5 words p₀ is 0.2 at least"
    assert rows[0].n is not None and rows[1].n is not None and rows[0].n > rows[1].n > 1
    assert rows[0].epsilon < rows[1].epsilon
    path = tmp_path / "queries.json"
    path.write_text(json.dumps({"rows": [{"word": "x", "k": 5, "epsilon": 1.0, "p": 0.2, "n": None}]}))
    assert queries_rows.MEASUREMENT.read(path)[0].n is None
