"""A command that is killed at a random moment and given again: twelve trials."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
TOOL = TOP / "tools" / "kill_and_resume.py"


@pytest.mark.slow
def test_a_killed_run_ends_as_an_undisturbed_one():
    """In a process without threads of other tests, which a fork would not survive."""
    argv = [sys.executable, TOOL.as_posix(), "--what", "batch", "--what", "file", "--what", "model", "--times", "4"]
    run = subprocess.run(argv, capture_output=True, text=True, timeout=240)
    assert run.returncode == 0, run.stderr[-2000:]
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in run.stdout.splitlines()[2:]]
    assert [row[0] for row in rows] == ["batch", "file", "model"] and {row[4] for row in rows} == {"nothing"}
    assert sum(int(row[2]) for row in rows) >= 2, "too few were killed before their end"


@pytest.mark.parametrize("fault", ["trusted", "doubled"])
def test_what_is_lost_or_doubled_is_found(tmp_path, fault):
    """The same tool over a command that writes into its place, and over one that begins anew behind what is there."""
    code = f"""
import sys, time
sys.path.insert(0, {TOOL.parent.as_posix()!r})
import kill_and_resume as tool

def work(folder):
    path = folder / "out"
    if path.exists() and {fault!r} == "trusted":
        return
    with path.open("ab", buffering=0) as file:
        for k in range(40):
            file.write(b"%d" % k)
            time.sleep(0.002)

tool.CASES["batch"] = tool.Case(lambda f: None, lambda f: tool.digests(f, "out"), work=work)
try:
    tool.kill("batch", 8)
except AssertionError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "something else than undisturbed" in run.stdout, run.stderr[-2000:]
