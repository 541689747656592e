"""Threads that must end before the interpreter does.

A thread that returns from compiled code (ONNX Runtime, a tokenizer) to an interpreter that has ended aborts the
process: "terminate called without an active exception".
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref

#: Seconds that the end of the process waits for all of them. The loading of a model cannot be interrupted.
LONGEST = 60.0

_threads: weakref.WeakSet[threading.Thread] = weakref.WeakSet()


def join_at_exit(thread: threading.Thread) -> None:
    """Make the end of the process wait for this running thread, which other code asks to end."""
    _threads.add(thread)


def _join_all() -> None:
    end = time.monotonic() + LONGEST
    for thread in list(_threads):
        thread.join(max(0.0, end - time.monotonic()))


atexit.register(_join_all)
