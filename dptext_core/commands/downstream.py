"""``downstream``: train and test a classifier on original or rewritten data."""

from __future__ import annotations

import argparse
from typing import Any

from .. import cli
from .rewrite_data import data_options


def add(commands: Any) -> Any:
    parser = commands.add_parser(
        "downstream", help="train and test a classifier on original or rewritten data", allow_abbrev=False
    )
    data_options(parser, "--train", "what is learnt from")
    data_options(parser, "--test", "what is tested on")
    parser.add_argument("--text-column", metavar="C", default="text", help="its name, or its number from 1")
    parser.add_argument("--label-column", metavar="C", default="label", help="its name, or its number from 1")
    parser.add_argument("--out", metavar="FOLDER", required=True, help="where the run goes; the same one goes on")
    parser.add_argument("--seeds", type=cli._typed_in(cli._positive), default=5, metavar="N", help="(default 5)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--classifier", metavar="NAME", default="embeddings",
        help="logistic regression on frozen sentence embeddings (default), or one of your own",
    )  # fmt: skip
    which.add_argument(
        "--finetune", nargs="?", const="bundled", metavar="MODEL", help="train the whole encoder instead (slow)"
    )
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> None:
    from ..experiments import tables
    from ..experiments.downstream import METRICS, downstream, said

    columns = (args.text_column, args.label_column)
    train = tables.source(args.train, columns, args.header, args.train_split)
    test = tables.source(args.test, columns, args.header, args.test_split)
    try:
        found = downstream(
            train, test, args.out, text=args.text_column, label=args.label_column, seeds=args.seeds,
            with_="finetune" if args.finetune else args.classifier, model=args.finetune or "bundled",
            progress=cli._progress("reading"),
        )  # fmt: skip
    except KeyboardInterrupt:
        cli._note(f"Stopped. What is done is in {args.out}; the same command goes on from there.")
        raise
    rows = [("", f"mean (deviation) of {args.seeds} seeds", "no information")]
    rows += [(metric, said(found[metric]), f"{found['no_information'][metric]:.3f}") for metric in METRICS]
    cli._emit(cli._table(rows))
    cli._note(f"{found['train']:,} rows to train, {found['test']:,} to test, {found['labels']} labels.")
    if found["left_out"]:
        cli._note(f"{found['left_out']:,} rows have no text and are left out.")
