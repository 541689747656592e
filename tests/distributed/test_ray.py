"""Workers on Ray clusters of their own: the same rows as on one machine, also where a node dies in the middle."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import dptext_core as dpt
from dptext_core import cli
from dptext_core.data import tables
from dptext_core.data.rewriting import rewrite_data
from dptext_core.data.workers import blocks
from dptext_core.distributed import actors, connection

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
WORDS = ["doctor", "nurse", "letter", "house", "river", "music", "window", "garden", "friend"]


def rows(tmp_path: Path, n: int) -> tables.Source:
    path = tmp_path / "data.jsonl"
    texts = (f"My {WORDS[i % 9]} saw a {WORDS[i * 5 % 7]} and Qzkv{i % 3}." for i in range(n))
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return tables.source(path, ("text",))


@pytest.fixture(scope="module")
def one_machine():
    """A cluster that the commands of this module share, as each would make its own."""
    with connection.connected(2) as ray:
        yield ray


def test_a_cluster_of_its_own_listens_nowhere_else_and_tells_nobody(one_machine):
    (node,) = one_machine.nodes()
    assert node["NodeManagerAddress"] == "127.0.0.1" and os.environ["RAY_AUTH_MODE"] == "token"
    from ray._common.usage.usage_lib import usage_stats_enabled

    assert not usage_stats_enabled()
    folder = Path(one_machine._private.worker._global_node.get_temp_dir_path())
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("custext", {"epsilon": 2.0, "strategy": "dataset", "oov": "random"}),
        ("dp-mlm", {"epsilon": 60.0, "model": "tiny"}),
    ],
)
def test_seeded_rows_are_those_of_one_machine(tmp_path, tiny_model, one_machine, name, options):
    if "model" in options:
        options = options | {"model": tiny_model}
    data, m = rows(tmp_path, 40), dpt.get_mechanism(name, **options)
    alone = rewrite_data(data, m, tmp_path / "alone", seed=7)
    for n, size in ((1, 16), (2, 5)):
        out = tmp_path / f"{n}-{size}"
        assert blocks.rewrite_data(data, m, out, actors.ray_workers(n), seed=7, block=size) == alone
        assert (out / "rows.jsonl").read_bytes() == (tmp_path / "alone" / "rows.jsonl").read_bytes()


def test_workers_whose_model_is_missing_say_so(tmp_path, one_machine):
    data, m = rows(tmp_path, 4), dpt.get_mechanism("custext", epsilon=2.0)
    orders = blocks.Orders(dpt.Setting("dp-mlm", {"model": "/nowhere/model"}, 1.0), {}, "text", (), None)
    with actors.ray_workers(1)(orders) as workers, pytest.raises(dpt.DPTextError, match="nowhere"):
        while not workers.take(5.0):
            pass
    assert blocks.rewrite_data(data, m, tmp_path / "out", actors.ray_workers(1))["rows"] == 4


def test_a_node_that_dies_in_the_middle_takes_no_row_with_it(tmp_path):
    data, out = rows(tmp_path, 1500), tmp_path / "out"
    alone = rewrite_data(data, dpt.get_mechanism("custext", epsilon=2.0), tmp_path / "alone", seed=3)
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("two_nodes.py"), tmp_path / "data.jsonl", out, "3"],
        cwd=Path(dpt.__file__).parent.parent,
        env=os.environ | {"PYTHONPATH": "."},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["rows"] == 1500 == alone["rows"] and 500 < found["killed"][0] < 1500
    assert "was lost: the worker died" in (out / "log.txt").read_text()
    assert (out / "rows.jsonl").read_bytes() == (tmp_path / "alone" / "rows.jsonl").read_bytes()


def test_scores_come_from_replicas_as_from_this_process(tmp_path, tiny_model, monkeypatch, one_machine):
    from dptext_core.distributed import replicas
    from dptext_core.models import engine

    address = one_machine.get_runtime_context().gcs_address
    alone = dpt.get_mechanism("dp-mlm", epsilon=60.0, model=tiny_model).rewrite("My doctor saw a letter.", seed=2)
    here = engine(tiny_model)
    monkeypatch.setenv("DPTEXT_ENGINE", f"ray:{address}")
    there = engine(tiny_model)
    assert isinstance(there, replicas.RemoteEngine) and not there.ready
    with pytest.raises(dpt.ModelUnavailable, match="dptext serve-model --model"):
        there.score([])
    monkeypatch.setenv("RAY_ADDRESS", address)
    assert cli.main(["serve-model", "--model", tiny_model]) == 0
    try:
        m = dpt.get_mechanism("dp-mlm", epsilon=60.0, model=tiny_model)
        assert m.rewrite("My doctor saw a letter.", seed=2).text == alone.text and there.ready
        lm = dpt.models.load_masked_lm(tiny_model)
        pieces = lm.encode(dpt.Document.parse("My doctor saw a letter in the garden."))
        requests = [dpt.models.MaskRequest(None, pieces, i % len(pieces)) for i in range(3 * replicas.CALL - 5)]
        seen = []
        scores = there.score(requests, task=dpt.Task(lambda *done: seen.append(done)))
        assert seen[-1] == (len(requests),) * 2 and len(seen) == 3
        assert (scores == here.score(requests)).all()
        together = [threading.Thread(target=there.score, args=(requests,)) for _ in range(8)]
        for thread in together:
            thread.start()
        stop = dpt.Task()
        stop.cancel()
        with pytest.raises(dpt.Cancelled):
            there.score(requests, task=stop)
        with pytest.raises(dpt.Busy):
            there.score(requests, timeout=0.0)
        for thread in together:
            thread.join(60)
        assert there.waiting == 0
    finally:
        assert cli.main(["serve-model", "--model", tiny_model, "--stop"]) == 0
        one_machine.serve.shutdown()


def test_workers_of_the_command_find_the_program_where_it_did(tmp_path):
    """In another folder, where Python finds the program by a path that only this process has."""
    rows(tmp_path, 30)
    clone = Path(dpt.__file__).parents[1]
    code = (
        f"import sys; sys.path.append({str(clone)!r}); from dptext_core.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "PYTHONPATH"))}
    found = []
    for more in ((), ("--engine", "ray", "--workers", "1", "--block", "10")):
        out = tmp_path / ("ray" if more else "alone")
        argv = [
            "rewrite-data",
            "--data",
            "data.jsonl",
            "--text-column",
            "text",
            "--out",
            str(out),
            "--seed",
            "5",
            *more,
        ]
        done = subprocess.run(
            [sys.executable, "-c", code, *argv, "--mechanism", "custext", "--epsilon", "2"],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found.append((out / "rows.jsonl").read_bytes())
    assert found[0] == found[1] and found[0].count(b"\n") == 30
