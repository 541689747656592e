"""``tradeoff``: measure utility and privacy of mechanisms on one text over ε, as CSV."""

from __future__ import annotations

import argparse

import dptext_core as dpt

from ...errors import ConfigError
from ...measure import trade_off, trade_off_settings
from ...mechanisms.base import Mechanism
from ...support.task import on_terminal
from ..arguments import add_seed, add_text, epsilons, positive, read_by
from ..console import SEED_WARNING, decode_argument, emit, note, read_text

FIRST = ("diffractor", "santext", "dp-mlm", "custext")


def arguments(parser: argparse.ArgumentParser) -> None:
    add_text(parser)
    parser.add_argument(
        "--setting",
        metavar="NAME[:OPTION=VALUE…]",
        action="append",
        type=read_by(read_setting),
        help=f"a mechanism, such as custext or custext:k=5:mapping=aggressive; may be repeated (default: "
        f"{', '.join(FIRST)})",
    )
    parser.add_argument(
        "--points",
        type=positive,
        metavar="N",
        help=f"number of values of ε on the axis of each mechanism (default {trade_off_settings.POINTS})",
    )
    parser.add_argument("--epsilon", type=read_by(epsilons), metavar="E[,E…]", help="use these ε for all mechanisms")
    parser.add_argument(
        "--draws",
        type=positive,
        default=trade_off.DRAWS,
        metavar="N",
        help=f"rewrites at each point, each with fresh noise (default {trade_off.DRAWS})",
    )
    parser.add_argument(
        "--metric",
        action="append",
        metavar="NAME",
        choices=trade_off.MEASURES,
        help=f"one of {', '.join(trade_off.MEASURES)}; may be repeated (default: cosine, unchanged, best, n_w)",
    )
    parser.add_argument(
        "--fact", default="", metavar="WORD", help="the word that certainty is about (default: the rarest content word)"
    )
    parser.add_argument(
        "--alternatives", metavar="A[,B…]", help="alternatives to this word (default: similar public words)"
    )
    add_seed(parser, "repeat the same draws; for demonstrations, not private")
    parser.add_argument("--out", metavar="F", help="write to this file instead of standard output")


def read_setting(text: str) -> Mechanism:
    """Return a mechanism with options. Raises ConfigError."""
    return dpt.Setting.from_text(text).make()


def run(args: argparse.Namespace) -> None:
    if args.points is not None and args.epsilon is not None:
        raise ConfigError("--epsilon sets the values of ε and --points their number. Use only one of them.")
    text = read_text(args)
    if args.seed is not None:
        note(SEED_WARNING)
    settings = args.setting or [dpt.get_mechanism(name) for name in FIRST]
    metrics = args.metric or ("cosine", "unchanged", "best", "n_w")
    points = list(
        trade_off.tradeoff(
            text,
            settings,
            args.epsilon,
            args.draws,
            metrics,
            args.seed,
            points=args.points or trade_off_settings.POINTS,
            fact=args.fact,
            alternatives=None if args.alternatives is None else decode_argument(args.alternatives).split(","),
            task=on_terminal("measuring"),
        )
    )
    emit(trade_off.to_csv(points), args.out)
    if not args.quiet:
        for reason in dict.fromkeys(r for p in points for r in p.reasons.values()):
            note(f"note: {reason}")
        note("note: these numbers come from your private text; do not publish them")
