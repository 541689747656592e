"""Work folders with a lock that ends with their process, so that later processes recognise abandoned ones."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from ..errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: The lock file in a folder, locked by its process.
LOCK = "lock"
#: Maximum seconds for creating or deleting a folder.
_MADE = 60.0


def hold(folder: Path) -> BinaryIO:
    """Lock a folder until the returned file is closed, or until the process ends in any way.

    Raises BlockingIOError or FileNotFoundError if another process deletes it as abandoned.
    """
    lock = (folder / LOCK).open("wb")
    try:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (folder / LOCK).stat()
    except OSError:
        lock.close()
        raise
    return lock


def make_and_hold(make: Callable[[], Path]) -> tuple[Path, BinaryIO]:
    """Create and lock a folder; retry with another one if it was deleted before it was locked."""
    while True:
        folder = make()
        with contextlib.suppress(BlockingIOError, FileNotFoundError):
            return folder, hold(folder)


@contextlib.contextmanager
def claim_abandoned(folder: Path, now: float, stale: float) -> Iterator[bool]:
    """Return True if a folder is abandoned, and prevent others from locking it meanwhile.

    stale: seconds after which a folder counts as abandoned if locks give no information.
    """
    if fcntl is None:
        yield change_time(folder) + stale <= now
        return
    with contextlib.ExitStack() as holding:
        try:
            lock = holding.enter_context((folder / LOCK).open("rb+"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        except OSError:  # being created or deleted
            free = change_time(folder) + _MADE <= now
        yield free


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Work in a folder that one process at a time may change, without a lock file in it.

    Check its contents inside this context. Raises InputError if another process works there.
    """
    if fcntl is None:
        yield
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(number)
        raise InputError(
            f"Another process is writing to the folder {folder.name}. Wait until it ends, or choose another folder."
        ) from None
    except OSError:  # a network folder without locks
        pass
    try:
        yield
    finally:
        os.close(number)


def change_time(path: Path) -> float:
    """Return when a file or folder was changed; 0 if it does not exist."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
