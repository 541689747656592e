"""Run a grid of mechanisms on public data: utility, privacy, similarity, deniability and speed at every ε.

Every finished point is appended to --out, and points in that file are not run again. --merge combines any number of
such files into one summary. The grids are in ``runner/grid.py``.

    python -m dptext_core bench run --grid full --data FOLDER --stopwords FILE --shard 1/3 --out 1.jsonl
    python -m dptext_core bench run --grid full --merge 1.jsonl 2.jsonl 3.jsonl --summary results.json

With --setting, your own mechanisms run instead of a grid, including plugins:

    python -m dptext_core bench run --setting my-mechanism:size=3000 --out mine.jsonl
    python -m dptext_core bench run --setting my-mechanism:size=3000 --merge mine.jsonl --summary mine.json
    python -m dptext_core bench run --setting custext --epsilon 2,6 --setting dp-mlm --epsilon 25,50 --out mine.jsonl
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dptext_core.data.folder import same_place
from dptext_core.errors import ConfigError, InputError
from dptext_core.mechanisms import codec
from dptext_core.mechanisms.setting import Setting
from dptext_core.support.checks import check_whole_number, pluralize

from ..measurements import equal_privacy
from ..results import equal_privacy as equal_privacy_rows
from ..results import summary as store
from ..results.rows import BASELINE, Row, six_digits
from ..runner import merging
from ..runner.grid import (
    ATTACKERS,
    GRIDS,
    LEVELS,
    SEEDS,
    Grid,
    GridPoint,
    Size,
    cost,
    grid_by_name,
    groups,
    of_settings,
    shard,
)
from ..runner.group_run import PERPLEXITY_TEXTS, RunConfig, run_group, stop_list_name
from ..runner.machine import use_one_thread
from ..runner.options import OutFile, parser
from ..runner.run import run


def _parser() -> argparse.ArgumentParser:
    takes = parser("run", __doc__)
    takes.add_argument(
        "--grid",
        metavar="NAME",
        help=f"grid to run: {', '.join(sorted(GRIDS))}, or several joined with + (default quick)",
    )
    takes.add_argument(
        "--setting",
        action="append",
        metavar="NAME[:OPTION=VALUE]",
        help="a mechanism with options, instead of a grid; repeatable",
    )
    takes.add_argument(
        "--epsilon",
        action="append",
        metavar="E,E",
        help=f"with --setting: its ε, once for all settings or once for each (default {LEVELS} values of its range)",
    )
    takes.add_argument(
        "--set",
        action="append",
        metavar="DATA",
        help="with --setting: a data set; repeatable (default sst2, or builtin without --data)",
    )
    takes.add_argument("--seeds", type=int, metavar="N", help=f"with --setting: number of seeds (default {len(SEEDS)})")
    takes.add_argument("--data", type=Path, metavar="FOLDER", help="folder of the data sets")
    takes.add_argument("--out", action=OutFile, metavar="FILE", help="file for the points, one JSON line for each")
    takes.add_argument("--shard", default="1/1", metavar="I/N", help="run the I-th of N parts of about equal cost")
    takes.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="number of processes with one thread each (default 1)"
    )
    takes.add_argument("--stopwords", metavar="FILE", help="list of stop words for all mechanisms, one per line")
    takes.add_argument("--only", metavar="TEXT", help="run only points with this text in MECHANISM/DATA")
    takes.add_argument("--max-texts", type=int, metavar="N", help="at most N training texts and N test texts")
    takes.add_argument("--point", metavar="ID", help="run one point and compare its scores with the bundled ones")
    takes.add_argument("--seed", type=int, metavar="N", help="with --point: use this seed instead of the point's own")
    takes.add_argument(
        "--bertscore", action="store_true", help="compute BERTScore at every point, not only for the first seed"
    )
    takes.add_argument(
        "--perplexity", action="store_true", help="compute pseudo-perplexity of 50 test texts at every point"
    )
    takes.add_argument(
        "--lm-perplexity",
        action="store_true",
        help=f"compute the perplexity of {PERPLEXITY_TEXTS} test texts under an added model, for the first seed",
    )
    takes.add_argument("--finetune", nargs="?", const="bundled", metavar="MODEL", help="also fine-tune a whole encoder")
    takes.add_argument(
        "--words",
        nargs="*",
        choices=ATTACKERS,
        help="run only these word attackers (default: all); a merge replaces their rows",
    )
    takes.add_argument("--list", action="store_true", help="list groups of points and their estimated cost")
    takes.add_argument("--merge", nargs="+", type=Path, metavar="FILE", help="combine these files into a summary")
    takes.add_argument("--into", type=Path, metavar="FILE", help="with --merge: add to this summary")
    takes.add_argument("--summary", action=OutFile, metavar="FILE", help="file for the summary")
    return takes


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench run``."""
    args = _parser().parse_args(argv)
    if args.point:
        if args.only or args.shard != "1/1" or args.out or args.merge or args.setting:
            raise ConfigError(
                "--point runs one point and writes no file. Remove --only, --shard, --out, --merge and --setting."
            )
        return _point(args)
    grid = _grid(args)
    if args.max_texts is not None:
        grid = grid.smaller(args.max_texts)
    points = [p for p in grid.points() if args.only is None or args.only in f"{p.mechanism}/{p.data}"]
    if args.words is not None:
        points = [p for p in points if p.mechanism != BASELINE and p.setting.make().alignment is not None]
    if not points:
        raise ConfigError(f"No point of the grid has {args.only!r} in its MECHANISM/DATA. See --list for the names.")
    if args.merge:
        if args.list or args.shard != "1/1" or args.out:
            raise ConfigError("--merge does not work with --list, --shard or --out. Remove them.")
        return _merge(args, grid, points)
    if args.summary or args.into:
        raise ConfigError("--summary and --into work only with --merge. Add --merge, or remove them.")
    points = shard(points, *_share(args.shard))
    if args.list:
        return _list(points)
    if args.jobs < 1:
        raise ConfigError(f"--jobs must be at least 1, not {args.jobs}.")
    setup = _setup(args, grid)
    if args.out is None:
        raise ConfigError("No file for the points was given. Name one with --out FILE.jsonl.")
    try:
        run(points, setup, args.out, args.jobs, lambda text: print(text, file=sys.stderr, flush=True))
    except KeyboardInterrupt:
        print(f"Stopped. Finished points are in {args.out}. Repeat the command to continue.", file=sys.stderr)
        raise
    return 0


def _grid(args: argparse.Namespace) -> Grid:
    """Return the named grid, or a grid of the given settings."""
    if not args.setting:
        if args.epsilon or args.set or args.seeds is not None:
            raise ConfigError("--epsilon, --set and --seeds work only with --setting. Add --setting, or remove them.")
        if args.seed is not None and args.point is None:
            raise ConfigError("--seed works only with --point. Add --point, or remove --seed.")
        return grid_by_name(args.grid or "quick", args.data is not None)
    if args.grid:
        raise ConfigError("--setting does not work with --grid. Remove one of them.")
    seeds = len(SEEDS) if args.seeds is None else check_whole_number("--seeds", args.seeds, least=1)
    epsilons = [
        [codec.real("ε", part.strip()) for part in some.split(",") if part.strip()] for some in args.epsilon or ()
    ]
    data = args.set or ["builtin" if args.data is None else "sst2"]
    return of_settings([Setting.from_text(s) for s in args.setting], data, epsilons, range(1, seeds + 1))


def _setup(args: argparse.Namespace, grid: Grid) -> RunConfig:
    extra = dict(grid.extra)
    if args.bertscore:
        extra.setdefault("bertscore", 100)
    if args.perplexity:
        extra["perplexity"] = 50
    if args.lm_perplexity:
        from dptext_core.models import causal

        causal.judge_folder()  # a missing model fails before any measurement
        extra["lm_perplexity"] = PERPLEXITY_TEXTS
    everywhere = tuple(m for m in ("bertscore", "perplexity") if getattr(args, m))
    return RunConfig(
        folder=None if args.data is None else str(args.data),
        stopwords=args.stopwords,
        command=_command(args),
        extra=tuple(extra.items()),
        everywhere=everywhere,
        finetune=args.finetune,
        attackers=grid.attackers if not args.words else tuple(args.words),
        words=args.words is not None,
    )


def _share(text: str) -> tuple[int, int]:
    i, slash, n = text.partition("/")
    if not (slash and i.isdecimal() and n.isdecimal()):
        raise ConfigError(f"--shard must be I/N, such as 1/3; got {text!r}.")
    return int(i), int(n)


def _command(args: argparse.Namespace) -> str:
    """Return the command behind a line, without local paths."""
    words = ["python", "-m", "dptext_core", "bench", "run"]
    words += [w for s in args.setting or () for w in ("--setting", s)] or ["--grid", args.grid or "quick"]
    words += [w for some in args.epsilon or () for w in ("--epsilon", some)]
    words += [w for name in args.set or () for w in ("--set", name)]
    words += ["--seeds", str(args.seeds)] if args.seeds is not None else []
    words += ["--data", "FOLDER"] * (args.data is not None)
    words += ["--stopwords", Path(args.stopwords).name] if args.stopwords else []
    words += ["--max-texts", str(args.max_texts)] if args.max_texts else []
    for metric in ("bertscore", "perplexity", "lm_perplexity"):
        words += ["--" + metric.replace("_", "-")] * getattr(args, metric)
    words += ["--finetune"] * (args.finetune is not None)
    words += [] if args.words is None else ["--words", *args.words]
    return shlex.join(words)


def _list(points: Sequence[GridPoint]) -> int:
    for group in groups(points):
        p = group[0]
        ways = [", ".join(f"{k} {v}" for k, v in q.named["options"].items()) for q in group]
        options = "; or ".join(way or "defaults" for way in dict.fromkeys(ways)) if any(ways) else ""
        levels = ", ".join(f"{e:g}" for e in dict.fromkeys(q.epsilon for q in group) if e is not None)
        print(
            f"{p.mechanism:13s} {p.data:8s} {len(group):3d} points {cost(group) / 60:5.1f} min  ε {levels}  {options}"
        )
    print(f"{pluralize(len(points), 'point')}, about {sum(map(cost, groups(points))) / 60:.0f} core-minutes")
    return 0


def _merge(args: argparse.Namespace, grid: Grid, points: Sequence[GridPoint]) -> int:
    if args.summary is None:
        raise ConfigError("No file for the summary was given. Name one with --summary FILE.")
    lines = []
    for path in args.merge:
        if same_place(args.summary, path):
            raise InputError(
                f"{path} contains points, which a summary would overwrite. Name another file with --summary."
            )
        if not path.is_file():
            raise InputError(f"There is no file {path}. Check its name.")
        lines += store.read_lines(path)
    if args.words is not None:
        if args.into is None:
            raise ConfigError("--words needs an existing summary. Name it with --into FILE.")
        ids = {p.id for p in points}
        summary = merging.replace_word_rows(
            store.read(args.into), [line for line in lines if line.id in ids], args.words
        )
        store.write(summary, args.summary)
        print(f"{args.summary}: {len(summary.rows)} rows, word attackers updated")
        return 0
    commands = sorted({line.provenance.command for line in lines})
    summary, notes = merging.merge(lines, points, "; ".join(commands), grid.cut)
    if args.into is not None:
        summary, notes = merging.join_summaries(store.read(args.into), summary, grid.points(), grid.cut), []
    store.write(summary, args.summary)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    about = summary.about
    print(f"{args.summary}: {len(summary.rows)} rows of {about['points']} points, {about['core_minutes']} core-minutes")
    return 0


def find_point(wanted: str, args: argparse.Namespace, summary: store.Results | None) -> tuple[Grid, GridPoint]:
    """Return the point with this id and its grid. Raises ConfigError if there is none.

    The point may be in the named grid, in another one, or in the bundled summary of an older edition of a grid."""
    grids = [grid_by_name(name, args.data is not None) for name in dict.fromkeys([args.grid or "quick", *GRIDS])]
    for grid in [g if args.max_texts is None else g.smaller(args.max_texts) for g in grids]:
        if wanted in grid.by_id:
            return grid, grid.by_id[wanted]
    for row in () if summary is None else summary.rows:
        if summary is not None and row.point == wanted:
            for point in candidate_points(row, summary.about["data"][row.data]):
                if point.id == wanted:
                    return GRIDS["full"], point
    raise ConfigError(f"There is no point {wanted!r} in a grid or in the bundled results. Check the id in its row.")


def candidate_points(row: Row, dataset: Mapping[str, Any]) -> Iterator[GridPoint]:
    """Yield the possible points of a row, given the summary's description of its data set."""
    for n_train in (dataset["n_train"], None):
        for n_test in (dataset["n_test"], None):
            size = Size(
                n_train, n_test, dataset["max_words"], dataset["tokens"] / (dataset["n_train"] + dataset["n_test"])
            )
            for seed in (1, 0, *range(2, 10)):
                yield GridPoint(row.setting, row.data, seed, size)


def _point(args: argparse.Namespace) -> int:
    summary = store.bundled()
    here = summary is not None and any(r.point == args.point for r in summary.rows)
    if not here and (what := equal_privacy_rows.file_of_point(args.point)) is not None:
        return equal_privacy.rerun_point(
            what, args.point, None if args.data is None else str(args.data), args.stopwords
        )
    grid, point = find_point(args.point, args, summary)
    measured_before = () if summary is None else summary.rows
    rows = {r.metric: r for r in measured_before if (r.setting, r.data) == (point.setting, point.data)}
    if rows and summary is not None and (used := stop_list_name(args.stopwords)) != summary.about["stopwords"]:
        raise ConfigError(
            f"The rows of this point were measured with {summary.about['stopwords']}, not with {used}. Name the file "
            "with --stopwords."
        )
    setup = _setup(args, grid)
    if rows:  # measure slow metrics only if there is a row to compare with
        wanted = {*rows, *setup.everywhere, *(["lm_perplexity"] if args.lm_perplexity else [])}
        setup = replace(
            setup,
            extra=tuple((m, n) for m, n in setup.extra if m in wanted),
            attackers=tuple(m for m in setup.attackers if m in rows),
        )
    use_one_thread()
    if args.seed is not None:
        point = replace(point, seed=check_whole_number("--seed", args.seed, least=0))
    (line,) = run_group([point], setup)
    print(f"{args.point}: " + ", ".join(f"{k} {v}" for k, v in line.named.items()))
    inside: list[bool] = []
    for metric, value in line.scores.items():
        beside = "   no bundled row"
        if row := rows.get(metric):
            beside = f"   bundled {row.value:g}"
            if row.low is not None and row.high is not None:
                inside.append(row.low <= six_digits(value) <= row.high)
                beside += f" ({row.low:g} to {row.high:g}, {row.measured}): {'inside' if inside[-1] else 'outside'}"
            if row.runs and six_digits(value) in row.runs:
                beside += ", identical to one of its seeds"
        print(f"{metric:28s} {value:12.6g}{beside}")
    if inside:
        print(f"{sum(inside)} of {len(inside)} metrics are inside the intervals of their rows.")
    return 0
