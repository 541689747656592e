"""``python -m dptext_core COMMAND``: the commands of ``commands``, one a file, and ``bench NAME``, which measures.

``--plugin FILE`` brings mechanisms of one's own. Exit status: 0 done, 2 an error the message explains, 130 stopped by
Ctrl-C, 141 the reader of the output went away. An output that cannot be written to is an error; what a closed standard
error would have said is lost.
"""

from __future__ import annotations

import argparse
import importlib
import io
import sys
from collections.abc import Sequence

import dptext_core as dpt

from .._internal import extras
from .._internal.version import called
from ..errors import DPTextError
from ..mechanisms.registry import mechanism_class
from .arguments import add_mechanism, add_plugin, asked_mechanism, keep_apart, load_plugins, take_plugins
from .commands import (
    app,
    attack,
    audit,
    bank,
    belief,
    calibrate,
    case_study,
    distribution,
    downstream,
    gallery,
    mechanisms,
    models,
    new,
    pocket,
    pretrain,
    report,
    rewrite,
    rewrite_data,
    runs,
    score,
    serve_model,
    tradeoff,
)
from .console import Parser, abandon, note, open_streams, why

#: In the order in which ``--help`` lists them.
COMMANDS = (
    app,
    rewrite,
    distribution,
    audit,
    calibrate,
    belief,
    attack,
    rewrite_data,
    report,
    mechanisms,
    models,
    serve_model,
    pretrain,
    bank,
    downstream,
    score,
    runs,
    case_study,
    gallery,
    pocket,
    tradeoff,
    new,
)
#: Measurements: the modules whose ``main(argv)`` makes them.
BENCHES = {
    "speed": "research.speed.engine",
    "memory": "research.speed.memory",
    "words": "research.speed.words",
    "deniability": "research.deniability",
    "lists": "research.speed.lists",
    "mappings": "research.mappings",
    "peers": "research.peers.command",
    "audit": "research.audit",
    "clipping": "research.clipping",
    "prior": "research.public_prior",
    "generators": "research.generation",
    "equal-privacy": "research.equal_privacy",
    "queries": "research.queries",
    "reader": "research.reader",
    "two-texts": "research.two_texts",
    "polish": "research.polish",
    "composition": "research.composition",
    "budget": "research.total_budget",
    "findings": "research.findings.verdicts",
    "leaderboard": "research.leaderboard",
    "run": "research.bench_run",
}
#: Names of measurements before, which bundled files and published rows say.
EARLIER = {"further": "equal-privacy"}


def build_parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser for these arguments. Only the command that they name has its options: those of a mechanism are made
    from the fields of the one that is asked for.

    Raises ConfigError where that mechanism does not exist.
    """
    parser = Parser(prog=called(), description="Rewrite text under differential privacy.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"DP-Text Studio {dpt.__version__}")
    add_plugin(parser)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for module in COMMANDS:
        name = module.__name__.rpartition(".")[2].replace("_", "-")
        command = commands.add_parser(name, help=module.HELP, allow_abbrev=False)
        command.set_defaults(run=module.run)
        if [name] == list(argv[:1]):
            module.arguments(command)
            if getattr(module, "TAKES_MECHANISM", False):
                add_mechanism(command, mechanism_class(asked_mechanism(argv[1:])).spec())
            add_plugin(command)
    bench = commands.add_parser("bench", help="measure; bench NAME --help lists the options", allow_abbrev=False)
    bench.add_argument("what", choices=BENCHES, metavar="NAME", help=f"one of {', '.join(BENCHES)}")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status; ``--help``, ``--version`` and usage errors raise SystemExit."""
    argv = list(sys.argv[1:] if argv is None else argv)
    open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # The same bytes on every machine: UTF-8, and the text's own line ends.
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
        note(f"error: {extras.without_models(error.name)}")
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
        note(f"error: Cannot write the output: {why(error)}. Make room for it or send it elsewhere.")
        return 2
    finally:
        try:
            sys.stderr.flush()
        except OSError:
            abandon(sys.stderr)


def _run(argv: list[str]) -> int:
    files, argv = take_plugins(argv)
    load_plugins(files)
    if argv[:1] == ["bench"] and len(argv) > 1 and (what := EARLIER.get(argv[1], argv[1])) in BENCHES:
        bench = importlib.import_module(f"dptext_core.{BENCHES[what]}")
        return bench.main(argv[2:]) or 0
    args = build_parser(argv).parse_args(argv)
    keep_apart(args)
    args.run(args)
    return 0
