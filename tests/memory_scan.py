"""Looks for texts among all objects that Python's garbage collector can reach.

What is looked for is a made-up word, which no object may hold that was not given a text with it. It is kept in pieces
here, so that only what others kept is found.
"""

from __future__ import annotations

import gc
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

_LETTERS = "bcdfghjklmnpqrstvwxz"


class Marker:
    """A made-up word, a new one each time it is made. ``word(n)``: the word with a number in letters at its end."""

    def __init__(self, key: str | None = None) -> None:
        self._codes = [ord(c) + 1 for c in key] if key else [ord(secrets.choice(_LETTERS)) + 1 for _ in range(14)]

    def word(self, n: int) -> str:
        number = "".join(chr(ord("a") + int(d)) for d in f"{n:03d}")
        return "".join(chr(c - 1) for c in self._codes) + number

    def find(self) -> dict[int, Counter[str]]:
        """For each number whose word was found: how often it stands in objects of which kind, and who refers to them.

        Upper and lower case are the same; strings, bytes and arrays of strings are read.
        """
        _collect()
        stem = self.word(0)[:-3]
        text = re.compile(re.escape(stem) + "([a-j]{3})", re.I)
        data = re.compile(re.escape(stem).encode() + b"([a-j]{3})", re.I)
        shortest = len(stem) + 3
        own = {id(stem), id(text), id(data), id(text.pattern), id(data.pattern)}
        found: dict[int, Counter[str]] = {}
        kinds: dict[type, int] = {}

        def hits(thing: Any, what: int) -> list[str]:
            if what == _STR:
                # Expressions that ignore case are slow on what does not have it: most of megabytes.
                return text.findall(thing) if len(thing) >= shortest and stem in thing.casefold() else []
            if what == _BYTES:
                inside = len(thing) >= shortest and stem.encode() in thing.lower()
                return [h.decode() for h in data.findall(thing)] if inside else []
            if what == _VIEW:
                return [h.decode() for h in data.findall(thing.tobytes())]
            return text.findall(" ".join(map(str, thing.ravel().tolist()))) if thing.dtype.kind in "SUO" else []

        def read(things: Iterable[Any], holders: Sequence[Any]) -> list[Any]:
            """Look into what holds characters; what may refer to more is returned."""
            more = []
            for thing in things:
                kind = type(thing)  # isinstance would ask proxies, some of which warn
                what = kinds.get(kind)
                if what is None:
                    what = kinds[kind] = _what(kind)
                if what in (_DICT, _OTHER):
                    more.append(thing)
                    continue
                for hit in hits(thing, what) if what != _NUMBER else ():
                    number = int("".join(str(ord(c) - ord("a")) for c in hit.lower()))
                    found.setdefault(number, Counter())[f"{kind.__name__} in {_holder(thing, holders)}"] += 1
            return more

        todo = gc.get_objects()
        seen = {*map(id, todo), *own, id(todo)}
        todo = read((thing for thing in todo if id(thing) not in own), ())
        while todo:
            # Many at once, which is several times faster than one after the other.
            part = todo[-_PART:]
            del todo[-_PART:]
            referred = gc.get_referents(*part)
            # The collector does not visit the keys of a dictionary where all are strings.
            for thing in part:
                if kinds[type(thing)] == _DICT:
                    referred += dict.keys(thing)
            # Plain numbers and short strings, which cannot hold the word, are most of them.
            fresh = {
                id(r): r
                for r in referred
                if ((t := type(r)) is not str or len(r) >= shortest)
                and t is not int
                and t is not float
                and id(r) not in seen
            }
            seen.update(fresh)
            todo += read(fresh.values(), part)
        return found


#: How many objects are asked at once for what they refer to.
_PART = 2000
_STR, _BYTES, _VIEW, _ARRAY, _NUMBER, _DICT, _OTHER = range(7)


def _holder(thing: Any, holders: Iterable[Any]) -> str:
    """The kind of the first of the holders that refers to it."""
    for holder in holders:
        keys = dict.keys(holder) if issubclass(type(holder), dict) else ()
        if any(r is thing for r in (*gc.get_referents(holder), *keys)):
            kind = type(holder)
            return f"{kind.__module__}.{kind.__qualname__}"
    return ""


def _what(kind: type) -> int:
    """How an object of this kind is read."""
    if issubclass(kind, str):
        return _STR
    if issubclass(kind, bytes | bytearray):
        return _BYTES
    if kind is memoryview:
        return _VIEW
    if issubclass(kind, np.ndarray):
        return _ARRAY
    if issubclass(kind, int | float | complex | None):
        return _NUMBER
    return _DICT if issubclass(kind, dict) else _OTHER


def _collect() -> None:
    """Everything that only cycles hold goes; what was taken out of the collector's sight comes back into it."""
    gc.unfreeze()
    for _ in range(3):
        if not gc.collect():
            break


def table(names: list[str], found: dict[int, Counter[str]]) -> str:
    """One line an operation: its name, how many objects hold its text, and where."""
    lines = [f"{'operation':44} objects"]
    for n, name in enumerate(names):
        kinds = found.get(n, Counter())
        where = ", ".join(f"{k}" for k, _ in kinds.most_common(3))
        lines.append(f"{name:44} {kinds.total():7}  {where}".rstrip())
    return "\n".join(lines)


def run_each(operations: dict[str, Callable[[str], object]], marker: Marker, first: int = 0) -> None:
    """Run each operation with a word of its own, numbered from ``first``."""
    for n, run in enumerate(operations.values(), first):
        run(marker.word(n))
