"""Command-line options that several measurements share."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dptext_core.errors import InputError
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.registry import fields_of
from dptext_core.support.checks import shorten_repr, usable_path
from dptext_core.support.version import program_name

from ..results.measurement import cannot_write


class OutFile(argparse.Action):
    """An option for an output file, which creates its folder. An unwritable file raises InputError before any
    measurement."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, _: Any = None
    ) -> None:
        path = usable_path(values)
        if path.exists() and not path.is_file():
            raise InputError(f"{shorten_repr(str(path))} is not a file. Name another one.")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            raise cannot_write(path, error) from error
        setattr(namespace, self.dest, path)


#: Options with the same meaning in all commands.
_OPTIONS: Mapping[str, dict[str, Any]] = {
    "data": {"type": Path, "metavar": "DIR", "help": "folder of the public data sets"},
    "set": {"default": "sst2", "metavar": "NAME", "help": "data set (default sst2; builtin needs no folder)"},
    "space": {"default": "minilm", "metavar": "NAME", "help": "the word space (default minilm)"},
    "stopwords": {"metavar": "FILE", "help": "file with one stop word per line (default: the default list)"},
    "out": {"action": OutFile, "metavar": "FILE", "help": "write the rows to this JSON file"},
}


def parser(name: str, doc: str | None, *options: str, required: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of ``bench NAME`` with some common options, described by the first line of its module."""
    out = argparse.ArgumentParser(prog=f"{program_name()} bench {name}", description=(doc or "").partition("\n")[0])
    for option in options:
        out.add_argument(f"--{option}", required=option in required, **_OPTIONS[option])
    return out


def options_in(args: argparse.Namespace, mechanism: str | None = None) -> dict[str, Any]:
    """Return the mechanism's options from the common options. mechanism: only options that it has."""
    given = {"stopwords": args.stopwords} if args.stopwords else {}
    return given if mechanism is None else {name: x for name, x in given.items() if name in fields_of(mechanism)}


def named_options(m: Mechanism) -> dict[str, Any]:
    """Return the options of a mechanism for a row, without the local path of the stop words."""
    return {name: value for name, value in m.setting.to_dict()["options"].items() if name != "stopwords"}


def which_stop_words(args: argparse.Namespace) -> str:
    """Return the description of the stop words in a file of results."""
    return "given" if args.stopwords else "the default list"
