"""How much memory the C library keeps that nobody uses."""

from __future__ import annotations

import ctypes
import sys


def give_back() -> bool:
    """Give the system what is free in all heaps. Return whether there was anything. For a moment after which less is
    needed than before: what is loaded leaves much behind, and by itself glibc gives back the ends of heaps alone."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    return trim is not None and bool(trim(0))
