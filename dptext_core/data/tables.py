"""Data sets: files in CSV, TSV, JSONL, Parquet, plain text, DOCX and PDF, and registered loaders (``components``), read
row by row.

Only the columns that are asked for are read, by their name or, counted from 1, by their number. No message quotes what
is in a row: without a header the first row is somebody's text.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import DPTextError, InputError
from ..support.checks import shorten_repr, usable_path
from ..support.task import UNWATCHED, Task
from . import columns as naming
from . import components, documents, parquet_rows, text_rows
from .dialects import Dialect, dialect_of
from .input_watch import InputWatch, row_bytes, same_rows
from .lines import START, TextLines, check_text
from .reading_notes import NoteKind, ReadingNote, merged
from .records import UnreadableRow

#: The rows of a rewritten data set, in the folder of its run.
ROWS = "rows.jsonl"
TABLES = (".csv", ".tsv")
_DOCUMENTS = (".docx", ".pdf")
#: Those that are no text.
_BINARY = (".parquet", *_DOCUMENTS)
KINDS = (*TABLES, ".jsonl", ".txt", *_BINARY)
#: What the rows of a kind have, where that is no question of the file.
_COLUMNS = {".txt": ("text",), ".docx": ("text", "paragraph"), ".pdf": ("text", "page")}

Row = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """A data set.

    Attributes
    ----------
    name : str
        The file's, or the loader's and the split.
    sha256 : str
        Of the file, or of the loaded rows.
    count : int
        How many rows there are.
    rows : callable
        Gives the rows from the first one.
    unread : int
        How many of the rows could not be read.
    notes : tuple of ReadingNote
        What was left out of the file, or read in a way that is worth a look.
    """

    name: str
    sha256: str
    count: int
    rows: Callable[[], Iterator[Row]] = field(repr=False, compare=False)
    unread: int = 0
    notes: tuple[ReadingNote, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what a run's folder records about it."""
        return {"name": self.name, "sha256": self.sha256, "rows": self.count}


@dataclass(frozen=True)
class _TableRequest:
    """What is asked of files. header: None where the columns are numbers and nobody said it; most: rows that are
    taken."""

    columns: tuple[str, ...]
    header: bool | None
    each: bool
    most: int | None


def source(
    given: str | Path,
    columns: Sequence[str],
    header: bool | None = None,
    split: str = "",
    each: bool = False,
    task: Task = UNWATCHED,
    most: int | None = None,
) -> Source:
    """Return the data set that ``given`` names: a file, the folder of a rewriting run, or a registered loader.

    Parameters
    ----------
    given : str or Path
    columns : sequence of str
        The columns that its rows have, named as they are asked for. No two may mean the same column.
    header : bool, optional
        Whether the first row of a CSV or TSV file names the columns. None: where a column is asked for by its name.
    split : str
        Of a loader.
    each : bool
        A broken row of a table or of JSONL comes out as an ``UnreadableRow`` one, as long as most rows are whole; else
        the file is refused.
    task : Task, optional
        May stop the reading, which goes through all of the file once.
    most : int, optional
        Rows that are taken. Reading stops at the next one.

    Raises
    ------
    InputError
        The file or a column is not there, or cannot be read.
    Cancelled
        The task was stopped.
    """
    path = usable_path(given)
    name = path.name
    if header is None and not all(c.isdecimal() for c in columns):
        header = True
    asked = _TableRequest(tuple(columns), header, each, most)
    if (path / ROWS).is_file():
        path, name = path / ROWS, f"{name}/{ROWS}"
    if path.is_file():
        if split:
            raise InputError(f"{path.name} is a file, and files have no splits. Name the file of that split instead.")
        return _file(path, name, asked, task)
    loader = components.data_sets().get(str(given))
    if loader is not None:
        return _load_source(str(given), loader, tuple(columns), split, task)
    if path.is_dir():
        return _folder(path, name, asked, split, task)
    if path.exists():
        raise InputError(
            f"{path.name} is no file but a pipe or a device, and data is read more than once. Save it as a file first."
        )
    names = ", ".join(components.data_sets()) or "none"
    raise InputError(
        f"There is no file {shorten_repr(str(given))}, and no data set of that name is registered ({names}). Correct "
        f"the path."
    )


def texts_of(data: Source, column: str) -> list[str]:
    """Return the texts of a column; rows without one (those that could not be rewritten, and empty ones) are left out.
    Raises InputError where none is left."""
    texts = []
    for row in data.rows():
        if row[column] is not None and not isinstance(row[column], str):
            raise InputError(
                f"{data.name} has something else than a text in {shorten_repr(column)}. Name the column of texts."
            )
        if text := (row[column] or "").strip():
            texts.append(text)
    if not texts:
        raise InputError(f"No row of {data.name} has a text. Name another file.")
    return texts


def heading(given: str | Path, header: bool = True, task: Task = UNWATCHED) -> tuple[str, ...]:
    """Return the columns of a file as :func:`source` takes them.

    A column whose name is blank, or that of another column, gets one with its number. Raises InputError, Cancelled.
    """
    path = usable_path(given)
    kind = _kind(path)
    if kind in _COLUMNS:
        return _COLUMNS[kind]
    try:
        if kind == ".parquet":
            return parquet_rows.heading(path)
        with path.open("rb") as file:
            check_text(path.name, file.read(START))
        if kind == ".jsonl":
            return text_rows.jsonl_heading(path, task)
        return text_rows.table_heading(path, dialect_of(path, task), header, task)
    except OSError as error:
        raise _unreadable_error(path, error) from error


# --- files ----------------------------------------------------------------------------------------------------------


def _file(path: Path, name: str, asked: _TableRequest, task: Task) -> Source:
    kind = _kind(path)
    watch = InputWatch(path, path.name)
    try:
        digest = _digest(path, kind, task)
        if kind in _DOCUMENTS:
            return _document(path, name, digest, asked, task)
        dialect = dialect_of(path, task) if kind in TABLES else None
        if dialect is not None and asked.header is None:
            naming.check_numbers(path.name, asked.columns, text_rows.table_heading(path, dialect, True, task))
        notes = _notes(path, kind, dialect)
    except OSError as error:
        raise _unreadable_error(path, error) from error

    def rows() -> Iterator[Row]:
        return _read_rows(path, dialect, asked)

    count = unread = 0
    seen: set[str] = set()
    for row in _read_rows(path, dialect, asked, task, bare=True, seen=seen):
        count += 1
        unread += isinstance(row, UnreadableRow)
        if asked.most is not None and count > asked.most:
            raise documents.too_many(path.name, asked.most)
    if not count:
        raise InputError(f"{path.name} has no rows. Name a file with at least one.")
    if 2 * unread >= count:
        # Read as another file than it is: what is wrong with its first broken row is wrong with it.
        more = f" Of its {count:,} rows, {unread:,} are broken." if count > 1 else ""
        try:
            for _ in _read_rows(path, dialect, asked, task, bare=True, strict=True):
                pass
        except InputError as error:
            raise InputError(f"{error}{more}") from None
    if kind == ".jsonl":
        _check_seen(path.name, asked.columns, seen)
    return Source(name, digest, count, watch.rows(rows, digest), unread, notes)


def _check_seen(name: str, columns: Sequence[str], seen: set[str]) -> None:
    """Raise InputError for a column that no row of JSONL has, and for one that is asked for twice."""
    twice = next((c for i, c in enumerate(columns) if c in columns[:i]), None)
    if twice is not None:
        raise naming.same_column(name, twice, twice)
    if (error := text_rows.missing_column(name, columns, seen, of_run=name == ROWS)) is not None:
        raise error


def _digest(path: Path, kind: str, task: Task) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for number, part in enumerate(iter(lambda: file.read(START), b"")):
            if kind not in _BINARY and not number:
                check_text(path.name, part)
            task.check()
            digest.update(part)
    return digest.hexdigest()


def _notes(path: Path, kind: str, dialect: Dialect | None) -> tuple[ReadingNote, ...]:
    if kind == ".parquet":
        return parquet_rows.notes(path)
    if dialect is None:
        return ()
    notes = []
    if dialect.separator != ("\t" if kind == ".tsv" else ","):
        notes.append(ReadingNote(NoteKind.SEPARATOR, detail=dialect.separator))
    if kind == ".tsv" and dialect.quoted:
        notes.append(ReadingNote(NoteKind.QUOTES))
    return tuple(notes)


def _document(path: Path, name: str, digest: str, asked: _TableRequest, task: Task) -> Source:
    """Return a file that is slow to read, and whose texts are held."""
    names = _COLUMNS[_kind(path)]
    at = naming.places(path.name, asked.columns, names, len(names))
    found = documents.read_document(path, asked.most, task)
    if not found.texts:
        raise InputError(f"{path.name} has no rows. Name a file with at least one.")

    def rows() -> Iterator[Row]:
        for number, text in found.texts:
            cells = (text, number)
            yield {column: cells[i] for column, i in zip(asked.columns, at, strict=True)}

    return Source(name, digest, len(found.texts), rows, notes=found.notes)


def _folder(path: Path, name: str, asked: _TableRequest, split: str, task: Task) -> Source:
    """Return the files of a folder, one after the other by their names; those of other kinds are passed over."""
    files = sorted(p for p in path.iterdir() if p.suffix.lower() in KINDS and p.is_file() and p.name[0] not in "._")
    if split:
        raise InputError(f"{name} is a folder, and folders have no splits. Name a folder with the files of that split.")
    if not files:
        raise InputError(f"The folder {name} has no file of {', '.join(KINDS)}. Name another folder, or a file.")
    parts = [_file(p, p.name, asked, task) for p in files]
    digest = hashlib.sha256("".join(f"{len(p.name)} {p.name} {p.sha256}\n" for p in parts).encode())
    return Source(
        name,
        digest.hexdigest(),
        sum(p.count for p in parts),
        lambda: itertools.chain.from_iterable(p.rows() for p in parts),
        sum(p.unread for p in parts),
        merged(itertools.chain.from_iterable(p.notes for p in parts)),
    )


def _kind(path: Path) -> str:
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise InputError(f"{path.name} is none of {', '.join(KINDS)}. Save the data as one of these, and name it so.")
    return kind


def _unreadable_error(path: Path, error: OSError) -> InputError:
    return InputError(f"{path.name} cannot be read: {error.strerror}. Name another file.")


def _read_rows(
    path: Path,
    dialect: Dialect | None,
    asked: _TableRequest,
    task: Task = UNWATCHED,
    bare: bool = False,
    strict: bool = False,
    seen: set[str] | None = None,
) -> Iterator[Row]:
    """Return the rows. bare: whether there is a row is all that is asked, so that a broken one costs no more than its
    bytes. strict: a broken row raises InputError, whatever was asked for. seen: is given the names that rows of JSONL
    have."""
    kind, columns, each = _kind(path), asked.columns, asked.each and not strict
    if dialect is not None:
        return text_rows.table(path, dialect, columns, bool(asked.header), each, task, bare)
    if kind == ".jsonl":
        return text_rows.jsonl(path, columns, each, task, bare, seen)
    if kind == ".parquet":
        return parquet_rows.rows(path, columns, task)
    naming.places(path.name, columns, _COLUMNS[kind], 1)
    rows = text_rows.plain_text(path, each, columns, task)
    return (row if isinstance(row, UnreadableRow) else dict.fromkeys(columns, row["text"]) for row in rows)


def piped_rows(stream: BinaryIO, columns: Sequence[str], name: str = "Standard input") -> Iterator[Row]:
    """Yield the rows of JSONL that comes through a pipe, read once and as it comes. Raises InputError."""

    def lines() -> Iterator[str]:
        given = TextLines(stream, name, start=b"\n")
        for line in given:
            given.end_row()
            yield line

    for _, row in text_rows.parse_lines(lines(), name):
        yield text_rows.pick_columns(row, columns)


# --- loaders --------------------------------------------------------------------------------------------------------


def _load_source(name: str, loader: components.Loader, columns: tuple[str, ...], split: str, task: Task) -> Source:
    called = f"{name}/{split}" if split else name

    def rows() -> Iterator[Row]:
        try:
            for number, row in enumerate(loader(split), 1):
                if not isinstance(row, Mapping):
                    raise InputError(f"The data set {called} gives something else than a mapping as row {number}.")
                for column in columns:
                    if column not in row:
                        raise InputError(f"Row {number} of the data set {called} has no column {shorten_repr(column)}.")
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
