"""A rewriting run as a file for others (the release) or for the owner of the data (the inspection).

The release has the rewrites, and of the other columns those that were kept. The inspection has the originals beside
them, and says in every row that it is private. The suffix names the format: .csv, .tsv, .jsonl, .parquet, and for the
release .txt, a line a row. Rows that have an error stay, with nothing for a text, so that the rows of two files match.

A spreadsheet runs a cell that begins like a formula. So in .csv and .tsv such a cell begins with an apostrophe, which
spreadsheets show as text, whoever wrote it: the original author, the mechanism or another column. ``exact`` leaves
every cell as it is, for programs; .jsonl, .parquet and .txt always do.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import ConfigError, InputError
from .folder import read_lines
from .rewriting import OWN
from .tables import Source

RELEASE = (".csv", ".tsv", ".jsonl", ".parquet", ".txt")
INSPECTION = RELEASE[:-1]
#: In every row of an inspection, and in its name.
PRIVATE = "PRIVATE: this holds the original, for the eyes of its owner only"
NOTE, ORIGINAL, ERROR = "private", "original", "error"
#: What a spreadsheet takes for the beginning of a formula, and what is a number in spite of it.
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r]")
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?")
_BREAKS = re.compile(r"[\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_ROWS = 1024

Row = dict[str, Any]


def release(folder: Path, column: str, keep: Sequence[str], out: str | Path, *, exact: bool = False) -> int:
    """Write what of a run may leave, as far as it has come; the number of rows. Raises ConfigError, InputError."""
    check_suffix(out, RELEASE)

    def rows() -> Iterator[Row]:
        for line in read_lines(folder):
            yield {column: line[column]} | {k: line[k] for k in keep}

    return _write(rows, (column, *keep), Path(out), exact)


def inspection(
    data: Source, folder: Path, column: str, keep: Sequence[str], out: str | Path, *, exact: bool = False
) -> int:
    """Write originals and rewrites side by side, with each row's total ε and error; the number of rows."""
    check_suffix(out, INSPECTION)
    names = (NOTE, "row", ORIGINAL, "rewrite", "epsilon", ERROR)
    others = [k for k in keep if k not in names]

    def rows() -> Iterator[Row]:
        for original, line in zip(data.rows(), read_lines(folder), strict=False):
            own = line[OWN]
            values = (PRIVATE, own["row"] + 1, original[column], line[column], own.get("total"), own["error"])
            yield dict(zip(names, values, strict=True)) | {k: line[k] for k in others}

    return _write(rows, (*names, *others), Path(out), exact)


def guarded(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def check_suffix(out: str | Path, allowed: Sequence[str]) -> None:
    """Raises ConfigError where a file of this name has no format that is among these."""
    if (suffix := Path(out).suffix.lower()) not in allowed:
        raise ConfigError(f"A file named {suffix or 'without an ending'} cannot be written here: end it with one of "
                          f"{', '.join(allowed)}.")  # fmt: skip


def _write(rows: Callable[[], Iterable[Row]], names: Sequence[str], out: Path, exact: bool) -> int:
    """Beside the file first: one that was there stays as it was unless all was written."""
    beside = out.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        written = _WRITERS[out.suffix.lower()](rows, names, beside, exact)
        if out.exists():
            beside.chmod(out.stat().st_mode)
        beside.replace(out)
    except OSError as error:
        raise InputError(f"{out.name} cannot be written: {error.strerror}. Name another file.") from error
    finally:
        beside.unlink(missing_ok=True)
    return written


def _csv(rows: Callable[[], Iterable[Row]], names: Sequence[str], out: Path, exact: bool) -> int:
    cell = (lambda x: x) if exact else guarded
    # The mark at the beginning tells spreadsheets that it is UTF-8.
    with out.open("w", encoding="utf-8-sig", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_MINIMAL if exact else csv.QUOTE_ALL)
        writer.writerow([cell(n) for n in names])
        count = 0
        for row in rows():
            writer.writerow([cell(_text(row[n])) for n in names])
            count += 1
    return count


def _tsv(rows: Callable[[], Iterable[Row]], names: Sequence[str], out: Path, exact: bool) -> int:
    cell = (lambda x: x) if exact else guarded

    def line(cells: Iterable[Any]) -> str:
        # A TSV file has no quotes, so that tabs and line breaks of a cell cannot stay.
        return "\t".join(_BREAKS.sub(" ", str(cell(_text(c)))) for c in cells) + "\n"

    with out.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
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
            file.write(_BREAKS.sub(" ", str(_text(row[names[0]]))) + "\n")
            count += 1
    return count


def _jsonl(rows: Callable[[], Iterable[Row]], names: Sequence[str], out: Path, exact: bool) -> int:
    with out.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        count = 0
        for row in rows():
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def _parquet(rows: Callable[[], Iterable[Row]], names: Sequence[str], out: Path, exact: bool) -> int:
    import pyarrow
    import pyarrow.parquet

    # A first look finds what the columns hold: numbers stay numbers only where all of them are.
    found: dict[str, set[type]] = {n: set() for n in names}
    for row in rows():
        for n in names:
            found[n].add(_type(row[n]))
    kinds = {n: _kind(types - {type(None)}) for n, types in found.items()}
    schema = pyarrow.schema([(n, getattr(pyarrow, k)()) for n, k in kinds.items()])
    count = 0
    with pyarrow.parquet.ParquetWriter(out, schema) as writer:
        block: list[Row] = []
        for row in rows():
            block.append({n: _clean(_text(row[n], None)) if kinds[n] == "string" else row[n] for n in names})
            if len(block) == _ROWS:
                count += _put(writer, block, schema)
        count += _put(writer, block, schema)
    return count


def _put(writer: Any, block: list[Row], schema: Any) -> int:
    import pyarrow

    n = len(block)
    if n:
        writer.write_table(pyarrow.Table.from_pylist(block, schema))
        block.clear()
    return n


def _type(value: Any) -> type:
    # A column of numbers holds no larger one exactly.
    return str if isinstance(value, int) and abs(value) > 1 << 53 else type(value)


def _kind(types: set[type]) -> str:
    if types == {bool}:
        return "bool_"
    if types and types <= {int, float}:
        return "float64" if float in types else "int64"
    return "string"


def _clean(text: Any) -> Any:
    """Arrow takes no lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(text, str) else text


def _text(value: Any, nothing: str | None = "") -> str | None:
    """A value as a cell has it: what is no text as JSON."""
    if value is None or isinstance(value, str):
        return nothing if value is None else value
    return json.dumps(value, ensure_ascii=False)


_WRITERS = {".csv": _csv, ".tsv": _tsv, ".txt": _txt, ".jsonl": _jsonl, ".parquet": _parquet}
