"""``report``: rewrite one text, and write what is to be said of it as one HTML page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .. import cli
from ..mechanisms import codec
from ..result import RewriteResult


def add(commands: Any) -> Any:
    """The parser; the options of the mechanism are added by whoever knows which it is."""
    parser = commands.add_parser(
        "report", help="rewrite one text, and write a page with its promise and its setting", allow_abbrev=False
    )
    cli._add_text_options(parser)
    parser.add_argument(
        "--kind", choices=("release", "inspection", "draggable"), default="release", metavar="KIND",
        help="release (default): no originals. inspection: with the originals, private. draggable: a page with the "
        "originals in which ε is dragged, private",
    )  # fmt: skip
    parser.add_argument("--no-text", action="store_true", help="of a release, the setting and the promise alone")
    parser.add_argument(
        "--attack", metavar="NAME", action="append", default=[],
        help="of an inspection, what this attacker finds out; may be repeated",
    )  # fmt: skip
    parser.add_argument("--out", metavar="F", help="write to this file or into this folder (default: standard output)")
    parser.add_argument("--seed", type=cli._typed_in(lambda t: codec.whole("the seed", t)), metavar="N",
                        help="repeat the same draw: a demonstration, not private")  # fmt: skip
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> None:
    from .. import exports

    private = args.kind != "release"
    if args.no_text and private:
        raise cli.InputError("Only a release can be without its text. Leave --no-text out, or take --kind release.")
    if args.attack and args.kind != "inspection":
        raise cli.InputError("What attackers find is for its author: give --kind inspection with --attack.")
    mechanism = cli._mechanism(args)
    attackers = [cli._text_attacker(name, mechanism) for name in args.attack]
    text = cli._read_text(args)
    if args.seed is not None:
        cli._note(f"warning: {cli.SEED_WARNING}")
    result = mechanism.rewrite(text, seed=args.seed)
    if args.kind == "draggable":
        view = exports.view_of(result, progress=cli._progress("preparing"))
        page, what = exports.inspection(result, view), "slider"
    else:
        findings = [(a.title, a.attack(mechanism, result, _first(result))) for a in attackers]
        page = exports.report(result, args.kind, text=not args.no_text, findings=findings)
        what = "report"
    out = args.out
    if out is not None and Path(out).is_dir():
        out = str(Path(out) / exports.file_name("inspection" if private else "release", what, "html"))
    cli._emit(page, out)
    if not args.quiet:
        cli._note(result.guarantee.sentence())
        if private:
            cli._note(cli.OWNER_ONLY)


def _first(result: RewriteResult) -> int | None:
    return next((i for i, u in enumerate(result.units) if u.drawn), None)
