"""Looks for texts among all objects that Python's garbage collector can reach.

What is looked for is a made-up word, which no object may hold that was not given a text with it. It is kept in pieces
here, so that only what others kept is found.
"""

from __future__ import annotations

import gc
import re
import secrets
from collections import Counter
from collections.abc import Callable
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
        todo: list[tuple[Any, type | None]] = [(thing, None) for thing in gc.get_objects()]
        roots = id(todo)
        seen = {id(thing) for thing, _ in todo} | own | {roots}
        own |= {roots, id(seen), id(found), id(kinds)}
        while todo:
            thing, holder = todo.pop()
            if id(thing) in own:
                continue
            kind = type(thing)  # isinstance would ask proxies, some of which warn
            what = kinds.get(kind)
            if what is None:
                what = kinds[kind] = _what(kind)
            hits: list[str] = []
            if what == _STR:
                if len(thing) >= shortest:
                    hits = text.findall(thing)
            elif what == _BYTES:
                if len(thing) >= shortest:
                    hits = [h.decode() for h in data.findall(thing)]
            elif what == _VIEW:
                hits = [h.decode() for h in data.findall(thing.tobytes())]
            elif what == _ARRAY and thing.dtype.kind in "SUO":
                hits = text.findall(" ".join(map(str, thing.ravel().tolist())))
            elif what != _NUMBER:
                # The collector does not visit the keys of a dictionary where all are strings.
                keys = list(dict.keys(thing)) if what == _DICT else []
                for other in (*gc.get_referents(thing), *keys):
                    if id(other) not in seen and not _short(other, shortest):
                        seen.add(id(other))
                        todo.append((other, kind))
            for hit in hits:
                number = int("".join(str(ord(c) - ord("a")) for c in hit.lower()))
                found.setdefault(number, Counter())[f"{kind.__name__} in {_name(holder)}"] += 1
        return found


_STR, _BYTES, _VIEW, _ARRAY, _NUMBER, _DICT, _OTHER = range(7)


def _short(thing: Any, shortest: int) -> bool:
    """Whether it is a plain number or string that cannot hold the word: most objects are."""
    kind = type(thing)
    return kind is int or kind is float or (kind is str and len(thing) < shortest)


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


def _name(kind: type | None) -> str:
    return f"{kind.__module__}.{kind.__qualname__}" if kind else ""


def _collect() -> None:
    """Everything that only cycles hold goes; what was taken out of the collector's sight comes back into it."""
    gc.unfreeze()
    for _ in range(3):
        gc.collect()


def table(names: list[str], found: dict[int, Counter[str]]) -> str:
    """One line an operation: its name, how many objects hold its text, and where."""
    lines = [f"{'operation':44} objects"]
    for n, name in enumerate(names):
        kinds = found.get(n, Counter())
        where = ", ".join(f"{k}" for k, _ in kinds.most_common(3))
        lines.append(f"{name:44} {kinds.total():7}  {where}".rstrip())
    return "\n".join(lines)


def left_by(operations: dict[str, Callable[[str], object]], marker: Marker) -> dict[int, Counter[str]]:
    """Run each operation with a word of its own, then look for all of them at once."""
    for n, run in enumerate(operations.values()):
        run(marker.word(n))
    return marker.find()
