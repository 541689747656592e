"""What the C library keeps of memory that is free, and what Python's collector searches."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from dptext_studio.server import heap

GLIBC = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries have no such heaps")
ROOT = Path(__file__).resolve().parents[2]
#: Prints how many pages came back of 64 MiB in small blocks, every other of which is still in use.
HALF = """
import ctypes, os
from dptext_studio.server import heap
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
resident = lambda: int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
blocks = [libc.malloc(65536) for _ in range(1024)]
for block in blocks: ctypes.memset(block, 1, 65536)
for block in blocks[::2]: libc.free(ctypes.c_void_p(block))
before = resident()
print(heap.give_back(), before - resident())
"""


@GLIBC
def test_free_parts_of_a_heap_go_back():
    done = subprocess.run(
        [sys.executable, "-c", HALF], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert done[0] == "True" and 25 < int(done[1]) <= 33


def test_other_systems_are_left_alone(monkeypatch):
    monkeypatch.setattr(heap.sys, "platform", "win32")
    assert not heap.give_back()


#: A cycle that is in use when it settles, and garbage when it settles again.
CYCLE = """
import gc, weakref
from dptext_studio.server import heap
class Node: pass
gc.disable()
node = Node()
node.me, seen = node, weakref.ref(node)
heap.settle()
searched = len(gc.get_objects())
del node
gc.collect()
print(searched, seen() is None)
heap.settle()
print(seen() is None)
"""


def test_what_settled_is_not_searched_until_it_settles_again():
    done = subprocess.run(
        [sys.executable, "-c", CYCLE], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert int(done[0]) < 1000 and done[1:] == ["False", "True"]


#: Prints whether a heap is shared, and how many heaps ten threads that use memory at the same time have.
HEAPS = """
import ctypes, os, re, tempfile, threading
from dptext_studio.server import heap
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
told = heap.share()
all_here = threading.Barrier(10)
def work():
    libc.malloc(1000)
    all_here.wait()
threads = [threading.Thread(target=work) for _ in range(10)]
for thread in threads: thread.start()
for thread in threads: thread.join()
with tempfile.NamedTemporaryFile() as file:
    out = ctypes.c_void_p(libc.fopen(file.name.encode(), b"w"))
    libc.malloc_info(0, out), libc.fclose(out)
    print(told, len(re.findall("<heap nr=", open(file.name).read())))
"""


@GLIBC
@pytest.mark.parametrize(("variables", "shared"), [({}, True), ({"MALLOC_ARENA_MAX": "4"}, False)])
def test_threads_share_a_heap_unless_the_environment_sets_a_number(variables, shared):
    clean = {k: v for k, v in os.environ.items() if k != "MALLOC_ARENA_MAX"}
    done = subprocess.run(
        [sys.executable, "-c", HEAPS], cwd=ROOT, env=clean | variables, capture_output=True, text=True, timeout=60
    ).stdout.split()
    assert done[0] == str(shared) and (int(done[1]) == 1) is shared
