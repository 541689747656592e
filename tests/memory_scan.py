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
        own = {id(stem), id(text), id(data), id(text.pattern), id(data.pattern)}
        found: dict[int, Counter[str]] = {}
        todo: list[tuple[Any, str]] = [(thing, "") for thing in gc.get_objects()]
        roots = id(todo)
        seen = {id(thing) for thing, _ in todo} | own | {roots}
        own |= {roots, id(seen), id(found)}
        while todo:
            thing, holder = todo.pop()
            if id(thing) in own:
                continue
            hits: list[str] = []
            kind = type(thing)  # isinstance would ask proxies, some of which warn
            if issubclass(kind, str):
                hits = text.findall(thing)
            elif issubclass(kind, bytes | bytearray):
                hits = [h.decode() for h in data.findall(thing)]
            elif kind is memoryview:
                hits = [h.decode() for h in data.findall(thing.tobytes())]
            elif issubclass(kind, np.ndarray) and thing.dtype.kind in "SUO":
                hits = text.findall(" ".join(map(str, thing.ravel().tolist())))
            elif not issubclass(kind, int | float | complex | None):
                name = _name(thing)
                # The collector does not visit the keys of a dictionary where all are strings.
                keys = list(dict.keys(thing)) if issubclass(kind, dict) else []
                for other in (*gc.get_referents(thing), *keys):
                    if id(other) not in seen:
                        seen.add(id(other))
                        todo.append((other, name))
            for hit in hits:
                number = int("".join(str(ord(c) - ord("a")) for c in hit.lower()))
                found.setdefault(number, Counter())[f"{type(thing).__name__} in {holder}"] += 1
        return found


def _name(thing: Any) -> str:
    kind = type(thing)
    return f"{kind.__module__}.{kind.__qualname__}"


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
