"""``trade-off-curve``: how often the optimal reader of a release distinguishes two texts, at each false alarm rate."""

from __future__ import annotations

import argparse
from functools import partial

import dptext_core as dpt

from ...attacks.trade_off_curve import FALSE_ALARMS
from ...support.task import on_terminal
from ..arguments import add_text, epsilons, mechanism_of, numbers, read_by
from ..console import OWNER_ONLY, decode_argument, emit, emit_json, note, read_file, read_text, table

TAKES_MECHANISM = True


def arguments(parser: argparse.ArgumentParser) -> None:
    other = parser.add_mutually_exclusive_group(required=True)
    other.add_argument("--other", metavar="TEXT", help="the second text; a false alarm mistakes it for the first")
    other.add_argument("--other-file", metavar="F", help="read the second text from this UTF-8 file")
    parser.add_argument(
        "--epsilons", type=read_by(epsilons), metavar="E[,E…]", help="one curve per ε; a model reads the texts once"
    )
    rates = ",".join(f"{x:g}" for x in FALSE_ALARMS)
    parser.add_argument(
        "--false-alarms",
        type=read_by(partial(numbers, "a rate of false alarms")),
        metavar="R[,R…]",
        default=list(FALSE_ALARMS),
        help=f"rates from 0 to 1 (default: {rates})",
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--json", action="store_true", help="print JSON")
    kind.add_argument("--csv", action="store_true", help="print CSV")
    add_text(parser)


def run(args: argparse.Namespace) -> None:
    mechanism = mechanism_of(args)
    curve = dpt.trade_off_curve(
        mechanism,
        read_text(args),
        decode_argument(args.other) if args.other is not None else read_file(args.other_file),
        args.epsilons,
        false_alarms=args.false_alarms,
        task=on_terminal("comparing"),
    )
    if args.json:
        emit_json({"mechanism": args.mechanism} | curve.to_dict())
    elif args.csv:
        emit(curve.to_csv().rstrip("\n"))
    else:
        each = [f"ε = {e:g}" for e in curve.epsilons] if curve.epsilons else ["detected"]
        emit("\n".join([table([("false alarms", *each), *curve.rows()]), curve.sentence()]))
    if not args.quiet:
        note(OWNER_ONLY)
