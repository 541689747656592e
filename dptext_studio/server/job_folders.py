"""Folders on the server for uploaded data, and their deletion.

A session's folder lives until its owner deletes it, and at most as long as its process: the next start removes what a
killed process left. A kept folder outlives the session, at its owner's request. It is named by the hash of a code that
only the owner has, and is deleted after :data:`HOURS`, at the first start after that, or on request.

All folders are in the folder that the environment variable DPTEXT_JOBS names, otherwise in ``dptext/jobs`` in the
user's cache folder, and only the user who runs the server can read them. That folder must contain nothing else:
otherwise it is refused before anything in it is changed or deleted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import Any

from dptext_core.errors import ConfigError, InputError
from dptext_core.support import folder_lock
from dptext_core.support.checks import pluralize, usable_path

VARIABLE = "DPTEXT_JOBS"
#: Hours that a kept folder lives, and the largest number of kept folders.
HOURS, MOST = 24, 100
#: The file in a kept folder that states its expiry and the request.
ABOUT = "job.json"
_SESSION, _KEPT = "session-", "kept-"
_OURS = re.compile(rf"{_SESSION}[0-9a-f]{{24}}|{_KEPT}[0-9a-f]{{64}}")

_locks: dict[Path, Any] = {}
_guard, _keeping = threading.Lock(), threading.Lock()


def base() -> Path:
    """Return the folder of all jobs, and create it if needed.

    Raises InputError if that fails, or if it contains other files.
    """
    if named := os.environ.get(VARIABLE, "").strip():
        path = usable_path(named, ConfigError).absolute()
    else:
        default = "~/AppData/Local" if sys.platform == "win32" else "~/.cache"
        path = usable_path(os.environ.get("XDG_CACHE_HOME") or default, ConfigError).absolute() / "dptext" / "jobs"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        others = sum(not _OURS.fullmatch(name) for name in os.listdir(path))
        if not others:
            path.chmod(0o700)
    except OSError as error:
        raise InputError(
            f"The server cannot make the folder for uploaded data: {error.strerror}. Set another folder in the "
            f"environment variable {VARIABLE}, or use the command line."
        ) from error
    if others:
        raise InputError(
            f"The folder for uploaded data has {pluralize(others, 'other file')} in it, which would be deleted with "
            f"the jobs. Set an empty or new folder in the environment variable {VARIABLE}, or use the command line."
        )
    return path


def session_folder() -> Path:
    """Return a new folder that is deleted with this process at the latest."""
    path, lock = folder_lock.make_and_hold(_make_folder)
    with _guard:
        _locks[path] = lock
    return path


def _make_folder() -> Path:
    path = base() / f"{_SESSION}{secrets.token_hex(12)}"
    path.mkdir(mode=0o700)
    return path


def keep(folder: Path, about: dict[str, Any], now: float | None = None) -> tuple[str, Path]:
    """Make a session's folder outlive it. Return the code, which is stored nowhere, and the new folder.

    Raises InputError if there are too many kept folders.
    """
    now = time.time() if now is None else now
    code = secrets.token_urlsafe(18)
    there = _of(code)
    with _keeping:
        if len(list(base().glob(f"{_KEPT}*"))) >= MOST:
            raise InputError(
                "This server has no space for more jobs. Try again later, run the job without keeping it, or use the "
                "command line."
            )
        write(folder, about | {"expires": now + 3600 * HOURS})
        folder.rename(there)
    _release(folder)
    (there / folder_lock.LOCK).unlink(missing_ok=True)
    return code, there


def write(folder: Path, about: dict[str, Any]) -> None:
    """Write the request into the folder."""
    beside = folder / f".{ABOUT}.tmp"
    beside.write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")
    beside.replace(folder / ABOUT)


def find(code: str, now: float | None = None) -> tuple[Path, dict[str, Any]]:
    """Return the folder of a code and its description. Raises InputError if there is none."""
    folder = _of(code.strip())
    about = _about(folder)
    if about is None or about["expires"] <= (time.time() if now is None else now):
        raise InputError(
            f"No job has this code. Check it letter by letter. Jobs are deleted after {HOURS} hours, or when their "
            "owner deletes them."
        )
    return folder, about


def delete(folder: Path) -> None:
    """Delete a folder with all its content, even if something still writes into it."""
    _release(folder)
    with contextlib.suppress(OSError):
        # Nobody finds it under another name. The next sweep deletes what a killed process leaves.
        folder = folder.rename(folder.with_name(f"{_SESSION}{secrets.token_hex(12)}"))
    shutil.rmtree(folder, ignore_errors=True)


def sweep(now: float | None = None) -> list[Path]:
    """Delete expired kept folders, and sessions' folders whose process has ended. Return them."""
    now = time.time() if now is None else now
    over = []
    for path in list(base().iterdir()):
        if path.name.startswith(_KEPT):
            about = _about(path)
            ends = about["expires"] if about else folder_lock.change_time(path) + 3600 * HOURS
            if ends <= now:
                over.append(path)
                delete(path)
        elif path.name.startswith(_SESSION) and path not in _locks:
            with folder_lock.claim_abandoned(path, now, 3600 * HOURS) as free:
                if free:
                    over.append(path)
                    delete(path)
    return over


def _of(code: str) -> Path:
    return base() / f"{_KEPT}{hashlib.sha256(code.encode('utf-8', 'replace')).hexdigest()}"


def _about(folder: Path) -> dict[str, Any] | None:
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        about["expires"] = float(about["expires"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return about


def _release(folder: Path) -> None:
    with _guard:
        lock = _locks.pop(folder, None)
    if lock is not None:
        with contextlib.suppress(OSError):
            lock.close()
