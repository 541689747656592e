"""``belief``: rewrite a text, and show what a reader can still infer about one fact of it."""

from __future__ import annotations

import argparse

import dptext_core as dpt

from ...support.task import on_terminal
from ..arguments import add_seed, add_text, epsilons, mechanism_of, read_by, whole_number
from ..console import OWNER_ONLY, SEED_WARNING, decode_argument, emit, emit_json, note, read_text, table

TAKES_MECHANISM = True


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fact", required=True, metavar="WORDS", help="the word or words of the text that the reader guesses"
    )
    parser.add_argument(
        "--alternatives",
        metavar="A[,B…]",
        help="alternatives that the reader considers (default: three similar words from a public list)",
    )
    parser.add_argument(
        "--epsilons", type=read_by(epsilons), metavar="E[,E…]", help="one row per ε, sampled with the same noise"
    )
    parser.add_argument(
        "--draws",
        type=whole_number("the number of draws"),
        metavar="N",
        help="number of releases to estimate the reader's expected success; 0 for none (default: no estimate if an "
             "exact value exists; 64 for one ε if no model runs; otherwise 0)",
    )
    add_seed(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_text(parser)


def run(args: argparse.Namespace) -> None:
    mechanism = mechanism_of(args)
    found = dpt.belief(
        mechanism,
        read_text(args),
        decode_argument(args.fact),
        None if args.alternatives is None else decode_argument(args.alternatives).split(","),
        epsilons=args.epsilons,
        draws=args.draws,
        seed=args.seed,
        task=on_terminal("reading"),
    )
    if args.json:
        emit_json({"mechanism": args.mechanism} | found.to_dict())
    else:
        at = [f"ε = {e:g}" for e in found.epsilons or _single_epsilon(mechanism)]
        after = at if found.epsilons else ["after"]
        allows = [f"guarantee allows at {e}" for e in at] or ["guarantee allows"]
        header = ("alternative", "before", *after, *allows)
        released = [row[0].text for row in found.releases]
        expected = found.expected_success if isinstance(found.expected_success, tuple) else (found.expected_success,)
        success = [e.sentence() for e in expected if e is not None]
        emit(
            "\n".join(
                [*released, table([header, *found.rows()]), found.sentence(), *_counted(mechanism, found), *success]
            )
        )
    if not args.quiet:
        if args.seed is not None:
            note(SEED_WARNING)
        note(OWNER_ONLY)


def _single_epsilon(mechanism: dpt.Mechanism) -> tuple[float, ...]:
    """Return ε of every draw; none if it differs between draws, or there is no ε."""
    epsilon = mechanism.config.epsilon
    return (float(epsilon),) if mechanism.uses_epsilon and not isinstance(epsilon, tuple) else ()


def _counted(mechanism: dpt.Mechanism, found: dpt.Belief) -> list[str]:
    """Return a sentence on why the guarantee allows more than a single draw would, where it does."""
    draws = found.releases[0][0].guarantee.draws
    if mechanism.by_word is not None or draws < 2 or not found.is_covered.all():
        return []
    return [
        f"The guarantee counts all {draws:,} draws of the text together, since each of them may depend on this fact."
    ]
