"""Shared checks of numbers, lists of texts and paths. Invalid values raise a DPTextError."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import numbers
import operator
import os
import re
from collections.abc import Iterator, Mapping, Set
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from ..errors import ConfigError, DPTextError, InputError

#: Maximum number of characters of one text, for any mechanism.
LARGEST = 1_000_000
#: Maximum bits of an integer: Python itself refuses to print much larger ones.
MOST_BITS = 4096

_MARKS = re.compile("(?:^|(?<=[\r\n]))\ufeff+")


def shorten_repr(value: Any) -> str:
    """Return an option for a message, on one short line."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a repr may do anything; that of 10**5000 raises ValueError
        text = type(value).__name__
    return text if len(text) <= 80 else f"{text[:80]}…"


def without_marks(text: str) -> str:
    """Return a text without byte-order marks at the beginning of lines, where files were joined."""
    return _MARKS.sub("", text) if "\ufeff" in text else text


def pluralize(n: int, noun: str) -> str:
    """Format a count with its noun: 1 word, 8 words, 1,200 words."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def check_whole_number(name: str, value: Any, least: int | None = None) -> int:
    """Return a whole number of at least ``least``; True and False are not. Raises ConfigError."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise ConfigError(f"{name} must be a whole number, not {shorten_repr(value)}.")
    if number.bit_length() > MOST_BITS:
        raise ConfigError(f"{name} is far too large. Choose a smaller number.")
    if least is not None and number < least:
        limit = "not be negative" if least == 0 else f"be at least {least}"
        raise ConfigError(f"{name} must {limit}; it is {shorten_repr(number)}.")
    return number


def real(name: str, value: Any, error: type[DPTextError] = ConfigError) -> float:
    """Return a finite number as float. Raises ``error``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise error(f"{name} must be a number, not {shorten_repr(value)}.")
    try:
        x = float(value)
    except OverflowError:
        x = math.inf
    if not math.isfinite(x):
        raise error(f"{name} must be a finite number, not {shorten_repr(value)}.")
    return x


def column_names(values: Any) -> list[Any] | None:
    """Return the names of a table's columns; None for a value that is not a table (of pandas, polars, Arrow, …).

    Checks the class and not the object: a pandas Series has its labels as attributes too.
    """
    kind = type(values)
    if hasattr(kind, "collect_schema"):
        return list(values.collect_schema())
    for name in ("column_names", "columns"):
        if hasattr(kind, name):
            names = getattr(values, name)
            return [] if names is None else list(names)
    names = getattr(getattr(values, "dtype", None), "names", None)  # a structured array
    return list(names) if isinstance(names, tuple) else None


def one_dimension(values: Any, what: str = "texts") -> None:
    """Refuse tables, arrays of several dimensions, and unordered values.

    Raises InputError, which quotes nothing but names of columns.
    """
    kind, wrong = type(values).__name__, ""
    if isinstance(values, bytes | bytearray | memoryview):
        wrong = " Decode bytes as UTF-8 first."
    elif (names := [] if isinstance(values, Mapping) else column_names(values)) is not None:
        # The keys of a mapping may be texts, and are not quoted.
        best = "text" if "text" in names else next(iter(names), "text")
        wrong = f" Pass one column, for example data[{shorten_repr(best)}]."
        if names:
            wrong += f" Its columns are {shorten_repr(names)}."
    elif getattr(values, "ndim", 1) not in (0, 1):
        wrong = " Pass one column, for example data[:, 0]."
    elif isinstance(values, Set):
        wrong = " A set has no order."
    if wrong:
        raise InputError(f"Give a list of {what}, not {kind}.{wrong}")


def to_list(values: Any, what: str = "texts") -> list[Any]:
    """Convert a list, a tuple, a column of a table or a generator to a list.

    Raises InputError, which quotes nothing but names of columns.
    """
    one_dimension(values, what)
    if not isinstance(values, str):
        with contextlib.suppress(TypeError):
            # A column of Arrow yields its own scalar type.
            return values.to_pylist() if hasattr(type(values), "to_pylist") else list(iter(values))
    raise InputError(f"Give a list of {what}, not {type(values).__name__}.")


def text_list(values: Any, what: str = "texts") -> list[str]:
    """Return a column of texts as a list of plain str. Raises InputError that locates any other value."""
    texts = to_list(values, what)
    for number, value in enumerate(texts, 1):
        if type(value) is not str:
            if not isinstance(value, str):
                raise InputError(f"{_no_text(value)} It is number {number:,} of {len(texts):,}.")
            texts[number - 1] = str.__str__(value)  # such as NumPy's
    return texts


def each_text(values: Any) -> Iterator[str]:
    """Yield the texts of a column, or of a generator with too many for a list.

    Raises InputError at once for a table or a single text, and later for a value that is not a text.
    """
    one_dimension(values, "texts")
    if isinstance(values, str) or not hasattr(type(values), "__iter__"):
        raise InputError(f"Give a list of texts, not {type(values).__name__}.")
    return map(one_text, values)


def one_text(value: Any) -> str:
    """Return a text. Raises InputError for any other value; quotes nothing but names of columns."""
    if not isinstance(value, str):
        raise InputError(_no_text(value))
    return value


def _no_text(value: Any) -> str:
    """Return why a value is not a text, and what to do."""
    kind = type(value).__name__
    if isinstance(value, bytes | bytearray | memoryview):
        return f"A text must be a str, not {kind}. Decode files as UTF-8 first."
    if (names := [] if isinstance(value, Mapping) else column_names(value)) is not None:
        columns = f" Its columns are {shorten_repr(names)}." if names else ""
        return f"A text must be a str, not {kind}. Pass one text, or the texts of one column.{columns}"
    if hasattr(value, "__len__"):
        return f"A text must be a str, not {kind}. Pass its texts one by one."
    if value is None or kind in ("NAType", "NaTType") or (isinstance(value, float) and math.isnan(value)):
        return f"A text is missing: it must be a str, not {kind}. Fill it in, or omit it."
    return f"A text must be a str, not {kind}. Convert it with str(…)."


def usable_path(given: str | Path, error: type[DPTextError] = InputError) -> Path:
    """Return a path that can be opened or created; ~ is the home folder. Raises ``error``."""
    try:
        path = Path(given).expanduser()
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError, RuntimeError) as why:  # too long; with a NUL or a surrogate; no such user's home
        reason = str(getattr(why, "strerror", None) or why)
        raise error(f"The path {shorten_repr(str(given))} cannot be used: {reason}. Choose another path.") from why
    return path


def without_path(name: str) -> str:
    """Return a name without the path it may contain: only the last part may leave this machine."""
    lies = name.startswith("~") or PurePosixPath(name).is_absolute() or PureWindowsPath(name).is_absolute()
    if not lies:
        beside = name.rpartition("@")[0] or name  # the name of a word list is a file and a number
        lies = name.startswith(".") or any("/" in n and os.path.isfile(n) for n in (name, beside) if "\0" not in n)
    return (PureWindowsPath(name).name or ".") if lies else name


def mask_path(field: dataclasses.Field, value: Any) -> Any:
    """Return an option's value without the path it may contain: see :func:`without_path`."""
    if getattr(field.metadata.get("option"), "kind", "") not in ("text", "texts"):
        return value
    if isinstance(value, list | tuple):
        return type(value)(without_path(v) if isinstance(v, str) else v for v in value)
    return without_path(value) if isinstance(value, str) else value


def public_value(field: dataclasses.Field, value: Any) -> Any:
    """Return an option's value in the form for a release: without a path, and only the length of a word list.

    A blocklist may repeat words of the private text.
    """
    if getattr(field.metadata.get("option"), "kind", "") == "words" and value:
        return pluralize(len(value), "word")
    return mask_path(field, value)


def public_config(config: Any, words: bool = False) -> dict[str, Any]:
    """Return all options of a config by name, in the form for a release. words: include the word lists."""
    show = mask_path if words else public_value
    return dataclasses.asdict(config) | {f.name: show(f, getattr(config, f.name)) for f in dataclasses.fields(config)}
