"""``rewrite``: rewrite one text."""

from __future__ import annotations

import argparse

from ...measure.coverage import coverage_note
from ...support.task import on_terminal
from ..arguments import add_seed, add_text, mechanism_of
from ..console import OWNER_ONLY, SEED_WARNING, emit, emit_json, note, read_text

TAKES_MECHANISM = True


def arguments(parser: argparse.ArgumentParser) -> None:
    add_text(parser)
    parser.add_argument("--json", action="store_true", help="print the text with its options and guarantee as JSON")
    parser.add_argument("--trace", action="store_true", help="like --json, with the original words; private")
    parser.add_argument("--out", metavar="F", help="write to this file instead of standard output")
    parser.add_argument(
        "--polish",
        action="store_true",
        help="clean up the output with the bundled language model; this reads only the output, so it spends no ε",
    )
    add_seed(parser)


def run(args: argparse.Namespace) -> None:
    mechanism = mechanism_of(args)
    text = read_text(args)
    if args.seed is not None:
        note(SEED_WARNING)
    result = mechanism.rewrite(text, seed=args.seed)
    about = "" if args.quiet else coverage_note(mechanism, text)
    polished = result.polished(mechanism, task=on_terminal("polishing")) if args.polish else None
    if args.json or args.trace:
        more = {} if polished is None else {"polished": polished.text}
        emit_json(result.to_dict(trace=args.trace) | more, args.out)
    else:
        emit(result.text if polished is None else polished.text, args.out)
    if args.quiet:
        return
    note(result.guarantee.sentence())
    if result.guarantee.exposed:
        note(f"Not covered: {'; '.join(result.guarantee.exposed)}.")
    if about:
        note(f"note: {about}")
    if polished is not None:
        note(polished.sentence())
    if args.trace or polished is not None:
        note(OWNER_ONLY)
