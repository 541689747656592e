"""``audit``: compare a mechanism's guarantee with measurements."""

from __future__ import annotations

import argparse

from ...support.task import on_terminal
from ..arguments import mechanism_of, positive, real
from ..console import decode_argument, emit, emit_json

TAKES_MECHANISM = True


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", nargs="*", help="words, or texts in quotes (default: public words or texts)")
    parser.add_argument(
        "--claim", type=real("the claim"), metavar="E", help="an ε to test against, for any two inputs"
    )
    parser.add_argument("--draws", type=positive, metavar="N", help="draws at each input")
    parser.add_argument(
        "--thorough", action="store_true", help="also test every word of the vocabulary, even if that takes minutes"
    )
    parser.add_argument(
        "--two-texts",
        action="store_true",
        help="also distinguish three bundled pairs of texts with classifiers: a measured lower bound on ε for each",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> None:
    from ...attacks import two_texts
    from ...auditing import audit

    inputs = [decode_argument(i) for i in args.inputs] or None
    m = mechanism_of(args)
    report = audit(m, inputs, args.claim, draws=args.draws, thorough=args.thorough, task=on_terminal("auditing"))
    findings = [
        two_texts.with_curve(two_texts.measure(m, pair, task=on_terminal("distinguishing")), m)
        for pair in (two_texts.PAIRS if args.two_texts else ())
    ]
    if args.json:
        more = {"two_texts": [finding.to_dict() for finding in findings]} if findings else {}
        emit_json(report.to_dict() | more)
    else:
        lines = [f"Two texts, {finding.distance}: {finding.sentence()}" for finding in findings]
        emit("\n".join([*report.lines(), *lines]))
