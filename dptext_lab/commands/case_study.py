"""``case-study``: DP-Rewrite's two data sets, each rewritten by what was pre-trained on either."""

from __future__ import annotations

import argparse
from pathlib import Path

from dptext_core.cli.arguments import positive
from dptext_core.cli.console import emit, explain_resume, note, table


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="FOLDER", required=True, help="the folder with snips/ and atis/")
    parser.add_argument("--out", metavar="FOLDER", required=True, help="where the run goes; the same one goes on")
    parser.add_argument(
        "--snips", metavar="CHECKPOINT", default="snips", help="pre-trained on Snips (default: bundled)"
    )
    parser.add_argument("--atis", metavar="CHECKPOINT", default="atis", help="pre-trained on ATIS (default: bundled)")
    parser.add_argument("--seeds", type=positive, default=5, metavar="N", help="(default 5)")
    parser.add_argument(
        "--max-texts",
        "--n",  # as the command in the bundled file names it
        type=positive,
        metavar="N",
        help="rewrite at most N training sentences of each data set (default: all)",
    )
    parser.add_argument("--summary", metavar="FILE", help="also write the scores, without any sentence, to this file")


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
