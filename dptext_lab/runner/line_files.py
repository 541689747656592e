"""Write the points of a run to a file, one per line."""

from __future__ import annotations

import json
import os
from pathlib import Path

from dptext_core.errors import InputError
from dptext_core.support.whole_files import write_errors

from ..results.rows import RunLine


class LineWriter:
    """Appends points to a file and flushes each to the disk. It first removes an incomplete last line.

    Raises InputError if the file ends with anything else, because it is another program's.
    """

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._file = path, path.open("a+b")
        self._file.seek(0)
        before, line_end, cut_off = self._file.read().rpartition(b"\n")
        if not b'{"id": "'.startswith(cut_off[:8]):
            self._file.close()
            raise InputError(f"{path.name} exists and has no points. Name another file with --out.")
        self._file.truncate(len(before + line_end))

    def write(self, line: RunLine) -> None:
        with write_errors(self._path):
            self._file.write(json.dumps(line.to_dict(), ensure_ascii=False).encode("utf-8") + b"\n")
            self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()
