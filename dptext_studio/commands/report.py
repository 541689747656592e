"""``report``: rewrite one text and write an HTML page about it."""

from __future__ import annotations

import argparse
from pathlib import Path

from dptext_core.cli.arguments import add_seed, add_text, mechanism_of, text_attacker
from dptext_core.cli.console import OWNER_ONLY, SEED_WARNING, emit, note, read_text
from dptext_core.errors import InputError
from dptext_core.result import RewriteResult
from dptext_core.support.task import on_terminal

TAKES_MECHANISM = True


def arguments(parser: argparse.ArgumentParser) -> None:
    add_text(parser)
    parser.add_argument(
        "--kind",
        choices=("release", "inspection", "draggable"),
        default="release",
        metavar="KIND",
        help="release (default): without originals. inspection: with originals, private. draggable: a page with "
             "originals and an ε slider, private",
    )
    parser.add_argument("--no-text", action="store_true", help="for a release, include only settings and guarantee")
    parser.add_argument(
        "--attack",
        metavar="NAME",
        action="append",
        default=[],
        help="for an inspection, include the results of this attacker; may be repeated",
    )
    parser.add_argument("--out", metavar="F", help="write to this file or into this folder (default: standard output)")
    add_seed(parser)


def run(args: argparse.Namespace) -> None:
    from .. import exports

    private = args.kind != "release"
    if args.no_text and private:
        raise InputError("Only a release can omit its text. Remove --no-text, or use --kind release.")
    if args.attack and args.kind != "inspection":
        raise InputError("Attack results are private. Use --kind inspection with --attack.")
    mechanism = mechanism_of(args)
    attackers = [text_attacker(name, mechanism) for name in args.attack]
    text = read_text(args)
    if args.seed is not None:
        note(SEED_WARNING)
    result = mechanism.rewrite(text, seed=args.seed)
    if args.kind == "draggable":
        view = exports.view_of(result, task=on_terminal("preparing"))
        page, what = exports.inspection(result, view), "slider"
    else:
        findings = [(a.title, a.attack(mechanism, result, _first(result))) for a in attackers]
        page = exports.report(result, args.kind, text=not args.no_text, findings=findings)
        what = "report"
    out = args.out
    if out is not None and Path(out).is_dir():
        out = str(Path(out) / exports.file_name("inspection" if private else "release", what, "html"))
    emit(page, out)
    if not args.quiet:
        note(result.guarantee.sentence())
        if private:
            note(OWNER_ONLY)


def _first(result: RewriteResult) -> int | None:
    return next((i for i, u in enumerate(result.units) if u.is_sampled), None)
