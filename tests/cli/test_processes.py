"""No process of ours outlives the command that started it, whatever ends that one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes as Linux shows them")
#: Seconds within which what ought to happen has to.
PATIENCE = 40.0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def until(there, what: str, process: subprocess.Popen | None = None) -> None:
    end = time.monotonic() + PATIENCE
    while not there():
        assert process is None or process.poll() is None, f"the command ended before {what}"
        assert time.monotonic() < end, what
        time.sleep(0.1)


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as reply:
            return reply.status == 200
    except OSError:
        return False


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def family(pid: int) -> set[int]:
    """The processes that a process started, and those that these did."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(path.parent.name))
    found, more = set(), [pid]
    while more:
        more += (new := children.get(more.pop(), []))
        found |= set(new)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_the_app_ends_with_its_command(how):
    port = free_port()
    argv = [sys.executable, "-m", "dptext_core", "app", "--headless", "--port", str(port)]
    process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    others: set[int] = set()
    try:
        until(lambda: answers(port), "the app answers", process)
        others = family(process.pid)
        end = time.monotonic() + PATIENCE
        while process.poll() is None:  # as somebody presses Ctrl-C again where nothing happens
            assert time.monotonic() < end, "it did not end"
            process.send_signal(how)
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
        until(lambda: not answers(port), "nobody answers any more")
        until(lambda: not any(map(alive, others)), "all of its processes are gone")
    finally:
        for pid in (process.pid, *others):
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_command(tmp_path, how):
    (tmp_path / "data.csv").write_text("text\n" + "My doctor sent a letter to my sister\n" * 200_000)
    argv = [sys.executable, "-m", "dptext_core", "rewrite-data", "--data", "data.csv", "--out", "out"]
    argv += ["--mechanism", "custext", "--workers", "2"]
    process = subprocess.Popen(
        argv,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    others: set[int] = set()
    rows = tmp_path / "out" / "rows.jsonl"
    try:
        until(lambda: rows.is_file() and rows.stat().st_size > 0, "the first rows are written", process)
        others = family(process.pid)
        assert len(others) >= 2
        process.send_signal(how)
        process.wait(PATIENCE)
        until(lambda: not any(map(alive, others)), "all workers are gone")
    finally:
        for pid in (process.pid, *others):
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        process.wait()


@pytest.mark.slow
def test_a_worker_of_the_comparison_ends_with_its_command_while_it_computes(tmp_path):
    """One of the packages can wait for ever."""
    code = f"""
import sys, time
from pathlib import Path
sys.path.insert(0, {ROOT.as_posix()!r})
from dptext_lab.peers import worker
worker.answer = lambda *_: time.sleep(999)
def compute(*_):
    Path("there").touch()
    time.sleep(999)
worker._versions = compute
worker.worker("ours", {tmp_path.as_posix()!r})
"""
    parent = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {code!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         text=True, start_new_session=True)
child.stdin.write('{{"do": "versions", "packages": []}}\\n')
child.stdin.flush()
print(child.pid, flush=True)
time.sleep(999)
"""
    process = subprocess.Popen([sys.executable, "-c", parent], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    try:
        until((tmp_path / "there").exists, "it computes")
        assert alive(pid)
        process.kill()
        process.wait()
        until(lambda: not alive(pid), "it is gone")
    finally:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.wait()
