"""``pretrain``: train ADePT's autoencoder on your own texts."""

from __future__ import annotations

import argparse
from typing import Any

from dptext_core.cli.arguments import positive, real, whole_number
from dptext_core.cli.commands.rewrite_data import data_options, note_reading
from dptext_core.cli.console import emit, note


def arguments(parser: argparse.ArgumentParser) -> None:
    data_options(parser, "--data", "training texts")
    data_options(parser, "--validation", "validation texts (default: every twentieth training text)", required=False)
    parser.add_argument("--column", metavar="C", default="text", help="column name, or number from 1 (default text)")
    parser.add_argument(
        "--out", metavar="FOLDER", required=True, help="folder for the checkpoint; repeat the command to continue"
    )
    parser.add_argument("--no-clip", action="store_true", help="do not clip the vector while training")
    number = real("the number")
    for name, kind, default, what in (
        ("clip-norm", number, 5.0, "ℓ1 norm to which the vector is clipped"),
        ("hidden", positive, 128, "width of the LSTM; the vector has twice as many dimensions"),
        ("window", positive, 64, "number of word pieces read from a text"),
        ("max-tokens", positive, 20, "maximum number of word pieces to write"),
        ("epochs", positive, 200, "maximum number of epochs"),
        ("lr", number, 0.003, "learning rate"),
        ("decay", number, 0.5, "factor for the learning rate if progress stops; the paper uses 1"),
        ("batch", positive, 64, "texts per step"),
        ("patience", positive, 10, "epochs without progress before training stops"),
        ("seed", whole_number("the seed"), 1, "seed of weights, order and samples"),
    ):
        parser.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=f"{what} (default {default})")
    parser.add_argument("--device", metavar="D", help="cpu, cuda or mps (default: a GPU if there is one)")


def run(args: argparse.Namespace) -> None:
    """Train, and print the progress after each epoch."""
    from dptext_core.data import tables

    from ..training.pretraining import pretrain

    data = tables.source(args.data, (args.column,), args.header, args.data_split)
    note_reading(data)
    texts, validation = tables.texts_of(data, args.column), None
    source = {"file": data.name, "sha256": data.sha256, "column": args.column}
    if args.validation is not None:
        other = tables.source(args.validation, (args.column,), args.header, args.validation_split)
        note_reading(other)
        validation = tables.texts_of(other, args.column)
        source |= {"validation_file": other.name, "validation_sha256": other.sha256}

    def print_epoch(epoch: int, most: int, figures: Any) -> None:
        note(
            f"epoch {epoch} of at most {most}: loss {figures['loss']:.3f}, validation "
            f"{figures['validation_loss']:.3f}, word piece accuracy {figures['accuracy']:.1%}, "
            f"{figures['seconds']:.0f} s"
        )

    try:
        done = pretrain(
            texts,
            validation,
            args.out,
            clip=not args.no_clip,
            clip_norm=args.clip_norm,
            hidden=args.hidden,
            window=args.window,
            max_tokens=args.max_tokens,
            epochs=args.epochs,
            lr=args.lr,
            decay=args.decay,
            batch=args.batch,
            patience=args.patience,
            seed=args.seed,
            device=args.device,
            source=source,
            report=print_epoch,
        )
    except KeyboardInterrupt:
        note(f"Stopped. The checkpoint is in {args.out}. Repeat the command to continue.")
        raise
    emit(
        f"{args.out}: epoch {done.best} of {len(done.history)} ({done.ended}). Use it with --mechanism adept "
        f"--checkpoint {args.out}"
    )
