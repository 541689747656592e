"""The command line: ``python -m dptext_core rewrite|distribution|audit|calibrate|attack|mechanisms|models|bench``,
and the commands of ``commands``, one a file.

The options of a mechanism are made from the fields of its config, so a new field is a new flag; ``--plugin FILE``
brings mechanisms of one's own. What may be released (the rewritten text) goes to standard output; what is for the
author alone (the guarantee, notes, errors) goes to standard error. Exit status: 0 done, 2 an error the message
explains, 130 stopped by Ctrl-C, 141 the reader of the output went away. An output that cannot be written to is an
error; what a closed standard error would have said is lost, and never lands in the output.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import importlib
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import dptext_core as dpt

from . import plugins
from .checks import shown
from .commands import (
    case_study,
    downstream,
    gallery,
    models,
    pretrain,
    report,
    rewrite_data,
    runs,
    serve_model,
    tradeoff,
)
from .coverage import coverage_note
from .distribution import TokenDistribution
from .document import Document
from .errors import ConfigError, DPTextError, InputError, NoDistribution
from .guarantee import NOTIONS
from .mechanisms import codec
from .mechanisms.base import Mechanism, MechanismSpec, Progress
from .mechanisms.registry import mechanism_class
from .words import lexicons

PROG = "python -m dptext_core"
DEFAULT_MECHANISM = "dp-mlm"
#: Measurements: the modules whose ``main(argv)`` makes them.
BENCHES = {
    "speed": "performance.speed",
    "memory": "performance.memory",
    "words": "performance.words",
    "deniability": "evaluation.deniability",
    "lists": "performance.lists",
    "mappings": "evaluation.mappings",
    "peers": "peers.command",
    "audit": "evaluation.audit",
    "clipping": "evaluation.clipping",
    "prior": "evaluation.public_prior",
    "generators": "evaluation.generation",
    "further": "evaluation.further",
    "queries": "evaluation.queries",
    "leaderboard": "evaluation.leaderboard",
    "run": "evaluation.run",
}
SEED_WARNING = "demonstration, not private: whoever knows the seed can replay the noise"
OWNER_ONLY = "note: this tells the original words; it is for their author's eyes, not for release"


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as every other error does."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message} (see {self.prog} --help)\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse itself says nothing of an output that cannot be written to.
        with contextlib.suppress(OSError) if file in (None, sys.stderr) else contextlib.nullcontext():
            print(message, end="", file=file or sys.stderr, flush=True)


# --- options from config fields -------------------------------------------------------------------------------------


def _typed_in(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """``read`` as argparse wants it: a ConfigError, being a ValueError too, would lose its message there."""

    def value(text: str) -> Any:
        try:
            return read(text)
        except ConfigError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return value


def share_of_gpu(text: str) -> float:
    """How much of a GPU one process takes. Raises ConfigError."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= 64:
        raise ConfigError("A number of GPUs above 0 and at most 64 is needed, such as 1 or 0.5.")
    return found


def _short(text: str) -> str:
    """The beginning of what may be very long, for a message."""
    return text if len(text) <= 200 else text[:200] + "…"


def _describe(field: dataclasses.Field[Any], mechanism: str, most: float | None = None) -> str:
    """One line of help: label, explanation, range, unit, default. most: what the range really ends at, where the other
    options are at their defaults and that is known."""
    meta = field.metadata
    low, high, unit = meta["min"], meta["max"], meta["unit"]
    facts = [unit] if unit else []
    less = most is not None and high is not None and most < high
    high, where = (most, " with the other options at theirs") if less else (high, "")
    if low is not None and high is not None:
        facts.append(f"{codec.plain(low)} to {codec.plain(high)}{where}")
    elif low is not None:
        facts.append(f"{codec.plain(low)} or more")
    elif high is not None:
        facts.append(f"at most {codec.plain(high)}")
    if meta["kind"] == "epsilon":
        default = f"default {codec.write(field, dpt.mechanism_class(mechanism).epsilon_range({})[2])}"
        facts.append(f"{default} with the other options at theirs" if field.default is None else default)
    elif field.default not in (None, "", ()):
        facts.append(f"default {codec.write(field, field.default)}")
    line = f"{meta['label']}. {meta['help']}"
    return f"{line} ({', '.join(facts)})" if facts else line


class _Words(argparse.Action):
    """Words that are given as they are, and in files, are one list."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, (*getattr(namespace, self.dest, ()), *values))


class _OnOff(argparse.BooleanOptionalAction):
    """``--x`` and ``--no-x``. The base class takes every flag that begins with ``--no-`` for an off."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, option_string == self.option_strings[0])


def _add_field(group: argparse._ArgumentGroup, field: dataclasses.Field[Any], mechanism: str) -> None:
    """A flag for one field of a config class.

    Only what the user gives lands in the namespace, so the config's own defaults and checks decide the rest.
    """
    kind, choices = field.metadata["kind"], field.metadata["choices"]
    options: dict[str, Any] = {
        "dest": f"option_{field.name}",
        "default": argparse.SUPPRESS,
        "help": _describe(field, mechanism).replace("%", "%%"),
    }
    if kind == "flag":
        options["action"] = _OnOff
    else:
        options["type"] = _typed_in(functools.partial(codec.read, field))
        # Not ``choices``: argparse would print whatever was typed at full length.
        one_of = f"{{{','.join(choices)}}}" if choices else ""
        several = {"epsilon": "E[,E…]", "texts": "NAME[,NAME…]", "words": "WORD[,WORD…]"}
        options["metavar"] = one_of or several.get(kind, kind.upper())
    if kind != "words":
        group.add_argument(codec.flag(field), **options)
        return
    options["action"] = _Words
    group.add_argument(codec.flag(field), **options)
    group.add_argument(
        f"{codec.flag(field)}-file", type=_typed_in(functools.partial(_words_in, field)), action=_Words, metavar="FILE",
        dest=options["dest"], default=argparse.SUPPRESS, help="The same from a UTF-8 file; together they are one list.",
    )  # fmt: skip


def _words_in(field: dataclasses.Field[Any], path: str) -> Any:
    """The words of a file, as a field for words takes them."""
    try:
        return codec.read(field, " ".join(lexicons.read_lines(path)))
    except InputError as error:
        raise ConfigError(str(error)) from None


# --- the parser -----------------------------------------------------------------------------------------------------


def _take_plugins(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The files of every ``--plugin``, and the other arguments. Flags depend on mechanisms, so these come first."""
    files: list[str] = []
    rest: list[str] = []
    given = iter(argv)
    for argument in given:
        if argument == "--":
            rest += [argument, *given]
        elif argument.startswith("--plugin="):
            files.append(argument.partition("=")[2])
        elif argument == "--plugin" and (file := next(given, None)) is not None:
            files.append(file)
        else:
            rest.append(argument)
    return files, rest


def _load_plugins(files: Sequence[str]) -> None:
    """Raises ConfigError for a file of the command line; what the environment or a package brought is only noted."""
    # Standard output is for what may be released: a plugin that prints does not print there.
    with contextlib.redirect_stdout(sys.stderr):
        for file in files:
            plugins.load_file(file)
        for problem in plugins.problems():
            _note(f"warning: {problem}")


def _add_plugin_option(parser: argparse.ArgumentParser) -> None:
    # Only for --help, and for a --plugin without its file: `_take_plugins` has taken the others.
    parser.add_argument(
        "--plugin", metavar="FILE", action="append", default=argparse.SUPPRESS,
        help="a Python file that registers mechanisms of your own; it runs with all your rights. May be repeated",
    )  # fmt: skip


def _asked_mechanism(argv: Sequence[str]) -> str:
    """The mechanism named in ``argv``, looked up before the parser is built: its fields are the flags."""
    finder = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    finder.add_argument("--mechanism", default=DEFAULT_MECHANISM)
    upto = list(argv[: argv.index("--")]) if "--" in argv else list(argv)
    try:
        return finder.parse_known_args(upto)[0].mechanism
    except argparse.ArgumentError:
        return DEFAULT_MECHANISM


def _add_text_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", help="the text; without it, or with -, standard input is read")
    parser.add_argument("--file", metavar="F", help="read the text from this UTF-8 file")
    parser.add_argument("--quiet", action="store_true", help="no guarantee and no notes on standard error")


def _add_mechanism_options(parser: argparse.ArgumentParser, spec: MechanismSpec) -> None:
    parser.add_argument("--mechanism", metavar="NAME", default=spec.name, help=f"default {DEFAULT_MECHANISM}")
    group = parser.add_argument_group(f"options of {spec.name} ({spec.title})")
    fields = dataclasses.fields(spec.config_cls)
    for field in fields:
        _add_field(group, field, spec.name)
    parser.set_defaults(fields=[field.name for field in fields])


def build_parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser for these arguments: the flags of ``rewrite`` and ``distribution`` are those of the mechanism named.

    Raises ConfigError where that mechanism does not exist.
    """
    parser = _Parser(prog=PROG, description="Rewrite text under differential privacy.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"DP-Text Studio {dpt.__version__}")
    _add_plugin_option(parser)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    rewrite = commands.add_parser("rewrite", help="rewrite one text", allow_abbrev=False)
    distribution = commands.add_parser(
        "distribution", help="show the distribution that one word or released piece is drawn from", allow_abbrev=False
    )
    for command in (rewrite, distribution):
        _add_text_options(command)
    rewrite.add_argument("--json", action="store_true", help="the text with its options and its guarantee, as JSON")
    rewrite.add_argument("--trace", action="store_true", help="as --json, with the original words: for your eyes only")
    rewrite.add_argument("--out", metavar="F", help="write to this file instead of standard output")
    rewrite.add_argument(
        "--seed",
        type=_typed_in(functools.partial(codec.whole, "the seed")),
        metavar="N",
        help="repeat the same draw: a demonstration, not private",
    )
    rewrite.set_defaults(run=_rewrite)
    where = distribution.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--word", metavar="W",
        help="the first occurrence of this word in the text; among the released pieces, where a new text is written",
    )  # fmt: skip
    where.add_argument(
        "--index",
        type=_typed_in(functools.partial(codec.whole, "the index")),
        metavar="N",
        help="the N-th step of the rewriting, from 0",
    )
    where.add_argument(
        "--piece", type=_typed_in(functools.partial(codec.whole, "the number of a piece")), metavar="N",
        help="rewrite the text, and take the N-th piece that was released, from 0, given the pieces before it",
    )  # fmt: skip
    distribution.add_argument(
        "--seed", type=_typed_in(functools.partial(codec.whole, "the seed")), metavar="N",
        help="for a piece: repeat the same draw, a demonstration, not private",
    )  # fmt: skip
    distribution.add_argument("--json", action="store_true", help="print JSON")
    distribution.add_argument(
        "--top", type=_typed_in(_positive), default=20, metavar="N", help="so many candidates (default 20)"
    )
    distribution.set_defaults(run=_distribution)
    auditing = commands.add_parser(
        "audit", help="hold a mechanism's promise against what can be measured", allow_abbrev=False
    )
    auditing.add_argument(
        "inputs", nargs="*", help="words, or texts in quotes; without them, words or texts of our own"
    )
    auditing.add_argument(
        "--claim",
        type=_typed_in(functools.partial(codec.real, "the claim")),
        metavar="E",
        help="an ε to hold it against, for any two inputs",
    )
    auditing.add_argument("--draws", type=_typed_in(_positive), metavar="N", help="draws at each input")
    auditing.add_argument("--json", action="store_true", help="print JSON")
    auditing.set_defaults(run=_audit)
    equal = commands.add_parser(
        "calibrate", help="find the ε at which a mechanism reaches a measured privacy", allow_abbrev=False
    )
    equal.add_argument(
        "--n-w",
        type=_typed_in(functools.partial(codec.real, "the chance")),
        metavar="P",
        help="the chance that a word stays what it is",
    )
    equal.add_argument(
        "--bayes",
        type=_typed_in(functools.partial(codec.real, "the chance")),
        metavar="P",
        help="how often the best attacker guesses the word",
    )
    equal.add_argument(
        "--total", type=_typed_in(functools.partial(codec.real, "the total")), metavar="E", help="ε of the whole text"
    )
    _add_text_options(equal)
    equal.set_defaults(run=_calibrate)
    attack = commands.add_parser(
        "attack", help="rewrite a text, and see what an attacker finds out from the rewrite", allow_abbrev=False
    )
    attack.add_argument(
        "--attacker", metavar="NAME", help=f"one of {_attackers()}" if argv[:1] == ["attack"] else "which one",
    )  # fmt: skip
    at = attack.add_mutually_exclusive_group()
    at.add_argument("--word", metavar="W", help="attack the first occurrence of this word")
    at.add_argument(
        "--index", type=_typed_in(functools.partial(codec.whole, "the index")), metavar="N",
        help="attack the N-th step of the rewriting, from 0",
    )  # fmt: skip
    attack.add_argument(
        "--seed", type=_typed_in(functools.partial(codec.whole, "the seed")), metavar="N",
        help="repeat the same draw: a demonstration, not private",
    )  # fmt: skip
    attack.add_argument(
        "--candidates", metavar="F",
        help="which-text: a UTF-8 file with the other texts that it could have been, one a line",
    )  # fmt: skip
    attack.add_argument(
        "--answers", type=_typed_in(_positive), metavar="N", help="which-text: so many rewrites are seen (default 1)"
    )
    attack.add_argument(
        "--draws", type=_typed_in(functools.partial(codec.whole, "the number of draws")), metavar="N",
        help="which-text: fresh rewrites that measure how often a guess is right, at least: each of the texts gets as "
        "many; 0 for none",
    )  # fmt: skip
    _add_text_options(attack)
    attack.set_defaults(run=_attack)
    named = {
        "rewrite": rewrite, "distribution": distribution, "audit": auditing, "calibrate": equal, "attack": attack,
        "rewrite-data": rewrite_data.add(commands), "report": report.add(commands),
    }  # fmt: skip
    if argv and argv[0] in named:
        _add_mechanism_options(named[argv[0]], mechanism_class(_asked_mechanism(argv[1:])).spec())

    listing = commands.add_parser("mechanisms", help="list the mechanisms and their options", allow_abbrev=False)
    listing.set_defaults(run=_mechanisms)
    for command in (*named.values(), listing):
        _add_plugin_option(command)
    models.add(commands)
    serve_model.add(commands)
    pretrain.add(commands)
    for module in (downstream, runs, case_study, gallery, tradeoff):
        _add_plugin_option(module.add(commands))
    bench = commands.add_parser("bench", help="measure; bench NAME --help lists the options", allow_abbrev=False)
    bench.add_argument("what", choices=BENCHES, metavar="NAME", help=f"one of {', '.join(BENCHES)}")
    return parser


def _positive(text: str) -> int:
    if (number := codec.whole("the number", text)) < 1:
        raise ConfigError(f"{shown(text)} is not a whole number of 1 or more. Give a larger one.")
    return number


# --- input and output -----------------------------------------------------------------------------------------------


def _decode(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:  # which holds the text
        raise InputError(f"{where} is not UTF-8 text. Save it as UTF-8 and try again.") from None


def _typed(text: str) -> str:
    """An argument as UTF-8, whatever the locale took its bytes for. Raises InputError."""
    try:
        # What the locale could not read stands in it as lone surrogates. Paths stay so: the system wants them so.
        return text if text.isascii() else os.fsencode(text).decode("utf-8")
    except UnicodeError:  # which holds the text
        raise InputError("The text is not UTF-8. Put it into a UTF-8 file and use --file.") from None


def _read_file(path: str) -> str:
    """The text of a UTF-8 file. Raises InputError."""
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        raise InputError(f"Cannot read {_short(path)}: {_why(error)}. Name another file.") from error
    return _decode(data, _short(path))


def _read_text(args: argparse.Namespace) -> str:
    """The text to work on. Line ends stay as they are. Raises InputError."""
    if args.file is not None:
        if args.text is not None:
            raise InputError("Give the text or --file, not both.")
        return _read_file(args.file)
    if args.text is not None and args.text != "-":
        return _typed(args.text)
    if sys.stdin is None:
        raise InputError("There is no standard input. Give the text or --file.")
    if sys.stdin.isatty() and not args.quiet:
        _note("reading from the keyboard; end with Ctrl-D (Windows: Ctrl-Z, Enter)")
    buffer = getattr(sys.stdin, "buffer", None)
    try:
        return _decode(buffer.read(), "standard input") if buffer is not None else sys.stdin.read()
    except OSError as error:
        raise InputError(f"Cannot read standard input: {_why(error)}. Give the text or --file.") from error


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _note(text: str) -> None:
    """For the author's eyes. Lost where standard error takes nothing: there is no other place to say so."""
    if sys.stderr is not None:  # print() would turn to standard output
        with contextlib.suppress(OSError):
            print(text, file=sys.stderr, flush=True)


def _emit(text: str, out: str | None = None) -> None:
    """Writes to a file, or to standard output with a line end at the end. Raises InputError, or OSError of the latter.

    A file that is there already stays as it was unless all was written.
    """
    if out is None:
        print(text, end="" if text.endswith("\n") else "\n", flush=True)
        return
    try:
        # A lone surrogate is part of a path that JSON repeats; so written, JSON reads it back.
        _replace(Path(out), text.encode("utf-8", "backslashreplace"))
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot write {_short(out)}: {_why(error)}. Name another file.") from error


def _replace(path: Path, data: bytes) -> None:
    """Writes beside the file, then puts that in its place. A device or a pipe is written to directly."""
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    path = path.resolve()  # a link goes on to lead where it does
    beside = path.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        with beside.open("xb") as file:
            file.write(data)
        if path.exists():
            beside.chmod(path.stat().st_mode)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)  # there only if something failed


def _emit_json(data: Any, out: str | None = None) -> None:
    _emit(json.dumps(data, ensure_ascii=False, indent=2) + "\n", out)


# --- commands -------------------------------------------------------------------------------------------------------


def _mechanism(args: argparse.Namespace) -> Mechanism:
    given = {name: getattr(args, f"option_{name}") for name in args.fields if hasattr(args, f"option_{name}")}
    return dpt.get_mechanism(args.mechanism, **given)


def _rewrite(args: argparse.Namespace) -> None:
    mechanism = _mechanism(args)
    text = _read_text(args)
    if args.seed is not None:
        _note(f"warning: {SEED_WARNING}")
    result = mechanism.rewrite(text, seed=args.seed)
    note = "" if args.quiet else coverage_note(mechanism, text)
    if args.json or args.trace:
        _emit_json(result.to_dict(trace=args.trace), args.out)
    else:
        _emit(result.text, args.out)
    if args.quiet:
        return
    _note(result.guarantee.sentence())
    if result.guarantee.exposed:
        _note(f"Not covered: {'; '.join(result.guarantee.exposed)}.")
    if note:
        _note(f"note: {note}")
    if args.trace:
        _note(OWNER_ONLY)


def _find_word(word: str, document: Document) -> list[int]:
    """The places of ``word`` among the tokens, ignoring case only where it is not there as typed. Raises InputError."""
    tokens = [token.text for token in document.tokens]
    found = [i for i, token in enumerate(tokens) if token == word]
    found = found or [i for i, token in enumerate(tokens) if token.casefold() == word.casefold()]
    if not found:
        raise InputError(f"The text has no word {word!r}. Check its spelling, or name its place with --index.")
    return found


def _distribution(args: argparse.Namespace) -> None:
    mechanism = _mechanism(args)
    text = _read_text(args)
    if args.piece is not None or (args.word is not None and "alignment" not in mechanism.can):
        _distribution_of_piece(args, mechanism, text)
        return
    if args.seed is not None:
        raise InputError("Nothing is drawn for a word of the original, so that a seed changes nothing. Leave it out.")
    index = args.index
    if index is None:
        index, *more = _find_word(_typed(args.word), Document.parse(text, mechanism.language))
        if more and not args.quiet:
            _note(
                f"note: {args.word!r} stands at {', '.join(map(str, [index, *more]))}; this is the first. See --index."
            )
    found = mechanism.distribution(text, index)
    facts = {"index": index, "source": found.source, "p_keep": found.p_keep()}
    _print_distribution(args, found, facts, (f"chance of keeping “{found.source}”", found.p_keep()))


def _distribution_of_piece(args: argparse.Namespace, mechanism: Mechanism, text: str) -> None:
    """What a piece of a rewrite was drawn from, given the pieces before it."""
    result = mechanism.rewrite(text, seed=args.seed)
    if result.no_chances:
        raise NoDistribution(result.no_chances)
    units = result.units
    piece = args.piece
    if piece is None:
        word = _typed(args.word)
        places = [i for i, u in enumerate(units) if u.drawn and u.text.casefold() == word.casefold()]
        if not places:
            raise InputError(
                f"No released piece is {_short(word)!r}: this rewrite is {_short(result.text)!r}. Every run draws "
                "anew: name a piece of it with --piece, or repeat a draw with --seed."
            )
        piece = places[0]
        if len(places) > 1 and not args.quiet:
            _note(f"note: {word!r} is piece {', '.join(map(str, places))}; this is the first. See --piece.")
    if not 0 <= piece < len(units):
        raise InputError(
            f"There is no piece {piece}: this rewrite has {len(units)}, counted from 0. Every run draws anew; --seed "
            "repeats a draw."
        )
    found, unit = result.distribution(piece), units[piece]
    known = result.candidate(piece)
    chance = found.p(unit.text) if known is None else float(found.probs[known])
    name = f"“{unit.text}”" if unit.text or known is None else found.candidates[known]
    if not args.quiet:
        if args.seed is not None:
            _note(f"warning: {SEED_WARNING}")
        _note(f"rewrite: {result.text}")
    facts = {"piece": piece, "released": unit.text, "text": result.text, "chance": chance}
    _print_distribution(args, found, facts, (f"chance of piece {piece}, {name}", chance))


def _print_distribution(
    args: argparse.Namespace, found: TokenDistribution, facts: dict[str, Any], last: tuple[str, float]
) -> None:
    """facts: what JSON says of the place. last: the last row of the table."""
    top = found.top(args.top)
    others = len(found.candidates) - len(top)
    rest = max(0.0, 1.0 - sum(p for _, p in top))
    if args.json:
        _emit_json(
            {"mechanism": args.mechanism}
            | facts
            | {
                "epsilon": found.epsilon,
                "draws": found.draws,
                "entropy": found.entropy(),
                "top": [{"word": word, "probability": p} for word, p in top],
                "others": {"words": others, "probability": rest},
            }
        )
    else:
        rows = [(word, f"{p:.6f}") for word, p in top]
        if others:
            rows.append((f"{others} others", f"{rest:.6f}"))
        rows.append((last[0], f"{last[1]:.6f}"))
        _emit(_table(rows))
    if not args.quiet:
        _note(OWNER_ONLY)


def _progress(what: str) -> Progress | None:
    """A line that counts, where someone watches."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None

    def show(done: int, of: int) -> None:
        end = "\r" if done < of else "\n"
        print(f"{what} … {100 * done // max(of, 1)}%", end=end, file=sys.stderr, flush=True)

    return show


def _audit(args: argparse.Namespace) -> None:
    from .auditing import audit

    inputs = [_typed(i) for i in args.inputs] or None
    report = audit(_mechanism(args), inputs, args.claim, draws=args.draws, progress=_progress("auditing"))
    if args.json:
        _emit_json(report.to_dict())
    else:
        _emit(f"{report.verdict}\n{report.sentence()}")


def _calibrate(args: argparse.Namespace) -> None:
    from .calibration import calibrate

    target = {k: v for k in ("n_w", "bayes", "total") if (v := getattr(args, k)) is not None}
    if len(target) != 1:
        raise InputError("Give one target: --n-w, --bayes or --total.")
    _emit(calibrate(_mechanism(args), target, text=_read_text(args)).sentence())


def _attackers() -> str:
    from .attacks import attackers

    return ", ".join(a.name for a in attackers() if a.scope != "data set")


def _text_attacker(name: str | None, mechanism: Mechanism) -> Any:
    """The attacker of this name, which can attack this mechanism. Raises InputError or NoDistribution."""
    from .attacks import TextAttacker, get_attacker

    if name is None:
        raise InputError(f"Name an attacker with --attacker: one of {_attackers()}.")
    attacker = get_attacker(name)
    if not isinstance(attacker, TextAttacker):
        raise InputError(f"The attacker {attacker.name!r} needs a data set: see bench run. Take one of {_attackers()}.")
    attacker.check(mechanism)
    return attacker


def _attack(args: argparse.Namespace) -> None:
    mechanism = _mechanism(args)
    attacker = _text_attacker(args.attacker, mechanism)
    given: dict[str, Any] = {"answers": args.answers, "draws": args.draws}
    if args.candidates is not None:
        given["candidates"] = _read_file(args.candidates).splitlines()
    given = {name: value for name, value in given.items() if value is not None}
    if strange := [name for name in given if name not in attacker.takes]:
        raise InputError(f"The attacker {attacker.name} takes no --{strange[0]}. Leave it out.")
    if args.word is not None and "word" in attacker.takes:
        given["word"] = _typed(args.word)
    result = mechanism.rewrite(_read_text(args), seed=args.seed)
    unit = args.index
    if unit is None and args.word is not None and "word" not in given:
        at = _find_word(_typed(args.word), Document.parse(result.original, mechanism.language))[0]
        unit = next((i for i, s in enumerate(result.steps) if s.index == at and s.action != "insert"), None)
    if unit is None:
        unit = next((i for i, u in enumerate(result.units) if u.drawn), None)
    if unit is None:
        raise InputError("No word of this text was drawn, so there is nothing to guess. Write more words.")
    if not 0 <= unit < len(result.units):
        raise InputError(f"There is no step {unit}: this rewrite has {len(result.units)}, counted from 0.")
    found = attacker.attack(mechanism, result, unit, progress=_progress("attacking"), **given)
    rows: list[tuple[str, str]] = getattr(found, "rows", list)()
    _emit("\n".join([result.text, *([_table(rows)] if rows else []), found.sentence()]))
    if not args.quiet:
        made = max((m.rewrites for m in getattr(found, "measured", ())), default=0)
        if args.draws and made > args.draws:
            _note(f"note: {made:,} rewrites were made, not {args.draws:,}: each text gets as many.")
        _note(OWNER_ONLY)


def _mechanisms(args: argparse.Namespace) -> None:
    blocks = []
    for spec in dpt.mechanisms():
        lines = [f"{spec.name}: {spec.title}"]
        if spec.summary:
            lines.append(f"  {spec.summary}")
        lines.append(f"  guarantee: {NOTIONS[spec.notion]}; needs: {', '.join(spec.needs) or 'nothing'}")
        try:
            most: float | None = dpt.get_mechanism(spec.name).max_epsilon
        except DPTextError:  # of one that waits for vectors or a model of the user's own
            most = None
        for field in dataclasses.fields(spec.config_cls):
            allowed = field.metadata["choices"]
            flag = codec.flag(field)
            if field.metadata["kind"] == "flag":
                flag += " | --no-" + flag.removeprefix("--")
            lines.append(f"  {flag}{' ' + '|'.join(allowed) if allowed else ''}")
            lines.append(f"      {_describe(field, spec.name, most if field.name == 'epsilon' else None)}")
        blocks.append("\n".join(lines))
    _emit("\n\n".join(blocks))


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Columns two spaces apart."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def _open_streams() -> None:
    """Gives a process that was started without them the streams 0 to 2, so that no file it opens takes their place.

    Standard output is then one that refuses what is written, standard error one that forgets it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _abandon(stream: Any) -> None:
    """Python flushes a stream once more at exit: give what it still holds a place to go."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status; ``--help``, ``--version`` and usage errors raise SystemExit."""
    argv = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
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
        _note(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _abandon(sys.stdout)
        return 141
    except OSError as error:
        if error.filename is not None:
            raise
        _abandon(sys.stdout)
        _note(f"error: Cannot write to standard output: {_why(error)}. Send it elsewhere, or use --out.")
        return 2
    finally:
        try:
            sys.stderr.flush()
        except OSError:
            _abandon(sys.stderr)


def _run(argv: list[str]) -> int:
    files, argv = _take_plugins(argv)
    _load_plugins(files)
    if argv[:1] == ["bench"] and len(argv) > 1 and argv[1] in BENCHES:
        bench = importlib.import_module(f".{BENCHES[argv[1]]}", __package__)
        return bench.main(argv[2:]) or 0
    args = build_parser(argv).parse_args(argv)
    args.run(args)
    return 0
