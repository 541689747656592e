"""``rewrite``: rewrite one text."""

from __future__ import annotations

import argparse

from ...measure.coverage import coverage_note
from ..arguments import add_seed, add_text, mechanism_of
from ..console import OWNER_ONLY, SEED_WARNING, emit, emit_json, note, read_text

HELP = "rewrite one text"
TAKES_MECHANISM = True


def arguments(parser: argparse.ArgumentParser) -> None:
    add_text(parser)
    parser.add_argument("--json", action="store_true", help="the text with its options and its guarantee, as JSON")
    parser.add_argument("--trace", action="store_true", help="as --json, with the original words: for your eyes only")
    parser.add_argument("--out", metavar="F", help="write to this file instead of standard output")
    add_seed(parser)


def run(args: argparse.Namespace) -> None:
    mechanism = mechanism_of(args)
    text = read_text(args)
    if args.seed is not None:
        note(SEED_WARNING)
    result = mechanism.rewrite(text, seed=args.seed)
    about = "" if args.quiet else coverage_note(mechanism, text)
    if args.json or args.trace:
        emit_json(result.to_dict(trace=args.trace), args.out)
    else:
        emit(result.text, args.out)
    if args.quiet:
        return
    note(result.guarantee.sentence())
    if result.guarantee.exposed:
        note(f"Not covered: {'; '.join(result.guarantee.exposed)}.")
    if about:
        note(f"note: {about}")
    if args.trace:
        note(OWNER_ONLY)
