"""``calibrate``: the ε at which a mechanism reaches a measured privacy."""

from __future__ import annotations

import argparse

from ...errors import InputError
from ...support.task import on_terminal
from ..arguments import add_text, mechanism_of, real
from ..console import decode_argument, emit, read_text

TAKES_MECHANISM = True


def arguments(parser: argparse.ArgumentParser) -> None:
    for flag, what, help_text in (
        ("--best", "the share", "the share of words that the strongest attacker recovers"),
        ("--n-w", "the probability", "the probability that a word is unchanged"),
        ("--bayes", "the probability", "how often the optimal attacker guesses the word"),
    ):
        parser.add_argument(flag, type=real(what), metavar="P", help=help_text)
    parser.add_argument("--total", type=real("the total"), metavar="E", help="ε of the whole text")
    parser.add_argument(
        "--certainty", type=real("the certainty"), metavar="P", help="the certainty of the optimal reader about --fact"
    )
    parser.add_argument("--fact", metavar="WORDS", help="certainty: the word or words of the text that the reader "
                                                        "guesses")
    parser.add_argument(
        "--alternatives", metavar="A[,B…]", help="certainty: alternatives that the reader considers, as in belief"
    )
    parser.add_argument(
        "--meaning", type=real("the cosine"), metavar="C", help="the mean cosine of rewrites to the original"
    )
    add_text(parser)


def run(args: argparse.Namespace) -> None:
    from ...measure.calibration import calibrate

    kinds = ("best", "n_w", "bayes", "total", "certainty", "meaning")
    target = {k: v for k in kinds if (v := getattr(args, k)) is not None}
    if len(target) != 1:
        raise InputError("This command needs exactly one target. Add --best, --n-w, --bayes, --total, --certainty "
                         "or --meaning.")
    if (args.certainty is None) != (args.fact is None) or (args.fact is None and args.alternatives is not None):
        raise InputError("--certainty needs --fact, and --fact and --alternatives need --certainty. Add the missing "
                         "option.")
    if hasattr(args, "option_epsilon"):
        raise InputError("This command finds ε, so --epsilon has no effect. Remove it.")
    calibration = calibrate(
        mechanism_of(args),
        target,
        text=read_text(args),
        fact=None if args.fact is None else decode_argument(args.fact),
        alternatives=None if args.alternatives is None else decode_argument(args.alternatives).split(","),
        task=on_terminal("calibrating"),
    )
    emit(calibration.sentence())
