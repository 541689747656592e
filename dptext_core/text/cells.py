"""Texts as cells of tables that other programs open, protected against formulas and broken cells.

A spreadsheet runs a cell that begins like a formula, even after blanks and invisible characters, and treats some wide
or raised signs as plain ones. In many countries it separates columns at semicolons, and an import may use tabs. It then
sees the beginning of a cell after such a separator or a line end, even inside a quoted cell. So an apostrophe precedes
each of these; spreadsheets then treat the cell as text.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: Characters that begin a formula, in the form that merges compatible characters.
SIGNS = "=+-@\u2212"
#: The text of a number, which no spreadsheet runs as a formula.
NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?")
#: Letters that are invisible.
_UNSEEN = "\u115f\u1160\u3164\uffa0\u2800"
#: Control characters that end a text or a file for some readers, and that no text needs.
_CONTROL = {c: "\ufffd" for c in (*range(9), *range(14, 32), 11, 12, 127)}
#: Characters after which another cell may begin: in a table with quotes, and in one without.
_QUOTED, _PLAIN = re.compile(r"([;\t\r\n])"), re.compile(r"([,;])")
#: Characters that a cell of a file without quotes cannot contain.
BREAKS = re.compile(r"[\t\r\n\v\f\0\x1a\x1c-\x1e\x85\u2028\u2029]+")


def guard_formula(cell: str) -> str:
    """Return a cell of a quoted table, such as CSV, that no spreadsheet reads as a formula."""
    return _guard_formula(cell.translate(_CONTROL), _QUOTED, "\t\r\n")


def guard_unquoted(cell: str) -> str:
    """Return a cell of a table without quotes, such as TSV.

    It begins with no quotation mark either: a reader that supports quotes would remove it and read on across rows.
    """
    return _guard_formula(BREAKS.sub(" ", cell).translate(_CONTROL), _PLAIN, '"')


def to_csv(rows: Sequence[Mapping[str, Any]], names: Iterable[str] | None = None) -> str:
    """Return labelled figures as CSV, one line each.

    names: the column names (None: those of the first row).
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = list(rows[0] if names is None and rows else names or ())
    writer.writerow([guard_formula(n) for n in columns])
    for row in rows:
        writer.writerow([guard_formula(v) if isinstance(v := row.get(n), str) else v for n in columns])
    return out.getvalue()


def _guard_formula(cell: str, marks: re.Pattern[str], begins: str) -> str:
    """Put an apostrophe before everything that begins a formula.

    begins: more characters that no cell may begin with.
    """
    first, *others = marks.split(cell)
    # After a separator, the cell's quotes may belong to another cell and be removed.
    others = [f"'{part}" if _first(part, '"') in SIGNS else part for part in others]
    shown = first + "".join(others)
    sign = _first(cell) in SIGNS and not NUMBER.fullmatch(cell.strip())
    # As the first line of a file, Excel reads it as the column separator.
    sign = sign or cell.lstrip('\ufeff" ').lower().startswith("sep=")
    return f"'{shown}" if sign or cell[:1] in tuple(begins) or _first(cell) in tuple(begins) else shown


def _first(part: str, but: str = "") -> str:
    """Return the first visible character in compatibility form, skipping those in ``but``; a blank if none."""
    for c in part:
        if c not in _UNSEEN and c not in but and unicodedata.category(c)[0] not in "ZCM":
            return unicodedata.normalize("NFKC", c)[:1]
    return " "
