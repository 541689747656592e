"""``downstream``: train and test a classifier on original or rewritten data."""

from __future__ import annotations

import argparse

from dptext_core.cli.arguments import positive
from dptext_core.cli.commands.rewrite_data import data_options, note_reading
from dptext_core.cli.console import emit, explain_resume, note, table
from dptext_core.support.task import on_terminal


def arguments(parser: argparse.ArgumentParser) -> None:
    data_options(parser, "--train", "file with training texts")
    data_options(parser, "--test", "file with test texts")
    parser.add_argument("--text-column", metavar="C", default="text", help="column name, or number from 1")
    parser.add_argument("--label-column", metavar="C", default="label", help="column name, or number from 1")
    parser.add_argument(
        "--out", metavar="FOLDER", required=True, help="folder for the run; repeat the command to continue"
    )
    parser.add_argument("--seeds", type=positive, default=5, metavar="N", help="number of seeds (default 5)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--classifier",
        metavar="NAME",
        default="embeddings",
        help="classifier: logistic regression on frozen sentence embeddings (default), or the name of your own",
    )
    which.add_argument(
        "--finetune", nargs="?", const="bundled", metavar="MODEL", help="fine-tune the whole encoder instead (slow)"
    )


def run(args: argparse.Namespace) -> None:
    from dptext_core.data import tables

    from ..measurements.downstream import downstream
    from ..results.downstream import METRICS, mean_and_deviation

    columns = (args.text_column, args.label_column)
    train = tables.source(args.train, columns, args.header, args.train_split)
    test = tables.source(args.test, columns, args.header, args.test_split)
    for data in (train, test):
        note_reading(data)
    with explain_resume(args.out):
        scores = downstream(
            train,
            test,
            args.out,
            text=args.text_column,
            label=args.label_column,
            seeds=args.seeds,
            learner="finetune" if args.finetune else args.classifier,
            model=args.finetune or "bundled",
            note=note,
            task=on_terminal("reading"),
        )
    rows = [("", f"mean (SD) of {args.seeds} seeds", "no information")]
    rows += [
        (metric, mean_and_deviation(scores[metric]), f"{scores['no_information'][metric]:.3f}") for metric in METRICS
    ]
    emit(table(rows))
    note(f"{scores['train']:,} rows to train, {scores['test']:,} to test, {scores['labels']} labels.")
    if scores["left_out"]:
        note(f"Excluded rows without a text: {scores['left_out']:,}.")
