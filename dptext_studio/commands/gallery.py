"""``gallery``: write the examples with every mechanism, and the lessons, as static files."""

from __future__ import annotations

import argparse
from pathlib import Path

from dptext_core.cli.arguments import whole_number
from dptext_core.cli.console import emit, explain_resume, note


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="FOLDER", required=True, help="output folder; an existing run is resumed")
    parser.add_argument(
        "--mechanism", metavar="NAME", action="append", default=[], help="mechanism to include; may be repeated "
                                                                         "(default: all)"
    )
    parser.add_argument(
        "--example",
        metavar="NAME",
        action="append",
        default=[],
        help="text to include, such as clinic-note; may be repeated (default: all)",
    )
    parser.add_argument(
        "--lesson",
        metavar="NAME",
        action="append",
        default=[],
        help="lesson to include, such as one-word; may be repeated (default: all)",
    )
    parser.add_argument(
        "--seed",
        type=whole_number("the seed"),
        default=1,
        metavar="N",
        help="seed for the noise of all pages (default 1)",
    )
    parser.add_argument("--quiet", action="store_true", help="print no progress messages")


def run(args: argparse.Namespace) -> None:
    from ..exports.gallery import gallery

    say = (lambda line: None) if args.quiet else note
    with explain_resume(args.out):
        made = gallery(Path(args.out), args.mechanism, args.example, args.lesson, seed=args.seed, say=say)
    existing = f", of which {made.num_existing:,} already existed" if made.num_existing else ""
    pages = "1 page" if len(made.pages) == 1 else f"{len(made.pages):,} pages"
    say(f"{pages}{existing}, {made.bytes / 1e6:.1f} MB in total.")
    emit(str(Path(args.out) / "index.html"))
