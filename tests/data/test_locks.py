"""What another process does between a look at a folder and its lock."""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
from pathlib import Path

import pytest
from foreign import Swap

import dptext_core as dpt
from dptext_core.data import tables
from dptext_core.data.folder import RunFolder
from dptext_core.data.rewriting import rewrite_data
from dptext_core.data.workers import blocks
from dptext_core.mechanisms.setting import Setting
from dptext_core.support import folder_lock
from dptext_lab.training import bank_building, pretraining
from dptext_studio.server import job_folders
from dptext_studio.server.batch import Batch, BatchRequest

pytest.importorskip("fcntl", reason="only these systems have locks")


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("text\n" + "My doctor sent a letter to my sister\n" * 20)
    return tables.source(path, ("text",))


@pytest.fixture
def before_the_lock(monkeypatch):
    """Does something once, between what a run does before it has the lock and after."""

    def then(action):
        lock, calls = RunFolder._lock, []

        def meddled(self):
            if not calls:
                calls.append(self)
                action()
            lock(self)

        monkeypatch.setattr(RunFolder, "_lock", meddled)

    return then


def test_a_run_that_another_one_overtook_does_not_take_its_rows(tmp_path, data, before_the_lock):
    out = tmp_path / "out"
    before_the_lock(lambda: rewrite_data(data, Swap.create(epsilon=20.0), out))
    with pytest.raises(dpt.ConfigError, match=r"epsilon is '20' there and '0\.1' here"):
        rewrite_data(data, Swap.create(epsilon=0.1), out)
    assert json.loads((out / "config.json").read_text())["options"]["epsilon"] == "20"


def test_workers_that_another_run_overtook_do_not_take_its_rows(tmp_path, data, before_the_lock):
    out = tmp_path / "out"
    before_the_lock(lambda: rewrite_data(data, Swap.create(epsilon=20.0), out))
    with pytest.raises(dpt.ConfigError, match="epsilon"):
        blocks.rewrite_data(data, Swap.create(epsilon=0.1), out, lambda orders: pytest.fail("workers began"))


def test_a_run_that_was_overtaken_by_the_same_one_finds_it_done(tmp_path, data, before_the_lock):
    m, out = Swap.create(epsilon=2.0), tmp_path / "out"
    before_the_lock(lambda: rewrite_data(data, m, out))
    rewrite_data(data, m, out)
    assert len((out / "rows.jsonl").read_text().splitlines()) == 20


def test_a_run_whose_folder_was_taken_away_writes_nothing_into_the_new_one(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(dpt.InputError, match="another run"), RunFolder(out, {"epsilon": 30}) as old:
        old.append([{"row": 0}])
        shutil.rmtree(out)
        with RunFolder(out, {"epsilon": 0.1}):
            for write in (lambda: old.finish({"epsilon": 30}), lambda: old.append([{"row": 1}]), lambda: old.log("x")):
                with pytest.raises(dpt.InputError, match="another run"):
                    write()
            old.finish({})
    assert not (out / "result.json").exists() and not (out / "rows.jsonl").read_text()


@pytest.fixture
def base(tmp_path, monkeypatch):
    monkeypatch.setenv(job_folders.VARIABLE, str(tmp_path / "jobs"))
    monkeypatch.setattr(job_folders, "_locks", {})
    return tmp_path / "jobs"


def test_a_folder_that_is_swept_before_it_is_held_is_made_again(base, monkeypatch):
    """Another server sees a folder whose lock nobody has yet."""
    real, swept = folder_lock.fcntl.flock, []

    def flock(file, how):
        if not swept:
            swept.append(1)
            swept.extend(job_folders.sweep())
        real(file, how)

    monkeypatch.setattr(folder_lock.fcntl, "flock", flock)
    folder = job_folders.session_folder()
    assert folder.is_dir() and (folder / folder_lock.LOCK).is_file() and folder not in swept
    monkeypatch.setattr(job_folders, "_locks", {})
    assert job_folders.sweep() == [], "it is held, so that another server leaves it alone"


def test_a_folder_is_deleted_while_its_lock_is_held(base, monkeypatch):
    base.mkdir(parents=True)
    left = base / f"session-{'0' * 24}"
    left.mkdir()
    (left / folder_lock.LOCK).touch()
    delete, tried = job_folders.delete, []

    def deleting(folder):
        with pytest.raises(BlockingIOError):
            folder_lock.hold(folder)
        tried.append(folder)
        delete(folder)

    monkeypatch.setattr(job_folders, "delete", deleting)
    assert job_folders.sweep() == tried == [left] and not left.exists()


def test_no_more_jobs_are_kept_than_may_be_whoever_asks_at_once(base, monkeypatch):
    monkeypatch.setattr(job_folders, "MOST", 3)
    write, together = job_folders.write, threading.Barrier(6, timeout=2)

    def late(folder, about):
        with contextlib.suppress(threading.BrokenBarrierError):
            together.wait(0.2)
        write(folder, about)

    monkeypatch.setattr(job_folders, "write", late)
    kept = []

    def keep(folder):
        with contextlib.suppress(dpt.InputError):
            kept.append(job_folders.keep(folder, {})[1])

    threads = [threading.Thread(target=keep, args=(job_folders.session_folder(),)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept) == 3 == len(list(base.glob("kept-*")))


def test_a_run_has_one_name_whoever_asks_first(tmp_path, monkeypatch):
    folder = tmp_path / "job"
    (folder / "run").mkdir(parents=True)
    asked = BatchRequest("a.csv", "text", True, (), Setting.of("custext", epsilon=1.0))
    opened, names = Path.open, []

    def slow(self, *args, **kwargs):
        file = opened(self, *args, **kwargs)
        if self.name == "noise-id.txt" and "x" in "".join(args):
            other = threading.Thread(target=lambda: names.append(Batch(folder, asked).noise_id))
            other.start()
            other.join(0.3)
        return file

    monkeypatch.setattr(Path, "open", slow)
    names.append(Batch(folder, asked).noise_id)
    for _ in range(50):
        if len(names) == 2:
            break
        threading.Event().wait(0.05)
    assert len(names) == 2 and len(set(names)) == 1 and names[0]


def test_a_folder_is_held_by_one(tmp_path):
    with folder_lock.exclusive(tmp_path):
        with pytest.raises(dpt.InputError, match="Another process"), folder_lock.exclusive(tmp_path):
            pytest.fail("two hold it")
        assert not list(tmp_path.iterdir()), "nothing lies in it"
    with folder_lock.exclusive(tmp_path):
        pass


def test_two_banks_are_not_made_in_one_folder(tmp_path, monkeypatch):
    one = bank_building.Gathered(("A good day.", "The sun is out."), {})
    other = bank_building.Gathered(("Rain again.", "No letter came."), {})
    began = []

    def encoded(sentences, parts, task):
        if not began:
            began.append(1)
            with pytest.raises(dpt.InputError, match="Another process"):
                bank_building.build_bank(other, tmp_path / "bank", title="t", origin="o", licence="l")
        raise KeyboardInterrupt

    monkeypatch.setattr(bank_building, "_encoded", encoded)
    with pytest.raises(KeyboardInterrupt):
        bank_building.build_bank(one, tmp_path / "bank", title="t", origin="o", licence="l")
    assert began


def test_two_autoencoders_are_not_trained_in_one_folder(tmp_path, monkeypatch):
    began = []

    def go(self, report, task):
        if not began:
            began.append(1)
            with pytest.raises(dpt.InputError, match="Another process"):
                pretraining.pretrain(["a", "b", "c"], ["d"], tmp_path / "run", clip=False)
        return self.training

    monkeypatch.setattr(pretraining._Run, "go", go)
    pretraining.pretrain(["a", "b", "c"], ["d"], tmp_path / "run")
    assert began and not list((tmp_path / "run").iterdir())
