"""Folders of uploaded data: who can find them, and when they die."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import subprocess
import sys
import threading
import time

import pytest

import dptext_core as dpt
from dptext_studio.server import job_folders


@pytest.fixture(autouse=True)
def base(tmp_path, monkeypatch):
    monkeypatch.setenv(job_folders.VARIABLE, str(tmp_path / "jobs"))
    return tmp_path / "jobs"


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_kept_folder_is_found_by_its_code_alone_and_nobody_else_can_read_it(base):
    folder = job_folders.session_folder()
    (folder / "text.csv").write_text("private")
    assert mode(base) == mode(folder) == 0o700
    code, there = job_folders.keep(folder, {"asked": 1})
    assert len(code) >= 24 and not folder.exists() and mode(there) == 0o700
    found, about = job_folders.find(f" {code}\n")
    assert found == there and about["asked"] == 1 and abs(about["expires"] - time.time() - 24 * 3600) < 60
    names = [str(p.relative_to(base)) for p in base.rglob("*")]
    held = b"".join(p.read_bytes() for p in base.rglob("*") if p.is_file())
    assert not any(code in name for name in names) and code.encode() not in held
    for wrong in (code[:-1], code.swapcase(), "", "../x", there.name, "é"):
        with pytest.raises(dpt.InputError, match="No job has this code"):
            job_folders.find(wrong)


def test_it_dies_when_its_time_is_over_and_when_it_is_asked():
    now = time.time()
    code, there = job_folders.keep(job_folders.session_folder(), {})
    other, stays = job_folders.keep(job_folders.session_folder(), {}, now=now + 3600)
    assert job_folders.sweep(now + 24 * 3600 - 60) == []
    with pytest.raises(dpt.InputError, match="deleted after 24 hours"):
        job_folders.find(code, now + 24 * 3600 + 60)
    assert job_folders.sweep(now + 24 * 3600 + 60) == [there] and not there.exists() and stays.exists()
    job_folders.delete(job_folders.find(other)[0])
    assert not stays.exists()
    (job_folders.base() / f"kept-{'0' * 64}").mkdir()
    assert job_folders.sweep(now) == [] and len(job_folders.sweep(now + 25 * 3600)) == 1


@pytest.mark.slow
def test_what_a_killed_server_left_is_taken_away_at_the_next_start_and_a_living_one_keeps_its_own(base):
    code = "from dptext_studio.server import job_folders; print(job_folders.session_folder(), flush=True); input()"
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ
    )
    name = child.stdout.readline().strip().rpartition("/")[2]
    mine = job_folders.session_folder()
    assert job_folders.sweep() == [] and (base / name).is_dir()
    child.kill()
    child.communicate()
    assert job_folders.sweep() == [base / name] and mine.is_dir()
    job_folders.delete(mine)


def test_a_folder_into_which_a_job_still_writes_is_taken_away_whole(base):
    """As a job does that is told to stop: it opens its files by their names, one after the other."""
    ended = threading.Event()

    def write(folder):
        for n in itertools.count():
            with contextlib.suppress(FileNotFoundError):
                (folder / "run" / f"{n % 50}.txt").write_text("private")
            if ended.is_set():
                return

    for _ in range(10):
        ended.clear()
        folder = job_folders.session_folder()
        (folder / "run").mkdir()
        job = threading.Thread(target=write, args=(folder,))
        job.start()
        while len(list((folder / "run").iterdir())) < 20:
            time.sleep(0.001)
        job_folders.delete(folder)
        ended.set()
        job.join()
        assert not list(base.iterdir())


def test_too_many_are_refused_before_anything_moves(monkeypatch):
    monkeypatch.setattr(job_folders, "MOST", 1)
    job_folders.keep(job_folders.session_folder(), {})
    folder = job_folders.session_folder()
    with pytest.raises(dpt.InputError, match="no space for more jobs"):
        job_folders.keep(folder, {})
    assert folder.is_dir()
    job_folders.delete(folder)


def listing(folder) -> list[tuple]:
    found = [(p, p.stat()) for p in folder.rglob("*")]
    return sorted((str(p), s.st_mode, s.st_mtime, p.is_file() and p.read_bytes()) for p, s in found)


@pytest.mark.parametrize("name", ["session-notes", "kept-letters", "kept-" + "0" * 63, "thesis.txt", ".profile"])
@pytest.mark.parametrize("made", [False, True])
def test_a_folder_with_files_of_somebody_is_refused_and_nothing_in_it_is_touched(base, name, made):
    """Whether it was somebody's before, or a file came into it later."""
    if made:
        folder = job_folders.session_folder()
        kept = job_folders.keep(job_folders.session_folder(), {})[0]
    else:
        base.mkdir(mode=0o755)
    theirs = base / name
    theirs.write_text("mine") if "." in name else theirs.mkdir()
    for path in (base, theirs):
        os.utime(path, (0, 0))
    before, rights = listing(base), base.stat().st_mode
    later = time.time() + 100 * 24 * 3600
    asked = [
        job_folders.session_folder,
        job_folders.sweep,
        lambda: job_folders.sweep(later),
        lambda: job_folders.find("code"),
    ]
    if made:
        asked += [lambda: job_folders.keep(folder, {}), lambda: job_folders.find(kept)]
    for ask in asked:
        with pytest.raises(dpt.InputError, match=r"has 1 other file in it.* empty or new folder .*DPTEXT_JOBS"):
            ask()
    assert listing(base) == before and base.stat().st_mode == rights
    if made:
        job_folders.delete(folder)
        assert not folder.exists() and theirs.exists(), "what a session has it can still delete"


def test_a_folder_that_cannot_be_made_names_the_variable(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(job_folders.VARIABLE, str(tmp_path / "file" / "jobs"))
    with pytest.raises(dpt.InputError, match=job_folders.VARIABLE):
        job_folders.session_folder()
