"""Data sets: files in CSV, TSV, JSONL, Parquet, plain text, DOCX and PDF, and registered loaders, read row by row.

Loaders are registered in ``components``. Only the requested columns are read, by name or, counted from 1, by number. No
message quotes the contents of a row: without a header, the first row is a user's text.
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
from .reading_notes import NoteKind, ReadingNote, merge_notes
from .records import UnreadableRow

#: The rows of a rewritten data set, in the folder of its run.
ROWS = "rows.jsonl"
TABLES = (".csv", ".tsv")
_DOCUMENTS = (".docx", ".pdf")
#: Formats that are not text.
_BINARY = (".parquet", *_DOCUMENTS)
KINDS = (*TABLES, ".jsonl", ".txt", *_BINARY)
#: The columns of formats that always have the same ones.
_COLUMNS = {".txt": ("text",), ".docx": ("text", "paragraph"), ".pdf": ("text", "page")}

Row = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """A data set.

    Attributes
    ----------
    name : str
        Name of the file, or of the loader and the split.
    sha256 : str
        Of the file, or of the loaded rows.
    count : int
        Number of rows.
    rows : callable
        Returns an iterator from the first row.
    unread : int
        Number of unreadable rows.
    notes : tuple of ReadingNote
        What was omitted from the file, or read in an unusual way.
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
    """The options for reading files.

    header: None if the columns are numbers and no header was specified; most: maximum number of rows.
    """

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
    """Return the data set of a file, the folder of a rewriting run, or a registered loader.

    Parameters
    ----------
    given : str or Path
    columns : sequence of str
        The requested columns, with these names. No two may refer to the same column.
    header : bool, optional
        Whether the first row of a CSV or TSV file names the columns. None: yes if a column is requested by name.
    split : str
        The split of a loader.
    each : bool
        Whether a broken row of a table or of JSONL becomes an ``UnreadableRow``, as long as most rows are intact; else
        the file is refused.
    task : Task, optional
        May cancel the reading, which scans the whole file once.
    most : int, optional
        Maximum number of rows. Reading stops at the next one.

    Raises
    ------
    InputError
        The file or a column is missing, or cannot be read.
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
            raise InputError(f"{path.name} is a file, and files have no splits. Choose the file of that split instead.")
        return _file(path, name, asked, task)
    loader = components.data_sets().get(str(given))
    if loader is not None:
        return _load_source(str(given), loader, tuple(columns), split, task)
    if path.is_dir():
        return _folder(path, name, asked, split, task)
    if path.exists():
        raise InputError(
            f"{path.name} is a pipe or a device, but data is read more than once. Save it as a file first."
        )
    names = ", ".join(components.data_sets()) or "none"
    raise InputError(
        f"There is no file {shorten_repr(str(given))}, and no data set of that name is registered ({names}). Correct "
        f"the path."
    )


def texts_of(data: Source, column: str) -> list[str]:
    """Return the texts of a column without the empty and missing ones. Raises InputError if none remains."""
    texts = []
    for row in data.rows():
        if row[column] is not None and not isinstance(row[column], str):
            raise InputError(
                f"{data.name} has a value that is not a text in {shorten_repr(column)}. Choose the column of texts."
            )
        if text := (row[column] or "").strip():
            texts.append(text)
    if not texts:
        raise InputError(f"No row of {data.name} has a text. Choose another file.")
    return texts


def heading(given: str | Path, header: bool = True, task: Task = UNWATCHED) -> tuple[str, ...]:
    """Return the columns of a file as :func:`source` accepts them.

    A column whose name is blank, or that of another column, gets a name with its number. Raises InputError, Cancelled.
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
    names: set[str] = set()
    for row in _read_rows(path, dialect, asked, task, bare=True, seen=names):
        count += 1
        unread += isinstance(row, UnreadableRow)
        if asked.most is not None and count > asked.most:
            raise documents.too_many(path.name, asked.most)
    if not count:
        raise InputError(f"{path.name} has no rows. Name a file with at least one.")
    if 2 * unread >= count:
        # Probably another format than its name says: the first broken row shows the reason.
        more = f" Of its {count:,} rows, {unread:,} are broken." if count > 1 else ""
        try:
            for _ in _read_rows(path, dialect, asked, task, bare=True, strict=True):
                pass
        except InputError as error:
            raise InputError(f"{error}{more}") from None
    if kind == ".jsonl":
        _check_seen(path.name, asked.columns, names)
    return Source(name, digest, count, watch.rows(rows, digest), unread, notes)


def _check_seen(name: str, columns: Sequence[str], names: set[str]) -> None:
    """Raise InputError for a column that no row of JSONL has, and for one that is requested twice."""
    twice = next((c for i, c in enumerate(columns) if c in columns[:i]), None)
    if twice is not None:
        raise naming.same_column(name, twice, twice)
    if (error := text_rows.missing_column(name, columns, names, of_run=name == ROWS)) is not None:
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
    """Return a file that is slow to read, and whose texts are kept in memory."""
    names = _COLUMNS[_kind(path)]
    at = naming.places(path.name, asked.columns, names, len(names))
    document = documents.read_document(path, asked.most, task)
    if not document.texts:
        raise InputError(f"{path.name} has no rows. Name a file with at least one.")

    def rows() -> Iterator[Row]:
        for number, text in document.texts:
            cells = (text, number)
            yield {column: cells[i] for column, i in zip(asked.columns, at, strict=True)}

    return Source(name, digest, len(document.texts), rows, notes=document.notes)


def _folder(path: Path, name: str, asked: _TableRequest, split: str, task: Task) -> Source:
    """Return the files of a folder, ordered by name; other formats are skipped."""
    files = sorted(p for p in path.iterdir() if p.suffix.lower() in KINDS and p.is_file() and p.name[0] not in "._")
    if split:
        raise InputError(
            f"{name} is a folder, and folders have no splits. Choose a folder with the files of that split."
        )
    if not files:
        raise InputError(f"The folder {name} has no file of {', '.join(KINDS)}. Choose another folder, or a file.")
    parts = [_file(p, p.name, asked, task) for p in files]
    digest = hashlib.sha256("".join(f"{len(p.name)} {p.name} {p.sha256}\n" for p in parts).encode())
    return Source(
        name,
        digest.hexdigest(),
        sum(p.count for p in parts),
        lambda: itertools.chain.from_iterable(p.rows() for p in parts),
        sum(p.unread for p in parts),
        merge_notes(itertools.chain.from_iterable(p.notes for p in parts)),
    )


def _kind(path: Path) -> str:
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise InputError(f"{path.name} has an unknown format. Save the data as one of {', '.join(KINDS)}.")
    return kind


def _unreadable_error(path: Path, error: OSError) -> InputError:
    return InputError(f"{path.name} cannot be read: {error.strerror}. Choose another file.")


def _read_rows(
    path: Path,
    dialect: Dialect | None,
    asked: _TableRequest,
    task: Task = UNWATCHED,
    bare: bool = False,
    strict: bool = False,
    seen: set[str] | None = None,
) -> Iterator[Row]:
    """Yield the rows.

    bare: check only that there are rows, so that a broken one costs no more than its bytes. strict: a broken row raises
    InputError in any case. seen: receives the names in rows of JSONL.
    """
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
    """Yield the rows of JSONL from a pipe, read once and as they come. Raises InputError."""

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
                    raise InputError(
                        f"Row {number} of the data set {called} is not a mapping. Correct its loader."
                    )
                for column in columns:
                    if column not in row:
                        raise InputError(
                            f"Row {number} of the data set {called} has no column {shorten_repr(column)}. "
                            "Choose another column."
                        )
                yield {column: row[column] for column in columns}
        except DPTextError:
            raise
        except Exception as error:  # a user's code
            raise InputError(
                f"The data set {called} could not be loaded: its loader stopped with {type(error).__name__}. "
                "Correct the loader."
            ) from error

    digest, count = hashlib.sha256(), 0
    for count, row in enumerate(rows(), 1):  # noqa: B007
        task.check()
        digest.update(row_bytes(row))
    if not count:
        raise InputError(f"The data set {called} has no rows. Choose another one.")
    return Source(called, digest.hexdigest(), count, same_rows(rows, digest.hexdigest(), called))
