"""``case-study``: DP-Rewrite's two data sets, each rewritten by models pre-trained on either set."""

from __future__ import annotations

import argparse
from pathlib import Path

from dptext_core.cli.arguments import positive
from dptext_core.cli.console import emit, explain_resume, note, table


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="FOLDER", required=True, help="folder with snips/ and atis/")
    parser.add_argument(
        "--out", metavar="FOLDER", required=True, help="folder for the run; repeat the command to continue"
    )
    parser.add_argument(
        "--snips", metavar="CHECKPOINT", default="snips", help="model pre-trained on Snips (default: bundled)"
    )
    parser.add_argument(
        "--atis", metavar="CHECKPOINT", default="atis", help="model pre-trained on ATIS (default: bundled)"
    )
    parser.add_argument("--seeds", type=positive, default=5, metavar="N", help="number of seeds (default 5)")
    parser.add_argument(
        "--max-texts",
        "--n",  # the name in the bundled file's command
        type=positive,
        metavar="N",
        help="rewrite at most N training sentences of each data set (default: all)",
    )
    parser.add_argument("--summary", metavar="FILE", help="also write the scores, but no sentences, to this file")


def run(args: argparse.Namespace) -> None:
    from ..measurements import case_study
    from ..results import case_study as case_study_rows

    with explain_resume(args.out):
        study = case_study.case_study(
            args.data,
            args.out,
            checkpoints={"snips": args.snips, "atis": args.atis},
            seeds=args.seeds,
            n=args.max_texts,
            say=note,
        )
    if args.summary:
        case_study.write(study, Path(args.summary))
    emit(table(case_study_rows.table(study)))
    for line in case_study_rows.notes(study):
        note(line)
