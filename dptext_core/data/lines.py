"""The lines of a text file, decoded one by one, with a limit on the length of a line or a row."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..errors import InputError
from ..support.task import UNWATCHED, Task

#: Maximum bytes of a line, and of a row over several lines. A text that can be rewritten is far shorter.
LONGEST = 8 << 20
#: Bytes at the beginning of a file that show what kind of text it is.
START = 1 << 20
#: Lines between two checks for cancellation.
_CHECK_EVERY = 1024
_MARK = codecs.BOM_UTF8


class TextLines:
    """The lines of a file as an iterator.

    A carriage return ends a line only if no line feed does. Byte-order marks at the beginning of a line are removed:
    joined files have them.

    Attributes
    ----------
    number : int
        How many lines were read.
    """

    def __init__(self, file: BinaryIO, name: str, task: Task = UNWATCHED, start: bytes | None = None):
        self.number = 0
        self._name, self._task = name, task
        self._size = 0
        if start is None:
            start = file.read(START)
            file.seek(0)
        by_return = b"\r" in start and b"\n" not in start
        self._lines = _split_at_returns(file) if by_return else iter(lambda: file.readline(LONGEST + 1), b"")

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        if not self.number % _CHECK_EVERY:
            self._task.check()
        self._size += len(line)
        if self._size > LONGEST:
            raise too_long(self._name, self.number)
        while line.startswith(_MARK):
            line = line[len(_MARK) :]
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:  # the library's error contains the line
            raise InputError(f"{self._name} is not UTF-8 in line {self.number}. Save it as UTF-8.") from None

    def end_row(self) -> None:
        """Restart the byte count for the next row."""
        self._size = 0


def _split_at_returns(file: BinaryIO) -> Iterator[bytes]:
    remainder = b""
    while data := file.read(1 << 16):
        *lines, remainder = (remainder + data).splitlines(keepends=True)
        yield from lines
        if len(remainder) > LONGEST:
            yield remainder
            return
    if remainder:
        yield remainder


def too_long(name: str, number: int) -> InputError:
    """Return the error for a line over the limit."""
    return InputError(
        f"{name}, line {number}, belongs to a row of more than {LONGEST >> 20} MB. Split that row; in a table, look "
        "for a quotation mark that is never closed."
    )


def text_lines(path: Path, task: Task = UNWATCHED) -> Iterator[str]:
    """Yield each line as a row of its own. Raises InputError, Cancelled."""
    with path.open("rb") as file:
        lines = TextLines(file, path.name, task)
        for line in lines:
            lines.end_row()
            yield line


def check_text(name: str, start: bytes) -> None:
    """Raise InputError if the file is not text; a few zero bytes are the fault of their rows."""
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{name} is in UTF-16. Save it as UTF-8 (in a spreadsheet: “CSV UTF-8”).")
    zeros, most = start.count(b"\0"), max(8, len(start) // 100)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        most = 0
    if zeros > most:
        raise InputError(f"{name} looks like a binary file. Choose a text file in UTF-8.")


def zero_byte(name: str, line: int) -> str:
    """Return the error for a zero byte in a line."""
    return f"{name}, line {line}, contains a zero byte, at which other programs stop reading. Remove it."
