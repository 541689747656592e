"""``rewrite-data``: run a mechanism over a data set or a pipe."""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib
import itertools
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ...data.input_watch import Row
from ...data.records import DatasetGuarantee, rewrite_records
from ...data.workers import BLOCK
from ...errors import ConfigError, InputError
from ...measure.coverage import coverage_note
from ...mechanisms.base import BATCH, Mechanism
from ...support import plugins
from ...support.checks import pluralize, shorten_repr
from ...support.task import on_terminal
from ...support.whole_files import sweep
from ...text.visible import count_removed, removed_note
from ..arguments import add_seed, gpus, mechanism_of, positive
from ..console import SEED_WARNING, explain_resume, note

if TYPE_CHECKING:
    from ...data.tables import Source

TAKES_MECHANISM = True
#: Maximum number of rows with an error that are listed.
ERRORS = 20


def arguments(parser: argparse.ArgumentParser) -> None:
    data_options(parser, "--data", "the data", piped=True)
    parser.add_argument("--text-column", metavar="C", default="text", help="its name, or its number from 1")
    parser.add_argument(
        "--keep",
        metavar="C[,C…]",
        default="",
        help="columns to copy unchanged, such as a label; not protected. Put names with commas in quotes",
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        required=True,
        help="output folder; an existing run is resumed. With -, rows are printed as JSONL and nothing is stored",
    )
    parser.add_argument(
        "--release",
        metavar="FILE",
        help="also write the rewrites and the kept columns: .csv, .tsv, .jsonl, .parquet, .txt",
    )
    parser.add_argument(
        "--inspection",
        metavar="FILE",
        help="also write originals next to rewrites (private): .csv, .tsv, .jsonl, .parquet",
    )
    parser.add_argument(
        "--exact-cells",
        action="store_true",
        help="in .csv and .tsv, do not escape formulas and write no byte-order mark",
    )
    parser.add_argument(
        "--batch", type=positive, default=BATCH, metavar="N", help=f"rows that are rewritten together (default {BATCH})"
    )
    parser.add_argument(
        "--polish",
        action="store_true",
        help="clean up each rewrite, which spends no ε; rows.jsonl also records the original output",
    )
    _worker_arguments(parser)
    parser.add_argument(
        "--measure",
        metavar="METRIC[,METRIC…]",
        default="",
        help="also compare rewrites with originals: cosine, bleu, bertscore, unchanged",
    )
    add_seed(parser, "repeat the same draws; for demonstrations, not private")
    parser.add_argument("--quiet", action="store_true", help="print no notes on standard error")


def _worker_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags for more than one process."""
    group = parser.add_argument_group("several processes (see docs/scale.md in the repository)")
    group.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="local: processes of this machine; ray: workers on the cluster that RAY_ADDRESS names, else on this "
        "machine (default local)",
    )
    group.add_argument(
        "--workers",
        type=positive,
        metavar="N",
        help="number of workers (default: local none, ray one per processor)",
    )
    group.add_argument("--block", type=positive, metavar="N", help=f"rows per block of a worker (default {BLOCK})")
    group.add_argument(
        "--gpus", type=gpus, metavar="X", help="GPUs per worker, such as 1 or 0.5 (default 0)"
    )


def data_options(
    parser: argparse.ArgumentParser, flag: str, what: str, required: bool = True, piped: bool = False
) -> None:
    """Add the options that name and read a data set. piped: whether standard input is allowed."""
    from ...data.tables import KINDS

    pipe = "; - for JSONL from standard input" if piped else ""
    parser.add_argument(
        flag,
        metavar="DATA",
        required=required,
        help=f"{what}: a file ({', '.join(KINDS)}), a folder of such files or of a rewriting run, or a registered "
             f"data set{pipe}",
    )
    parser.add_argument(f"{flag}-split", metavar="NAME", default="", help="the split of a registered data set")
    if not any(a.dest == "header" for a in parser._actions):
        parser.add_argument(
            "--header",
            action=argparse.BooleanOptionalAction,
            default=None,
            help="whether a table's first row names its columns (default: yes if a column is given by name)",
        )


def note_reading(data: Source) -> None:
    """Print notes on what was left out of a data set."""
    for each in data.notes:
        note(f"note: {data.name}: {each.sentence()}")


def run(args: argparse.Namespace) -> None:
    from ...data import release_files, rewriting, tables
    from ...measure.metrics import METRICS

    mechanism = mechanism_of(args)
    keep = [c for name in next(csv.reader([args.keep], skipinitialspace=True), []) if (c := name.strip())]
    measures = [name.strip() for name in args.measure.split(",") if name.strip()]
    for name in measures:
        if name not in METRICS:
            raise ConfigError(f"There is no metric {shorten_repr(name)}. Choose from {', '.join(METRICS)}.")
    _check_files(args, measures)
    for given in (args.release, args.inspection):
        if given is not None:
            sweep(Path(given).parent)  # a killed run may have left originals there
    if not args.quiet:
        if args.seed is not None:
            note(SEED_WARNING)
        if keep:
            note(f"note: these columns are copied and not protected: {', '.join(keep)}")
    if args.out == "-":
        _stream(args, mechanism, keep)
        return
    data = tables.source(args.data, (args.text_column, *keep), args.header, args.data_split, each=True)
    if not args.quiet:
        note_reading(data)
    common: dict[str, Any] = {
        "column": args.text_column,
        "keep": keep,
        "seed": args.seed,
        "batch": args.batch,
        "measures": measures,
        "task": on_terminal(f"rewriting {pluralize(data.count, 'row')}"),
    }
    with explain_resume(args.out):
        if (workers := _workers(args)) is None:
            result = rewriting.rewrite_data(data, mechanism, args.out, polish=args.polish, **common)
        else:
            from ...data.workers import blocks

            result = blocks.rewrite_data(
                data, mechanism, args.out, workers, block=args.block or BLOCK, plugins=plugins.files(), **common
            )
    if result["rows"] == result["errors"] > 0:
        row, why = next(rewriting.errors_of(Path(args.out)))
        raise InputError(
            f"No row of {data.name} could be rewritten, so no file is written. Row {row:,}: {why}"
        )
    if args.release is not None:
        release_files.release(Path(args.out), args.text_column, keep, args.release, exact=args.exact_cells)
    if args.inspection is not None:
        release_files.inspection(data, Path(args.out), args.text_column, keep, args.inspection, exact=args.exact_cells)
    if not args.quiet:
        _report(args, data, mechanism, result)


def _report(args: argparse.Namespace, data: Source, mechanism: Mechanism, result: dict[str, Any]) -> None:
    """Print the result of a run and notes for its owner."""
    from ...data import rewriting

    if args.inspection is not None:
        note(f"note: {args.inspection} contains the originals; do not publish it")
    note(result["counted"])
    for row, why in itertools.islice(rewriting.errors_of(Path(args.out)), ERRORS):
        note(f"row {row:,}: {why}")
    if result["errors"] > ERRORS:
        note(f"rows with an error, not shown here: {result['errors'] - ERRORS:,}; see rows.jsonl in {args.out}")
    for name, value in result.get("measures", {}).items():
        note(f"{name}: {value['mean']:.4f} on average over {value['n']:,} rows")
    note(result["sentence"])
    if args.polish:
        note(result["polish"]["sentence"])
    if result["exposed"]:
        note(f"Not protected in the first row: {'; '.join(result['exposed'])}. Other rows list their own.")
    with contextlib.suppress(InputError):  # a changed file is already reported above
        if removed := removed_note(sum(count_removed(row[args.text_column]) for row in data.rows())):
            note(f"note: {removed}")
    with contextlib.suppress(InputError):  # a failed rewrite is already reported above
        first = next(iter(data.rows()))[args.text_column]
        if isinstance(first, str) and (about := coverage_note(mechanism, first)):
            note(f"note on the first row: {about}")


def _workers(args: argparse.Namespace) -> Any:
    """Return a function that opens the requested workers; None to run everything here."""
    if args.engine == "ray":
        # Optional: the package of Ray is imported only on request.
        actors = importlib.import_module("dptext_core.distributed.actors")
        return actors.ray_workers(args.workers, args.gpus or 0.0)
    if args.workers is None:
        return None
    from ...data.workers import processes

    most = max(2, 2 * (os.cpu_count() or 1))
    if args.workers > most:
        raise ConfigError(
            f"--workers {args.workers} exceeds the limit of this machine: each worker uses a core and loads its own "
            f"mechanism. Use at most {most}."
        )
    return processes.process_workers(args.workers)


def _check_files(args: argparse.Namespace, measures: list[str]) -> None:
    """Reject options that a pipe does not support and file endings that cannot be written, before anything is
    sampled."""
    from ...data import release_files

    workers = args.engine == "ray" or args.workers is not None
    if args.engine == "local" and args.gpus is not None:
        raise ConfigError("--gpus needs workers of a cluster. Add --engine ray, or remove --gpus.")
    if args.block is not None and not workers:
        raise ConfigError("--block needs workers. Add --workers, or remove --block.")
    if workers and args.polish:
        raise ConfigError("--polish does not support workers. Remove --engine and --workers.")
    if workers and args.out == "-":
        raise ConfigError("Workers finish blocks in any order, so they need a folder. Set it with --out.")
    if args.out == "-":
        for name, given in (("--release", args.release), ("--inspection", args.inspection), ("--measure", measures)):
            if given:
                raise ConfigError(f"{name} needs stored rows, but --out - stores none. Set a folder.")
    elif args.data == "-":
        raise ConfigError(
            "A run over a pipe cannot be resumed. Use --out -, or save the data to a file."
        )
    if args.exact_cells and args.release is None and args.inspection is None:
        raise ConfigError("--exact-cells needs --release or --inspection. Add one of these, or remove --exact-cells.")
    for given, endings in ((args.release, release_files.RELEASE), (args.inspection, release_files.INSPECTION)):
        if given is not None:
            release_files.check_suffix(given, endings)


def _stream(args: argparse.Namespace, mechanism: Any, keep: list[str]) -> None:
    """Rewrite from standard input or a file to standard output, line by line as batches finish."""
    from ...data import release_files, rewriting, tables

    rewriting.check_columns(args.text_column, keep)
    columns = (args.text_column, *keep)
    if args.data == "-":
        stream = _standard_input()
        rows = _watch_input(lambda: tables.piped_rows(stream, columns))
    else:
        data = tables.source(args.data, columns, args.header, args.data_split, each=True)
        if not args.quiet:
            note_reading(data)
        rows = data.rows()
    total = DatasetGuarantee(mechanism.shares_draws)
    for record in rewrite_records(
        rows, mechanism, args.text_column, seed=args.seed, batch=args.batch, polish=args.polish
    ):
        print(release_files.json_line(rewriting.line_of(record, args.text_column, keep)), flush=True)
        total.add(record.guarantee, record.untouched)
    if total.rows == total.errors > 0:
        raise InputError("No row could be rewritten. Each line states the reason. Correct the rows, and try again.")
    if not args.quiet:
        note(total.counted())
        note(total.sentence())
        if total.exposed:
            note(f"Not protected in the first row: {'; '.join(total.exposed)}. Other rows list their own.")


def _watch_input(read: Callable[[], Iterator[Row]]) -> Iterator[Row]:
    """Yield the rows of standard input. If that is a file, it must not change while it is read."""
    from ...data.input_watch import InputWatch

    try:
        number = sys.stdin.buffer.fileno()
        regular = stat.S_ISREG(os.fstat(number).st_mode) and hasattr(os, "pread")  # not on Windows
    except (AttributeError, OSError, ValueError):
        regular = False
    if not regular:
        return read()
    watch = InputWatch(number, "Standard input")
    return watch.rows(read, watch.sha256())()


def _standard_input() -> BinaryIO:
    """Return the bytes of standard input. Raises InputError."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise InputError("There is no standard input. Give a file with --data.")
    return stream
