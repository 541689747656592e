"""Rank mechanisms by preserved utility at equal measured privacy, for each data set, judge and level of privacy.

python -m dptext_core bench leaderboard --judge accuracy --at 0.3
python -m dptext_core bench leaderboard --judges
python -m dptext_core bench leaderboard --privacy belief --at 0.5
python -m dptext_core bench leaderboard --check mine.jsonl --data DIR --rerun 3
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from dptext_core.errors import ConfigError
from dptext_core.measure.metrics.registry import measure
from dptext_core.text.cells import to_csv

from ..results import attacker_rows, belief
from ..results import summary as store
from ..results.conditions import UNKNOWN_WORDS
from ..results.curves import title as title_of_mechanism
from ..results.data_titles import title
from ..results.leaderboard import Board, Rows, at_equal_belief, board, bundled_summaries, first_level, first_privacy
from ..results.leaderboard_text import (
    agreement,
    answer,
    correlation_text,
    elsewhere,
    first_by_judge,
    join_names,
    level_text,
    rankings,
    refused_text,
    table,
    to_latex,
    unknown_words_text,
    with_interval,
)
from ..results.rows import Row
from ..runner import contributions as contributed
from ..runner.options import parser


def _parser() -> argparse.ArgumentParser:
    takes = parser("leaderboard", __doc__)
    takes.add_argument("--set", default="sst2", metavar="NAME", help="data set (default sst2)")
    takes.add_argument("--judge", metavar="METRIC", help="utility metric (default: the first of the data set)")
    takes.add_argument(
        "--privacy", metavar="METRIC", help="privacy metric that is equal for all (default: as on Findings)"
    )
    takes.add_argument("--at", type=float, metavar="X", help="value of the privacy metric (default: as on Findings)")
    takes.add_argument("--every", action="store_true", help="show all settings of each mechanism")
    takes.add_argument("--draw-stop-words", action="store_true", help="also show settings that replace stop words")
    takes.add_argument(
        "--unknown-words",
        choices=tuple(filter(None, UNKNOWN_WORDS)),
        default="",
        help="show only settings with this policy for unknown words",
    )
    takes.add_argument("--rows", nargs="+", type=Path, metavar="FILE", help="additional summaries")
    takes.add_argument("--judges", action="store_true", help="show the rank of each setting by every judge instead")
    takes.add_argument("--format", choices=("text", "csv", "latex", "json"), default="text")
    takes.add_argument("--check", type=Path, metavar="FILE", help="check the points in a contributed file instead")
    takes.add_argument(
        "--data", type=Path, metavar="DIR", help="with --check: folder of data sets, to repeat some points"
    )
    takes.add_argument("--stopwords", metavar="FILE", help="with --check: the stop word list of the bundled results")
    takes.add_argument(
        "--rerun", type=int, default=0, metavar="N", help="with --check: number of points to repeat (default 0)"
    )
    return takes


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench leaderboard``."""
    args = _parser().parse_args(argv)
    if args.check is not None:
        return contributed.main(args.check, args.data, args.stopwords, args.rerun)
    if args.rerun or args.data or args.stopwords:
        raise ConfigError("--data, --stopwords and --rerun work only with --check. Add --check, or remove them.")
    if args.privacy == belief.METRIC:
        rows = at_equal_belief()
    else:
        own = [attacker_rows.with_attackers(store.read(path)) for path in args.rows or ()]
        rows = Rows((*own, *bundled_summaries()))
        if own:
            _note_replaced([r for one in own for r in one.rows if r.data == args.set and rows.uses(r)])
    ranking = _ranking(args, rows)
    name = title(args.set)
    for missing in rows.unknown(args.set):
        print(
            f"{missing} is not registered, so the default options of its rows are unknown. Name its file with "
            "--plugin FILE.",
            file=sys.stderr,
        )
    if not ranking.entries and (args.judges or args.format != "text"):
        raise ConfigError(answer(ranking, name)[0] + " Choose another level (--at), metric (--privacy) or judge.")
    if args.judges:
        _print_judges(rows, ranking, args.format)
    elif args.format == "text":
        _print_text(rows, ranking, name)
    elif args.format == "json":
        print(json.dumps(table(ranking), ensure_ascii=False, indent=1))
    else:
        print(to_csv(table(ranking)) if args.format == "csv" else to_latex(ranking, name), end="")
    return 0


def _note_replaced(own: Sequence[Row]) -> None:
    """Name the settings whose bundled rows are replaced by these rows of the user."""
    bundled = Rows(bundled_summaries())
    names = {
        f"{title_of_mechanism(r.mechanism)} at ε {r.epsilon:g}"
        for r in own
        if r.epsilon is not None and bundled.has(r)
    }
    if names:
        print(f"Your rows count instead of the bundled ones: {join_names(sorted(names))}.", file=sys.stderr)


def _ranking(args: argparse.Namespace, rows: Rows) -> Board:
    """Return the requested ranking. Raises ConfigError for a data set or metric without rows."""
    known = rows.data_sets()
    if args.set not in known:
        raise ConfigError(f"There are no rows of {args.set!r}. Use one of {', '.join(known)}.")
    judge = args.judge or rows.judges(args.set)[0]
    scales = rows.measures(args.set)
    if belief.METRIC not in scales and args.set in at_equal_belief().data_sets():
        scales.append(belief.METRIC)
    for name, there, what in ((judge, rows.judges(args.set), "--judge"), (args.privacy, scales, "--privacy")):
        if name is not None and name not in there:
            raise ConfigError(f"There are no rows for this {what}. Use one of {', '.join(there)}.")
    stop_words = None if args.privacy == belief.METRIC else not args.draw_stop_words
    privacy = args.privacy or first_privacy(rows, args.set, judge, stop_words, args.unknown_words)
    bounds = measure(privacy)
    if args.at is not None and not bounds.low <= args.at <= bounds.high:  # rejects NaN too
        raise ConfigError(f"--at must be between {bounds.low:g} and {bounds.high:g} for {privacy}; got {args.at:g}.")
    if args.judges and args.format == "latex":
        raise ConfigError("--judges cannot print LaTeX. Use --format csv or json.")
    at = args.at
    if at is None:
        at = first_level(rows, args.set, judge, privacy, stop_words, args.unknown_words)
        others = " or ".join(f"{x:g}" for x in rows.levels(args.set, privacy) if x != at)
        print(f"Level {at:g}: {level_text(privacy, at)}. Choose another with --at, such as {others}.", file=sys.stderr)
    return board(rows, args.set, judge, privacy, at, stop_words, args.every, args.unknown_words)


def _print_judges(rows: Rows, ranking: Board, form: str) -> None:
    places, alike = rankings(rows, ranking)
    if form == "json":
        print(json.dumps({"places": places, "tau": alike}, ensure_ascii=False, indent=1))
        return
    print(to_csv(places), end="")
    print(correlation_text(ranking, alike), file=sys.stderr)


def _print_text(rows: Rows, ranking: Board, name: str) -> None:
    others = [agreement(rows, ranking), first_by_judge(rows, ranking)]
    others += [sentence for sentence, _ in elsewhere(rows, ranking)]
    print("\n".join(filter(None, (*answer(ranking, name), *others))))
    for e in ranking.entries:
        where = f"between ε {e.between[0]:g} and {e.between[1]:g}" if e.between else f"at ε {e.epsilon:g}"
        apart = "" if e.p is None else "  p < 0.001" if e.p < 0.001 else f"  p {e.p:.3f}"
        print(f"{e.place:3d}  {with_interval(e, ranking.judge):>16s}  {e.label}, {where}{apart}")
    for line in filter(None, (unknown_words_text(ranking), refused_text(ranking))):
        print(line, file=sys.stderr)
    if ranking.privacy == belief.METRIC:
        print(belief.outside(belief.bundled(), ranking.data, ranking.at), file=sys.stderr)
    elif ranking.omitted_names:
        print(f"No points near this level: {join_names(ranking.omitted_names)}.", file=sys.stderr)
