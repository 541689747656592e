"""The heaps of threads in glibc, looked at by its own malloc_info, in processes of their own."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from dptext_core.support import heap

ROOT = Path(__file__).resolve().parents[2]
NAMES = [name for name, _ in heap._OPTIONS.values()]
#: Prints whether it was asked to, and how many heaps twelve threads that allocate at once have.
CODE = """
import ctypes, sys, threading
from dptext_core.support import heap
asked = sys.argv[1] == "ask" and heap.keep_little()
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
together = threading.Barrier(12)
def allocate():
    together.wait()
    for _ in range(500):
        libc.free(ctypes.c_void_p(libc.malloc(5000)))
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range(12)]
for t in threads: t.start()
for t in threads: t.join()
file = libc.fopen(sys.argv[2].encode(), b"w")
libc.malloc_info(0, ctypes.c_void_p(file))
libc.fclose(ctypes.c_void_p(file))
print(asked, open(sys.argv[2]).read().count("<heap nr="))
"""


def run(tmp_path, asks, **named):
    env = {k: v for k, v in os.environ.items() if k not in NAMES} | {"PYTHONPATH": str(ROOT)} | named
    argv = [sys.executable, "-c", CODE, asks, str(tmp_path / "info.xml")]
    asked, heaps = subprocess.run(argv, env=env, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    return asked == "True", int(heaps)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries have no such heaps")
def test_threads_share_two_heaps_unless_the_environment_says_otherwise(tmp_path):
    assert run(tmp_path, "ask") == (True, 2)
    asked, heaps = run(tmp_path, "leave")
    assert not asked and heaps > 2
    asked, heaps = run(tmp_path, "ask", MALLOC_ARENA_MAX="5")
    assert not asked and 2 < heaps <= 5


@pytest.mark.parametrize("name", NAMES)
def test_options_of_the_environment_stay(monkeypatch, name):
    monkeypatch.setenv(name, "7")
    monkeypatch.setattr(heap.ctypes, "CDLL", None)
    assert heap.keep_little() is False
