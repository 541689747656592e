"""Files that are there whole or not at all, and what a kill leaves of one that may hold originals."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import dptext_core as dpt
from dptext_core.cli import console
from dptext_core.data import release_files
from dptext_core.support.whole_files import leftovers, replacement

ROOT = Path(__file__).resolve().parents[2]
SECRET = "qzkvoltar"
#: Writes originals slowly, in one of the ways in which the program writes them.
SLOW = f"""
import json, sys, time
from pathlib import Path
from dptext_core.data import release_files, tables
folder, how = Path(sys.argv[1]), sys.argv[2]

def rows():
    for i in range(10**9):
        yield {{"text": "{SECRET} " * 3000}}
        if i > 20:
            print("writing", flush=True)
            time.sleep(60)

if how == "emit":
    from dptext_core.cli import console
    Path.replace = lambda *_: (print("writing", flush=True), time.sleep(60))
    console.emit("{SECRET}", str(folder / "out.json"))
run = folder / "run"
run.mkdir()
with (run / "rows.jsonl").open("w") as file:
    for i in range(30):
        own = {{"row": i, "error": None}}
        file.write(json.dumps({{"dp": own, "text": "released"}}) + "\\n")
data = tables.Source("data", "", 30, rows)
release_files.inspection(data, run, "text", (), folder / f"out{{how}}")
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def killed(folder: Path, how: str) -> list[Path]:
    """What a kill in the middle of writing leaves beside the file."""
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, folder.as_posix(), how], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "writing\n"
        during = [p for p in folder.iterdir() if p.is_file()]
        assert during and all(mode(p) == 0o600 and "PRIVATE" in p.name for p in during), during
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return [p for p in folder.iterdir() if p.is_file()]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
@pytest.mark.parametrize("how", [".csv", ".tsv", ".jsonl", ".parquet", "emit"])
def test_what_a_kill_leaves_is_for_its_owner_alone_and_the_next_run_takes_it_away(tmp_path, how):
    left = killed(tmp_path, how)
    assert len(left) == 1 and mode(left[0]) == 0o600 and "PRIVATE" in left[0].name
    console.emit("something else", str(tmp_path / "other.txt"))
    assert not left[0].exists() and (tmp_path / "other.txt").is_file()


def test_what_another_process_still_writes_is_left_to_it(tmp_path):
    with replacement(tmp_path / "a.txt") as one:
        one.write_text("one")
        with replacement(tmp_path / "a.txt") as other:
            other.write_text("other")
            assert one.is_file() and other.is_file()
        assert one.is_file()
    assert (tmp_path / "a.txt").read_text() == "one" and len(list(tmp_path.iterdir())) == 1


def test_leftovers_are_only_ours(tmp_path):
    ours = [".PRIVATE-0123456789abcdef.tmp", ".0123456789abcdef.tmp"]
    others = [".PRIVATE-notes.tmp", "PRIVATE.csv", ".0123456789abcdeg.tmp", ".PRIVATE-0123456789abcdef.tmp.bak"]
    for name in (*ours, *others):
        (tmp_path / name).write_text(SECRET)
    assert sorted(p.name for p in leftovers(tmp_path)) == sorted(ours)
    with replacement(tmp_path / "a.txt") as beside:
        beside.write_text("x")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*others, "a.txt"])
    assert leftovers(tmp_path / "nothing") == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_the_mode_is_that_of_the_file_before_else_the_usual_one_or_its_owners(tmp_path):
    (tmp_path / "usual.txt").write_text("")
    usual = mode(tmp_path / "usual.txt")
    console.emit("a", str(tmp_path / "new.txt"))
    assert mode(tmp_path / "new.txt") == usual
    (tmp_path / "old.txt").touch(mode=0o640)
    console.emit("a", str(tmp_path / "old.txt"))
    assert mode(tmp_path / "old.txt") == 0o640
    with replacement(tmp_path / "private.txt", private=True) as beside:
        beside.write_text(SECRET)
    assert mode(tmp_path / "private.txt") == 0o600
    (tmp_path / "open.txt").touch(mode=0o644)
    with replacement(tmp_path / "open.txt", private=True) as beside:
        beside.write_text(SECRET)
    assert mode(tmp_path / "open.txt") == 0o600


def test_nothing_is_left_of_what_fails(tmp_path):
    with pytest.raises(KeyboardInterrupt), replacement(tmp_path / "a.txt") as beside:
        beside.write_text("half")
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
@pytest.mark.parametrize("suffix", release_files.INSPECTION)
def test_an_inspection_is_for_its_owner_alone(tmp_path, suffix):
    from foreign import Swap

    from dptext_core.data import tables
    from dptext_core.data.rewriting import rewrite_data

    (tmp_path / "data.csv").write_text("text\nMy doctor\n")
    data = tables.source(tmp_path / "data.csv", ("text",))
    rewrite_data(data, Swap.create(), tmp_path / "run")
    for out, wanted in ((tmp_path / f"i{suffix}", 0o600), (tmp_path / f"r{suffix}", mode(tmp_path / "data.csv"))):
        if wanted == 0o600:
            release_files.inspection(data, tmp_path / "run", "text", (), out)
        else:
            release_files.release(tmp_path / "run", "text", (), out)
        assert mode(out) == wanted


def test_a_resumed_run_takes_away_what_was_left_beside_its_files(tmp_path, capsys):
    from foreign import Swap

    from dptext_core.cli.main import main

    dpt.register(Swap)
    try:
        (tmp_path / "data.csv").write_text("text\nMy doctor\n")
        for folder in ("out", "r", "i"):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / f".{os.urandom(8).hex()}.tmp").write_text(SECRET)
        argv = ["rewrite-data", "--data", "data.csv", "--mechanism", Swap.name, "--out", "out", "--release", "r/r.csv"]
        argv = [str(tmp_path / a) if a in ("data.csv", "out", "r/r.csv") else a for a in argv]
        assert main([*argv, "--inspection", str(tmp_path / "i" / "PRIVATE.csv")]) == 0
    finally:
        dpt.unregister(Swap.name)
    assert not [p for p in tmp_path.rglob("*.tmp")]
    capsys.readouterr()
