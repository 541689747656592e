"""The bundled file of a measurement: the type of its rows, reading, writing, and Markdown tables.

A measurement is two modules: one in ``results`` with a frozen dataclass for a row and the ``Measurement`` that reads
and writes its file, and one in ``measurements`` (or ``speed``) with a function that measures and ``main(argv)``, which
``commands/bench.py`` lists with its command.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from dptext_core.errors import InputError
from dptext_core.support import assets
from dptext_core.support.checks import shorten_repr
from dptext_core.support.version import PROG, __version__
from dptext_core.support.whole_files import replacement

R = TypeVar("R")

_PROG = f"{PROG} bench"


def cannot_write(path: Path, error: OSError) -> InputError:
    """Return the error for a file that cannot be written."""
    return InputError(f"{shorten_repr(str(path))} cannot be written: {error.strerror or error}. Name another file.")


def markdown(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(cells)} |" for cells in (heading, *rows)]
    return "\n".join([lines[0], "|---" * len(heading) + "|", *lines[1:]])


def plus_minus(mean: float, half: float | None) -> str:
    """Return a mean with half of its interval (None: unknown)."""
    return f"{mean:.3f} (interval unknown)" if half is None else f"{mean:.3f} ± {half:.3f}"


def write_rows(path: Path, content: Mapping[str, Any], first: str) -> None:
    """Write compact JSON with one line for each object that begins with the key ``first``, for readable diffs.

    Raises InputError if the file cannot be written, and ValueError for a number that JSON does not have."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacement(path) as beside:  # atomic, because a table may be written row by row
            beside.write_text(text.replace(f'{{"{first}"', f'\n{{"{first}"') + "\n", encoding="utf-8")
    except OSError as error:
        raise cannot_write(path, error) from error


@dataclass(frozen=True)
class Measurement(Generic[R]):
    """The rows of one command in one file.

    name: of the command after ``bench``, with its required options. row: the type of a row: a dataclass of JSON values,
    a dictionary, or a type with ``read`` and ``to_dict``. file: below ``assets/benchmarks``. digits: of the numbers in
    a row (0: all). rows: the key of the rows in the file.
    """

    name: str
    row: type[R]
    file: str
    digits: int = 0
    rows: str = "rows"

    def bundled(self) -> tuple[R, ...]:
        """Return the bundled rows, or () if the file is missing. Raises ModelUnavailable for an invalid file."""
        return assets.bundled(f"benchmarks/{self.file}", self.read, ())

    def read(self, path: Path) -> tuple[R, ...]:
        """Return the rows of a file. Raises InputError if it cannot be read, and KeyError or TypeError if it is
        invalid."""
        make = getattr(self.row, "read", lambda row: self.row(**row))
        return tuple(map(make, assets.read_json(path)[self.rows]))

    def whole(self) -> Mapping[str, Any]:
        """Return the whole bundled file, or {} if it is missing."""
        return assets.bundled(f"benchmarks/{self.file}", assets.read_json, {})

    def about(self, **more: Any) -> dict[str, Any]:
        """Return the description of a file: its command, version and more."""
        return {"command": f"{_PROG} {self.name}", "version": __version__} | more

    def write(self, path: Path | None, rows: Iterable[R], about: Mapping[str, Any], **more: Any) -> None:
        """Write the file with one line per row, unless the path is None. Raises InputError."""
        if path is None:
            return
        written = [{k: self._short(v) for k, v in self._fields(row).items()} for row in rows]
        write_rows(path, {"about": about, **more, self.rows: written}, next(iter(written[0])) if written else "")

    def _fields(self, row: R) -> dict[str, Any]:
        if isinstance(row, dict):
            return row
        to_dict = getattr(row, "to_dict", None)
        return to_dict() if to_dict else asdict(cast(Any, row))

    def _short(self, value: Any) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            return None  # JSON has no infinity: the interval of one text is infinite
        return float(f"{value:.{self.digits}g}") if self.digits and isinstance(value, float) else value
