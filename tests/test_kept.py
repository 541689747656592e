"""Folders of uploaded data: who can find them, and when they die."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time

import pytest

import dptext_core as dpt
from dptext_core.experiments import kept


@pytest.fixture(autouse=True)
def base(tmp_path, monkeypatch):
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "jobs"))
    return tmp_path / "jobs"


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_kept_folder_is_found_by_its_code_alone_and_nobody_else_can_read_it(base):
    folder = kept.session_folder()
    (folder / "text.csv").write_text("private")
    assert mode(base) == mode(folder) == 0o700
    code, there = kept.keep(folder, {"asked": 1})
    assert len(code) >= 24 and not folder.exists() and mode(there) == 0o700
    found, about = kept.find(f" {code}\n")
    assert found == there and about["asked"] == 1 and abs(about["expires"] - time.time() - 24 * 3600) < 60
    names = [str(p.relative_to(base)) for p in base.rglob("*")]
    held = b"".join(p.read_bytes() for p in base.rglob("*") if p.is_file())
    assert not any(code in name for name in names) and code.encode() not in held
    for wrong in (code[:-1], code.swapcase(), "", "../x", there.name, "é"):
        with pytest.raises(dpt.InputError, match="No job has this code"):
            kept.find(wrong)


def test_it_dies_when_its_time_is_over_and_when_it_is_asked():
    now = time.time()
    code, there = kept.keep(kept.session_folder(), {})
    other, stays = kept.keep(kept.session_folder(), {}, now=now + 3600)
    assert kept.sweep(now + 24 * 3600 - 60) == [] and kept.next_end() < now + 25 * 3600
    with pytest.raises(dpt.InputError, match="24 hours after"):
        kept.find(code, now + 24 * 3600 + 60)
    assert kept.sweep(now + 24 * 3600 + 60) == [there] and not there.exists() and stays.exists()
    kept.delete(kept.find(other)[0])
    assert not stays.exists() and kept.next_end() is None
    (kept.base() / "kept-broken").mkdir()
    assert kept.sweep(now) == [] and len(kept.sweep(now + 25 * 3600)) == 1


@pytest.mark.slow
def test_what_a_killed_server_left_is_taken_away_at_the_next_start_and_a_living_one_keeps_its_own(base):
    code = "from dptext_core.experiments import kept; print(kept.session_folder(), flush=True); input()"
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ
    )
    name = child.stdout.readline().strip().rpartition("/")[2]
    mine = kept.session_folder()
    assert kept.sweep() == [] and (base / name).is_dir()
    child.kill()
    child.communicate()
    assert kept.sweep() == [base / name] and mine.is_dir()
    kept.delete(mine)


def test_too_many_are_refused_before_anything_moves(monkeypatch):
    monkeypatch.setattr(kept, "MOST", 1)
    kept.keep(kept.session_folder(), {})
    folder = kept.session_folder()
    with pytest.raises(dpt.InputError, match="keeps as many jobs as it can"):
        kept.keep(folder, {})
    assert folder.is_dir()
    kept.delete(folder)


def test_a_folder_that_cannot_be_made_names_the_variable(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "file" / "jobs"))
    with pytest.raises(dpt.InputError, match=kept.VARIABLE):
        kept.session_folder()
