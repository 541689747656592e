"""``runs compare``: show several runs in one table."""

from __future__ import annotations

import argparse

from dptext_core.cli.console import emit, table


def arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", required=True, metavar="what")
    comparing = what.add_parser(
        "compare", help="print one row for each run and one column for each difference", allow_abbrev=False
    )
    comparing.add_argument("folders", nargs="+", metavar="FOLDER", help="folder of a run")
    comparing.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from ..measurements.run_comparison import compare

    emit("\n\n".join(table(rows) for rows in compare(args.folders)))
