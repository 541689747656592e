"""The benchmark's grid, its runner and its summary: points, shards, going on after a kill, intervals, the command."""

from __future__ import annotations

import copy
import json
import math
import re
import shlex
from dataclasses import replace
from pathlib import Path

import disk
import numpy as np
import pytest
from scipy import stats

import dptext_core as dpt
from dptext_core.errors import ConfigError, InputError
from dptext_core.measure.metrics import measure
from dptext_lab.commands import bench_leaderboard, bench_run
from dptext_lab.measurements import equal_privacy
from dptext_lab.results import equal_privacy as equal_privacy_rows
from dptext_lab.results import summary as results
from dptext_lab.results.paired_comparison import unpack
from dptext_lab.results.rows import Gate, Row, RunLine
from dptext_lab.runner import grid, group_run, line_files, merging, original_texts, processes, run, tasks

FULL = grid.GRIDS["full"].points()


# --- the grid -------------------------------------------------------------------------------------------------------


def test_every_registered_mechanism_is_in_the_full_grid_and_has_a_cost():
    names = {spec.name for spec in dpt.mechanisms()}
    assert {p.mechanism for p in FULL} == names | {"baseline"} == set(grid.COST)


def test_every_option_is_one_that_the_mechanism_has():
    for group in grid.groups(FULL):
        if group[0].mechanism != "baseline":
            for epsilon in {p.epsilon for p in group}:
                dpt.get_mechanism(group[0].mechanism, epsilon=epsilon, **group[0].options)


def test_the_preset_of_the_benchmarks_is_what_they_run():
    points = grid.GRIDS["unknown-words"].points()
    ran = {p.mechanism: p.setting for p in reversed(points) if p.mechanism != BASE.mechanism}
    assert len(ran) == 8
    for name, setting in ran.items():
        assert dpt.Setting.of(name, preset="benchmark", epsilon=setting.epsilon).full() == setting.full(), name


#: What writes a text anew, or takes as long: one seed.
SLOW = {"dp-prompt", "dp-paraphrase", "dp-bart", "dp-mlm-plus"}


def test_points_have_ids_of_their_own_and_at_least_three_seeds():
    assert len({p.id for p in FULL}) == len(FULL)
    assert FULL[0].mechanism == "baseline" and FULL[0].data == "sst2"
    first = {}
    for p in FULL:
        assert first.setdefault(p.data, p.mechanism) == "baseline", "what it is compared with comes before it"
    seeds: dict[tuple[str, str], set[int]] = {}
    for p in FULL:
        if p.mechanism != "baseline":
            seeds.setdefault((p.mechanism, json.dumps({**p.named, "seed": 0})), set()).add(p.seed)
    for (mechanism, _), found in seeds.items():
        assert found == {1} if mechanism in SLOW else found in ({1, 2, 3}, {1, 2, 3, 4, 5})


def test_an_id_is_that_of_the_setting_and_of_nothing_else():
    size = grid.Size(10, 5, None, 3.0)
    point = grid.GridPoint(dpt.Setting("tem", {"oov": "keep", "beta": 0.1}, 1.0), "sst2", 1, size)
    same = dpt.Setting("tem", {"beta": 0.1, "oov": "keep"}, 1.0)
    assert point.id == grid.GridPoint(same, "sst2", 1, grid.Size(10, 5, None, 9.0)).id
    others = [
        grid.GridPoint(dpt.Setting("tem", {"oov": "keep"}, 1.0), "sst2", 1, size),
        grid.GridPoint(dpt.Setting("tem", point.options, 2.0), "sst2", 1, size),
        grid.GridPoint(dpt.Setting("tem", point.options, 1.0), "sst2", 2, size),
        grid.GridPoint(dpt.Setting("tem", point.options, 1.0), "sst2", 1, grid.Size(10, 5, 7, 3.0)),
    ]
    assert len({point.id, *(p.id for p in others)}) == 5


def test_ways_that_share_what_takes_long_to_prepare_are_one_group():
    """DP-MLM under both clipping ranges reads each text once; what takes no time to prepare stays apart."""
    of = [g for g in grid.groups(FULL) if (g[0].mechanism, g[0].data) == ("dp-mlm", "sst2")]
    assert len(of) == 1 and {tuple(p.options) for p in of[0]} == {(), ("clip",)}
    for group in grid.groups(FULL):
        if group[0].mechanism in ("custext", "diffractor"):
            assert len({p.setting.at(None) for p in group}) == 1


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_shards_partition_the_grid_into_whole_groups_of_like_cost(n):
    shards = [grid.shard(FULL, i, n) for i in range(1, n + 1)]
    assert sorted(p.id for s in shards for p in s) == sorted(p.id for p in FULL)
    assert sum(len(grid.groups(s)) for s in shards) == len(grid.groups(FULL))
    loads = [sum(map(grid.cost, grid.groups(s))) for s in shards]
    assert max(loads) < 1.15 * min(loads)


def test_a_share_that_is_none_is_refused():
    for i, n in ((0, 2), (3, 2)):
        with pytest.raises(ConfigError, match="from 1 to N"):
            grid.shard(FULL, i, n)
    both = grid.grid_by_name("full+tuned", True)
    assert {p.id for p in both.points()} == {*grid.GRIDS["full"].by_id, *grid.GRIDS["tuned"].by_id}
    with pytest.raises(ConfigError, match="Unknown grid 'none'"):
        grid.grid_by_name("full+none", True)
    with pytest.raises(ConfigError, match="such as 1/3"):
        bench_run.main(["--shard", "one", "--list"])


def letters(text: str) -> np.ndarray:
    """A bag of letters in place of the sentence encoder, which is slow to load."""
    counts = np.bincount([ord(c) % 64 for c in text] or [0], minlength=64).astype(np.float32)
    return counts / np.linalg.norm(counts)


# --- the file of points ---------------------------------------------------------------------------------------------


def as_json(point: grid.GridPoint, finished: str = "2030-01-01T00:00:00Z", **scores: float) -> dict:
    provenance = {
        "version": "1",
        "command": "c",
        "data_sha256": "d",
        "device": "cpu",
        "machine": "m",
        "stopwords": "s",
        "finished": finished,
    }
    more = {"dataset": {"title": point.data, "sha256": "d"}, "gates": []} if point.mechanism == "baseline" else {}
    return {
        "id": point.id,
        **point.named,
        "scores": scores,
        "errors": {k: 0.01 for k in scores},
        "counts": {k: 50 for k in scores},
        "outcomes": {},
        "seconds": 6.0,
        "tokens": 100,
        "provenance": provenance,
        **more,
    }


def line(point: grid.GridPoint, finished: str = "2030-01-01T00:00:00Z", **scores: float) -> RunLine:
    return RunLine.read(as_json(point, finished, **scores))


SIZE = grid.Size(4, 4, None, 3.0)
BASE = grid.GridPoint(dpt.Setting("baseline", {}, None), "sst2", 0, SIZE)
TEM = [grid.GridPoint(dpt.Setting("tem", {"oov": "keep"}, 1.0), "sst2", seed, SIZE) for seed in (1, 2, 3)]


def test_a_point_is_on_the_disk_before_the_next_one_is_measured(tmp_path, monkeypatch):
    seen = disk.watched(monkeypatch)
    path = tmp_path / "points.jsonl"
    writer = line_files.LineWriter(path)
    for number, point in enumerate(TEM[:2], 1):
        writer.write(line(point, cosine=0.5))
        assert len(seen) == number and seen[-1] == disk.Event("sync", path.name, path.stat().st_size)
    writer.close()


def test_a_torn_last_line_is_left_out_and_cut_off_before_the_next(tmp_path):
    path = tmp_path / "points.jsonl"
    for point in TEM[:2]:
        writer = line_files.LineWriter(path)
        writer.write(line(point, cosine=0.5))
        writer.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    assert [x.id for x in results.read_lines(path)] == [TEM[0].id]
    writer = line_files.LineWriter(path)
    writer.write(line(TEM[1], cosine=0.5))
    writer.close()
    assert path.read_bytes() == whole


def test_a_broken_line_elsewhere_is_named(tmp_path):
    path = tmp_path / "points.jsonl"
    path.write_text("{broken\n" + json.dumps(as_json(TEM[0])) + "\n")
    with pytest.raises(InputError, match="line 1"):
        results.read_lines(path)
    path.write_text(json.dumps(as_json(TEM[0]) | {"epsilon": 2.0}) + "\n")
    with pytest.raises(InputError, match="its id does not match its setting"):
        results.read_lines(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": None}, "must be objects"),
        ({"scores": {"cosine": "x"}}, "finite numbers"),
        ({"seconds": None}, "finite numbers"),
        ({"counts": {"cosine": 0.5}}, "whole numbers"),
        ({"provenance": {}}, "provenance needs version"),
        ({"id": 3}, "id must be a string"),
        ({"errors": {"cosine": True}}, "finite numbers or null"),
        ({"outcomes": {"cosine": "x"}}, "packed format"),
    ],
)
def test_a_line_of_another_shape_is_named(tmp_path, change, message):
    """Each of them once passed and failed later, where nobody could tell the file."""
    path = tmp_path / "points.jsonl"
    path.write_text(json.dumps(as_json(TEM[0], cosine=0.5) | change) + "\n")
    with pytest.raises(InputError, match=f"points.jsonl, line 1.*{message}"):
        results.read_lines(path)
    path.write_text(json.dumps({k: v for k, v in as_json(BASE).items() if k != "gates"}) + "\n")
    with pytest.raises(InputError, match="unprotected text needs"):
        results.read_lines(path)


def test_a_line_is_read_as_it_was_written():
    for found in (as_json(BASE, accuracy=0.8), as_json(TEM[0], cosine=0.5)):
        assert json.dumps(RunLine.read(found).to_dict()) == json.dumps(found)


# --- the summary ----------------------------------------------------------------------------------------------------


def at(found: RunLine, **provenance: str) -> RunLine:
    return replace(found, provenance=replace(found.provenance, **provenance))


def merged(*lines: RunLine) -> tuple[results.Results, list[str]]:
    return merging.merge(lines, [BASE, *TEM], "command", "cut")


def test_a_row_is_the_mean_over_seeds_with_both_errors_in_its_interval():
    found, notes = merged(line(BASE), *(line(p, cosine=v) for p, v in zip(TEM, (0.50, 0.51, 0.52), strict=True)))
    (row,) = found.rows
    assert notes == []
    assert (row.value, row.n, row.seeds, row.point) == (0.51, 50, 3, TEM[0].id)
    # Student's t with 2 degrees of freedom over the seeds, and 1.96 standard errors of 0.01 over the texts.
    both = math.hypot(stats.t.ppf(0.975, 2) * 0.01 / math.sqrt(3), 1.96 * 0.01)
    assert (row.value - row.low, row.high - row.value) == pytest.approx((both, both), abs=1e-6)
    found, _ = merged(line(BASE), *(line(p, cosine=0.51) for p in TEM))
    assert found.rows[0].high - found.rows[0].value == pytest.approx(0.0196, abs=1e-6)


def test_what_is_measured_once_is_not_counted_as_seeds():
    """Every seed's line repeats what no seed decides; a row says that it was measured once."""
    words = {"n_w": 0.5, "s_w": 20.0, "attack_query": 0.3, "attack_bayes": 0.2}
    found, _ = merged(line(BASE), *(line(p, cosine=0.5, **words) for p in TEM))
    rows = {r.metric: r for r in found.rows}
    assert {m: rows[m].seeds for m in words} == dict.fromkeys(words, 1) and rows["cosine"].seeds == 3
    assert all(rows[m].runs == () and rows[m].measured == "measured once" for m in words)
    assert rows["cosine"].measured == "3 seeds" and replace(rows["cosine"], seeds=1).measured == "one seed"
    assert rows["n_w"].high - rows["n_w"].value == pytest.approx(0.0196, abs=1e-6), "the interval is that over words"


def test_no_bundled_row_of_words_claims_several_seeds():
    found = [results.bundled(), *map(equal_privacy_rows.bundled, ("equal", "lists"))]
    rows = [r for one in found if one is not None for r in one.rows if measure(r.metric).once]
    assert len(rows) > 700 and {r.seeds for r in rows} == {1} and not any(r.runs for r in rows)


def test_a_row_keeps_each_seed_and_what_each_text_has():
    from dptext_lab.results.paired_comparison import unpack

    texts = ("0 1 1 1100", "0 1 1 1010", "0 1 1 1000")
    lines = [
        replace(line(p, accuracy=v), outcomes={"accuracy": t})
        for p, v, t in zip(TEM, (0.5, 0.5, 0.25), texts, strict=True)
    ]
    (row,) = merged(line(BASE), *lines)[0].rows
    assert row.runs == (0.5, 0.5, 0.25) and unpack(row.texts) == pytest.approx([1, 1 / 3, 1 / 3, 0])
    assert Row.read(json.loads(json.dumps(row.to_dict()))) == row
    (row,) = merged(line(BASE), lines[0], replace(lines[1], outcomes={}))[0].rows
    assert row.texts == "" and row.runs == (0.5, 0.5), "texts of some seeds only are no mean over the seeds"


def test_n_w_that_is_estimated_has_the_error_of_its_shared_draws():
    mvc = [grid.GridPoint(dpt.Setting("mvc", {"oov": "keep"}, 50.0), "sst2", seed, SIZE) for seed in (1, 2, 3)]
    lines = [line(BASE), *(line(p, n_w=0.5) for p in (*mvc, *TEM))]
    found, _ = merging.merge(lines, [BASE, *mvc, *TEM], "c", "")
    half = {r.mechanism: r.high - 0.5 for r in found.rows}
    assert half["tem"] == pytest.approx(1.96 * 0.01, abs=1e-6)
    assert half["mvc"] == pytest.approx(1.96 * math.hypot(0.01, 0.5 / math.sqrt(200)), abs=1e-6)


def test_another_file_is_not_overwritten(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text('{"a": 1}')
    with pytest.raises(InputError, match="has no points"):
        line_files.LineWriter(path)
    assert path.read_text() == '{"a": 1}'


def test_options_that_would_be_ignored_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="--merge does not work with"):
        bench_run.main(["--merge", "a.jsonl", "--summary", "b.json", "--list"])
    with pytest.raises(ConfigError, match="only with --merge"):
        bench_run.main(["--out", str(tmp_path / "a.jsonl"), "--summary", "b.json"])
    for more in (["--shard", "1/2"], ["--merge", "a.jsonl"]):
        with pytest.raises(ConfigError, match="Remove"):
            bench_run.main(["--point", "x", *more])
    path = tmp_path / "points.jsonl"
    setup = group_run.RunConfig(command="c")
    here = at(line(TEM[0]), stopwords=group_run.stop_list_name(None))
    path.write_text(json.dumps(here.to_dict()) + "\n")
    with pytest.raises(InputError, match="Use the same options"):
        run.run([TEM[0]], group_run.RunConfig(command="c --perplexity"), path)
    assert run.run([TEM[0]], setup, path) == 0


def test_an_interval_that_is_not_known_is_none_and_none_leaves_its_bounds():
    assert merging.interval("bleu", [3.0], [None]) is None
    assert merging.interval("accuracy", [0.99], [0.05]) == (pytest.approx(0.892), 1.0)
    assert merging.interval("n_w", [0.01], [0.05])[0] == 0.0
    assert merging.interval("relative_gain_static", [0.0], [0.1]) == (pytest.approx(-0.196), pytest.approx(0.196))


def test_the_newest_of_two_lines_counts_and_missing_points_are_counted():
    old, new = line(TEM[0], "2030-01-01T00:00:00Z", cosine=0.1), line(TEM[0], "2030-01-02T00:00:00Z", cosine=0.9)
    for order in ((old, new), (new, old)):
        found, notes = merged(line(BASE), *order)
        assert found.rows[0].value == 0.9
        assert notes == [
            "Missing points of the grid: 2 of 4.",
            "Lines that repeat a point: 1. The newest score counts.",
        ]
    once, twice = merged(line(BASE), new), merged(line(BASE), new, line(BASE), new)
    assert once[0].about == twice[0].about and once[1] == twice[1], "a file that is named twice is read once"


def test_a_score_that_only_the_older_line_has_is_kept():
    """What a run with --finetune adds to points that another run measured joins them, with its gates."""

    def gated(*metrics: str) -> tuple[Gate, ...]:
        return tuple(Gate("sst2", "t", "utility", m, 0.9, 0.5, 0.1, 50, True) for m in metrics)

    old, new = "2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"
    tuned = (
        line(TEM[0], old, accuracy=0.1, accuracy_finetuned=0.8),
        replace(line(BASE, old), gates=gated("accuracy_finetuned")),
    )
    plain = line(TEM[0], new, accuracy=0.9, cosine=0.7), replace(line(BASE, new), gates=gated("accuracy"))
    for order in ((*tuned, *plain), (*plain, *tuned)):
        found, _ = merged(*order)
        assert {r.metric: r.value for r in found.rows} == {"accuracy": 0.9, "accuracy_finetuned": 0.8, "cosine": 0.7}
        assert [g.metric for g in found.gates] == ["accuracy", "accuracy_finetuned"]


def test_lines_that_do_not_belong_together_are_refused():
    other = at(line(TEM[1], cosine=0.5), stopwords="another")
    with pytest.raises(InputError, match="several lists of stop words"):
        merged(line(BASE), line(TEM[0], cosine=0.5), other)
    with pytest.raises(InputError, match="--only baseline"):
        merged(line(TEM[0], cosine=0.5))
    with pytest.raises(InputError, match="None of these lines"):
        merging.merge([line(TEM[0])], FULL, "c", "cut")


def test_a_summary_is_read_as_it_was_written_and_its_faults_are_named(tmp_path):
    found, _ = merged(line(BASE, accuracy=0.8), line(TEM[0], cosine=0.5))
    path = tmp_path / "results.json"
    results.write(found, path)
    assert results.read(path).to_dict() == found.to_dict()
    for change, message in (
        (lambda x: x["rows"][0].pop("seeds"), "a row needs exactly"),
        (lambda x: x["rows"][0].update(value=None), "value must be a finite number"),
        (lambda x: x["rows"][0].update(low=0.99, high=0.999), "outside its interval"),
        (lambda x: x["about"].pop("cut"), "“about” needs command"),
        (lambda x: x["about"].update(missing=0), "“missing” must be an object"),
        (lambda x: x.update(more=1), "needs exactly"),
        (lambda x: x.update(rows=None), "must be lists"),
        (lambda x: x["rows"][0].update(mechanism=7), "mechanism must be a string"),
        (lambda x: x["rows"][0].update(seeds="3"), "whole numbers"),
        (lambda x: x["gates"].append({}), "a gate needs exactly"),
    ):
        broken = copy.deepcopy(json.loads(path.read_text(encoding="utf-8")))
        change(broken)
        (tmp_path / "broken.json").write_text(json.dumps(broken), encoding="utf-8")
        with pytest.raises(InputError, match=message):
            results.read(tmp_path / "broken.json")


# --- the command ----------------------------------------------------------------------------------------------------


def test_what_was_added_to_a_grid_joins_an_older_summary(tmp_path, capsys):
    base, tem, mvc = line(BASE, cosine=1.0), TEM, [p for p in FULL if p.mechanism == "mvc"][:3]
    old, _ = merging.merge([base, *(line(p, cosine=0.5) for p in tem)], [BASE, *tem, *mvc], "c", "cut")
    new, _ = merging.merge([base, *(line(p, cosine=0.6) for p in mvc)], [BASE, *mvc], "another", "cut")
    declared = [BASE, *tem, *mvc]
    retokenized = {name: one | {"tokens": 9} for name, one in new.about["data"].items()}
    both = merging.join_summaries(old, replace(new, about=new.about | {"data": retokenized}), declared, "new cut")
    plain, before = ([r for r in found.rows if r.mechanism == BASE.mechanism] for found in (both, old))
    assert plain == before, "unprotected text is not counted twice"
    assert {r.mechanism for r in both.rows} == {r.mechanism for r in (*old.rows, *new.rows)}
    assert (both.about["points"], both.about["missing"], both.about["cut"]) == (len(declared), {}, "new cut")
    assert both.about["command"] == "c; another"
    paths = [tmp_path / name for name in ("old.json", "lines.jsonl", "both.json")]
    results.write(old, paths[0])
    newer, _ = merging.merge([base, *(line(p, cosine=0.7) for p in mvc)], [BASE, *mvc], "c", "cut")
    again = merging.join_summaries(both, newer, declared, "")
    assert again.about["points"] == both.about["points"] and len(again.rows) == len(both.rows)
    assert again.about["command"] == both.about["command"], "each command once"
    assert {r.value for r in again.rows if r.mechanism == "mvc" and r.metric == "cosine"} == {0.7}
    fewer = replace(both, rows=tuple(replace(r, seeds=9) if r.mechanism == "mvc" else r for r in both.rows))
    with pytest.raises(InputError, match="fewer seeds"):
        merging.join_summaries(fewer, newer, declared, "")
    other = replace(new, about=new.about | {"stopwords": "another list"})
    with pytest.raises(InputError, match="differ in stopwords"):
        merging.join_summaries(old, other, declared, "")
    files = replace(new, about=new.about | {"data": {k: {"sha256": "x"} for k in new.about["data"]}})
    with pytest.raises(InputError, match="different files"):
        merging.join_summaries(old, files, declared, "")


def test_a_joined_summary_names_the_points_that_it_lacks():
    base, mvc = line(BASE, cosine=1.0), [p for p in FULL if p.mechanism == "mvc"][:3]
    lacking = [replace(TEM[0], setting=TEM[0].setting.at(2.0), seed=seed) for seed in (1, 2)]
    # One seed of three is measured for TEM at ε = 1, and nothing at ε = 2.
    old, _ = merging.merge([base, line(TEM[0], cosine=0.5)], [BASE, TEM[0]], "c", "cut")
    new, _ = merging.merge([base, *(line(p, cosine=0.6) for p in mvc)], [BASE, *mvc], "c", "cut")
    both = merging.join_summaries(old, new, [BASE, *TEM, *mvc, *lacking], "new cut")
    assert (both.about["points"], both.about["missing"], both.about["cut"]) == (
        2 + len(mvc),
        {"tem (oov keep)": 4},
        "new cut",
    )
    # Points that are measured now, or that the grid no longer declares, are not named.
    rest, _ = merging.merge([base, *(line(p, cosine=0.7) for p in TEM)], [BASE, *TEM], "c", "cut")
    ends = merging.join_summaries(both, rest, [BASE, *TEM], both.about["cut"])
    assert (ends.about["missing"], ends.about["cut"]) == ({}, "new cut")


def test_what_is_left_is_told_from_what_was_estimated_and_then_from_what_it_took():
    at_first = processes.seconds_left(4.0, 0.06, 60.0)
    assert 60 < at_first < 120, "a slow first point, at which models were loaded, is no measure of the others"
    assert processes.seconds_left(100.0, 30.0, 60.0) == pytest.approx(30 * 106 / 36), (
        "twice as slow as estimated, or nearly"
    )
    assert processes.seconds_left(0.0, 0.0, 60.0, jobs=2) == pytest.approx(30.0)
    assert processes.seconds_left(100.0, 60.0, 60.0) == 0.0 == processes.seconds_left(1.0, 0.0, 0.0)


class Killed(BaseException):
    """What nothing that runs takes for an error of its own."""


def test_the_command_says_what_is_wrong(tmp_path):
    for args, error, message in (
        (["--only", "nothing/like/it"], ConfigError, "See --list"),
        (["--max-texts", "0", "--list"], ConfigError, "--max-texts must be at least 1"),
        (["--grid", "quick"], ConfigError, "--out FILE"),
        (["--merge", str(tmp_path / "none.jsonl"), "--summary", "x"], InputError, "There is no file"),
        (["--point", "0" * 12], ConfigError, "There is no point"),
        (["--grid", "full", "--only", "baseline", "--out", str(tmp_path / "x.jsonl")], InputError, "--data"),
    ):
        with pytest.raises(error, match=message):
            bench_run.main(args)


def test_points_are_not_written_over_by_their_summary(tmp_path):
    points, other = tmp_path / "points.jsonl", tmp_path / "other.json"
    points.write_text(json.dumps(line(BASE).to_dict()) + "\n", encoding="utf-8")
    other.symlink_to(points)
    before = points.read_bytes()
    for summary in (points, other):
        with pytest.raises(InputError, match="would overwrite"):
            bench_run.main(["--merge", str(points), "--summary", str(summary)])
    with pytest.raises(ConfigError, match="same file"):
        equal_privacy.main(["equal", "--out", str(points), "--summary", str(other)])
    assert points.read_bytes() == before


def test_settings_of_ones_own_are_run_in_the_place_of_a_grid():
    tem, mine = dpt.Setting("tem"), dpt.Setting("custext", {"k": 5})
    made = grid.of_settings([tem, mine], ["sst2"], seeds=(1, 2))
    points = made.points()
    assert [p.mechanism for p in points[:2]] == ["baseline"] * 2 and len(points) == 2 + 2 * 2 * grid.LEVELS
    low, high, _ = dpt.mechanism_class("tem").epsilon_range()
    levels = sorted({p.epsilon for p in points if p.mechanism == "tem"})
    assert levels[0] == pytest.approx(low, rel=0.01) and levels[-1] == pytest.approx(high, rel=0.01)
    named = grid.of_settings([mine], ["sst2"], [[1.0]])
    own = grid.of_settings([tem, mine], ["sst2"], [[15.0, 20.0], [1.0]], seeds=(1,)).points()[1:]
    assert [(p.mechanism, p.epsilon) for p in own] == [("tem", 15.0), ("tem", 20.0), ("custext", 1.0)]
    alike = grid.of_settings([tem, mine], ["sst2"], [[15.0]], seeds=(1,)).points()[1:]
    assert [(p.mechanism, p.epsilon) for p in alike] == [("tem", 15.0), ("custext", 15.0)]
    same = {p.id for p in FULL if p.setting.mechanism == "baseline" and p.data == "sst2"}
    assert {p.id for p in named.points() if p.mechanism == "baseline"} <= same, "beside the bundled unprotected text"
    for wrong, said in (
        (["--setting", "no-such"], "Unknown mechanism"),
        (["--setting", "custext:q=3"], "not an option of custext"),
        (["--setting", "custext", "--epsilon", "-1"], "epsilon"),
        (["--setting", "tem", *["--setting", "mvc"] * 2, *["--epsilon", "9"] * 2], "got 2 lists for 3"),
        (["--setting", "custext", "--set", "nowhere"], "no data set 'nowhere'"),
        (["--setting", "custext", "--seeds", "0"], "--seeds"),
        (["--setting", "custext", "--grid", "full"], "does not work with --grid"),
        (["--epsilon", "3"], "only with --setting"),
    ):
        with pytest.raises(ConfigError, match=said):
            bench_run.main([*wrong, "--list"])


@pytest.mark.slow
def test_results_of_ones_own_are_the_same_after_a_kill_and_stand_beside_the_bundled(
    light, tmp_path, monkeypatch, capsys
):
    """What is written is on the disk by the kill, as another test shows."""
    monkeypatch.setattr(grid, "ATTACKERS", ())  # the next section has them
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    asked = ["--setting", "custext:k=5", "--epsilon", "2,9", "--seeds", "1", "--max-texts", "10"]
    assert bench_run.main([*asked, "--out", str(whole)]) == 0
    write = line_files.LineWriter.write

    def until_killed(self, found):
        if len(results.read_lines(killed)) == 2:
            raise Killed
        write(self, found)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(line_files.LineWriter, "write", until_killed)
        bench_run.main([*asked, "--out", str(killed)])
    with killed.open("ab") as file:
        file.write(b'{"id": "torn')
    capsys.readouterr()
    assert bench_run.main([*asked, "--out", str(killed)]) == 0
    assert "3 points, 2 done, 1 to run" in capsys.readouterr().err
    lines, rows = results.read_lines(whole), {}
    attacked = {"f1_static", "f1_adaptive", "relative_gain_static", "relative_gain_adaptive"}
    for found in lines:
        assert attacked | {f"{name}_bag" for name in attacked} | {"accuracy", "accuracy_bag"} <= set(found.scores)
        assert "tokens_per_second" not in found.scores and len(found.outcomes["f1_static_bag"]) == len("0 1 1 ") + 10
    assert {g.metric for x in lines for g in x.gates or ()} == {"accuracy", "f1", "accuracy_bag", "f1_bag"}
    for path in (whole, killed):
        assert bench_run.main([*asked, "--merge", str(path), "--summary", str(path.with_suffix(".json"))]) == 0
        found = results.read(path.with_suffix(".json"))
        rows[path] = [r for r in found.rows if r.task != "speed"]  # seconds are measured anew
    assert rows[whole] == rows[killed] and {"cosine", "bleu", "n_w", "s_w"} <= {r.metric for r in rows[whole]}
    assert "--setting custext:k=5 --epsilon 2,9" in found.about["command"]
    bundled = results.bundled()
    assert results.displayed_results() is bundled and "builtin" not in bundled.about["data"]
    monkeypatch.setenv("DPTEXT_RESULTS", str(whole.with_suffix(".json")))
    shown = results.displayed_results()
    mine = [r for r in shown.rows if r.data == "builtin" and r.mechanism == "custext" and r.metric == "cosine"]
    assert [(r.epsilon, dict(r.options), r.seeds) for r in mine] == [(2.0, {"k": 5}, 1), (9.0, {"k": 5}, 1)]
    assert mine[0].value < mine[1].value, "more ε, more of the original"
    assert shown.rows[: len(bundled.rows)] == bundled.rows and results.displayed_results() is shown
    capsys.readouterr()
    (level,) = [r.value for r in shown.rows if r.data == "builtin" and (r.metric, r.epsilon) == ("n_w", 9.0)]
    bench_leaderboard.main(["--set", "builtin", "--privacy", "n_w", "--at", str(level)])
    assert "  1  " in (said := capsys.readouterr().out) and "CusText, at ε 9" in said
    monkeypatch.setenv("DPTEXT_RESULTS", str(tmp_path / "none.json"))
    with pytest.raises(InputError, match="DPTEXT_RESULTS names"):
        results.displayed_results()


def test_results_of_other_files_or_stop_words_do_not_stand_beside_each_other():
    bundled = results.bundled()
    same = replace(bundled, rows=bundled.rows[:3])
    assert results.combine(bundled, same).rows == bundled.rows
    other = replace(same, about=bundled.about | {"stopwords": "none"})
    with pytest.raises(InputError, match="differ in stopwords"):
        results.combine(bundled, other)
    changed = {"sst2": bundled.about["data"]["sst2"] | {"sha256": "0"}}
    with pytest.raises(InputError, match="different files of sst2"):
        results.combine(bundled, replace(same, about=bundled.about | {"data": changed}))


def test_a_list_of_stop_words_that_is_another_is_refused(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("the\n")
    path = tmp_path / "points.jsonl"
    writer = line_files.LineWriter(path)
    writer.write(line(TEM[0]))
    writer.close()
    with pytest.raises(InputError, match="Use the same list"):
        run.run(TEM, group_run.RunConfig(stopwords=str(words)), path)


def test_a_list_of_the_full_grid_needs_no_data(capsys):
    assert bench_run.main(["--grid", "full", "--list", "--shard", "2/3"]) == 0
    assert "core-minutes" in capsys.readouterr().out


def test_scores_of_a_task_that_cannot_be_done_make_no_rows():
    def gate(role: str, enters: bool) -> Gate:
        return Gate("sst2", "t", role, "f1", 0.5, 0.4, 0.1, 50, enters)

    scores = {"f1": 0.5, "pp_plus": 1.0, "f1_static": 0.4, "relative_gain_static": 0.1, "cosine": 0.9, "n_w": 0.5}
    for closed, gone in (
        ("utility", {"f1", "pp_plus", "relative_gain_static"}),
        ("privacy", {"f1_static", "relative_gain_static"}),
        (None, set()),
    ):
        base = replace(line(BASE, f1=0.5), gates=tuple(gate(r, r != closed) for r in ("utility", "privacy")))
        found, _ = merging.merge([base, line(TEM[0], **scores)], [BASE, *TEM], "c", "")
        assert {r.metric for r in found.rows if r.mechanism == "tem"} == set(scores) - gone
        assert [g.role for g in found.gates] == ["utility", "privacy"], "but their gates are told"


def test_each_classifier_has_gates_of_its_own():
    gates = [Gate("sst2", "t", "utility", m, 0.5, 0.4, 0.1, 50, m == "f1_bag") for m in ("f1", "f1_bag")]
    base = replace(line(BASE, f1=0.5), gates=tuple(gates))
    scores = {"f1": 0.5, "f1_bag": 0.6, "f1_finetuned": 0.7}
    found, _ = merging.merge([base, line(TEM[0], **scores)], [BASE, *TEM], "c", "")
    # One without gates of its own follows the first.
    assert {r.metric for r in found.rows if r.mechanism == "tem"} == {"f1_bag"}


# --- what is told of words, by itself ---


WORDS_SIZE = grid.Size(10, 6, 9, 9.0)
WORDS_POINTS = [grid.GridPoint(dpt.Setting("custext", {"oov": "keep"}, 5.0), "builtin", s, WORDS_SIZE) for s in (1, 2)]


@pytest.fixture
def quick_embedding(monkeypatch):
    monkeypatch.setattr(original_texts, "embed", lambda texts: np.stack([letters(text) for text in texts]))
    original_texts.load_originals.cache_clear()
    yield
    original_texts.load_originals.cache_clear()


def test_words_by_themselves_are_those_of_a_whole_run(quick_embedding, monkeypatch):
    setup = group_run.RunConfig(command="c", attackers=("attack_nearest", "attack_query"))
    whole = list(group_run.run_group(WORDS_POINTS, setup))
    original_texts.load_originals.cache_clear()
    monkeypatch.setattr(original_texts, "embed", None)  # texts are not looked at
    alone = list(group_run.run_group(WORDS_POINTS, replace(setup, words=True)))
    for a, b in zip(whole, alone, strict=True):
        told = {m: x for m, x in a.scores.items() if measure(m).kind == "deniability"}
        assert set(told) == {"n_w", "s_w", "attack_nearest", "attack_query"} and b.scores == told and a.id == b.id
        assert b.errors == {m: a.errors[m] for m in told} and b.counts == {m: a.counts[m] for m in told}
    near = [x.scores["attack_nearest"] for x in alone]
    assert near[0] != near[1], "each seed's rewrites are looked at"
    assert alone[0].scores["n_w"] == alone[1].scores["n_w"]


@pytest.mark.parametrize("name", ["diffractor", "dp-mlm"])
def test_words_are_of_the_same_rewrites_however_they_are_read(name, quick_embedding, tiny_model, monkeypatch):
    """What is slow to prepare is read text by text, in the order of the words that are looked at."""
    seen: dict[bool, list] = {}
    options = {"model": tiny_model} if name == "dp-mlm" else {}
    point = grid.GridPoint(dpt.Setting(name, options, 5.0), "builtin", 1, WORDS_SIZE)
    for only in (False, True):
        taken: list = []
        monkeypatch.setattr(group_run.Words, "take", lambda _, e, seed, i, result, t=taken: t.append((i, result.text)))
        monkeypatch.setattr(group_run.Words, "score", lambda *_: None)
        list(group_run.run_group([point], group_run.RunConfig(command="c", words=only)))
        wanted = group_run.words_of(original_texts.load_originals("builtin", WORDS_SIZE, None), {}).wanted
        seen[only] = [pair for pair in taken if pair[0] in wanted]
    assert seen[True] == seen[False] and [i for i, _ in seen[True]] == list(wanted)


def test_words_stand_anew_in_a_summary_whose_other_rows_stay(tmp_path, capsys):
    words = {"n_w": 0.5, "attack_mask": 0.2}
    old, _ = merged(line(BASE), *(line(p, cosine=0.5, **words) for p in TEM))
    later = "2031-01-01T00:00:00Z"
    lines = [line(p, later, n_w=0.6, attack_mask=x) for p, x in zip(TEM, (0.1, 0.2, 0.3), strict=True)]
    new = merging.replace_word_rows(old, lines)
    before, after = ({r.metric: r for r in x.rows if r.mechanism == "tem"} for x in (old, new))
    assert list(before) == list(after) and after["cosine"] is before["cosine"]
    assert (after["n_w"].value, after["n_w"].seeds) == (0.6, 1)
    assert after["attack_mask"].runs == (0.1, 0.2, 0.3) and after["attack_mask"].measured == "3 seeds"
    mask = {r.metric: r for r in merging.replace_word_rows(old, lines, ["attack_mask"]).rows if r.mechanism == "tem"}
    assert mask == before | {"attack_mask": after["attack_mask"]}
    assert new.about["finished"] == later and new.about["machine"] == old.about["machine"]
    other = grid.GridPoint(dpt.Setting("tem", {"oov": "keep"}, 99.0), "sst2", 1, SIZE)
    with pytest.raises(InputError, match="no rows of tem on sst2 at ε = 99"):
        merging.replace_word_rows(old, [line(other, n_w=0.5)])
    changed = replace(lines[0], provenance=replace(lines[0].provenance, data_sha256="other"))
    with pytest.raises(InputError, match="different files of sst2"):
        merging.replace_word_rows(old, [changed])
    changed = replace(lines[0], provenance=replace(lines[0].provenance, stopwords="others"))
    with pytest.raises(InputError, match="differ in stopwords"):
        merging.replace_word_rows(old, [changed])
    with pytest.raises(InputError, match="have no points"):
        merging.replace_word_rows(old, [])
    own = bench_run._setup(bench_run._parser().parse_args(["--words", "attack_mask"]), grid.GRIDS["full"])
    assert own.words and own.attackers == ("attack_mask",) and own.command.endswith("--words attack_mask")
    (tmp_path / "none.jsonl").touch()
    with pytest.raises(ConfigError, match="Name it with --into"):
        bench_run.main(["--words", "--merge", str(tmp_path / "none.jsonl"), "--summary", str(tmp_path / "s.json")])


# --- one point again ------------------------------------------------------------------------------------------------


@pytest.fixture
def remembered(monkeypatch, tmp_path):
    """A bundled summary of one builtin point of a size that no grid has, and its lines."""
    point = grid.GridPoint(dpt.Setting("diffractor", {"oov": "keep"}, 1.0), "builtin", 1, grid.Size(10, 6, 9, 9.0))
    monkeypatch.setattr(original_texts, "embed", lambda texts: np.stack([letters(text) for text in texts]))
    original_texts.load_originals.cache_clear()
    (found,) = group_run.run_group([point], group_run.RunConfig(command="c"))
    base = grid.GridPoint(dpt.Setting("baseline", {}, None), "builtin", 1, point.size)
    (plain,) = group_run.run_group([base], group_run.RunConfig(command="c"))
    summary, _ = merging.merge([plain, found], [base, point], "c", "")
    monkeypatch.setattr(results, "bundled", lambda: summary)
    yield point, found, summary
    original_texts.load_originals.cache_clear()


def test_every_row_is_measured_again_as_it_is_printed(remembered, capsys, monkeypatch):
    from dptext_lab.results.curves import command as printed

    point, found, summary = remembered
    row = next(r for r in summary.rows if r.metric == "cosine" and r.mechanism != "baseline")
    again = shlex.split(printed(row))
    assert again[3:7] == ["bench", "run", "--point", point.id]
    assert bench_run.main(["--point", point.id]) == 0
    said = capsys.readouterr().out
    assert all(f"{metric} " in said for metric in found.scores)
    assert f"bundled {row.value:g} ({row.low:g} to {row.high:g}, {row.measured}): inside" in said
    held = [r for r in summary.rows if r.mechanism == "diffractor" and r.low is not None]
    assert f"{len(held)} of {len(held)} metrics are inside" in said and "outside" not in said
    moved = [replace(r, value=0.0, low=-0.1, high=0.0) if r.metric == "cosine" else r for r in summary.rows]
    monkeypatch.setattr(results, "bundled", lambda: replace(summary, rows=tuple(moved)))
    bench_run.main(["--point", point.id])
    assert "(-0.1 to 0, one seed): outside" in capsys.readouterr().out
    bench_run.main(["--point", point.id, "--seed", "77"])
    other = capsys.readouterr().out
    assert "seed 77" in other and "identical" not in re.search("^cosine .*$", other, re.MULTILINE)[0]
    with pytest.raises(ConfigError, match="only with --point"):
        bench_run.main(["--seed", "3", "--list"])


def test_a_trained_encoder_is_trained_once_on_unprotected_text_and_has_a_gain(monkeypatch):
    """The encoder is played by one that guesses all of the first class; the gain is then the attacker's loss."""
    trained = []

    def first_class(train, train_y, test, **options):
        trained.append(train[0])
        return [train_y[0]] * len(test)

    monkeypatch.setattr(original_texts, "embed", lambda texts: np.stack([letters(text) for text in texts]))
    monkeypatch.setattr(tasks, "finetune", first_class)
    monkeypatch.setattr(group_run, "_encoder_guesses", {})
    original_texts.load_originals.cache_clear()
    size = grid.Size(10, 6, 9, 9.0)
    points = [grid.GridPoint(dpt.Setting("diffractor", {"oov": "keep"}, e), "builtin", 1, size) for e in (0.5, 5.0)]
    setup = group_run.RunConfig(command="c", finetune="x")
    (plain,) = group_run.run_group([grid.GridPoint(dpt.Setting(grid.BASELINE, {}, None), "builtin", 1, size)], setup)
    found = list(group_run.run_group(points, setup))
    original_texts.load_originals.cache_clear()
    assert len(trained) == 3, "on unprotected text once, and on both rewrites"
    assert [g.metric for g in plain.gates if g.metric.endswith("_finetuned")] == ["accuracy_finetuned"]
    assert "accuracy_finetuned" in plain.scores and "relative_gain_static_finetuned" not in plain.scores
    for line in found:
        for attacker in ("static", "adaptive"):
            now, before = (unpack(o).mean() for o in (line.outcomes[f"f1_{attacker}"], plain.outcomes["f1_static"]))
            assert line.scores[f"relative_gain_{attacker}_finetuned"] == pytest.approx(1 - now / before)


#: Made by ``bench run --grid quick --out FILE`` and ``bench run --grid quick --merge FILE --summary FILE``.
#: Rows of N_w and S_w of word mechanisms were made again, since unknown words count.
QUICK = Path(__file__).with_name("quick_points.json")


@pytest.mark.slow
def test_a_point_is_measured_again_within_its_intervals(monkeypatch, capsys):
    whole = results.read(QUICK)
    monkeypatch.setattr(results, "bundled", lambda: whole)
    point = next(r.point for r in whole.rows if r.mechanism == "diffractor")
    bench_run.main(["--point", point])
    said = capsys.readouterr().out
    matches = re.findall(r"^(\w+) +([-\d.e+]+) .*: (inside|outside)", said, re.MULTILINE)
    assert len(matches) >= 16 and {where for *_, where in matches} == {"inside"}, said
