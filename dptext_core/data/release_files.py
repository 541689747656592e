"""A rewriting run as a file for others (the release) or for the owner of the data (the inspection).

The release contains the rewrites, and the copied columns. The inspection adds the originals, and says in every row that
it is private. The suffix determines the format: .csv, .tsv, .jsonl, .parquet, and for the release .txt, one line per
row. Rows with an error have an empty text, so that the rows of two files match.

.csv and .tsv are for spreadsheets. No cell or heading runs as a formula (``cells``), whether the author, the mechanism
or another column wrote it. A mark at the beginning identifies UTF-8. ``exact`` is for programs: no mark, and every cell
unchanged. .jsonl, .parquet and .txt have neither. .tsv has no quotes, so line endings and tabs in a cell become blanks,
like line endings in .txt.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import ConfigError, InputError
from ..support import extras
from ..support.whole_files import replacement
from ..text.cells import BREAKS, guard_formula, guard_unquoted
from .folder import read_lines
from .rewriting import OWN
from .tables import Source

RELEASE = (".csv", ".tsv", ".jsonl", ".parquet", ".txt")
INSPECTION = RELEASE[:-1]
#: A note in every row of an inspection, and in its name.
PRIVATE = "PRIVATE: this contains the original; do not publish it"
NOTE, ORIGINAL, ERROR = "private", "original", "error"
#: Characters that end a line for some readers, and that JSON allows inside a text.
_ENDS = re.compile("[\x7f\x85\u2028\u2029]")
_ROWS = 1024

Row = dict[str, Any]


def release(folder: Path, column: str, keep: Sequence[str], out: str | Path, *, exact: bool = False) -> int:
    """Write the release of a run so far, and return the number of rows. Raises ConfigError, InputError."""
    check_suffix(out, RELEASE)

    def rows() -> Iterator[Row]:
        for line in read_lines(folder):
            yield {column: line[column]} | {k: line[k] for k in keep}

    return _write(rows, (column, *keep), Path(out), exact)


def inspection(
    data: Source, folder: Path, column: str, keep: Sequence[str], out: str | Path, *, exact: bool = False
) -> int:
    """Write originals and rewrites side by side, with each row's total ε and error, and return the number of rows.

    A copied column with one of these names gets "(kept)" appended to its own.
    """
    check_suffix(out, INSPECTION)
    names = (NOTE, "row", ORIGINAL, "rewrite", "epsilon", ERROR)
    others: dict[str, str] = {}
    for k in keep:
        name = k
        while name in (*names, *others, *(other for other in keep if other != k)):
            name += " (kept)"
        others[name] = k

    def rows() -> Iterator[Row]:
        for original, line in zip(data.rows(), read_lines(folder), strict=False):
            fields = line[OWN]
            values = (PRIVATE, fields["row"] + 1, original[column], line[column], fields.get("total"), fields["error"])
            yield dict(zip(names, values, strict=True)) | {name: line[k] for name, k in others.items()}

    return _write(rows, (*names, *others), Path(out), exact, private=True)


def check_suffix(out: str | Path, allowed: Sequence[str]) -> None:
    """Raise ConfigError if the suffix of this file is not one of these formats."""
    if (suffix := Path(out).suffix.lower()) not in allowed:
        ending = f"ending in {suffix}" if suffix else "without an extension"
        raise ConfigError(f"A file {ending} cannot be written here. Use one of the extensions {', '.join(allowed)}.")
    if suffix == ".parquet":
        extras.require("pyarrow", ConfigError)


def _write(
    rows: Callable[[], Iterable[Row]], names: Sequence[str], out: Path, exact: bool, private: bool = False
) -> int:
    """Write to a temporary file first: an existing one is unchanged unless everything was written."""
    try:
        with replacement(out, private=private) as beside:
            return _WRITERS[out.suffix.lower()](rows, names, beside, exact)
    except OSError as error:
        raise InputError(f"{out.name} cannot be written: {error.strerror}. Choose another file.") from error


def _csv(rows: Callable[[], Iterable[Row]], names: Sequence[str], out: Path, exact: bool) -> int:
    cell = str if exact else guard_formula
    with out.open("w", encoding=_encoding(exact), errors="backslashreplace", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_MINIMAL if exact else csv.QUOTE_ALL)
        writer.writerow([cell(n) for n in names])
        count = 0
        for row in rows():
            writer.writerow([cell(_text(row[n])) for n in names])
            count += 1
    return count


def _tsv(rows: Callable[[], Iterable[Row]], names: Sequence[str], out: Path, exact: bool) -> int:
    cell = _one_line if exact else guard_unquoted

    def line(cells: Iterable[Any]) -> str:
        return "\t".join(cell(_text(c)) for c in cells) + "\n"

    with out.open("w", encoding=_encoding(exact), errors="backslashreplace", newline="") as file:
        file.write(line(names))
        count = 0
        for row in rows():
            file.write(line(row[n] for n in names))
            count += 1
    return count


def _txt(rows: Callable[[], Iterable[Row]], names: Sequence[str], out: Path, exact: bool) -> int:
    with out.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        count = 0
        for row in rows():
            file.write(_one_line(_text(row[names[0]])) + "\n")
            count += 1
    return count


def _jsonl(rows: Callable[[], Iterable[Row]], names: Sequence[str], out: Path, exact: bool) -> int:
    with out.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        count = 0
        for row in rows():
            file.write(json_line(row) + "\n")
            count += 1
    return count


def json_line(row: Row) -> str:
    """Return a row as a line of strict JSON, which no reader of lines splits."""
    text = json.dumps(_finite(row), ensure_ascii=False, allow_nan=False)
    return _ENDS.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def _parquet(rows: Callable[[], Iterable[Row]], names: Sequence[str], out: Path, exact: bool) -> int:
    extras.require("pyarrow", ConfigError)

    import pyarrow
    import pyarrow.parquet

    # A first pass determines the types: numbers remain numbers only if all values are.
    column_types: dict[str, set[type]] = {n: set() for n in names}
    for row in rows():
        for n in names:
            column_types[n].add(_type(row[n]))
    kinds = {n: _kind(types - {type(None)}) for n, types in column_types.items()}
    schema = pyarrow.schema([(_clean(n), getattr(pyarrow, k)()) for n, k in kinds.items()])
    count = 0
    with pyarrow.parquet.ParquetWriter(out, schema) as writer:
        block: list[Row] = []
        for row in rows():
            block.append({_clean(n): _cell(row[n]) if kinds[n] == "string" else row[n] for n in names})
            if len(block) == _ROWS:
                count += _write_block(writer, block, schema)
        count += _write_block(writer, block, schema)
    return count


def _write_block(writer: Any, block: list[Row], schema: Any) -> int:
    extras.require("pyarrow", ConfigError)

    import pyarrow

    n = len(block)
    if n:
        writer.write_table(pyarrow.Table.from_pylist(block, schema))
        block.clear()
    return n


def _type(value: Any) -> type:
    # A number column cannot store a larger one exactly.
    return str if isinstance(value, int) and abs(value) > 1 << 53 else type(value)


def _kind(types: set[type]) -> str:
    if types == {bool}:
        return "bool_"
    if types and types <= {int, float}:
        return "float64" if float in types else "int64"
    return "string"


def _cell(value: Any) -> str | None:
    return None if value is None else _clean(_text(value))


def _clean(text: str) -> str:
    """Remove lone surrogates, which Arrow refuses."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _text(value: Any) -> str:
    """Return a value as a cell: other values than text as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _finite(value: Any) -> Any:
    """Return a value for strict JSON, which has no nan or infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, list) else value


def _one_line(text: str) -> str:
    return BREAKS.sub(" ", text)


def _encoding(exact: bool) -> str:
    """Return the encoding. A mark at the beginning tells spreadsheets that it is UTF-8, but disturbs some programs."""
    return "utf-8" if exact else "utf-8-sig"


_WRITERS = {".csv": _csv, ".tsv": _tsv, ".txt": _txt, ".jsonl": _jsonl, ".parquet": _parquet}
