"""The folder of a run: its settings, versions, log, result rows and summary.

    config.json         everything that determines the results; a run resumes only with the same
    environment.json    versions of Python and of packages
    log.txt             when it started, resumed, ended or was stopped, and by what
    rows.jsonl          results, appended one by one (of ``rewrite-data`` the rewritten rows)
    result.json         the summary, once all results are there

A line counts once its end is written: after a kill, an incomplete line is removed and repeated.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.metadata
import itertools
import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from ..errors import ConfigError, InputError
from ..support.assets import read_json
from ..support.checks import shorten_repr, usable_path
from ..support.version import __version__
from ..support.whole_files import sweep
from .tables import ROWS

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

CONFIG, ENVIRONMENT, LOG, RESULT = "config.json", "environment.json", "log.txt", "result.json"
#: Files that a run writes into its folder.
RUN_FILES = (CONFIG, ENVIRONMENT, LOG, RESULT, ROWS)
PACKAGES = ("numpy", "torch", "transformers", "tokenizers", "safetensors", "sentence-transformers", "scikit-learn")


class RunFolder:
    """A run's folder, locked by one process: a context manager. Raises InputError and ConfigError."""

    def __init__(self, path: str | Path, config: Mapping[str, Any]):
        self.path = usable_path(path)
        # As read from JSON, so that the two can be compared.
        self.config = json.loads(json.dumps(config))
        self._rows: Any = None

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                self._check()  # before a file is created in a folder of something else
                self._rows = (self.path / ROWS).open("a+b", buffering=0)
                self._lock()
                self._check()  # another run may have been faster
                self._own()
                self._cut()
                sweep(self.path)
                if not (self.path / CONFIG).exists():
                    self._write(CONFIG, self.config)
                there, here = None, environment()
                with contextlib.suppress(InputError):  # there is none at first
                    there = read_json(self.path / ENVIRONMENT)
                if there not in (None, here):
                    self.log("resumes with different versions")
                self._write(ENVIRONMENT, here)
            except OSError as error:
                raise InputError(
                    f"The folder {self.path.name} cannot be written: {error.strerror}. Choose another folder."
                ) from error
            undo.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            with contextlib.suppress(InputError):
                self.stopped(f"stopped with {kind.__name__}: {sum(1 for _ in self.lines())} lines are written")
        self.close()

    def close(self) -> None:
        if self._rows is not None:
            self._rows.close()
            self._rows = None

    def _check(self) -> None:
        if not (self.path / CONFIG).exists():
            # A kill in the first moments leaves these files of ours.
            ours = [p for p in self.path.iterdir() if p.suffix == ".tmp" or (p.name == ROWS and not p.stat().st_size)]
            if len(ours) < len(list(self.path.iterdir())):
                raise ConfigError(
                    f"The folder {self.path.name} contains other files and no run. Choose an empty or a new folder."
                )
            return
        there = read_json(self.path / CONFIG)
        if there != self.config:
            raise ConfigError(
                f"The folder {self.path.name} contains a run with other settings: {_difference(there, self.config)}. "
                "Use the same settings to resume it, or choose another folder."
            )

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._rows, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"Another process is writing to the folder {self.path.name}. Wait until it ends, or choose another "
                "folder."
            ) from None

    def _own(self) -> None:
        """Raise InputError if the folder was deleted, and perhaps created again by another run."""
        try:
            same = os.path.samestat(os.fstat(self._rows.fileno()), (self.path / ROWS).stat())
        except FileNotFoundError:
            same = False
        if not same:
            raise InputError(
                f"The folder {self.path.name} was deleted, and another run may have it now. Run the same command "
                "again, or choose another folder."
            )

    def _cut(self) -> None:
        """Remove an incomplete last line."""
        size = end = self._rows.seek(0, os.SEEK_END)
        while end:
            begin = max(0, end - (1 << 16))
            self._rows.seek(begin)
            at = self._rows.read(end - begin).rfind(b"\n")
            if at >= 0:
                end = begin + at + 1
                break
            end = begin
        if end < size:
            self._rows.truncate(end)

    # --- lines

    def lines(self) -> Iterator[dict[str, Any]]:
        """Return the existing lines. Raises InputError for a line that this program did not write."""
        return read_lines(self.path)

    def append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Write whole lines to the disk.

        Raises InputError if the disk is full: an incomplete line is removed at the next start.
        """
        for line in lines:
            data = json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
            with self._writing(ROWS):
                # Unbuffered: one call per line, so that a stop falls between two lines. A disk that is nearly full
                # accepts part of a line, and refuses the rest.
                while data:
                    taken = self._rows.write(data)
                    if not taken:
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    data = data[taken:]
        with self._writing(ROWS):
            os.fsync(self._rows.fileno())

    @contextlib.contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        """Name the file that cannot be written, and what to do."""
        self._own()
        try:
            yield
        except OSError as error:
            raise InputError(
                f"{name} in the folder {self.path.name} cannot be written: {error.strerror or error}. Free some space, "
                "and run the same command again: it resumes after the last whole line."
            ) from error

    # --- other files

    def log(self, text: str) -> None:
        """Write a line with its time. Nothing that a user typed may be in it."""
        with self._writing(LOG), (self.path / LOG).open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {text}\n")

    def stopped(self, text: str) -> None:
        """Log next to an error that is re-raised: if the log fails too, that error is the one to report."""
        with contextlib.suppress(InputError):
            self.log(text)

    def finish(self, result: Mapping[str, Any]) -> None:
        self._write(RESULT, result)

    def _write(self, name: str, data: Any) -> None:
        beside = self.path / f".{name}.tmp"
        with self._writing(name):
            with beside.open("w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
                file.flush()
                os.fsync(file.fileno())  # a power cut must not leave a name without its content
            beside.replace(self.path / name)


def same_place(one: Path, other: Path) -> bool:
    """Return True if data written to one path is read from the other: follows links, and does not open devices."""
    with contextlib.suppress(OSError, ValueError):  # a text may be too long for a file name
        if one.exists() and other.exists():
            return one.samefile(other) and (one.is_file() or one.is_dir())
        return one.resolve() == other.resolve()
    return False


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the whole lines of a run's results. Raises InputError for an invalid one."""
    try:
        with (path / ROWS).open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                try:
                    row = json.loads(line)
                except ValueError:  # the library's message quotes the line
                    row = None
                if not isinstance(row, dict):
                    raise InputError(
                        f"{ROWS} in {path.name} is damaged in line {number}. Delete that folder, and run again."
                    )
                yield row
    except FileNotFoundError:
        return


def some_lines(path: Path, start: int, n: int) -> list[dict[str, Any]]:
    """Return n whole lines from one on; earlier lines are skipped without parsing."""
    try:
        with (path / ROWS).open("rb") as file:
            lines = itertools.islice(file, start, start + n)
            return [json.loads(line) for line in lines if line.endswith(b"\n")]
    except FileNotFoundError:
        return []


def environment() -> dict[str, Any]:
    """Return the versions of the software that computes."""
    versions = {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        "dptext-studio": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "packages": versions,
    }


def _difference(there: Any, here: Mapping[str, Any]) -> str:
    """Return the first settings that differ, in words."""
    if not isinstance(there, dict):
        return f"its {CONFIG} cannot be read"
    flat = [dict(_flat(c)) for c in (there, here)]
    changes = []
    for name in dict.fromkeys([*flat[0], *flat[1]]):
        a, b = (f.get(name, "not set") for f in flat)
        if a != b and name.startswith("loads."):
            changes.append(
                f"the files of its {name.removeprefix('loads.')} differ from those here (SHA-256 "
                f"{_format_value(a)} there and {_format_value(b)} here)"
            )
        elif a != b and name == "block" and "not set" in (a, b):
            how = "without workers" if a == "not set" else "by workers (use --workers)"
            changes.append(f"it was run {how}")
        elif a != b:
            changes.append(f"{name} is {_format_value(a)} there and {_format_value(b)} here")
    return "; ".join(changes[:3]) + ("; and others" if len(changes) > 3 else "")


def _format_value(value: Any) -> str:
    return value[:12] + "…" if isinstance(value, str) and len(value) == 64 else shorten_repr(value)


def _flat(config: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in config.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value
