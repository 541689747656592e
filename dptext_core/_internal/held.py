"""Folders of work that end with their process: whoever comes later sees whether somebody still holds one."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: The file in a folder that its process holds.
LOCK = "lock"
#: Seconds that making or deleting a folder may take.
_MADE = 60.0


def hold(folder: Path) -> BinaryIO:
    """Holds a folder until what comes back is closed, or until the process ends in whatever way."""
    lock = (folder / LOCK).open("wb")
    if fcntl is not None:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def abandoned(folder: Path, now: float, stale: float) -> bool:
    """Whether nobody holds a folder. stale: seconds after which it is taken for that where locks tell nothing."""
    if fcntl is None:
        return changed(folder) + stale <= now
    try:
        with (folder / LOCK).open("rb+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # being made, or being deleted
        return changed(folder) + _MADE <= now
    return True


def changed(path: Path) -> float:
    """When a file or folder was changed; 0 where it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
