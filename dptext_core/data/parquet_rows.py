"""Rows of Parquet files (pyarrow), read by the position of a column, since two columns may have the same name."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..support import extras
from ..support.checks import shorten_repr
from ..support.task import Task
from . import columns as naming
from .reading_notes import NoteKind, ReadingNote

#: Maximum number of rows in memory.
HELD = 512
#: Maximum bytes of the requested columns in one row group, and of the data in memory, after unpacking.
UNPACKED = 1 << 30
#: Maximum values in the lists of one row, and in those of a row group that stores them in far fewer bytes: a run of
#: equal values takes a few bytes at any length.
VALUES, SPARSE, RATIO = 1 << 20, 1 << 24, 64
#: Bytes read from the disk at a time.
_BUFFER = 1 << 20


def heading(path: Path) -> tuple[str, ...]:
    """Return the names of the columns whose values can be exported. Raises InputError."""
    names, opaque = _columns(path)
    return tuple(n for n in names if n not in opaque)


def notes(path: Path) -> tuple[ReadingNote, ...]:
    """Return which columns contain bytes that are not text. Raises InputError."""
    return tuple(ReadingNote(NoteKind.BYTES, detail=name) for name in _columns(path)[1])


def rows(path: Path, columns: Sequence[str], task: Task) -> Iterator[dict[str, Any]]:
    """Yield the rows with these columns. Raises InputError, Cancelled."""
    extras.require("pyarrow", InputError)

    import pyarrow

    file = _open(path)
    names = file.schema_arrow.names
    naming.check_width(path.name, len(names))
    at = naming.places(path.name, columns, names, len(names))
    try:
        for batch in _batches(path, file, at, task):
            cells = [batch.column(i) for i in at]
            if sum(c.nbytes for c in cells) > UNPACKED:
                raise _too_large(path)
            _check_lists(path, cells)
            for i in range(batch.num_rows):
                yield {name: _value(path, name, c[i]) for name, c in zip(columns, cells, strict=True)}
    except (pyarrow.ArrowException, OSError):  # the library's message may quote a value
        raise InputError(f"{path.name} is damaged or truncated. Write or download it again.") from None


def _open(path: Path, dictionaries: Sequence[str] = ()) -> Any:
    extras.require("pyarrow", InputError)

    import pyarrow
    import pyarrow.parquet

    try:
        # Keep dictionaries encoded: otherwise a long text in one would be in memory once per row.
        return pyarrow.parquet.ParquetFile(path, read_dictionary=list(dictionaries), buffer_size=_BUFFER)
    except (pyarrow.ArrowException, OSError):
        raise InputError(
            f"{path.name} is not a complete Parquet file. Write or download it again."
        ) from None


def _batches(path: Path, file: Any, at: Sequence[int], task: Task) -> Iterator[Any]:
    """Yield the rows in batches of all columns; columns that were not requested are empty if possible."""
    schema = file.schema_arrow
    flat = [schema.field(i).name for i in at if _is_text(schema.field(i).type)]
    file = _open(path, flat)
    # pyarrow selects by name, and reads a name with a dot as a path: then everything is read.
    selects = len(set(schema.names)) == len(schema.names) and not any("." in name for name in schema.names)
    wanted = {schema.names[i] for i in at} if selects else set(schema.names)
    for group in range(file.metadata.num_row_groups):
        about = file.metadata.row_group(group)
        chunks = [about.column(i) for i in range(about.num_columns)]
        chunks = [c for c in chunks if c.path_in_schema.split(".")[0] in wanted or not selects]
        if sum(c.total_uncompressed_size for c in chunks) > UNPACKED:
            raise _too_large(path)
        for c in chunks:
            if c.num_values > max(SPARSE, about.num_rows, RATIO * c.total_uncompressed_size):
                raise _too_large(path)
    chosen = [n for n in schema.names if n in wanted] if selects else None
    for batch in file.iter_batches(batch_size=HELD, columns=chosen):
        task.check()
        yield batch if chosen is None else _ColumnBatch(batch, [schema.names.index(n) for n in chosen])


class _ColumnBatch:
    """A batch of some columns, by their positions among all."""

    def __init__(self, batch: Any, places: Sequence[int]):
        self._batch, self._at = batch, {place: i for i, place in enumerate(places)}
        self.num_rows = batch.num_rows

    def column(self, place: int) -> Any:
        return self._batch.column(self._at[place])


def _check_lists(path: Path, cells: Sequence[Any]) -> None:
    """Raise InputError if the lists of one row have too many values, before any becomes an object."""
    for each in cells:
        if _inner(each) > VALUES and any(_inner(each.slice(i, 1)) > VALUES for i in range(len(each))):
            raise InputError(
                f"{path.name} has lists of more than {VALUES:,} values in one row. Omit the column with these lists."
            )


def _inner(values: Any) -> int:
    """Return how many values the lists in an array contain, including nested lists."""
    extras.require("pyarrow", InputError)

    import pyarrow
    import pyarrow.types as types

    kind = values.type
    if types.is_struct(kind):
        return sum(map(_inner, values.flatten()))
    if types.is_map(kind):  # Arrow flattens only lists
        entries = pyarrow.StructArray.from_arrays([values.keys, values.items], ["key", "item"])
        values, kind = pyarrow.ListArray.from_arrays(values.offsets, entries), pyarrow.list_(entries.type)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = values.flatten()
        return len(inner) + _inner(inner)
    return 0


def _value(path: Path, column: str, scalar: Any) -> Any:
    """Return a value in JSON form. Raises InputError for a value that Python cannot represent."""
    try:
        value = scalar.as_py()
    except (ValueError, OverflowError, KeyError):  # a date far away; invalid text; two fields of one name
        raise InputError(
            f"{path.name} has a value in the column {shorten_repr(column)} that cannot be read, such as a date before "
            "year 1 or text that is not UTF-8. Correct the value, or omit that column."
        ) from None
    return _plain(path, column, value)


def _is_text(kind: Any) -> bool:
    extras.require("pyarrow", InputError)

    import pyarrow.types as types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind))


def _too_large(path: Path) -> InputError:
    return InputError(
        f"{path.name} unpacks to more than {UNPACKED >> 20} MB at a time. Write it again with smaller row groups."
    )


def _columns(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of all columns, and of those whose first values are bytes that are not text."""
    extras.require("pyarrow", InputError)

    import pyarrow

    file = _open(path)
    given = file.schema_arrow.names
    naming.check_width(path.name, len(given))
    names = naming.unique_names(given)
    suspects = [i for i, field in enumerate(file.schema_arrow) if _holds_bytes(field.type)]
    opaque: list[str] = []
    if not suspects:
        return names, ()
    try:
        batch = next(_batches(path, file, suspects, Task()), None)
        for i in suspects:
            if batch is None:
                break
            try:
                few = batch.column(i).slice(0, 20)
                _check_lists(path, [few])
                for value in few:
                    _value(path, names[i], value)
            except InputError:
                opaque.append(names[i])
    except (pyarrow.ArrowException, OSError):
        raise InputError(f"{path.name} is damaged or truncated. Write or download it again.") from None
    return names, tuple(opaque)


def _holds_bytes(kind: Any) -> bool:
    extras.require("pyarrow", InputError)

    import pyarrow.types as types

    if types.is_dictionary(kind):
        return _holds_bytes(kind.value_type)
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return True
    return any(_holds_bytes(kind.field(i).type) for i in range(kind.num_fields)) if kind.num_fields else False


def _plain(path: Path, column: str, value: Any) -> Any:
    """Return a value in JSON form, with bytes, times and special numbers as text. Raises InputError."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError(
                f"{path.name} has bytes that are not UTF-8 in the column {shorten_repr(column)}. Write that column as "
                "text, or omit it."
            ) from None
    if isinstance(value, dict):
        return {str(k): _plain(path, column, v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(path, column, v) for v in value]
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)
