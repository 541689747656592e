"""Files that are written completely or not at all.

The temporary file may contain originals: only its owner can read it. A killed process can leave such a file. It has
PRIVATE in its name and mode 0600, and the next write into its folder deletes it, unless another process is still
writing it.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from ..errors import InputError

try:
    import fcntl
except ImportError:  # Windows, where nobody can delete a file that is open
    fcntl = None  # type: ignore[assignment]

_OURS = re.compile(r"\.(PRIVATE-)?[0-9a-f]{16}\.tmp")


@contextlib.contextmanager
def replacement(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Yield a temporary file that replaces ``path`` at the end, and is deleted after an error.

    It has the mode of the existing file, else the usual one; private: always 0600. Raises OSError.
    """
    path = path.resolve()  # a link keeps its target
    sweep(path.parent)
    beside = path.with_name(f".PRIVATE-{os.urandom(8).hex()}.tmp")
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else _usual_mode(beside)
    descriptor = _open_locked(beside)
    try:
        yield beside
        if fcntl is None:
            os.close(descriptor)
            descriptor = -1
        beside.replace(path)
        with contextlib.suppress(OSError):  # not every file system has modes
            path.chmod(0o600 if private else mode)
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)  # it only exists after a failure
        if descriptor >= 0:
            os.close(descriptor)


@contextlib.contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Name the file if something cannot be written: the operating system does not always. Raises InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {error.strerror or error}. Free some space or choose another place, and run "
            "the same command again."
        ) from error


def write_whole(path: Path, data: bytes) -> None:
    """Write a file completely or not at all, even after a power cut. Raises InputError."""
    with write_errors(path), replacement(path) as beside, beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _open_locked(path: Path) -> int:
    """Create a file that only its owner can read, lock it, and return its descriptor."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        if fcntl is not None:
            with contextlib.suppress(OSError):  # some network folders have no locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        if path.exists():
            return descriptor
        os.close(descriptor)  # another process deleted it before it was locked


def _usual_mode(path: Path) -> int:
    """Return the mode of a new file under the umask, which a process cannot read without changing it."""
    with path.open("xb") as empty:
        mode = os.fstat(empty.fileno()).st_mode
    path.unlink(missing_ok=True)
    return stat.S_IMODE(mode)


def leftovers(folder: Path) -> list[Path]:
    """Return the unfinished temporary files of this program in a folder."""
    try:
        return [path for path in folder.iterdir() if _OURS.fullmatch(path.name) and path.is_file()]
    except OSError:
        return []


def sweep(folder: Path) -> None:
    """Delete the temporary files of killed processes in a folder, except those that another process still writes."""
    for path in leftovers(folder):
        with contextlib.suppress(OSError):
            if fcntl is not None:
                with path.open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
