"""Memory that nobody uses: what Python's collector searches, and what the C library keeps."""

from __future__ import annotations

import ctypes
import gc
import os
import sys

#: How many heaps glibc may keep: its number in ``malloc.h``, and the variable that sets it from outside.
M_ARENA_MAX, ARENAS = -8, "MALLOC_ARENA_MAX"


def share() -> bool:
    """Have threads that begin later share one heap, unless the environment sets a number. Return whether they do.

    glibc keeps a heap for each thread of a server, none of which shrinks: a third of the memory of a small one."""
    limit = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    return limit is not None and ARENAS not in os.environ and bool(limit(M_ARENA_MAX, 1))


def settle() -> None:
    """Collect what only cycles hold, and leave out from then on all that is there now: a search through a million
    objects of libraries and models takes 0.4 s, in which no thread runs. What goes later is found by the next call."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def give_back() -> bool:
    """Give the system what is free in all heaps. Return whether there was anything. For a moment after which less is
    needed than before: what is loaded leaves much behind, and by itself glibc gives back the ends of heaps alone."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    return trim is not None and bool(trim(0))
