"""What every measurement has in common: its command, the file it ships in, the type of its rows, a table of them.

A measurement is a module below ``dptext_lab``: a frozen dataclass for a row, a function that measures, and
``main(argv)``, which ``cli/main.py`` names beside the command. The rest is here.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from dptext_core.errors import InputError
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.registry import fields_of
from dptext_core.support import assets
from dptext_core.support.checks import shown, usable_path
from dptext_core.support.version import PROG, __version__, called
from dptext_core.support.whole_files import replacement

R = TypeVar("R")

_PROG = f"{PROG} bench"


class OutFile(argparse.Action):
    """An option that names a file to write, and makes its folder. What cannot be written there is said before anything
    is measured. Raises InputError."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, _: Any = None
    ) -> None:
        path = usable_path(values)
        if path.exists() and not path.is_file():
            raise InputError(f"{shown(str(path))} is no file. Name another one.")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            raise _unwritten(path, error) from error
        setattr(namespace, self.dest, path)


def _unwritten(path: Path, error: OSError) -> InputError:
    return InputError(f"{shown(str(path))} cannot be written: {error.strerror or error}. Name another file.")


#: Options that mean the same wherever they are taken.
_OPTIONS: Mapping[str, dict[str, Any]] = {
    "data": {"type": Path, "metavar": "DIR", "help": "folder of the public data sets"},
    "set": {"default": "sst2", "metavar": "NAME", "help": "data set (default sst2; builtin needs no folder)"},
    "space": {"default": "minilm", "metavar": "NAME", "help": "the word space (default minilm)"},
    "stopwords": {"metavar": "FILE", "help": "one word a line; else the default list"},
    "out": {"action": OutFile, "metavar": "FILE", "help": "write the rows to this JSON file"},
}


def parser(name: str, doc: str | None, *options: str, required: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of ``bench NAME``, described by the first line of its module, with some of the common options."""
    made = argparse.ArgumentParser(prog=f"{called()} bench {name}", description=(doc or "").partition("\n")[0])
    for option in options:
        made.add_argument(f"--{option}", required=option in required, **_OPTIONS[option])
    return made


def options_in(args: argparse.Namespace, mechanism: str | None = None) -> dict[str, Any]:
    """What the common options say of a mechanism's; of this one: as far as it has them."""
    given = {"stopwords": args.stopwords} if args.stopwords else {}
    return given if mechanism is None else {name: x for name, x in given.items() if name in fields_of(mechanism)}


def named_options(m: Mechanism) -> dict[str, Any]:
    """The options of a mechanism as a row names them: without the file of stop words, which is of this machine."""
    return {name: value for name, value in m.setting.to_dict()["options"].items() if name != "stopwords"}


def which_stop_words(args: argparse.Namespace) -> str:
    """What a file says of the stop words that it was measured with."""
    return "given" if args.stopwords else "the default list"


def markdown(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(cells)} |" for cells in (heading, *rows)]
    return "\n".join([lines[0], "|---" * len(heading) + "|", *lines[1:]])


def plus_minus(mean: float, half: float | None) -> str:
    """A mean with half of its interval, None where that is not known: one value tells none."""
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
        raise _unwritten(path, error) from error


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
        """The bundled rows; () where the file is missing. Raises ModelUnavailable where it holds something else."""
        return assets.bundled(f"benchmarks/{self.file}", self.read, ())

    def read(self, path: Path) -> tuple[R, ...]:
        """The rows of such a file. Raises InputError where it cannot be read, and KeyError or TypeError for another."""
        make = getattr(self.row, "read", lambda row: self.row(**row))
        return tuple(map(make, assets.read_json(path)[self.rows]))

    def whole(self) -> Mapping[str, Any]:
        """The bundled file as it stands; {} where it is missing."""
        return assets.bundled(f"benchmarks/{self.file}", assets.read_json, {})

    def about(self, **more: Any) -> dict[str, Any]:
        """What a file says of itself: which command printed it, by which version, and more."""
        return {"command": f"{_PROG} {self.name}", "version": __version__} | more

    def write(self, path: Path | None, rows: Iterable[R], about: Mapping[str, Any], **more: Any) -> None:
        """The file, a line for each row, with what else it holds; nothing without a path. Raises InputError."""
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
