"""What is checked alike wherever it is taken: numbers, lists of texts, paths. What is wrong becomes a DPTextError."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import numbers
import operator
import os
import re
from collections.abc import Mapping, Set
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from ..errors import ConfigError, DPTextError, InputError

#: Bits of the largest whole number that is taken: Python itself refuses to print much larger ones.
MOST_BITS = 4096

_MARKS = re.compile("(?:^|(?<=[\r\n]))\ufeff+")


def shown(value: Any) -> str:
    """An option as a message shows it: on one line, and not at length."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a repr may do anything; that of 10**5000 raises ValueError
        text = type(value).__name__
    return text if len(text) <= 80 else f"{text[:80]}…"


def without_marks(text: str) -> str:
    """Return a text without byte-order marks where a line begins: they are left where files were joined."""
    return _MARKS.sub("", text) if "\ufeff" in text else text


def many(n: int, noun: str) -> str:
    """A number of things as people write it: 1 word, 8 words, 1,200 words."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def whole(name: str, value: Any, least: int | None = None) -> int:
    """A whole number, at least ``least``; True and False are none. Raises ConfigError."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise ConfigError(f"{name} is a whole number, not {shown(value)}.")
    if number.bit_length() > MOST_BITS:
        raise ConfigError(f"{name} is far too large. Give a smaller number.")
    if least is not None and number < least:
        limit = "not be negative" if least == 0 else f"be at least {least}"
        raise ConfigError(f"{name} must {limit}; it is {shown(number)}.")
    return number


def real(name: str, value: Any, error: type[DPTextError] = ConfigError) -> float:
    """A finite number as float. Raises ``error``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise error(f"{name} is a number, not {shown(value)}.")
    try:
        x = float(value)
    except OverflowError:
        x = math.inf
    if not math.isfinite(x):
        raise error(f"{name} is a number, and finite, not {shown(value)}.")
    return x


def listed(values: Any, what: str = "texts") -> list[Any]:
    """What comes one after the other (a list, an array, a generator) as a list. Raises InputError; quotes nothing."""
    if not isinstance(values, str | bytes | bytearray | memoryview | Mapping | Set):
        with contextlib.suppress(TypeError):
            return list(iter(values))
    hint = " Decode bytes as UTF-8 first." if isinstance(values, bytes | bytearray | memoryview) else ""
    raise InputError(f"Give a list of {what}, not {type(values).__name__}.{hint}")


def usable_path(given: str | Path, error: type[DPTextError] = InputError) -> Path:
    """A path that can be asked for, whether anything is there or not; ~ is the home folder. Raises ``error``."""
    try:
        path = Path(given).expanduser()
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError, RuntimeError) as why:  # too long; NUL or a surrogate in it; no such user's home
        reason = str(getattr(why, "strerror", None) or why)
        raise error(f"The path {shown(str(given))} cannot be used: {reason}. Give another one.") from why
    return path


def placeless(name: str) -> str:
    """A name as it may leave this machine: of what is named by where it lies, only the last part of that."""
    lies = name.startswith("~") or PurePosixPath(name).is_absolute() or PureWindowsPath(name).is_absolute()
    if not lies:
        beside = name.rpartition("@")[0] or name  # a list of words is named by a file and a number
        lies = name.startswith(".") or any("/" in n and os.path.isfile(n) for n in (name, beside) if "\0" not in n)
    return (PureWindowsPath(name).name or ".") if lies else name


def told(field: dataclasses.Field, value: Any) -> Any:
    """An option's value as it may leave this machine: see :func:`placeless`."""
    if field.metadata.get("kind") not in ("text", "texts"):
        return value
    if isinstance(value, list | tuple):
        return type(value)(placeless(v) if isinstance(v, str) else v for v in value)
    return placeless(value) if isinstance(value, str) else value


def told_config(config: Any) -> dict[str, Any]:
    """All options of a config so, by name."""
    return dataclasses.asdict(config) | {f.name: told(f, getattr(config, f.name)) for f in dataclasses.fields(config)}
