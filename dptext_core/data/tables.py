"""Data sets: files in CSV, TSV, JSONL, Parquet, plain text (a line is a row), DOCX and PDF (``office``), and loaders of
one's own (``components``), read row by row.

Only the columns that are asked for are read, by their name or, counted from 1, by their number. No message quotes what
stands in a row: without a header the first row is somebody's text.
"""

from __future__ import annotations

import codecs
import csv
import datetime
import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._internal.checks import shown, usable_path
from .._internal.task import UNWATCHED, Task
from ..errors import DPTextError, InputError
from . import components, office
from .input_watch import InputWatch, row_bytes, same_rows
from .records import Unread

#: The rows of a rewritten data set, in the folder of its run.
ROWS = "rows.jsonl"
TABLES = (".csv", ".tsv")
#: Those that are no text.
_BINARY = (".parquet", ".docx", ".pdf")
KINDS = (*TABLES, ".jsonl", ".txt", *_BINARY)
#: What the rows of a kind have, where that is no question of the file.
_COLUMNS = {".txt": ("text",), ".docx": ("text", "paragraph"), ".pdf": ("text", "page")}
#: Rows of Parquet that are held at a time, and lines from one look at whether to stop to the next.
_HELD, _LOOK = 512, 1024
#: Lists and objects within each other in a row of JSONL: what writes one out follows each.
DEEP = 100
#: What the module csv refuses to read beyond: whoever rewrites a text says how long it may be.
_CELL = 2**31 - 1

Row = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """A data set. name: the file's, or the loader's and the split; sha256: of the file, or of the loaded rows. unread:
    how many of its rows could not be read."""

    name: str
    sha256: str
    count: int
    rows: Callable[[], Iterator[Row]] = field(repr=False, compare=False)
    unread: int = 0

    def to_dict(self) -> dict[str, Any]:
        """What a run's folder says of it."""
        return {"name": self.name, "sha256": self.sha256, "rows": self.count}


def source(
    given: str | Path,
    columns: Sequence[str],
    header: bool | None = None,
    split: str = "",
    each: bool = False,
    task: Task = UNWATCHED,
) -> Source:
    """The data set that ``given`` names: a file, the folder of a rewriting run, or a loader of somebody's own.

    Its rows have these ``columns``, named as they are asked for. header: whether the first row of a CSV or TSV file
    names the columns (None: where a column is asked for by its name). each: a row of a table or of JSONL that is broken
    comes out as an ``Unread`` one, as long as most rows are whole; else the file is refused. Reads all of it once, in
    a time that grows with its bytes. Raises InputError, Cancelled.
    """
    path = usable_path(given)
    name = path.name
    if (path / ROWS).is_file():
        path, name = path / ROWS, f"{name}/{ROWS}"
    if path.is_file():
        if split:
            raise InputError(f"{path.name} is a file, and files have no splits. Name the file of that split instead.")
        return _file(path, name, tuple(columns), header, each, task)
    loader = components.data_sets().get(str(given))
    if loader is not None:
        return _loaded(str(given), loader, tuple(columns), split, task)
    if path.is_dir():
        return _folder(path, name, tuple(columns), header, split, each, task)
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


def _file(path: Path, name: str, columns: tuple[str, ...], header: bool | None, each: bool, task: Task) -> Source:
    kind = _kind(path)
    if header is None:
        header = not all(c.isdecimal() for c in columns)
    watch, digest = InputWatch(path, path.name), hashlib.sha256()
    try:
        with path.open("rb") as file:
            for number, part in enumerate(iter(lambda: file.read(1 << 20), b"")):
                if kind not in _BINARY and not number:
                    _check_text(path, part)
                task.check()
                digest.update(part)
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror}. Name another file.") from error
    unread = 0
    if kind in (".docx", ".pdf"):
        held = list(_fixed(path, columns, task))  # bounded, and slow to read
        count, rows = len(held), lambda: iter(held)
    else:
        rows = lambda: _read(path, columns, header, each)  # noqa: E731
        count = 0
        for row in _read(path, columns, header, each, task, bare=True):
            count += 1
            unread += isinstance(row, Unread)
    if not count:
        raise InputError(f"{path.name} has no rows. Name a file with at least one.")
    if 2 * unread >= count:
        # Read as another file than it is: what is wrong with its first broken row is wrong with it.
        more = f" Of its {count:,} rows, {unread:,} are broken." if count > 1 else ""
        try:
            for _ in _read(path, columns, header, False, task, bare=True):
                pass
        except InputError as error:
            raise InputError(f"{error}{more}") from None
    return Source(name, digest.hexdigest(), count, watch.rows(rows, digest.hexdigest()), unread)


def _folder(
    path: Path, name: str, columns: tuple[str, ...], header: bool | None, split: str, each: bool, task: Task
) -> Source:
    """The files of a folder, one after the other by their names; those of other kinds are passed over."""
    files = sorted(p for p in path.iterdir() if p.suffix.lower() in KINDS and p.is_file() and p.name[0] not in "._")
    if split:
        raise InputError(f"{name} is a folder, and folders have no splits. Name a folder with the files of that split.")
    if not files:
        raise InputError(f"The folder {name} has no file of {', '.join(KINDS)}. Name another folder, or a file.")
    parts = [_file(p, p.name, columns, header, each, task) for p in files]
    digest = hashlib.sha256("".join(f"{len(p.name)} {p.name} {p.sha256}\n" for p in parts).encode())
    return Source(
        name,
        digest.hexdigest(),
        sum(p.count for p in parts),
        lambda: itertools.chain.from_iterable(p.rows() for p in parts),
        sum(p.unread for p in parts),
    )


def _kind(path: Path) -> str:
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise InputError(f"{path.name} is none of {', '.join(KINDS)}. Save the data as one of these, and name it so.")
    return kind


def _check_text(path: Path, start: bytes) -> None:
    """Raise InputError for what is no text as a whole: a zero byte here and there is the fault of its row."""
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{path.name} is in UTF-16. Save it as UTF-8 (in a spreadsheet: “CSV UTF-8”).")
    zeros, most = start.count(b"\0"), max(8, len(start) // 100)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        most = 0
    if zeros > most:
        raise InputError(f"{path.name} looks like a binary file. Give a text file in UTF-8.")


def _zero(name: str, line: int) -> str:
    return f"{name}, line {line}, holds a zero byte, where readers of other programs stop. Take it out."


def _read(
    path: Path, columns: tuple[str, ...], header: bool, each: bool, task: Task = UNWATCHED, bare: bool = False
) -> Iterator[Row]:
    """bare: whether there is a row is all that is asked, so that a broken one costs no more than its bytes."""
    kind = _kind(path)
    if kind in TABLES:
        return _table(path, columns, header, each, task, bare)
    if kind == ".jsonl":
        return _jsonl(path, columns, each, task, bare)
    return _parquet(path, columns, task) if kind == ".parquet" else _fixed(path, columns, task, each)


def heading(given: str | Path, header: bool = True, task: Task = UNWATCHED) -> tuple[str, ...]:
    """The columns of a file, as :func:`source` takes them: by name, or by number where a table has no header, or one
    that names two columns alike or one with nothing. Raises InputError, Cancelled."""
    path = usable_path(given)
    kind = _kind(path)
    if kind in _COLUMNS:
        return _COLUMNS[kind]
    try:
        if kind == ".parquet":
            return tuple(_parquet_file(path).schema_arrow.names)
        if kind == ".jsonl":
            return tuple(next(parsed(_lines(path, task), path.name), (0, {}))[1])
        with path.open("rb") as file:
            _check_text(path, file.read(1 << 20))
        reader = _cells(path, header, task)
        cells: list[str] = next((c for c in reader if c), [])
        if header and any("\0" in c for c in cells):
            raise InputError(_zero(path.name, reader.line_num))
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror}. Name another file.") from error
    except csv.Error as error:
        raise InputError(_no_table(path, 1, error)) from None
    named = header and len(set(cells)) == len(cells) and all(c.strip() for c in cells)
    return tuple(cells) if named else tuple(str(i) for i in range(1, len(cells) + 1))


def _lines(path: Path, task: Task = UNWATCHED) -> Iterator[str]:
    # Decoded line by line: a message can name the line, and no more than one is held.
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not number % _LOOK:
                task.check()
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:  # which holds the line
                raise InputError(f"{path.name} is not UTF-8 in line {number}. Save it as UTF-8.") from None


def _cells(path: Path, header: bool, task: Task) -> Any:
    """A reader of the cells of each row. Spreadsheets of many countries write semicolons: a header tells."""
    csv.field_size_limit(max(_CELL, csv.field_size_limit()))
    if path.suffix.lower() == ".tsv":
        return csv.reader(_lines(path, task), delimiter="\t", quoting=csv.QUOTE_NONE)
    lines = _lines(path, task)
    first = next(lines, "")
    mark = ";" if header and ";" in first and "," not in first else ","
    return csv.reader(itertools.chain([first], lines), delimiter=mark, strict=True)


def _no_table(path: Path, line: int, error: csv.Error) -> str:
    said = f"{path.name}, line {line}, cannot be read as a table: {error}."
    if "end of data" in str(error):
        return f"{said} A quotation mark is never closed: close it, or save the file again if it was cut off."
    if "new-line" in str(error):
        said = f"{path.name}, line {line}, ends lines with a carriage return alone."
        return f"{said} Save the file again with the line ends of your system."
    return f"{said} Correct the quotation marks there, or save the file again."


def _table(path: Path, columns: tuple[str, ...], header: bool, each: bool, task: Task, bare: bool) -> Iterator[Row]:
    reader = _cells(path, header, task)
    at: tuple[int, ...] = ()
    width = ended = 0
    try:
        for cells in reader:
            ended = reader.line_num
            if not cells:  # an empty line
                continue
            if not width:
                width = len(cells)
                at = _places(path, columns, cells if header else None, width)
                if bare:
                    columns = at = ()
                if header:
                    continue
            why = _zero(path.name, reader.line_num) if any("\0" in c for c in cells) else ""
            if len(cells) != width:
                why = why or (
                    f"{path.name} has {width} columns, and {len(cells)} in the row that ends in line "
                    f"{reader.line_num}. Correct that row; if it is the last one, the file may be cut off."
                )
            if why:
                if not each:
                    raise InputError(why)
                yield Unread(columns, why)
                continue
            yield {column: cells[i] for column, i in zip(columns, at, strict=True)}
    except csv.Error as error:
        # Of a mark that is never closed, the row that it opens in, which goes on to the end of the file.
        line = ended + 1 if "end of data" in str(error) else reader.line_num
        raise InputError(_no_table(path, line, error)) from None


def _places(path: Path, columns: Sequence[str], names: Sequence[str] | None, width: int) -> tuple[int, ...]:
    """Where the columns stand in a row, from 0. names: of all columns, where the file has them. Raises InputError."""
    times = Counter(names or ())
    first = {name: i for i, name in reversed([*enumerate(names or ())])}
    found = []
    for column in columns:
        if times[column] > 1:
            raise InputError(
                f"{path.name} has {times[column]} columns named {column!r}. Name it by its number, from 1, with "
                "--header (from Python header=True), since the first row is no data."
            )
        if column in first:
            found.append(first[column])
        elif column.isdecimal() and 1 <= int(column) <= width:
            found.append(int(column) - 1)
        else:
            kind = "numbered" if column.isdecimal() else "named"
            raise InputError(
                f"{path.name} has no column {kind} {shown(column)}. Its first row has {width}: name one as that row "
                f"does, or by its number, 1 to {width}."
            )
    return tuple(found)


def _jsonl(path: Path, columns: tuple[str, ...], each: bool, task: Task, bare: bool) -> Iterator[Row]:
    for number, line in enumerate(_lines(path, task), 1):
        if not line.strip():
            continue
        try:
            yield _picked(path.name, number, _object(line, number, path.name), columns)
        except InputError as error:
            if not each:
                raise
            yield Unread(() if bare else columns, str(error))


def _picked(name: str, number: int, row: Row, columns: Sequence[str]) -> Row:
    for column in columns:
        if column not in row:
            hint = f" The run that made it keeps columns with --keep {column}." if name == ROWS else ""
            raise InputError(f"{name}, line {number}, has nothing named {shown(column)}. Each row needs it.{hint}")
    return {column: row[column] for column in columns}


def parsed(lines: Iterator[str], name: str) -> Iterator[tuple[int, Row]]:
    """The objects of JSONL with the numbers of their lines. Raises InputError."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, _object(line, number, name)


def _object(line: str, number: int, name: str) -> Row:
    if "\0" in line:
        raise InputError(_zero(name, number))
    try:
        row = json.loads(line, object_pairs_hook=_once)
    except _TwiceError:
        raise InputError(
            f"{name}, line {number}, has two values of one name. Correct that line: which of them is meant is not said."
        ) from None
    except (ValueError, RecursionError):  # whose message quotes the line
        cut = "" if line.endswith("\n") else " It is the last one: the file may be cut off."
        raise InputError(f"{name}, line {number}, is no JSON. Correct that line.{cut}") from None
    if not isinstance(row, dict):
        raise InputError(f"{name}, line {number}, is no JSON object. Write one for each row.")
    if line.count("[") + line.count("{") > DEEP and _deep(row):
        raise InputError(
            f"{name}, line {number}, has more than {DEEP} lists and objects within each other. Flatten that line."
        )
    return row


class _TwiceError(ValueError):
    """An object of JSON has a name twice."""


def _once(pairs: list[tuple[str, Any]]) -> Row:
    if len(row := dict(pairs)) < len(pairs):
        raise _TwiceError
    return row


def _deep(value: Any) -> bool:
    """Whether more than ``DEEP`` lists and objects stand within each other."""
    level = [value]
    for _ in range(DEEP):
        level = [inner for v in level for inner in (v.values() if isinstance(v, dict) else v)]
        level = [v for v in level if isinstance(v, dict | list)]
    return bool(level)


def piped(lines: Iterator[str], columns: Sequence[str], name: str = "Standard input") -> Iterator[Row]:
    """The rows of JSONL that comes through a pipe, read once and as it comes. Raises InputError."""
    for number, row in parsed(lines, name):
        yield _picked(name, number, row, columns)


def _fixed(path: Path, columns: tuple[str, ...], task: Task, each: bool = False) -> Iterator[Row]:
    """Rows of a kind that has the same columns in every file."""
    kind, names = _kind(path), _COLUMNS[_kind(path)]
    asked = [names[i] for i in _places(path, columns, names, len(names))]
    if kind == ".txt":
        rows: Iterator[Row] = _plain_text(path, columns, task, each)
    else:
        rows = office.docx(path, task) if kind == ".docx" else office.pdf(path, task)
    for row in rows:
        yield row if isinstance(row, Unread) else {c: row[name] for c, name in zip(columns, asked, strict=True)}


def _plain_text(path: Path, columns: tuple[str, ...], task: Task, each: bool) -> Iterator[Row]:
    for number, line in enumerate(_lines(path, task), 1):
        text = line.rstrip("\r\n")
        if "\0" in text:
            if not each:
                raise InputError(_zero(path.name, number))
            yield Unread(columns, _zero(path.name, number))
        elif text.strip():
            yield {"text": text}


def _parquet_file(path: Path) -> Any:
    import pyarrow
    import pyarrow.parquet

    try:
        return pyarrow.parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError):
        raise InputError(
            f"{path.name} is no whole Parquet file. Write it again; if it was downloaded, download it again."
        ) from None


def _parquet(path: Path, columns: tuple[str, ...], task: Task) -> Iterator[Row]:
    import pyarrow

    file = _parquet_file(path)
    names = file.schema_arrow.names
    asked = [names[i] for i in _places(path, columns, names, len(names))]
    try:
        for batch in file.iter_batches(batch_size=_HELD, columns=list(dict.fromkeys(asked))):
            task.check()
            for row in batch.to_pylist():
                yield {column: _plain(row[name]) for column, name in zip(columns, asked, strict=True)}
    except (pyarrow.ArrowException, OSError):  # whose message may quote a value
        raise InputError(f"{path.name} is broken inside, or cut off. Write or download it again.") from None


def _plain(value: Any) -> Any:
    """As JSON has it: times and numbers of a kind of their own as text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)


# --- loaders --------------------------------------------------------------------------------------------------------


def _loaded(name: str, loader: components.Loader, columns: tuple[str, ...], split: str, task: Task) -> Source:
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
        task.check()
        digest.update(row_bytes(row))
    if not count:
        raise InputError(f"The data set {called} has no rows.")
    return Source(called, digest.hexdigest(), count, same_rows(rows, digest.hexdigest(), called))
