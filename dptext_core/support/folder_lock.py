"""Folders of work that end with their process: whoever comes later sees whether somebody still holds one."""

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

#: The file in a folder that its process holds.
LOCK = "lock"
#: Seconds that making or deleting a folder may take.
_MADE = 60.0


def hold(folder: Path) -> BinaryIO:
    """Hold a folder until what comes back is closed, or until the process ends in whatever way. Raises BlockingIOError
    or FileNotFoundError where another process deletes it as one that nobody holds."""
    lock = (folder / LOCK).open("wb")
    try:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (folder / LOCK).stat()
    except OSError:
        lock.close()
        raise
    return lock


def made_and_held(make: Callable[[], Path]) -> tuple[Path, BinaryIO]:
    """Make a folder and hold it; another one, where it was deleted before it was held."""
    while True:
        folder = make()
        with contextlib.suppress(BlockingIOError, FileNotFoundError):
            return folder, hold(folder)


@contextlib.contextmanager
def claim_abandoned(folder: Path, now: float, stale: float) -> Iterator[bool]:
    """Say whether nobody holds a folder, and let nobody hold it meanwhile. stale: seconds after which it is taken for
    that where locks tell nothing."""
    if fcntl is None:
        yield changed(folder) + stale <= now
        return
    with contextlib.ExitStack() as holding:
        try:
            lock = holding.enter_context((folder / LOCK).open("rb+"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        except OSError:  # being made, or being deleted
            free = changed(folder) + _MADE <= now
        yield free


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Work in a folder that one process at a time may change, without a file in it. Look at what is there within.
    Raises InputError where another process does."""
    if fcntl is None:
        yield
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(number)
        raise InputError(
            f"Another process writes into the folder {folder.name}. Wait for its end, or name another folder."
        ) from None
    except OSError:  # a network folder without locks
        pass
    try:
        yield
    finally:
        os.close(number)


def changed(path: Path) -> float:
    """When a file or folder was changed; 0 where it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
