"""``runs compare``: the folders of runs as one table."""

from __future__ import annotations

import argparse
from typing import Any

from .. import cli


def add(commands: Any) -> Any:
    parser = commands.add_parser("runs", help="what runs over data sets found", allow_abbrev=False)
    what = parser.add_subparsers(dest="what", required=True, metavar="what")
    comparing = what.add_parser("compare", help="a row for each run, a column for each difference", allow_abbrev=False)
    comparing.add_argument("folders", nargs="+", metavar="FOLDER", help="the folder of a run")
    comparing.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> None:
    from ..experiments.compare import compare

    cli._emit("\n\n".join(cli._table(table) for table in compare(args.folders)))
