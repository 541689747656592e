"""Data sets: files in CSV, TSV or JSONL, and loaders of one's own (``components``), read row by row.

Only the columns that are asked for are read, by their name or, counted from 1, by their number. No message quotes what
stands in a row: without a header the first row is somebody's text.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..checks import shown, usable_path
from ..errors import DPTextError, InputError
from . import components

#: The rows of a rewritten data set, in the folder of its run.
ROWS = "rows.jsonl"
KINDS = (".csv", ".tsv", ".jsonl")
#: What the module csv refuses to read beyond: whoever rewrites a text says how long it may be.
_CELL = 2**31 - 1

Row = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """A data set. name: the file's, or the loader's and the split; sha256: of the file, or of the loaded rows."""

    name: str
    sha256: str
    count: int
    rows: Callable[[], Iterator[Row]] = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """What a run's folder says of it."""
        return {"name": self.name, "sha256": self.sha256, "rows": self.count}


def source(given: str | Path, columns: Sequence[str], header: bool | None = None, split: str = "") -> Source:
    """The data set that ``given`` names: a file, the folder of a rewriting run, or a loader of somebody's own.

    Its rows have these ``columns``, named as they are asked for. header: whether the first row of a CSV or TSV file
    names the columns (None: where a column is asked for by its name). Reads all of it once. Raises InputError.
    """
    path = usable_path(given)
    name = path.name
    if (path / ROWS).is_file():
        path, name = path / ROWS, f"{name}/{ROWS}"
    if path.is_file():
        if split:
            raise InputError(f"{path.name} is a file, and files have no splits. Name the file of that split instead.")
        return _file(path, name, tuple(columns), header)
    loader = components.data_sets().get(str(given))
    if loader is not None:
        return _loaded(str(given), loader, tuple(columns), split)
    names = ", ".join(components.data_sets()) or "none"
    raise InputError(
        f"There is no file {shown(str(given))}, and no data set of that name is registered ({names}). Correct the path."
    )


def texts_of(data: Source, column: str) -> list[str]:
    """The texts of a column; rows without one (those that could not be rewritten, and empty ones) are left out.
    Raises InputError where none is left."""
    texts = []
    for row in data.rows():
        if row[column] is not None and not isinstance(row[column], str):
            raise InputError(
                f"{data.name} has something else than a text in {shown(column)}. Name the column of texts."
            )
        if text := (row[column] or "").strip():
            texts.append(text)
    if not texts:
        raise InputError(f"No row of {data.name} has a text. Name another file.")
    return texts


# --- files ----------------------------------------------------------------------------------------------------------


def _file(path: Path, name: str, columns: tuple[str, ...], header: bool | None) -> Source:
    if path.suffix.lower() not in KINDS:
        raise InputError(f"{path.name} is none of {', '.join(KINDS)}. Save the data as one of these, and name it so.")
    if header is None:
        header = not all(c.isdecimal() for c in columns)

    def rows() -> Iterator[Row]:
        return _jsonl(path, columns) if path.suffix.lower() == ".jsonl" else _table(path, columns, header)

    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            for part in iter(lambda: file.read(1 << 20), b""):
                if b"\0" in part:
                    raise InputError(f"{path.name} looks like a binary file. Give a text file in UTF-8.")
                digest.update(part)
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror}. Name another file.") from error
    count = sum(1 for _ in rows())
    if not count:
        raise InputError(f"{path.name} has no rows. Name a file with at least one.")
    return Source(name, digest.hexdigest(), count, rows)


def _lines(path: Path) -> Iterator[str]:
    # Decoded line by line: a message can name the line, and no more than one is held.
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:  # which holds the line
                raise InputError(f"{path.name} is not UTF-8 in line {number}. Save it as UTF-8.") from None


def _table(path: Path, columns: tuple[str, ...], header: bool) -> Iterator[Row]:
    tabs = path.suffix.lower() == ".tsv"
    csv.field_size_limit(max(_CELL, csv.field_size_limit()))
    reader = (
        csv.reader(_lines(path), delimiter="\t", quoting=csv.QUOTE_NONE) if tabs
        else csv.reader(_lines(path), strict=True)
    )  # fmt: skip
    at: tuple[int, ...] = ()
    width = 0
    try:
        for cells in reader:
            if not cells:  # an empty line
                continue
            if not width:
                width = len(cells)
                at = tuple(_place(path, c, cells if header else None, width) for c in columns)
                if header:
                    continue
            if len(cells) != width:
                raise InputError(
                    f"{path.name} has {width} columns, and {len(cells)} in the row that ends in line "
                    f"{reader.line_num}. Correct that row."
                )
            yield {column: cells[i] for column, i in zip(columns, at, strict=True)}
    except csv.Error as error:
        raise InputError(f"{path.name}, line {reader.line_num}, cannot be read as a table: {error}.") from None


def _place(path: Path, column: str, names: Sequence[str] | None, width: int) -> int:
    if names is not None and (times := list(names).count(column)):
        if times > 1:
            raise InputError(
                f"{path.name} has {times} columns named {column!r}. Name it by its number, from 1, with --header (from "
                "Python header=True), since the first row is no data."
            )
        return list(names).index(column)
    if column.isdecimal() and 1 <= int(column) <= width:
        return int(column) - 1
    kind = "numbered" if column.isdecimal() else "named"
    raise InputError(
        f"{path.name} has no column {kind} {shown(column)}. Its first row has {width}: name one as that row does, or "
        f"by its number, 1 to {width}."
    )


def _jsonl(path: Path, columns: tuple[str, ...]) -> Iterator[Row]:
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):  # whose message quotes the line
            raise InputError(f"{path.name}, line {number}, is no JSON. Correct that line.") from None
        if not isinstance(row, dict):
            raise InputError(f"{path.name}, line {number}, is no JSON object. Write one for each row.")
        for column in columns:
            if column not in row:
                raise InputError(f"{path.name}, line {number}, has nothing named {shown(column)}. Each row needs it.")
        yield {column: row[column] for column in columns}


# --- loaders --------------------------------------------------------------------------------------------------------


def _loaded(name: str, loader: components.Loader, columns: tuple[str, ...], split: str) -> Source:
    called = f"{name}/{split}" if split else name

    def rows() -> Iterator[Row]:
        try:
            for number, row in enumerate(loader(split), 1):
                if not isinstance(row, Mapping):
                    raise InputError(f"The data set {called} gives something else than a mapping as row {number}.")
                for column in columns:
                    if column not in row:
                        raise InputError(f"Row {number} of the data set {called} has no column {shown(column)}.")
                yield {column: row[column] for column in columns}
        except DPTextError:
            raise
        except Exception as error:  # somebody else's code
            raise InputError(
                f"The data set {called} could not be loaded: its loader stopped with {type(error).__name__}."
            ) from error

    digest, count = hashlib.sha256(), 0
    for count, row in enumerate(rows(), 1):  # noqa: B007
        digest.update(json.dumps(row, ensure_ascii=False, sort_keys=True, default=str).encode("utf-8", "replace"))
    if not count:
        raise InputError(f"The data set {called} has no rows.")
    return Source(called, digest.hexdigest(), count, rows)
