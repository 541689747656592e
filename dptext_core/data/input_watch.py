"""Detect that an input changes while it is read: rows of two versions do not belong together."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..errors import DPTextError, InputError
from ..support.assets import sha256_of

_PART = 1 << 20

Row = dict[str, Any]
Read = Callable[[], Iterator[Row]]


class InputWatch:
    """A file, and its state before it was hashed.

    Every row checks the size and the times of the file. If they differ, and after the last row, its bytes are hashed
    again.

    Parameters
    ----------
    file : Path or int
        The file, or its descriptor if standard input comes from a file.
    name : str
        The name in messages.
    """

    def __init__(self, file: Path | int, name: str):
        self._file, self._name = file, name
        self._last_stamp = self._stamp()
        self._start = os.lseek(file, 0, os.SEEK_CUR) if isinstance(file, int) else 0

    def sha256(self) -> str:
        """Hash the file. Raises InputError if it cannot be read."""
        if not isinstance(self._file, int):
            return sha256_of(self._file)
        digest, at = hashlib.sha256(), self._start
        try:
            while part := os.pread(self._file, _PART, at):  # which preserves the reading position
                digest.update(part)
                at += len(part)
        except OSError as error:
            raise self._lost(error) from None
        return digest.hexdigest()

    def rows(self, read: Read, sha256: str) -> Read:
        """Return a reader of the same rows that raises InputError once the file no longer has this hash."""

        def watched() -> Iterator[Row]:
            try:
                for row in read():
                    self._check(sha256)
                    yield row
            except (DPTextError, OSError, ValueError):
                self._check(sha256, whole=True)  # the error may come from the change
                raise
            self._check(sha256, whole=True)

        return watched

    def _check(self, sha256: str, whole: bool = False) -> None:
        now = self._stamp()
        if now == self._last_stamp and not whole:
            return
        if self.sha256() != sha256:
            raise InputError(
                f"{self._name} changed while it was read, so its rows do not belong together. Restore it and run the "
                "same command again, or start a new run with the changed file."
            )
        self._last_stamp = now  # it was touched, or another file with the same bytes replaced it

    def _stamp(self) -> tuple[int, ...]:
        try:
            stat = os.stat(self._file)
        except OSError as error:
            raise self._lost(error) from None
        return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns

    def _lost(self, error: OSError) -> InputError:
        if isinstance(error, FileNotFoundError):
            return InputError(
                f"{self._name} was moved or deleted while it was read. Restore it, and run the same command again."
            )
        return InputError(f"{self._name} cannot be read: {error.strerror}. Choose another file.")


def row_bytes(row: Row) -> bytes:
    """Return a row in the form that is hashed."""
    return json.dumps(row, ensure_ascii=False, sort_keys=True, default=str).encode("utf-8", "replace")


def same_rows(read: Read, sha256: str, name: str) -> Read:
    """Return a reader of a loader's rows that raises InputError if they do not have this hash."""

    def rows() -> Iterator[Row]:
        digest = hashlib.sha256()
        for row in read():
            digest.update(row_bytes(row))
            yield row
        if digest.hexdigest() != sha256:
            raise InputError(
                f"The data set {name} does not give the same rows in the same order each time, so originals and "
                "rewrites cannot be paired. Make its loader sort them, or seed its random choices."
            )

    return rows
