"""Files with one line per text, written block by block so that a stopped run can continue."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from dptext_core.errors import InputError

#: Number of texts that every name measures before the next block.
BLOCK = 10


class Numbered(Protocol):
    """A text of a data set. number: its index in the order of the set."""

    @property
    def number(self) -> int: ...


T = TypeVar("T", bound=Numbered)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file except an incomplete last one. A missing file has none."""
    if not path.is_file():
        return []
    complete, _, _ = path.read_text(encoding="utf-8").rpartition("\n")
    try:
        return [json.loads(line) for line in complete.splitlines()]
    except ValueError as error:
        raise InputError(f"{path.name} has a line that is not JSON: {error}. Name another file.") from error


def drop_cut_line(path: Path) -> None:
    """Remove an incomplete last line, before more lines are appended."""
    if path.is_file():
        content = path.read_bytes()
        if not content.endswith(b"\n"):
            path.write_bytes(content[: content.rfind(b"\n") + 1])


def append_blocks(
    path: Path,
    texts: Mapping[str, Sequence[T]],
    names: Iterable[str],
    is_done: Callable[[tuple[str, str, int]], bool],
    measure: Callable[[str, str, Sequence[T]], Iterable[Mapping[str, Any]]],
) -> None:
    """Append the missing lines block by block: all names and data sets before more texts.

    Parameters
    ----------
    path : Path
    texts : mapping
        The texts of each data set.
    names : iterable of str
        The names of the measurements.
    is_done : callable
        Returns True if a name, a data set and the number of a text have nothing left to measure.
    measure : callable
        Returns the lines for a name, a data set and some of its texts.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    drop_cut_line(path)
    every = list(names)
    with path.open("a", encoding="utf-8") as file:
        for start in range(0, max(map(len, texts.values()), default=0), BLOCK):
            for data, set_texts in texts.items():
                for name in every:
                    block = [t for t in set_texts[start : start + BLOCK] if not is_done((name, data, t.number))]
                    if not block:
                        continue
                    began = time.process_time()
                    for line in measure(name, data, block):
                        file.write(json.dumps(line) + "\n")
                    file.flush()
                    os.fsync(file.fileno())
                    seconds = time.process_time() - began
                    print(f"{data} {name}: texts {start} to {start + BLOCK}, {seconds:.0f} CPU s", flush=True)
