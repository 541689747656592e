"""The file that a measurement ships: the type of its rows, reading, writing, and a Markdown table of them.

A measurement is two modules: one in ``results`` with a frozen dataclass for a row and the ``Measurement`` that reads
and writes its file, and one in ``measurements`` (or ``speed``) with a function that measures and ``main(argv)``,
which ``commands/bench.py`` names beside the command.
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
    """Return the error that says why a file cannot be written."""
    return InputError(f"{shorten_repr(str(path))} cannot be written: {error.strerror or error}. Name another file.")


def markdown(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(cells)} |" for cells in (heading, *rows)]
    return "\n".join([lines[0], "|---" * len(heading) + "|", *lines[1:]])


def plus_minus(mean: float, half: float | None) -> str:
    """Return a mean with half of its interval, None where that is not known: one value tells none."""
    return f"{mean:.3f} (interval not known)" if half is None else f"{mean:.3f} ± {half:.3f}"


def write_rows(path: Path, whole: Mapping[str, Any], first: str) -> None:
    """Compact JSON with a line for each object that begins with the key ``first``, so that changes are easy to read.
    Raises InputError where it cannot be written, and ValueError for a number that JSON has not."""
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacement(path) as beside:  # whole at any time: a table may be written row by row
            beside.write_text(text.replace(f'{{"{first}"', f'\n{{"{first}"') + "\n", encoding="utf-8")
    except OSError as error:
        raise cannot_write(path, error) from error


@dataclass(frozen=True)
class Measurement(Generic[R]):
    """The rows of one command in one file.

    name: of the command, after ``bench``, with what has to be given to it. row: the type of a row: a dataclass of what
    JSON has, a dictionary, or a type with ``read`` and ``to_dict``. file: below ``assets/benchmarks``. digits: of the
    numbers in a row; 0 for all that they have. rows: what the file calls them.
    """

    name: str
    row: type[R]
    file: str
    digits: int = 0
    rows: str = "rows"

    def bundled(self) -> tuple[R, ...]:
        """Return the bundled rows; () where the file is missing. Raises ModelUnavailable where it holds something
        else."""
        return assets.bundled(f"benchmarks/{self.file}", self.read, ())

    def read(self, path: Path) -> tuple[R, ...]:
        """Return the rows of such a file. Raises InputError where it cannot be read, and KeyError or TypeError for
        another."""
        make = getattr(self.row, "read", lambda row: self.row(**row))
        return tuple(map(make, assets.read_json(path)[self.rows]))

    def whole(self) -> Mapping[str, Any]:
        """Return the bundled file as it stands; {} where it is missing."""
        return assets.bundled(f"benchmarks/{self.file}", assets.read_json, {})

    def about(self, **more: Any) -> dict[str, Any]:
        """Return what a file says of itself: which command printed it, by which version, and more."""
        return {"command": f"{_PROG} {self.name}", "version": __version__} | more

    def write(self, path: Path | None, rows: Iterable[R], about: Mapping[str, Any], **more: Any) -> None:
        """Write the file, a line for each row, with what else it holds; nothing without a path. Raises InputError."""
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
            return None  # as JSON has it: an interval of one text is endless
        return float(f"{value:.{self.digits}g}") if self.digits and isinstance(value, float) else value
