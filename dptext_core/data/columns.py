"""Columns of a table: their names, and which of them a name or a number means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..errors import InputError
from ..support.checks import shorten_repr

#: Columns of a table at most.
MOST = 10_000


def unique_names(given: Sequence[str]) -> tuple[str, ...]:
    """Return a name for each column: its own where no other column has it, else one with the column's number."""
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
        raise InputError(f"{file} has {width:,} columns, and at most {MOST:,} are read. Save the ones that you need.")


def places(file: str, asked: Sequence[str], names: Sequence[str] | None, width: int) -> tuple[int, ...]:
    """Return where the columns that are asked for are in a row, from 0.

    Parameters
    ----------
    file : str
        The file's name, for messages.
    asked : sequence of str
        Names, or numbers from 1.
    names : sequence of str, optional
        Of all columns, where the file names them.
    width : int
        How many columns a row has.

    Raises
    ------
    InputError
        A column is not there, its name is ambiguous, or two of ``asked`` mean the same column.
    """
    times = Counter(names or ())
    by_name = {name: i for i, name in enumerate(unique_names(names or ()))}
    found: dict[int, str] = {}
    for column in asked:
        if times[column] > 1:
            same = [n for name, n in zip(names or (), by_name, strict=True) if name == column]
            raise InputError(
                f"{file} has {times[column]} columns named {shorten_repr(column)}. Choose one by its number, from 1, "
                f"with --header (from Python header=True), or by name: {', '.join(map(shorten_repr, same[:10]))}."
            )
        if column in by_name:
            at = by_name[column]
        elif number := number_of(column, width):
            at = number - 1
        else:
            kind = "numbered" if column.isdecimal() else "named"
            raise InputError(
                f"{file} has no column {kind} {shorten_repr(column)}. Its first row has {width}: name one as that row "
                f"does, or by its number, 1 to {width}."
            )
        if at in found:
            raise same_column(file, found[at], column)
        found[at] = column
    return tuple(found)


def number_of(column: str, width: int) -> int:
    """Return the number that a column is asked for by; 0 where that is none from 1 to ``width``."""
    # Python refuses to read a number of several thousand digits.
    number = int(column) if column.isdecimal() and len(column) <= 100 else 0
    return number if number <= width else 0


def check_numbers(file: str, asked: Sequence[str], names: Sequence[str]) -> None:
    """Raise InputError where the columns that are asked for are numbers in a first row of nothing but numbers: these
    may be names, in any order, and then another column is meant. names: those in the first row."""
    if all(name.isdecimal() for name in names) and set(asked) <= set(names):
        raise InputError(
            f"The first row of {file} has nothing but numbers, so that {shorten_repr(asked[0])} may be the name of a "
            f"column, "
            "or its number. Say --header where that row names the columns, and --no-header where it does not (from "
            "Python header=True or header=False)."
        )


def same_column(file: str, one: str, other: str) -> InputError:
    """Return the error for two options that mean one column."""
    if one == other:
        return InputError(f"The column {shorten_repr(one)} of {file} is asked for twice. Name each column once.")
    return InputError(
        f"{shorten_repr(one)} and {shorten_repr(other)} are the same column of {file}. Name each column once."
    )
