"""``score``: measure the rewrites of any system, from a file of originals and rewrites."""

from __future__ import annotations

import argparse
from typing import Any

from ...errors import InputError
from ...support.checks import pluralize
from ...support.task import on_terminal
from ..console import emit, emit_json, note, table
from .rewrite_data import note_reading


def arguments(parser: argparse.ArgumentParser) -> None:
    from ...data.tables import KINDS

    parser.add_argument("pairs", metavar="DATA", help=f"a file of originals and rewrites ({', '.join(KINDS)})")
    parser.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether a table's first row names its columns (default: yes if a column is given by name)",
    )
    parser.add_argument("--original", metavar="C", required=True, help="the column of originals: its name or number")
    parser.add_argument("--private", metavar="C", required=True, help="the column of rewrites")
    parser.add_argument("--label", metavar="C", help="a column of labels that rewrites should preserve")
    parser.add_argument("--author", metavar="C", help="a column of labels that rewrites should hide")
    parser.add_argument(
        "--identifiers",
        metavar="F",
        help="annotated originals in TAB's JSON format, to count hidden direct and quasi-identifiers",
    )
    parser.add_argument("--json", action="store_true", help="print all results as JSON")
    parser.add_argument("--out", metavar="F", help="write to this file instead of standard output")


def run(args: argparse.Namespace) -> None:
    from ...data import tables
    from ...data.labels import label_of
    from ...measure.identifiers import read_tab
    from ...measure.scored import score

    wanted = {"original": args.original, "private": args.private, "label": args.label, "author": args.author}
    columns = {role: column for role, column in wanted.items() if column is not None}
    if args.original == args.private:
        raise InputError("--original and --private name the same column. Give the column of originals and the "
                         "column of rewrites.")
    data = tables.source(args.pairs, tuple(dict.fromkeys(columns.values())), args.header)
    note_reading(data)
    given: dict[str, list[Any]] = {role: [] for role in columns}
    left_out = 0
    for row in data.rows():
        # A missing label is not a label.
        if all(label_of(row[column]) is not None for column in columns.values()) and all(
            isinstance(row[columns[role]], str) for role in ("original", "private")
        ):
            for role, column in columns.items():
                given[role].append(row[column] if role in ("original", "private") else label_of(row[column]))
        else:
            left_out += 1
    if not given["original"]:
        requirement = ", and values in all requested columns" if len(columns) > 2 else ""
        raise InputError(f"No row of {data.name} has an original and a rewrite{requirement}. Give their columns.")
    annotated = None
    if args.identifiers is not None:
        known = read_tab(args.identifiers)
        annotated = [known.get(text, ()) for text in given["original"]]
        there = sum(text in known for text in given["original"])
        if not there:
            raise InputError(
                "No original is the text of an annotated document. Use exactly the annotated texts."
            )
        note(f"note: annotated originals: {there:,} of {len(annotated):,}.")
    scores = score(
        given["original"],
        given["private"],
        labels=given.get("label"),
        authors=given.get("author"),
        identifiers=annotated,
        task=on_terminal("measuring"),
    )
    if args.json:
        emit_json(scores.to_dict(), args.out)
    else:
        rows = [("", "", "value", "95% interval", "chance")]
        for r in scores.rows:
            digits = ",.1f" if r.name.endswith("perplexity") or r.high > 1.5 else ".3f"
            chance = "" if r.chance is None else f"{r.chance:.3f}"
            rows.append((r.kind, r.title, f"{r.value:{digits}}", f"{r.low:{digits}} to {r.high:{digits}}", chance))
        emit(f"{table(rows)}\n{scores.sentence()}", args.out)
    for name, reason in scores.missing.items():
        note(f"note: no {name}. {reason}")
    if left_out:
        note(f"note: {pluralize(left_out, 'row')} without a text{' or a label' if len(columns) > 2 else ''} "
             f"{'is' if left_out == 1 else 'are'} left out.")
