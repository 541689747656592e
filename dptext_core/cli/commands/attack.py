"""``attack``: rewrite a text, or each line of a corpus, and run an attacker on the result."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...support.task import on_terminal
from ...text.document import Document
from ..arguments import add_seed, add_text, attacker_of, attackers, find_word, mechanism_of, positive, whole_number
from ..console import OWNER_ONLY, decode_argument, emit, emit_json, note, read_file, read_text, table

if TYPE_CHECKING:
    from ...attacks import CorpusAttacker
    from ...mechanisms.base import Mechanism

TAKES_MECHANISM = True


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--attacker", metavar="NAME", help=f"one of {attackers()}; linking and best-of-texts need one text per line"
    )
    at = parser.add_mutually_exclusive_group()
    at.add_argument("--word", metavar="W", help="attack the first occurrence of this word")
    at.add_argument(
        "--index", type=whole_number("the index"), metavar="N", help="attack the N-th step of the rewriting, from 0"
    )
    add_seed(parser)
    parser.add_argument(
        "--candidates",
        metavar="F",
        help="a UTF-8 file with one text per line; which-text: the alternatives; two-texts: the other text",
    )
    parser.add_argument(
        "--answers", type=positive, metavar="N", help="reader and which-text: number of rewrites that the attacker "
                                                      "sees (default 1)"
    )
    parser.add_argument(
        "--draws",
        type=whole_number("the number of draws"),
        metavar="N",
        help="which-text: minimum number of fresh rewrites to measure the success, divided equally over the "
             "texts; 0 for none. two-texts: rewrites of each text",
    )
    parser.add_argument("--json", action="store_true", help="two-texts: print JSON, with the exact trade-off curve")
    add_text(parser)


def run(args: argparse.Namespace) -> None:
    mechanism = mechanism_of(args)
    attacker = attacker_of(args.attacker, mechanism)
    given: dict[str, Any] = {"answers": args.answers, "draws": args.draws}
    if args.candidates is not None:
        given["candidates"] = read_file(args.candidates).splitlines()
    given = {name: value for name, value in given.items() if value is not None}
    chosen = [] if attacker.scope == "word" else [n for n in ("word", "index") if getattr(args, n) is not None]
    if strange := [name for name in (*given, *chosen) if name not in attacker.takes]:
        raise InputError(f"The attacker {attacker.name} does not use --{strange[0]}. Remove it.")
    if args.json and attacker.name != "two-texts":
        raise InputError("Only the attacker two-texts prints JSON. Remove --json.")
    if attacker.scope == "corpus":
        corpus(args, mechanism, attacker)
        return
    if args.word is not None and "word" in attacker.takes:
        given["word"] = decode_argument(args.word)
    result = mechanism.rewrite(read_text(args), seed=args.seed)
    unit = args.index
    if unit is None and args.word is not None and "word" not in given:
        at = find_word(decode_argument(args.word), Document.parse(result.original, mechanism.language))[0]
        unit = next((i for i, s in enumerate(result.steps) if s.index == at and s.action != "insert"), None)
    if unit is None:
        unit = next((i for i, u in enumerate(result.units) if u.is_sampled), None)
    if unit is None and attacker.scope == "word":
        raise InputError("No word of this text was sampled, so there is nothing to guess. Add more words.")
    if unit is not None and not 0 <= unit < len(result.units):
        raise InputError(
            f"There is no step {unit}: this rewrite has {len(result.units)}, counted from 0. Choose one of these."
        )
    finding = attacker.attack(mechanism, result, unit, task=on_terminal("attacking"), **given)
    rows: list[tuple[str, str]] = getattr(finding, "rows", list)()
    if args.json:
        emit_json({"mechanism": args.mechanism} | finding.to_dict())
    else:
        emit("\n".join([result.text, *([table(rows)] if rows else []), finding.sentence()]))
    if not args.quiet:
        count = max((m.rewrites for m in getattr(finding, "accuracies", ())), default=0)
        if args.draws and count > args.draws:
            note(f"note: {count:,} rewrites were made, not {args.draws:,}: each text gets the same number.")
        note(OWNER_ONLY)


def corpus(args: argparse.Namespace, mechanism: Mechanism, attacker: CorpusAttacker) -> None:
    """Rewrite each line of the text once with independent noise, and run the attacker. The rewrites are not printed."""
    from ...data import tables

    if args.file is not None and Path(args.file).suffix.lower() in set(tables.KINDS) - {".txt"}:
        raise InputError(f"The attacker {attacker.name} does not accept tables. Give a plain file with one text per "
                         "line.")
    texts = [line for line in read_text(args).splitlines() if line.strip()]
    if len(texts) < 2:
        raise InputError(f"The attacker {attacker.name} needs several texts. Give one per line.")
    task = on_terminal("attacking")
    results = mechanism.rewrite(texts, seed=args.seed, task=task.child(0, 0.5))
    finding = attacker.attack(mechanism, results, task=task.child(0.5, 1))
    rows: list[tuple[str, ...]] = getattr(finding, "rows", list)()
    emit("\n".join([*([table(rows)] if rows else []), finding.sentence()]))
