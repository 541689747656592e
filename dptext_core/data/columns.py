"""Columns of a table: their names, and the column that a name or a number refers to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..errors import InputError
from ..support.checks import shorten_repr

#: Maximum number of columns in a table.
MOST = 10_000


def unique_names(given: Sequence[str]) -> tuple[str, ...]:
    """Return a unique name for each column: its own, or if another column has it, one with the column's number."""
    times = Counter(given)
    taken = {name for name in given if name.strip()}
    names = []
    for number, name in enumerate(given, 1):
        if not name.strip():
            name = f"column {number}"
        elif times[name] > 1:
            name = f"{name} (column {number})"
        else:
            names.append(name)
            continue
        while name in taken:
            name += "'"
        taken.add(name)
        names.append(name)
    return tuple(names)


def check_width(file: str, width: int) -> None:
    """Raise InputError for more columns than a table may have."""
    if width > MOST:
        raise InputError(f"{file} has {width:,} columns, but at most {MOST:,} are read. Save only the columns that you "
                         "need.")


def places(file: str, asked: Sequence[str], names: Sequence[str] | None, width: int) -> tuple[int, ...]:
    """Return the positions of the requested columns in a row, from 0.

    Parameters
    ----------
    file : str
        The file's name, for messages.
    asked : sequence of str
        Names, or numbers from 1.
    names : sequence of str, optional
        Names of all columns, if the file has them.
    width : int
        Number of columns in a row.

    Raises
    ------
    InputError
        A column is missing, its name is ambiguous, or two of ``asked`` refer to the same column.
    """
    times = Counter(names or ())
    by_name = {name: i for i, name in enumerate(unique_names(names or ()))}
    positions: dict[int, str] = {}
    for column in asked:
        if times[column] > 1:
            same = [n for name, n in zip(names or (), by_name, strict=True) if name == column]
            raise InputError(
                f"{file} has {times[column]} columns named {shorten_repr(column)}. Choose one by name: "
                f"{', '.join(map(shorten_repr, same[:10]))}. Or give its number, from 1, with --header (from Python "
                "header=True)."
            )
        if column in by_name:
            at = by_name[column]
        elif number := number_of(column, width):
            at = number - 1
        else:
            kind = "numbered" if column.isdecimal() else "named"
            raise InputError(
                f"{file} has no column {kind} {shorten_repr(column)}. Use a name from its first "
                f"row, or a number from 1 to {width}."
            )
        if at in positions:
            raise same_column(file, positions[at], column)
        positions[at] = column
    return tuple(positions)


def number_of(column: str, width: int) -> int:
    """Return the number in a column request; 0 if it is not one from 1 to ``width``."""
    # Python refuses to read a number of several thousand digits.
    number = int(column) if column.isdecimal() and len(column) <= 100 else 0
    return number if number <= width else 0


def check_numbers(file: str, asked: Sequence[str], names: Sequence[str]) -> None:
    """Raise InputError for numeric requests if the first row contains only numbers.

    These may be names, in any order, and then another column is meant. names: those in the first row.
    """
    if all(name.isdecimal() for name in names) and set(asked) <= set(names):
        raise InputError(
            f"The first row of {file} contains only numbers, so {shorten_repr(asked[0])} may be the name of a column "
            "or its number. Use --header if that row names the columns, else --no-header (from Python header=True or "
            "header=False)."
        )


def same_column(file: str, one: str, other: str) -> InputError:
    """Return the error for two options that refer to one column."""
    if one == other:
        return InputError(f"The column {shorten_repr(one)} of {file} is requested twice. Name each column once.")
    return InputError(
        f"{shorten_repr(one)} and {shorten_repr(other)} are the same column of {file}. Name each column once."
    )
