"""Detect how the cells of a CSV or TSV file are separated and quoted, by reading it with Python's csv module."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..support.task import UNWATCHED, Task
from .lines import TextLines

#: Possible separators; on a tie the first wins.
SEPARATORS = (",", ";", "\t", "|")
#: Maximum number of lines and characters for the choice of a separator.
_LINES, _CHARACTERS = 200, 1 << 18
_SEP_LINE = re.compile(r'"?sep=(.)"?[,;\t]*\r?\n?\Z', re.IGNORECASE)
#: A quoted cell with doubled quotes inside; a line whose cells are all quoted.
_DOUBLED = re.compile(r'(?:^|\t)"[^"]*+""(?:[^"]|"")*+"(?=\t|\r?\n?\Z)')
_ALL_QUOTED = re.compile(r'"(?:[^"\t]|"")*+"(?:\t"(?:[^"\t]|"")*+")*+\r?\n?\Z')


@dataclass(frozen=True)
class Dialect:
    """How cells are written.

    separator: between cells; quoted: whether quotation marks around a cell are not part of it; first: number of lines
    before the first row (``sep=;``).
    """

    separator: str
    quoted: bool
    first: int = 0

    def reader(self, lines: Iterator[str]) -> Any:
        """Return a reader of rows."""
        # The size of a row is limited by its lines, and not only by its cells.
        csv.field_size_limit(max(2**31 - 1, csv.field_size_limit()))
        lines = itertools.islice(lines, self.first, None)
        if self.quoted:
            return csv.reader(lines, delimiter=self.separator, strict=True)
        return csv.reader(lines, delimiter=self.separator, quoting=csv.QUOTE_NONE)


def dialect_of(path: Path, task: Task = UNWATCHED) -> Dialect:
    """Detect how the cells of a file are written. Raises InputError, Cancelled."""
    with path.open("rb") as file:
        lines = TextLines(file, path.name, task)
        sample: list[str] = []
        size = 0
        is_complete = True
        for line in lines:
            lines.end_row()
            sample.append(line)
            size += len(line)
            if len(sample) >= _LINES or size >= _CHARACTERS:
                is_complete = False
                break
    given = _SEP_LINE.match(sample[0]) if sample else None
    first = 1 if given else 0
    if path.suffix.lower() == ".tsv":
        separator = given[1] if given else "\t"
        return Dialect(separator, _is_quoted(path, separator, first, task), first)
    separator = given[1] if given else _separator(sample, is_complete)
    return Dialect(separator, True, first)


def _separator(lines: Sequence[str], is_complete: bool) -> str:
    """Return the separator that splits most rows into as many cells as the first one, at least two."""
    best, separator = (0.5, 0.0), ","
    for mark in SEPARATORS:
        rows = _sample(lines, mark, is_complete)
        if not rows or (width := len(rows[0])) < 2:
            continue
        same = sum(len(row) == width for row in rows) / len(rows)
        inner = [cell for row in rows for cell in row[1:]]
        # A blank follows a mark between two words of a sentence, but not between two cells; a cell may be blank.
        spaced = sum(cell[:1] == " " and not cell.isspace() for cell in inner) / len(inner)
        if mark != "," and spaced > 0.5:
            continue
        if (same, -spaced) > best:
            best, separator = (same, -spaced), mark
    return separator


def _sample(lines: Sequence[str], mark: str, is_complete: bool) -> list[list[str]]:
    rows = []
    try:
        for row in csv.reader(lines, delimiter=mark, strict=True):
            if row:
                rows.append(row)
        if not is_complete:  # the last row may be incomplete
            rows = rows[:-1] or rows
    except csv.Error:
        pass
    return rows


def _is_quoted(path: Path, separator: str, first: int, task: Task) -> bool:
    """Return True if a TSV file quotes cells as a spreadsheet does.

    All of it must be readable that way, some cell must need the quotes, and no more rows may be broken than without
    them. A cell needs quotes if it contains a line end or a separator: then fewer rows are broken with them. Otherwise
    two texts with one mark each look like such a cell, unless the file has only a heading and one row.
    """
    evidence = False
    bare = QuoteCounts(separator)
    with path.open("rb") as file:
        lines = TextLines(file, path.name, task)
        rows = csv.reader(bare.watch(itertools.islice(lines, first, None)), delimiter=separator, strict=True)
        count = width = broken = 0
        try:
            for cells in rows:
                lines.end_row()
                count += bool(cells)
                width = width or len(cells)
                broken += bool(cells) and len(cells) != width
                evidence = evidence or any("\n" in c or "\r" in c or separator in c for c in cells)
        except (csv.Error, InputError):  # raised again when the rows are read, if the file is at fault
            return False
    needed = evidence and (width == 1 or count <= 2 or broken < bare.broken)
    return (needed or bare.doubled or bare.all_quoted) and broken <= bare.broken


class QuoteCounts:
    """Statistics of a TSV file's lines if quotation marks are part of the text."""

    def __init__(self, separator: str) -> None:
        self.separator = separator
        self.doubled = self.all_quoted = False
        self.broken = self._width = 0

    def watch(self, lines: Iterator[str]) -> Iterator[str]:
        """Yield the lines, and count."""
        for line in lines:
            if line.strip("\r\n"):
                cells = line.count(self.separator) + 1
                if not self._width:
                    self._width = cells
                    self.all_quoted = _ALL_QUOTED.match(line) is not None
                self.broken += cells != self._width
                self.doubled = self.doubled or ('""' in line and _DOUBLED.search(line) is not None)
            yield line
