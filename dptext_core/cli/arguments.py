"""Arguments shared by several commands, and flags made from the options of a mechanism.

A new field of a config is a new flag.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dptext_core as dpt

from ..errors import ConfigError, InputError
from ..mechanisms import codec
from ..mechanisms.base import Mechanism
from ..mechanisms.configured import MechanismSpec
from ..mechanisms.option_meta import option_meta
from ..mechanisms.registry import DEFAULT_MECHANISM
from ..support import plugins
from ..support.checks import shorten_repr
from ..text import lexicons
from ..text.document import Document
from .console import note


def read_by(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Wrap ``read`` for argparse: a ConfigError is a ValueError too, and would lose its message there."""

    def value(text: str) -> Any:
        try:
            return read(text)
        except ConfigError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return value


def _gpus(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 64:
        raise ConfigError("The number of GPUs must be above 0 and at most 64, such as 1 or 0.5.")
    return share


def _positive(text: str) -> int:
    if (number := codec.parse_whole_number("the number", text)) < 1:
        raise ConfigError(f"{shorten_repr(text)} is not a whole number of at least 1. Give one.")
    return number


#: Reads a whole number of 1 or more.
positive = read_by(_positive)
#: Reads the share of a GPU per process.
gpus = read_by(_gpus)


def whole_number(name: str) -> Callable[[str], int]:
    """Read a whole number; ``name`` is its name in messages."""
    return read_by(functools.partial(codec.parse_whole_number, name))


def real(name: str) -> Callable[[str], float]:
    """Read a number; ``name`` is its name in messages."""
    return read_by(functools.partial(codec.real, name))


def numbers(name: str, text: str) -> list[float]:
    """Read numbers separated by commas; ``name`` is the name of one in messages. Raises ConfigError."""
    return [codec.real(name, part.strip()) for part in text.split(",")]


#: Reads a list of ε.
epsilons = functools.partial(numbers, "ε")


def add_seed(parser: argparse.ArgumentParser, help: str = "repeat the same draw; for demonstrations, not "
                                                          "private") -> None:
    """Add ``--seed``."""
    parser.add_argument("--seed", type=whole_number("the seed"), metavar="N", help=help)


def add_text(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that give one text."""
    parser.add_argument("text", nargs="?", help="the text; without it, or with -, standard input is read")
    parser.add_argument("--file", metavar="F", help="read the text from this UTF-8 file")
    parser.add_argument("--quiet", action="store_true", help="print no guarantee, and no notes on standard error")


#: Arguments that name the files a command reads and writes.
_READ = (
    *("file", "text", "data", "pairs", "files", "train", "test", "validation", "candidates", "identifiers", "avoid"),
    "other_file",
)
_WRITTEN = ("out", "release", "inspection", "summary")


def keep_apart(args: argparse.Namespace) -> None:
    """Refuse to overwrite an input, or to write twice into one file. Raises InputError."""
    written = [(name, Path(path)) for name in _WRITTEN for path in _paths(getattr(args, name, None))]
    if written:
        from ..data.folder import RUN_FILES, same_place

        taken = [Path(path) for name in _READ for path in _paths(getattr(args, name, None))]
        for name, path in written:
            if any(same_place(path, other) for other in taken):
                raise InputError(
                    f"--{name} names a file that this command also reads or writes. Choose another file."
                )
            taken += [path, *(path / run_file for run_file in RUN_FILES)]


def _paths(given: object) -> list[str | Path]:
    paths = given if isinstance(given, list) else [given]
    return [path for path in paths if isinstance(path, str | Path) and path != "-"]


def describe(field: dataclasses.Field[Any], mechanism: str, most: float | None = None) -> str:
    """Return one line of help: label, explanation, range, unit, default.

    most: the actual upper end of the range with the other options at their defaults, if known.
    """
    meta = option_meta(field)
    low, high, unit = meta.min, meta.max, meta.unit
    facts = [unit] if unit else []
    less = most is not None and high is not None and most < high
    high, where = (most, " with the other options at their defaults") if less else (high, "")
    if low is not None and high is not None:
        facts.append(f"{codec.format_value(low)} to {codec.format_value(high)}{where}")
    elif low is not None:
        facts.append(f"{codec.format_value(low)} or more")
    elif high is not None:
        facts.append(f"at most {codec.format_value(high)}")
    if meta.kind == "epsilon":
        default = f"default {codec.write(field, dpt.mechanism_class(mechanism).epsilon_range({})[2])}"
        facts.append(f"{default} with the other options at their defaults" if field.default is None else default)
    elif field.default not in (None, "", ()):
        facts.append(f"default {codec.write(field, field.default)}")
    line = f"{meta.label}. {meta.help}"
    return f"{line} ({', '.join(facts)})" if facts else line


class _Words(argparse.Action):
    """Append to one list the words that are typed and those from files."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, (*getattr(namespace, self.dest, ()), *values))


class _OnOff(argparse.BooleanOptionalAction):
    """``--x`` and ``--no-x``. The base class treats every flag that begins with ``--no-`` as "off"."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, option_string == self.option_strings[0])


def _add_field(group: argparse._ArgumentGroup, field: dataclasses.Field[Any], mechanism: str) -> None:
    """Add a flag for one field of a config class.

    The namespace gets only what the user sets, so that the config's own defaults and checks decide the rest.
    """
    kind, choices = option_meta(field).kind, option_meta(field).choices
    options: dict[str, Any] = {
        "dest": f"option_{field.name}",
        "default": argparse.SUPPRESS,
        "help": describe(field, mechanism).replace("%", "%%"),
    }
    if kind == "flag":
        options["action"] = _OnOff
    else:
        options["type"] = read_by(functools.partial(codec.parse_option, field))
        # Not ``choices``: argparse would print the typed value in full.
        one_of = f"{{{','.join(choices)}}}" if choices else ""
        several = {"epsilon": "E[,E…]", "texts": "NAME[,NAME…]", "words": "WORD[,WORD…]"}
        options["metavar"] = one_of or several.get(kind, kind.upper())
    if kind != "words":
        group.add_argument(codec.flag(field), **options)
        return
    options["action"] = _Words
    group.add_argument(codec.flag(field), **options)
    group.add_argument(
        f"{codec.flag(field)}-file",
        type=read_by(functools.partial(_words_in, field)),
        action=_Words,
        metavar="FILE",
        dest=options["dest"],
        default=argparse.SUPPRESS,
        help=f"Read words from a UTF-8 file; they are added to those of {codec.flag(field)}.",
    )


def _words_in(field: dataclasses.Field[Any], path: str) -> Any:
    """Return the words of a file, as a field for words takes them."""
    try:
        return codec.parse_option(field, " ".join(lexicons.read_lines(path)))
    except InputError as error:
        raise ConfigError(str(error)) from None


def add_mechanism(parser: argparse.ArgumentParser, spec: MechanismSpec) -> None:
    """Add ``--mechanism`` and a flag for each option of this mechanism."""
    parser.add_argument("--mechanism", metavar="NAME", default=spec.name, help=f"default {DEFAULT_MECHANISM}")
    group = parser.add_argument_group(f"options of {spec.name} ({spec.title})")
    fields = dataclasses.fields(spec.config_cls)
    for field in fields:
        _add_field(group, field, spec.name)
    parser.set_defaults(fields=[field.name for field in fields])


def asked_mechanism(argv: Sequence[str]) -> str:
    """Return the mechanism named in ``argv``, looked up before the parser is built: its fields are the flags."""
    finder = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    finder.add_argument("--mechanism", default=DEFAULT_MECHANISM)
    upto = list(argv[: argv.index("--")]) if "--" in argv else list(argv)
    try:
        return finder.parse_known_args(upto)[0].mechanism
    except argparse.ArgumentError:
        return DEFAULT_MECHANISM


def mechanism_of(args: argparse.Namespace) -> Mechanism:
    """Return the mechanism with the options that the arguments give."""
    given = {name: getattr(args, f"option_{name}") for name in args.fields if hasattr(args, f"option_{name}")}
    return dpt.get_mechanism(args.mechanism, **given)


def take_plugins(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files of every ``--plugin``, and the other arguments. Flags depend on mechanisms, so these come
    first."""
    files: list[str] = []
    others: list[str] = []
    given = iter(argv)
    for argument in given:
        if argument == "--":
            others += [argument, *given]
        elif argument.startswith("--plugin="):
            files.append(argument.partition("=")[2])
        elif argument == "--plugin" and (file := next(given, None)) is not None:
            files.append(file)
        else:
            others.append(argument)
    return files, others


def load_plugins(files: Sequence[str]) -> None:
    """Load plugins. Raises ConfigError for a file of the command line; notes problems of the environment or a package
    only."""
    # Standard output is for what may be released: the output of a plugin does not belong there.
    with contextlib.redirect_stdout(sys.stderr):
        for file in files:
            plugins.load_file(file)
        for problem in plugins.problems():
            note(f"warning: {problem}")


def add_plugin(parser: argparse.ArgumentParser) -> None:
    """Add ``--plugin``."""
    # Only for --help, and for a --plugin without its file: `take_plugins` has removed the others.
    parser.add_argument(
        "--plugin",
        metavar="FILE",
        action="append",
        default=argparse.SUPPRESS,
        help="a Python file that registers your own mechanisms; it runs with all your permissions. May be repeated",
    )


def find_word(word: str, document: Document) -> list[int]:
    """Return the indices of ``word`` among the tokens, ignoring case only if it does not occur as typed.

    Raises InputError.
    """
    tokens = [token.text for token in document.tokens]
    matches = [i for i, token in enumerate(tokens) if token == word]
    matches = matches or [i for i, token in enumerate(tokens) if token.casefold() == word.casefold()]
    if not matches:
        raise InputError(f"The text has no word {word!r}. Check its spelling, or give its position with --index.")
    return matches


def attackers() -> str:
    """Return the names of all attackers, for a message."""
    from ..attacks import attackers

    return ", ".join(a.name for a in attackers() if a.scope != "data set")


def attacker_of(name: str | None, mechanism: Mechanism) -> Any:
    """Return the attacker of this name, of a text or of a corpus, if it can attack this mechanism. Raises InputError or
    NoDistribution."""
    from ..attacks import DataAttacker, get_attacker

    if name is None:
        raise InputError(f"No attacker is chosen. Add --attacker with one of: {attackers()}.")
    attacker = get_attacker(name)
    if isinstance(attacker, DataAttacker):
        raise InputError(
            f"The attacker {attacker.name!r} needs texts of known authors. Use 'dptext bench authors' or, in Python, "
            f"dpt.attacks.attack_authors. For your own text, use one of {attackers()}."
        )
    attacker.check(mechanism)
    return attacker


def text_attacker(name: str | None, mechanism: Mechanism) -> Any:
    """Return the attacker of this name that attacks one text."""
    from ..attacks import TextAttacker

    attacker = attacker_of(name, mechanism)
    if not isinstance(attacker, TextAttacker):
        raise InputError(f"The attacker {attacker.name!r} needs several texts, but this command reads one. Use "
                         "'dptext attack'.")
    return attacker
