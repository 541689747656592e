"""Rows of text files: CSV and TSV (Python's csv module), JSONL, and plain text with one row per line.

No message quotes the contents of a row: without a header, the first row is a user's text.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..support.checks import pluralize, shorten_repr
from ..support.task import UNWATCHED, Task
from . import columns as naming
from .dialects import Dialect
from .lines import TextLines, text_lines, zero_byte
from .records import UnreadableRow

#: Maximum nesting of lists and objects in a row of JSONL: writers recurse once per level.
DEEP = 100

Row = dict[str, Any]


# --- CSV and TSV ----------------------------------------------------------------------------------------------------


def table_heading(path: Path, dialect: Dialect, header: bool, task: Task) -> tuple[str, ...]:
    """Return the columns of a table: names, or numbers if it has no header. Raises InputError, Cancelled."""
    with path.open("rb") as file:
        lines = TextLines(file, path.name, task)
        try:
            cells: list[str] = next((c for c in dialect.reader(lines) if c), [])
        except csv.Error as error:
            raise InputError(_no_table(path, 1, error)) from None
        if header and any("\0" in c for c in cells):
            raise InputError(zero_byte(path.name, lines.number))
    naming.check_width(path.name, len(cells))
    return naming.unique_names(cells) if header else tuple(str(i) for i in range(1, len(cells) + 1))


def table(
    path: Path, dialect: Dialect, columns: Sequence[str], header: bool, each: bool, task: Task, bare: bool
) -> Iterator[Row]:
    """Yield the rows of a table with these columns.

    bare: check only that there are rows, so that a broken one costs no more than its bytes.
    """
    at: tuple[int, ...] = ()
    width = ended = 0
    with path.open("rb") as file:
        lines = TextLines(file, path.name, task)
        try:
            for cells in dialect.reader(lines):
                lines.end_row()
                ended = lines.number
                if not cells:  # an empty line
                    continue
                if not width:
                    width = len(cells)
                    naming.check_width(path.name, width)
                    at = naming.places(path.name, columns, cells if header else None, width)
                    if bare:
                        columns = at = ()
                    if header:
                        continue
                if why := _row_error(path, cells, width, lines.number):
                    if not each:
                        raise InputError(why)
                    yield UnreadableRow(columns, why)
                    continue
                yield {column: cells[i] for column, i in zip(columns, at, strict=True)}
        except csv.Error as error:
            # For a quote that is never closed, the row in which it opens, which extends to the end of the file.
            line = ended + 1 if "end of data" in str(error) else lines.number
            raise InputError(_no_table(path, line, error)) from None


def _row_error(path: Path, cells: Sequence[str], width: int, line: int) -> str:
    if any("\0" in c for c in cells):
        return zero_byte(path.name, line)
    if len(cells) == width:
        return ""
    return (
        f"In {path.name}, the row that ends in line {line} has {pluralize(len(cells), 'cell')} instead of {width}. "
        "Correct that row; if it is the last one, the file may be truncated."
    )


def _no_table(path: Path, line: int, error: csv.Error) -> str:
    message = f"{path.name}, line {line}, cannot be read as a table: {error}."
    if "end of data" in str(error):
        return f"{message} A quotation mark is never closed: close it, or save the file again if it was truncated."
    if "new-line" in str(error):
        message = f"{path.name}, line {line}, contains a carriage return outside of quotation marks."
        return f"{message} Save the file again with the line endings of your system."
    return f"{message} Correct the quotation marks there, or save the file again."


# --- JSONL ----------------------------------------------------------------------------------------------------------


def jsonl_heading(path: Path, task: Task) -> tuple[str, ...]:
    """Return all names in any row, in the order of their first rows. Raises InputError, Cancelled."""
    names: dict[str, None] = {}
    first: InputError | None = None
    for number, line in enumerate(text_lines(path, task), 1):
        if not line.strip():
            continue
        try:
            names |= dict.fromkeys(_object(line, number, path.name))
        except InputError as error:
            first = first or error
        naming.check_width(path.name, len(names))
    if first is not None and not names:
        raise first
    return tuple(names)


def jsonl(
    path: Path, columns: Sequence[str], each: bool, task: Task, bare: bool, names: set[str] | None = None
) -> Iterator[Row]:
    """Yield the rows of JSONL with these columns: a missing name is None.

    seen: receives the columns that some row has.
    """
    wanted = set(columns)
    for number, line in enumerate(text_lines(path, task), 1):
        if not line.strip():
            continue
        try:
            row = _object(line, number, path.name)
        except InputError as error:
            if not each:
                raise
            yield UnreadableRow(() if bare else columns, str(error))
            continue
        if names is not None:
            names |= row.keys() & wanted
        yield {} if bare else pick_columns(row, columns)


def pick_columns(row: Row, columns: Sequence[str]) -> Row:
    """Return the columns of a row of JSONL, which may lack some."""
    return {column: row.get(column) for column in columns}


def parse_lines(lines: Iterator[str], name: str) -> Iterator[tuple[int, Row]]:
    """Yield the objects of JSONL with their line numbers. Raises InputError."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, _object(line, number, name)


def _object(line: str, number: int, name: str) -> Row:
    if "\0" in line:
        raise InputError(zero_byte(name, number))
    try:
        row = json.loads(line, object_pairs_hook=_unique_keys)
    except _TwiceError:
        raise InputError(
            f"{name}, line {number}, has two values with the same name. Correct that line."
        ) from None
    except (ValueError, RecursionError):  # the library's message quotes the line
        cut = "" if line.endswith(("\n", "\r")) else " It is the last line: the file may be truncated."
        raise InputError(f"{name}, line {number}, is not valid JSON. Correct that line.{cut}") from None
    if not isinstance(row, dict):
        raise InputError(f"{name}, line {number}, is not a JSON object. Write one object per row.")
    if line.count("[") + line.count("{") > DEEP and _deep(row):
        raise InputError(
            f"{name}, line {number}, has more than {DEEP} nested lists and objects. Flatten that line."
        )
    return row


class _TwiceError(ValueError):
    """A JSON object with a repeated name."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> Row:
    if len(row := dict(pairs)) < len(pairs):
        raise _TwiceError
    return row


def _deep(value: Any) -> bool:
    """Return True if more than ``DEEP`` lists and objects are nested."""
    level = [value]
    for _ in range(DEEP):
        level = [inner for v in level for inner in (v.values() if isinstance(v, dict) else v)]
        level = [v for v in level if isinstance(v, dict | list)]
    return bool(level)


def missing_column(name: str, columns: Sequence[str], names: set[str], of_run: bool) -> InputError | None:
    """Return the error for the first column that no row has, or None. of_run: whether a run wrote the file."""
    for column in columns:
        if column not in names:
            hint = f" The run that made it keeps columns with --keep {column}." if of_run else ""
            return InputError(f"{name} has no column {shorten_repr(column)} in any row. Choose another name.{hint}")
    return None


# --- plain text -----------------------------------------------------------------------------------------------------


def plain_text(path: Path, each: bool, columns: Sequence[str], task: Task = UNWATCHED) -> Iterator[Row]:
    """Yield each line that is not blank as a row."""
    for number, line in enumerate(text_lines(path, task), 1):
        text = line.rstrip("\r\n")
        if "\0" in text:
            if not each:
                raise InputError(zero_byte(path.name, number))
            yield UnreadableRow(columns, zero_byte(path.name, number))
        elif text.strip():
            yield {"text": text}
