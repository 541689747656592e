"""``distribution``: the distribution of one word, or of one released token."""

from __future__ import annotations

import argparse
from typing import Any

from ...errors import InputError, NoDistribution
from ...mechanisms.base import Mechanism
from ...privacy.distribution import TokenDistribution
from ...text.document import Document
from ..arguments import add_seed, add_text, find_word, mechanism_of, positive, whole_number
from ..console import OWNER_ONLY, SEED_WARNING, decode_argument, emit, emit_json, note, read_text, shorten, table

TAKES_MECHANISM = True


def arguments(parser: argparse.ArgumentParser) -> None:
    add_text(parser)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--word",
        metavar="W",
        help="the first occurrence of this word in the text, or in the output if the mechanism writes a new text",
    )
    where.add_argument(
        "--index", type=whole_number("the index"), metavar="N", help="the N-th step of the rewriting, from 0"
    )
    where.add_argument(
        "--piece",
        type=whole_number("the number of a token"),
        metavar="N",
        help="rewrite the text and show the N-th released token, from 0, given the tokens before it",
    )
    add_seed(parser, "for a token: repeat the same draw; for demonstrations, not private")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--top", type=positive, default=20, metavar="N", help="number of candidates (default 20)")


def run(args: argparse.Namespace) -> None:
    mechanism = mechanism_of(args)
    text = read_text(args)
    if args.piece is not None or (args.word is not None and "alignment" not in mechanism.can):
        _of_piece(args, mechanism, text)
        return
    if args.seed is not None:
        raise InputError("The distribution of an original word needs no draw, so a seed has no effect. Remove it.")
    index = args.index
    if index is None:
        index, *more = find_word(decode_argument(args.word), Document.parse(text, mechanism.language))
        if more and not args.quiet:
            positions = ", ".join(map(str, [index, *more]))
            note(f"note: {args.word!r} is at positions {positions}; this shows the first. See --index.")
    if not args.quiet and mechanism.likelihood is not None and mechanism.likelihood.in_turn:
        note("note: in this order, a word depends on earlier outputs; the distribution assumes that all are unchanged")
    distribution = mechanism.distribution(text, index)
    facts = {"index": index, "source": distribution.source, "p_keep": distribution.p_keep()}
    _print(args, distribution, facts, (f"probability that “{distribution.source}” is unchanged", distribution.p_keep()))


def _of_piece(args: argparse.Namespace, mechanism: Mechanism, text: str) -> None:
    """Print the distribution of one released token of a rewrite, given those before it."""
    result = mechanism.rewrite(text, seed=args.seed)
    if result.no_chances:
        raise NoDistribution(result.no_chances)
    units = result.units
    piece = args.piece
    if piece is None:
        word = decode_argument(args.word)
        places = [i for i, u in enumerate(units) if u.is_sampled and u.text.casefold() == word.casefold()]
        if not places:
            raise InputError(
                f"No released token is {shorten(word)!r}: this rewrite is {shorten(result.text)!r}. Every run uses "
                "fresh noise: choose a token with --piece, or repeat a draw with --seed."
            )
        piece = places[0]
        if len(places) > 1 and not args.quiet:
            note(f"note: {word!r} is at positions {', '.join(map(str, places))}; this shows the first. See --piece.")
    if not 0 <= piece < len(units):
        raise InputError(
            f"There is no token {piece}: this rewrite has {len(units)}, counted from 0. Every run uses fresh noise: "
            "choose one of these, or repeat a draw with --seed."
        )
    distribution, unit = result.distribution(piece), units[piece]
    known = result.candidate(piece)
    chance = distribution.p(unit.text) if known is None else float(distribution.probs[known])
    name = f"“{unit.text}”" if unit.text or known is None else distribution.candidates[known]
    if not args.quiet:
        if args.seed is not None:
            note(SEED_WARNING)
        note(f"rewrite: {result.text}")
    facts = {"piece": piece, "released": unit.text, "text": result.text, "chance": chance}
    _print(args, distribution, facts, (f"probability of token {piece}, {name}", chance))


def _print(args: argparse.Namespace, dist: TokenDistribution, facts: dict[str, Any], last: tuple[str, float]) -> None:
    """Print a distribution.

    facts: JSON fields of the position. last: the last row of the table.
    """
    top = dist.top(args.top)
    others = len(dist.candidates) - len(top)
    remaining = max(0.0, 1.0 - sum(p for _, p in top))
    if args.json:
        emit_json(
            {"mechanism": args.mechanism}
            | facts
            | {
                "epsilon": dist.epsilon,
                "draws": dist.draws,
                "entropy": dist.entropy(),
                "top": [{"word": word, "probability": p} for word, p in top],
                "others": {"words": others, "probability": remaining},
            }
        )
    else:
        rows = [(word, f"{p:.6f}") for word, p in top]
        if others:
            rows.append((f"{others} others", f"{remaining:.6f}"))
        rows.append((last[0], f"{last[1]:.6f}"))
        emit(table(rows))
    if not args.quiet:
        note(OWNER_ONLY)
