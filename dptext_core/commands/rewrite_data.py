"""``rewrite-data``: any mechanism over a data set."""

from __future__ import annotations

import argparse
from typing import Any

from .. import cli
from ..coverage import coverage_note
from ..mechanisms import codec
from ..records import BATCH


def add(commands: Any) -> Any:
    """The parser; the options of the mechanism are added by whoever knows which it is."""
    parser = commands.add_parser(
        "rewrite-data", help="rewrite one column of a data set, row by row", allow_abbrev=False
    )
    data_options(parser, "--data", "the data")
    parser.add_argument("--text-column", metavar="C", default="text", help="its name, or its number from 1")
    parser.add_argument(
        "--keep", metavar="C[,C…]", default="", help="columns that go out as they are, such as a label: not protected"
    )
    parser.add_argument("--out", metavar="FOLDER", required=True, help="where the run goes; the same one goes on")
    parser.add_argument("--batch", type=cli._typed_in(cli._positive), default=BATCH, metavar="N",
                        help=f"rows that are rewritten together (default {BATCH})")  # fmt: skip
    parser.add_argument("--measure", metavar="METRIC[,METRIC…]", default="",
                        help="also compare rewrites with originals: cosine, bleu, bertscore, unchanged")  # fmt: skip
    parser.add_argument("--seed", type=cli._typed_in(lambda t: codec.whole("the seed", t)), metavar="N",
                        help="repeat the same draws: a demonstration, not private")  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="no notes on standard error")
    parser.set_defaults(run=run)
    return parser


def data_options(parser: argparse.ArgumentParser, flag: str, what: str, required: bool = True) -> None:
    """How a data set is named and read."""
    parser.add_argument(
        flag, metavar="DATA", required=required,
        help=f"{what}: a file (.csv, .tsv, .jsonl), the folder of a rewriting run, or a data set of your own",
    )  # fmt: skip
    parser.add_argument(f"{flag}-split", metavar="NAME", default="", help="of a data set of your own, this split")
    if not any(a.dest == "header" for a in parser._actions):
        parser.add_argument(
            "--header", action=argparse.BooleanOptionalAction, default=None,
            help="whether a table's first row names its columns (default: where a column is named, not numbered)",
        )  # fmt: skip


def run(args: argparse.Namespace) -> None:
    from ..experiments import rewriting, tables
    from ..metrics import METRICS

    mechanism = cli._mechanism(args)
    keep = [c.strip() for c in args.keep.split(",") if c.strip()]
    measures = [name.strip() for name in args.measure.split(",") if name.strip()]
    for name in measures:
        if name not in METRICS:
            raise cli.ConfigError(f"There is no metric {cli.shown(name)}. Use some of {', '.join(METRICS)}.")
    data = tables.source(args.data, (args.text_column, *keep), args.header, args.data_split)
    if not args.quiet:
        if args.seed is not None:
            cli._note(f"warning: {cli.SEED_WARNING}")
        if keep:
            cli._note(f"note: these columns go out as they are, and nothing protects them: {', '.join(keep)}")
    try:
        result = rewriting.rewrite_data(
            data, mechanism, args.out, column=args.text_column, keep=keep, seed=args.seed, batch=args.batch,
            measures=measures, progress=cli._progress(f"rewriting {data.count:,} rows"),
        )  # fmt: skip
    except KeyboardInterrupt:
        cli._note(f"Stopped. What is done is in {args.out}; the same command goes on from there.")
        raise
    if args.quiet:
        return
    for name, value in result.get("measures", {}).items():
        cli._note(f"{name}: {value['mean']:.4f} on average over {value['n']:,} rows")
    cli._note(result["sentence"])
    if result["exposed"]:
        cli._note(f"Not covered, of the first row: {'; '.join(result['exposed'])}. Each other row says its own.")
    first = next(iter(data.rows()))[args.text_column]
    if isinstance(first, str) and (about := coverage_note(mechanism, first)):
        cli._note(f"note, of the first row: {about}")
