"""How much memory the C library keeps that nobody uses."""

from __future__ import annotations

import ctypes
import os
import sys

#: glibc's options, by the number that mallopt takes and the variable of the environment: heaps of threads, and bytes
#: from which a block is mapped by itself, or from which the free end of a heap goes back to the system.
_OPTIONS = {
    -8: ("MALLOC_ARENA_MAX", 2),
    -3: ("MALLOC_MMAP_THRESHOLD_", 1 << 20),
    -1: ("MALLOC_TRIM_THRESHOLD_", 1 << 20),
}


def keep_little() -> bool:
    """Have glibc share two heaps between all threads, and give large blocks back: a server has many threads, and each
    would keep a heap of its own. Return whether it was asked to: not on other systems, nor where the environment names
    one of these options."""
    if sys.platform != "linux" or any(variable in os.environ for variable, _ in _OPTIONS.values()):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    return mallopt is not None and all([mallopt(number, value) for number, (_, value) in _OPTIONS.items()])
