"""``pretrain``: trains the autoencoder of ADePT on texts of one's own."""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

from .. import cli
from ..checks import shown, usable_path
from ..errors import InputError
from ..mechanisms import codec


def add(commands: Any) -> argparse.ArgumentParser:
    """Adds the parser of the command."""
    parser = commands.add_parser(
        "pretrain", help="train an autoencoder on texts of your own, for --mechanism adept", allow_abbrev=False
    )
    parser.add_argument("--data", metavar="FILE", required=True, help="texts to learn: a CSV, TSV or JSONL file")
    parser.add_argument("--validation", metavar="FILE", help="texts to hold out; else every twentieth of the data")
    parser.add_argument("--column", metavar="C", default="text", help="its name, or its number from 1 (default text)")
    parser.add_argument(
        "--header", action=argparse.BooleanOptionalAction, default=None,
        help="whether the first row of a CSV or TSV file names the columns (as --column is a name or a number)",
    )  # fmt: skip
    parser.add_argument("--out", metavar="FOLDER", required=True, help="where it goes; the same command goes on")
    parser.add_argument("--no-clip", action="store_true", help="do not clip the vector while training")
    positive, real = cli._typed_in(cli._positive), cli._typed_in(lambda text: codec.real("the number", text))
    for name, kind, default, what in (
        ("clip-norm", real, 5.0, "the ℓ1 norm it is clipped to"),
        ("hidden", positive, 128, "width of the LSTM; the vector has twice as many numbers"),
        ("window", positive, 64, "word pieces that are read of a text"),
        ("max-tokens", positive, 20, "word pieces that it learns to write"),
        ("epochs", positive, 200, "at most so many passes over the data"),
        ("lr", real, 0.003, "learning rate"),
        ("decay", real, 0.5, "by what it is multiplied where it brings nothing more; 1 as in the paper"),
        ("batch", positive, 64, "texts in a step"),
        ("patience", positive, 10, "epochs without a better one, after which it ends"),
        ("seed", cli._typed_in(lambda text: codec.whole("the seed", text)), 1, "of weights, order and samples"),
    ):
        parser.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=f"{what} (default {default})")
    parser.add_argument("--device", metavar="D", help="cpu, cuda or mps; without it a GPU where there is one")
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> None:
    """Trains, and says after each epoch how it goes."""
    from ..models.pretraining import pretrain

    texts, digest = column_of(args.data, args.column, args.header)
    source = {"file": Path(args.data).name, "sha256": digest, "column": args.column}
    held = None
    if args.validation is not None:
        held, digest = column_of(args.validation, args.column, args.header)
        source |= {"validation_file": Path(args.validation).name, "validation_sha256": digest}

    def said(epoch: int, most: int, figures: Any) -> None:
        cli._note(
            f"epoch {epoch} of at most {most}: loss {figures['loss']:.3f}, held out {figures['validation_loss']:.3f}, "
            f"right pieces {figures['accuracy']:.1%}, {figures['seconds']:.0f} s"
        )

    try:
        done = pretrain(
            texts, held, args.out, clip=not args.no_clip, clip_norm=args.clip_norm, hidden=args.hidden,
            window=args.window, max_tokens=args.max_tokens, epochs=args.epochs, lr=args.lr, decay=args.decay,
            batch=args.batch, patience=args.patience, seed=args.seed, device=args.device, source=source, progress=said,
        )  # fmt: skip
    except KeyboardInterrupt:
        cli._note(f"Stopped. What was learned is in {args.out}; the same command goes on from there.")
        raise
    cli._emit(
        f"{args.out}: epoch {done.best} of {len(done.history)} ({done.ended}). Use it with --mechanism adept "
        f"--checkpoint {args.out}"
    )


def column_of(file: str, column: str, header: bool | None) -> tuple[list[str], str]:
    """The texts of a column that are not empty, and the file's SHA-256. Raises InputError, which quotes no row."""
    path = usable_path(file)
    try:
        data = path.read_bytes()
        content = data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror}. Name another file.") from error
    except UnicodeDecodeError:  # which holds the text
        raise InputError(f"{path.name} is not UTF-8 text. Save it as UTF-8 and try again.") from None
    kind = path.suffix.lower()
    if kind == ".jsonl":
        lines = enumerate(content.split("\n"), 1)
        texts = [_member(path.name, n, line, column) for n, line in lines if line.strip()]
    elif kind in (".csv", ".tsv"):
        texts = _cells(path.name, content, kind == ".tsv", column, header)
    else:
        raise InputError(f"{path.name} is none of .csv, .tsv, .jsonl. Save the data as one of these, and name it so.")
    return [t.strip() for t in texts if t.strip()], hashlib.sha256(data).hexdigest()


def _cells(name: str, content: str, tabs: bool, column: str, header: bool | None) -> list[str]:
    text = io.StringIO(content, newline="")
    form: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if tabs else {"strict": True}
    try:
        rows = [row for row in csv.reader(text, **form) if row]
    except csv.Error as error:
        raise InputError(f"{name} cannot be read as a table: {error}. Correct the file.") from None
    if not rows:
        raise InputError(f"{name} has no rows. Name a file with at least one.")
    width = len(rows[0])
    named = not column.isdecimal() if header is None else header
    if named and column in rows[0]:
        at = rows[0].index(column)
    elif column.isdecimal() and 1 <= int(column) <= width:
        at = int(column) - 1
    else:
        raise InputError(
            f"{name} has no column {shown(column)}. Its first row has {width}: name one as that row does, or by its "
            f"number, 1 to {width}."
        )
    rows = rows[1:] if named else rows
    if any(len(row) != width for row in rows):
        raise InputError(f"{name} has {width} columns in its first row, and others in some. Correct those rows.")
    return [row[at] for row in rows]


def _member(name: str, number: int, line: str, column: str) -> str:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):  # whose message quotes the line
        row = None
    if not isinstance(row, dict) or not isinstance(row.get(column), str):
        raise InputError(f"Line {number} of {name} is no JSON object with a text named {shown(column)}. Correct it.")
    return row[column]
