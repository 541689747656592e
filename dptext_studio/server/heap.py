"""Unused memory: objects for Python's collector, and heaps of the C library."""

from __future__ import annotations

import ctypes
import gc
import os
import sys

#: The number of heaps of glibc: its constant in ``malloc.h``, and the environment variable for it.
M_ARENA_MAX, ARENAS = -8, "MALLOC_ARENA_MAX"


def share() -> bool:
    """Let threads that start later share one heap, unless the environment sets a number. Return True if they do.

    glibc keeps a heap for each thread of a server, and none of them shrinks: a third of the memory of a small server.
    """
    limit = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    return limit is not None and ARENAS not in os.environ and bool(limit(M_ARENA_MAX, 1))


def settle() -> None:
    """Collect cyclic garbage, and exclude all existing objects from later collections.

    A search through a million objects of libraries and models takes 0.4 s, during which no thread runs. The next call
    finds objects that become unused later.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def give_back() -> bool:
    """Return free memory of all heaps to the system. Return True if there was any.

    Call this after a peak: loading leaves much free memory behind, and glibc otherwise returns only the ends of heaps.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    return trim is not None and bool(trim(0))
