"""Texts as cells of tables that others open: what a spreadsheet would run, or a reader take for the end of a cell.

A spreadsheet runs a cell that begins like a formula, behind blanks and invisible characters too, and takes some wide or
raised signs for plain ones. One that divides rows at semicolons, as those of many countries do, or at tabs, as an
import may be told to, also sees the beginning of a cell behind such a mark or a line end inside of a quoted one. So an
apostrophe stands before each of these, which spreadsheets take for text.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: What begins a formula, in the form in which compatible characters are one.
SIGNS = "=+-@\u2212"
#: The text of a number, which no spreadsheet runs.
NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?")
#: Letters that are not seen, though they are letters.
_UNSEEN = "\u115f\u1160\u3164\uffa0\u2800"
#: Control characters that end a text or a file for some readers, and that no text needs.
_CONTROL = {c: "\ufffd" for c in (*range(9), *range(14, 32), 11, 12, 127)}
#: Behind what another cell may begin: in a table with quotes, and in one without.
_QUOTED, _PLAIN = re.compile(r"([;\t\r\n])"), re.compile(r"([,;])")
#: What a file without quotes cannot hold in a cell.
BREAKS = re.compile(r"[\t\r\n\v\f\0\x1a\x1c-\x1e\x85\u2028\u2029]+")


def guard_formula(cell: str) -> str:
    """Return a cell of a quoted table, such as CSV, that no spreadsheet reads as a formula."""
    return _guard_formula(cell.translate(_CONTROL), _QUOTED, "\t\r\n")


def guard_unquoted(cell: str) -> str:
    """Return a cell of a table without quotes, such as TSV. It begins with no quotation mark either: a reader that
    knows quotes would remove it, and read on to the next one, across rows."""
    return _guard_formula(BREAKS.sub(" ", cell).translate(_CONTROL), _PLAIN, '"')


def to_csv(rows: Sequence[Mapping[str, Any]], names: Iterable[str] | None = None) -> str:
    """Figures with their labels as CSV, a line each. names: of the columns (None: those of the first row)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = list(rows[0] if names is None and rows else names or ())
    writer.writerow([guard_formula(n) for n in columns])
    for row in rows:
        writer.writerow([guard_formula(v) if isinstance(v := row.get(n), str) else v for n in columns])
    return out.getvalue()


def _guard_formula(cell: str, marks: re.Pattern[str], begins: str) -> str:
    """Put an apostrophe before everything that begins a formula. begins: what else no cell begins with."""
    first, *others = marks.split(cell)
    # Behind a mark the quotes of the cell may be those of another one, and be taken away.
    others = [f"'{part}" if _first(part, '"') in SIGNS else part for part in others]
    shown = first + "".join(others)
    sign = _first(cell) in SIGNS and not NUMBER.fullmatch(cell.strip())
    # As the first line of a file, Excel takes it for what divides the cells of all others.
    sign = sign or cell.lstrip('\ufeff" ').lower().startswith("sep=")
    return f"'{shown}" if sign or cell[:1] in tuple(begins) or _first(cell) in tuple(begins) else shown


def _first(part: str, but: str = "") -> str:
    """Return the first visible character in its compatibility form, skipping those in ``but``; a blank if there is
    none."""
    for c in part:
        if c not in _UNSEEN and c not in but and unicodedata.category(c)[0] not in "ZCM":
            return unicodedata.normalize("NFKC", c)[:1]
    return " "
