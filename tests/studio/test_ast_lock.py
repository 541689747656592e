"""Threads that build syntax trees at once."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from dptext_studio.server import ast_lock

ROOT = Path(__file__).resolve().parents[2]
#: One thread collects garbage whose end takes its time, while it builds a tree; another one builds small ones.
AT_ONCE = """
import ast, gc, sys, threading, time
from dptext_studio.server import ast_lock

class Slow:
    def __del__(self):
        time.sleep(0.002)

def deep(n, then):
    return then() if n == 0 else deep(n - 1, then)

def small():
    while not ended:
        deep(40, lambda: ast.literal_eval("{'shape': (1, 2)}"))

if sys.argv[1] == "guarded":
    ast_lock.install()
gc.set_threshold(2_000, 10, 2_000)
source, ended = "def f(a, b):\\n    return [a + b, {a: b}]\\n" * 400, []
thread = threading.Thread(target=small)
thread.start()
try:
    for _ in range(5):
        for _ in range(20):
            one = Slow()
            one.itself = one
        ast.parse(source)
finally:
    ended.append(1)
    thread.join()
"""


def at_once(how: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", AT_ONCE, how]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_trees_of_two_threads_are_kept_apart():
    done = at_once("guarded")
    assert done.returncode == 0, done.stderr[-1000:]


def test_without_the_lock_only_other_interpreters_do():
    assert ("AST constructor recursion depth mismatch" in at_once("bare").stderr) == ast_lock.AFFECTED


def test_tests_and_pages_have_the_lock():
    """Put in place by conftest.py here, and by app.py there."""
    assert hasattr(ast.parse, "__wrapped__") == ast_lock.AFFECTED
    assert "ast_lock.install()" in (ROOT / "app.py").read_text(encoding="utf-8")
