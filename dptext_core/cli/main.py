"""``python -m dptext_core COMMAND``: each package in ``PACKAGES`` has commands, one per file.

``--plugin FILE`` loads your own mechanisms. Exit status: 0 done, 2 an error that the message explains, 130 stopped by
Ctrl-C, 141 the reader of the output closed it. An output that cannot be written is an error; messages to a closed
standard error are lost.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import io
import sys
from collections.abc import Sequence
from functools import cache
from types import ModuleType

import dptext_core as dpt

from ..errors import DPTextError
from ..mechanisms.registry import mechanism_class
from ..support import extras
from ..support.version import program_name
from .arguments import add_mechanism, add_plugin, asked_mechanism, keep_apart, load_plugins, take_plugins
from .console import Parser, abandon, error_reason, note, open_streams

#: Packages whose modules are commands. The laboratory and the app may be missing, and their commands with them.
PACKAGES = ("dptext_studio.commands", "dptext_core.cli.commands", "dptext_core.distributed", "dptext_lab.commands")


@cache
def find_commands() -> dict[str, tuple[str, str]]:
    """Return the package and the help of each command by its name, in the order in which ``--help`` lists them."""
    commands: dict[str, tuple[str, str]] = {}
    for package in PACKAGES:
        if importlib.util.find_spec(package.partition(".")[0]) is not None:
            commands |= {name: (package, text) for name, text in importlib.import_module(package).COMMANDS.items()}
    return commands


def command_module(name: str) -> ModuleType | None:
    """Import a command, or return None if there is none of this name.

    A command has ``arguments(parser)`` and ``run(args)``; one with ``delegate(argv)`` may parse its arguments itself.
    """
    if name not in find_commands():
        return None
    return importlib.import_module(f"{find_commands()[name][0]}.{name.replace('-', '_')}")


def build_parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Build the parser for these arguments.

    Only the requested command gets its options, since a mechanism's options come from the fields of the requested
    mechanism. Raises ConfigError if that mechanism does not exist.
    """
    parser = Parser(prog=program_name(), description="Rewrite text under differential privacy.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"DP-Text Studio {dpt.__version__}")
    add_plugin(parser)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="command")
    asked = argv[0] if argv else ""
    for name, (_, text) in find_commands().items():
        command = subparsers.add_parser(name, help=text, allow_abbrev=False)
        if name == asked and (module := command_module(name)) is not None:
            command.set_defaults(run=module.run)
            module.arguments(command)
            if getattr(module, "TAKES_MECHANISM", False):
                add_mechanism(command, mechanism_class(asked_mechanism(argv[1:])).spec())
            add_plugin(command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status; ``--help``, ``--version`` and usage errors raise SystemExit."""
    argv = list(sys.argv[1:] if argv is None else argv)
    open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # The same bytes on every machine: UTF-8, and the text's own line endings.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
    try:
        try:
            return _run(argv)
        finally:
            sys.stdout.flush()
    except DPTextError as error:
        note(f"error: {error}")
        return 2
    except ModuleNotFoundError as error:
        if error.name not in extras.BROUGHT_BY:
            raise
        note(f"error: {extras.missing_message(error.name)}")
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        abandon(sys.stdout)
        return 141
    except OSError as error:
        if error.filename is not None:
            raise
        abandon(sys.stdout)
        note(f"error: Cannot write the output: {error_reason(error)}. Free some space or write it elsewhere.")
        return 2
    finally:
        try:
            sys.stderr.flush()
        except OSError:
            abandon(sys.stderr)


def _run(argv: list[str]) -> int:
    files, argv = take_plugins(argv)
    load_plugins(files)
    delegate = getattr(command_module(argv[0]), "delegate", None) if argv else None
    if delegate is not None and (status := delegate(argv[1:])) is not None:
        return status
    args = build_parser(argv).parse_args(argv)
    keep_apart(args)
    args.run(args)
    return 0
