"""``calibrate``: the ε at which a mechanism reaches a measured privacy."""

from __future__ import annotations

import argparse

from ...errors import InputError
from ..arguments import add_text, mechanism_of, real
from ..console import emit, read_text

HELP = "find the ε at which a mechanism reaches a measured privacy"
TAKES_MECHANISM = True


def arguments(parser: argparse.ArgumentParser) -> None:
    for flag, what, told in (
        ("--best", "the share", "the share of words that the best of all attackers names"),
        ("--n-w", "the chance", "the chance that a word stays what it is"),
        ("--bayes", "the chance", "how often the best attacker guesses the word"),
    ):
        parser.add_argument(flag, type=real(what), metavar="P", help=told)
    parser.add_argument("--total", type=real("the total"), metavar="E", help="ε of the whole text")
    add_text(parser)


def run(args: argparse.Namespace) -> None:
    from ...measure.calibration import calibrate

    target = {k: v for k in ("best", "n_w", "bayes", "total") if (v := getattr(args, k)) is not None}
    if len(target) != 1:
        raise InputError("Give one target: --best, --n-w, --bayes or --total.")
    if hasattr(args, "option_epsilon"):
        raise InputError("This command finds ε, so that --epsilon changes nothing. Leave it out.")
    emit(calibrate(mechanism_of(args), target, text=read_text(args)).sentence())
