"""A data set in blocks over workers: the rows of one machine, none lost and none doubled, whoever dies."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import multiprocessing
import os
import pickle
import signal
import stat
import sys
import types
from pathlib import Path

import disk
import pytest
from foreign import Swap
from small_spaces import random_space, words

import dptext_core as dpt
from dptext_core import cli
from dptext_core.data import tables
from dptext_core.data.rewriting import rewrite_data
from dptext_core.data.workers import blocks
from dptext_core.data.workers.blocks import Worker
from dptext_core.data.workers.processes import ProcessWorkers, _Process
from dptext_core.support.outcome import WorkOutcome

WORDS = ["doctor", "nurse", "letter", "house", "river", "music", "window", "garden", "friend"]
CORE = Path(dpt.__file__).parent


@pytest.fixture(autouse=True, scope="module")
def swap():
    dpt.register(Swap)
    yield
    dpt.unregister(Swap.name)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory) -> str:
    """A small word space in a file: the bundled one takes longer to read than all of these tests."""
    names = [*WORDS, *words(40)]
    lines = (f"{w} {' '.join(map(str, v))}" for w, v in zip(names, random_space(len(names)).vectors, strict=True))
    path = tmp_path_factory.mktemp("space") / "small.txt"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def data(tmp_path):
    rows = [{"id": i, "text": f"My {WORDS[i % 9]} saw a {WORDS[i * 5 % 7]} and Qzkv{i % 3}."} for i in range(23)]
    rows[4]["text"] = None
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tables.source(path, ("text", "id"))


class Pretend:
    """Workers in this process that are served as a cluster would: what goes there and back is pickled, and the last
    block comes back first. ``lose``: how often a block gets lost, by its number. ``last``: how many come back before
    the command is stopped. ``seen``: called before each comes back."""

    def __init__(self, n=2, lose=None, last=None, seen=lambda: None):
        self.n, self.lose, self.last, self.seen = n, dict(lose or {}), last, seen
        self.most = self.given = 0

    @contextlib.contextmanager
    def __call__(self, orders):
        self.workers = [Worker(pickle.loads(pickle.dumps(orders))) for _ in range(self.n)]
        self.held = []
        yield self

    def room(self):
        return 2 * self.n - len(self.held)

    def give(self, kind, block, draws):
        self.held.append((kind, pickle.loads(pickle.dumps(block)), draws))
        self.most, self.given = max(self.most, len(self.held)), self.given + 1

    def take(self, timeout):
        kind, block, draws = self.held.pop()
        self.seen()
        if kind == "rewrite" and self.last is not None:
            if not self.last:
                raise KeyboardInterrupt
            self.last -= 1
        if self.lose.get(block.number):
            self.lose[block.number] -= 1
            return [(block, WorkOutcome(lost="the worker died"))]
        worker = self.workers[block.number % self.n]
        return [(block, pickle.loads(pickle.dumps(worker.answer(kind, block, draws))))]


def numbers(out: Path) -> list[int]:
    return [json.loads(line)["dp"]["row"] for line in (out / "rows.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("foreign-swap", {"epsilon": 2.0}),
        ("custext", {"epsilon": 2.0, "strategy": "dataset", "oov": "random", "space": "small", "k": 5}),
        pytest.param("dp-mlm", {"epsilon": 60.0, "model": "tiny"}, marks=pytest.mark.slow),
    ],
)
def test_seeded_rows_are_those_of_one_machine_whatever_the_workers_and_the_blocks(
    tmp_path, data, request, name, options
):
    files = {"model": "tiny_model", "space": "vectors"}
    options = options | {k: request.getfixturevalue(files[k]) for k in options.keys() & files.keys()}
    m = dpt.get_mechanism(name, **options)
    alone = rewrite_data(data, m, tmp_path / "alone", keep=["id"], seed=7, batch=5)
    rows = (tmp_path / "alone" / "rows.jsonl").read_bytes()
    assert numbers(tmp_path / "alone") == list(range(23)) and alone["errors"] == 1
    for n, size in ((1, 4), (2, 4), (3, 4), (2, 10)):
        out, workers = tmp_path / f"{n}-{size}", Pretend(n)
        assert blocks.rewrite_data(data, m, out, workers, keep=["id"], seed=7, block=size) == alone
        assert (out / "rows.jsonl").read_bytes() == rows
        assert workers.most <= 2 * n, "no more is read than workers take"
        assert {p.name for p in out.iterdir()} == {
            "config.json",
            "environment.json",
            "log.txt",
            "result.json",
            "rows.jsonl",
        }


def test_a_block_that_is_lost_is_given_again_and_one_that_always_is_ends_the_run(tmp_path, data):
    m, out = Swap.create(epsilon=2.0), tmp_path / "out"
    workers = Pretend(lose={0: 1, 3: blocks.TRIES - 1})
    outcome = blocks.rewrite_data(data, m, out, workers, block=4)
    assert numbers(out) == list(range(23)) and outcome["rows"] == 23 and workers.given == 6 + blocks.TRIES
    assert (out / "log.txt").read_text().count("was lost: the worker died") == blocks.TRIES
    with pytest.raises(dpt.InputError, match=rf"Rows 13 to 16 were given to a worker {blocks.TRIES} times") as stop:
        blocks.rewrite_data(data, m, tmp_path / "other", Pretend(lose={3: 99}), block=4)
    assert "saw" not in str(stop.value)
    blocks.rewrite_data(data, m, tmp_path / "other", Pretend(), block=4)
    assert numbers(tmp_path / "other") == list(range(23))


@pytest.mark.parametrize("last", [0, 1, 4])
def test_a_stopped_run_goes_on_with_what_is_missing(tmp_path, data, last):
    m, out = Swap.create(epsilon=2.0), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        blocks.rewrite_data(data, m, out, Pretend(3, last=last), block=4)
    kept = {line for p in out.rglob("*.jsonl") for line in p.read_text().splitlines()}
    assert len(kept) == {0: 0, 1: 3, 4: 15}[last], "the last blocks came first"
    (out / "blocks").mkdir(exist_ok=True)
    (out / "blocks" / "00000005-20.tmp").write_text('{"dp"')  # what a kill leaves
    with pytest.raises(dpt.ConfigError, match="block is 4 there and 8 here"):
        blocks.rewrite_data(data, m, out, Pretend(), block=8)
    with pytest.raises(dpt.ConfigError, match="run by workers"):
        rewrite_data(data, m, out)
    workers = Pretend(1)
    blocks.rewrite_data(data, m, out, workers, block=4)
    assert numbers(out) == list(range(23)) and workers.given == 6 - last
    assert kept <= set((out / "rows.jsonl").read_text().splitlines()), "what is done is not drawn again"
    assert not (out / "blocks").exists()


@pytest.mark.parametrize("name", ["foreign-swap", "custext"])
def test_a_run_that_is_cancelled_gives_out_no_further_block_and_can_go_on(tmp_path, data, vectors, name):
    options = {"strategy": "dataset", "space": vectors, "k": 5} if name == "custext" else {}
    m, out, stop = dpt.get_mechanism(name, epsilon=2.0, **options), tmp_path / "out", dpt.Task()
    workers = Pretend(1, seen=stop.cancel)
    with pytest.raises(dpt.Cancelled):
        blocks.rewrite_data(data, m, out, workers, block=4, task=stop)
    assert workers.given == 3, "the two that it had, and one in the place of the one that came back"
    assert "stopped with Cancelled" in (out / "log.txt").read_text()
    blocks.rewrite_data(data, m, out, Pretend(), block=4)
    assert numbers(out) == list(range(23))


def test_blocks_the_key_and_rows_reach_the_disk_before_they_count(tmp_path, data, vectors, monkeypatch):
    m, out = dpt.get_mechanism("custext", epsilon=0.5, strategy="dataset", space=vectors, k=5), tmp_path / "out"
    seen = disk.watched(monkeypatch)
    blocks.rewrite_data(data, m, out, Pretend(3), block=4)
    # The last blocks come back first, and wait for the first one in files of their own.
    ahead = [e.name for e in seen if e.what == "rename" and e.name.endswith(".jsonl")]
    assert len(ahead) == 5 and all(disk.synced_before_it_is_renamed(seen, name) for name in ahead)
    assert disk.Event("sync", "noise.key", 32) in seen
    whole = (out / "rows.jsonl").stat().st_size
    assert disk.Event("sync", "rows.jsonl", whole) in seen
    assert all(disk.synced_before_it_is_renamed(seen, f"{n}.json") for n in ("config", "environment", "result"))


def test_a_kill_while_a_block_is_put_behind_the_others_doubles_nothing(tmp_path, data):
    m, out = Swap.create(epsilon=2.0), tmp_path / "out"
    blocks.rewrite_data(data, m, out, Pretend(3), block=4)
    lines = (out / "rows.jsonl").read_text().splitlines(True)
    (out / "rows.jsonl").write_text("".join(lines[:10]) + lines[10][:9])
    (out / "blocks").mkdir()
    for number, first in ((1, 4), (2, 8), (4, 16)):
        (out / "blocks" / f"{number:08d}-{first}.jsonl").write_text("".join(lines[first : first + 4]))
    workers = Pretend()
    blocks.rewrite_data(data, m, out, workers, block=4)
    after = (out / "rows.jsonl").read_text().splitlines(True)
    assert numbers(out) == list(range(23)) and workers.given == 2, "rows 12 to 15 and the last three"
    assert after[:12] == lines[:12] and after[16:20] == lines[16:20]


def test_workers_share_one_key_over_a_stop_and_it_dies_with_the_last_row(tmp_path, data, vectors):
    m, out = dpt.get_mechanism("custext", epsilon=0.5, strategy="dataset", space=vectors, k=5), tmp_path / "out"
    key = out / "noise.key"
    seen = set()

    def look():
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        seen.add(key.read_bytes())

    with pytest.raises(KeyboardInterrupt):
        blocks.rewrite_data(data, m, out, Pretend(2, last=2, seen=look), block=4)
    outcome = blocks.rewrite_data(data, m, out, Pretend(3, seen=look), block=4)
    assert len(seen) == 1 and not key.exists()
    assert not any(seen & {p.read_bytes()} or min(seen) in p.read_bytes() for p in out.rglob("*") if p.is_file())
    lines = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    assert len({line["dp"]["draws"] for line in lines if line["text"]}) == 1, "each row says what all of them spend"
    assert "All 22 rows together" in outcome["sentence"]
    rows = {row["id"]: row["text"] for row in data.rows() if row["text"]}
    released = {}
    for line in lines:
        if line["text"]:
            original = rows[line["dp"]["row"]].split()[1]
            released.setdefault(original, set()).add(line["text"].split()[1].lower())
    assert len(released) == 9 and all(len(words) == 1 for words in released.values()), "a word is drawn once for all"


def test_rows_under_a_key_that_is_gone_are_not_gone_on_with(tmp_path, data, vectors):
    m, out = dpt.get_mechanism("custext", epsilon=0.5, strategy="dataset", space=vectors, k=5), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        blocks.rewrite_data(data, m, out, Pretend(1, last=2), block=4)
    (out / "noise.key").unlink()
    with pytest.raises(dpt.ConfigError, match=r"the key .* is missing"):
        blocks.rewrite_data(data, m, out, Pretend(), block=4)


class Together(Swap):
    """Draws for all texts at once, and cannot do so in parts."""

    name = "together"
    shares_draws = True


class Broken(Swap):
    """Stops as somebody else's code may, with a text in its message."""

    name = "broken"

    def rewrite_prepared(self, prepared, stream, task):
        raise RuntimeError(prepared.text)


@pytest.fixture
def own():
    for cls in (Together, Broken):
        dpt.register(cls)
    yield
    for cls in (Together, Broken):
        dpt.unregister(cls.name)


def test_what_workers_cannot_do_is_said(tmp_path, data, own):
    with pytest.raises(dpt.ConfigError, match="Rewrite the data set on one machine"):
        blocks.rewrite_data(data, Together.create(), tmp_path / "out", Pretend())
    orders = blocks.Orders(dpt.Setting("foreign-swap", {}, 1.0), {}, "text", (), None)
    with pytest.raises(dpt.ConfigError, match="Install the same version on every machine"):
        Worker(dataclasses.replace(orders, version="0.0"))
    with pytest.raises(dpt.ConfigError, match="Copy the same files to every machine"):
        Worker(dataclasses.replace(orders, loads={"vectors": "0" * 64}))
    one = blocks.Block(0, 0, [{"text": "qzk"}])
    worker = Worker(dataclasses.replace(orders, setting=dpt.Setting("broken")))
    assert (
        worker.answer("rewrite", one, None).value[0]["dp"]["error"].startswith("Foreign swap stopped with RuntimeError")
    )
    refused = Worker(dataclasses.replace(orders, setting=orders.setting.at((1.0, 2.0)))).answer("rewrite", one, None)
    assert isinstance(pickle.loads(pickle.dumps(refused)).refused, dpt.ConfigError)
    worker.rewrite = lambda *_: 1 / 0
    assert worker.answer("rewrite", one, None).lost == "it stopped with ZeroDivisionError"
    assert "qzk" not in f"{one!r} {orders!r} {refused!r}"


class Killed(ProcessWorkers):
    """One of the processes dies with its first block."""

    killed = False

    def give(self, kind, block, draws):
        super().give(kind, block, draws)
        if not self.killed:
            self.killed = True
            next(one for one in self._processes.values() if one.blocks).process.kill()


@pytest.mark.slow
def test_processes_write_what_one_does_though_one_of_them_dies(tmp_path, data, vectors):
    m = dpt.get_mechanism("custext", epsilon=2.0, strategy="dataset", space=vectors, k=5)
    alone = rewrite_data(data, m, tmp_path / "alone", keep=["id"], seed=7)
    before = dict(os.environ), signal.getsignal(signal.SIGINT)
    out = tmp_path / "out"
    assert blocks.rewrite_data(data, m, out, lambda orders: Killed(orders, 2), keep=["id"], seed=7, block=4) == alone
    assert (out / "rows.jsonl").read_bytes() == (tmp_path / "alone" / "rows.jsonl").read_bytes()
    assert "was lost: the worker died" in (out / "log.txt").read_text()
    assert not multiprocessing.active_children()
    assert (dict(os.environ), signal.getsignal(signal.SIGINT)) == before


def test_a_process_that_cannot_begin_says_why_and_those_that_die_are_not_begun_for_ever():
    orders = blocks.Orders(dpt.Setting("foreign-swap", {}, 1.0), {}, "text", (), None, version="0.0")
    with ProcessWorkers(orders, 1) as workers, pytest.raises(dpt.ConfigError, match="has version"):
        while not workers.room():
            workers.take(30)

    class Dying(ProcessWorkers):
        begun = 0

        def _start(self):
            self.begun += 1
            ours, theirs = multiprocessing.Pipe()
            theirs.close()
            self._processes[ours] = _Process(types.SimpleNamespace(join=lambda: None, terminate=lambda: None))

    with Dying(orders, 2) as workers, pytest.raises(dpt.ConfigError, match="No worker could start"):
        while not workers.room():
            workers.take(30)
    assert workers.begun == 2 + 2 * blocks.TRIES


def test_the_command_says_what_workers_need(tmp_path, data, capsys, monkeypatch):
    argv = ["rewrite-data", "--data", str(tmp_path / "data.jsonl"), "--mechanism", "custext", "--out"]

    def said(*more: str) -> str:
        with contextlib.suppress(SystemExit):
            assert cli.main([*argv, *more]) == 2
        return capsys.readouterr().err

    monkeypatch.setitem(sys.modules, "ray", None)
    out = tmp_path / "out"
    assert "pip install -r requirements-ray.txt" in said(str(out), "--engine", "ray") and not out.exists()
    assert "they need a folder. Set it with --out" in said("-", "--engine", "ray")
    assert "they need a folder. Set it with --out" in said("-", "--workers", "2")
    assert "Add --workers" in said(str(out), "--block", "9") and "Add --engine ray" in said(str(out), "--gpus", "1")
    assert "Use at most" in said(str(out), "--workers", "999999"), "nor is one of so many processes begun"
    assert "above 0 and at most 64" in said(str(out), "--engine", "ray", "--gpus", "nan")
