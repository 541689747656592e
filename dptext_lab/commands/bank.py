"""``bank build`` makes a sentence bank from texts; ``bank cover`` measures how well a bank covers texts."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from dptext_core.cli.arguments import positive
from dptext_core.cli.commands.rewrite_data import note_reading
from dptext_core.cli.console import emit, explain_resume, note, table
from dptext_core.support.checks import pluralize
from dptext_core.support.task import on_terminal
from dptext_core.text.lexicons import read_lines


def arguments(parser: argparse.ArgumentParser) -> None:
    from dptext_core.data.tables import KINDS
    from dptext_core.words.bank import BANK_STEPS, DEFAULT_BANK

    from ..training.bank_building import LONGEST, SHORTEST

    actions = parser.add_subparsers(dest="action", required=True, metavar="build|cover")
    building = actions.add_parser("build", help="cut texts into sentences, filter and encode them", allow_abbrev=False)
    covering = actions.add_parser(
        "cover", help="measure how well a bank covers your texts", allow_abbrev=False
    )
    for command in (building, covering):
        command.add_argument("files", nargs="+", metavar="FILE", help=f"texts ({', '.join(KINDS)})")
        command.add_argument(
            "--column", metavar="C", default="text", help="column of texts: its name, or its number from 1"
        )
        command.add_argument(
            "--header",
            action=argparse.BooleanOptionalAction,
            default=None,
            help="whether the first row of a table has the column names",
        )
    building.add_argument(
        "--out",
        metavar="FOLDER",
        required=True,
        help="folder for the bank; repeat the command to continue a stopped build",
    )
    building.add_argument("--title", metavar="T", help="title of the bank (default: the names of the files)")
    building.add_argument("--licence", metavar="L", default="not stated", help="licence of the sentences")
    building.add_argument(
        "--avoid", metavar="FILE", help="file with one word per line; sentences with such a word are excluded"
    )
    for flag, default, what in (
        ("shortest", SHORTEST, "fewest words in a sentence"),
        ("longest", LONGEST, "most words in a sentence"),
        ("steps", BANK_STEPS, "quantisation steps per unit; fewer save disk space and change cosines more"),
    ):
        building.add_argument(
            f"--{flag}", type=positive, default=default, metavar="N", help=f"{what} (default {default})"
        )
    building.set_defaults(run=build)
    covering.add_argument("--bank", metavar="B", default=DEFAULT_BANK, help="name or folder of the bank")
    covering.add_argument("--max-texts", type=positive, metavar="N", help="read only the first N texts of each file")
    covering.set_defaults(run=cover)


def run(args: argparse.Namespace) -> None:
    """Run the subcommand, which argparse requires."""


def _texts(args: argparse.Namespace, file: str) -> Iterator[str]:
    from dptext_core.data import tables

    data = tables.source(file, (args.column,), args.header)
    note_reading(data)
    yield from tables.texts_of(data, args.column)


def build(args: argparse.Namespace) -> None:
    """Build a bank, and print how many sentences were excluded."""
    from pathlib import Path

    from ..training.bank_building import build_bank, gather

    names = ", ".join(Path(file).name for file in args.files)
    avoid = read_lines(args.avoid) if args.avoid else ()
    texts = (text for file in args.files for text in _texts(args, file))
    gathered = gather(texts, avoid, args.shortest, args.longest)
    for why, n in gathered.omissions.items():
        note(f"excluded, {why}: {n:,}")
    with explain_resume(args.out):
        about = build_bank(
            gathered,
            args.out,
            title=args.title or names,
            origin=names,
            licence=args.licence,
            steps=args.steps,
            task=on_terminal(f"encoding {pluralize(len(gathered.sentences), 'sentence')}"),
        )
    note(
        f"{pluralize(about.sentences, 'sentence')}. Rounding changes a cosine by about {about.usual_error:.2g}, and "
        f"by at most {about.largest_error:.2g}. The bank is public, and any of its sentences can be released: read "
        "sentences.txt before you use it."
    )
    emit(f"Use it with --mechanism dp-sentence --bank {args.out}")


def cover(args: argparse.Namespace) -> None:
    """Print the cosine of the nearest bank sentence, over the sentences of texts."""
    from pathlib import Path

    from dptext_core.words.bank import sentence_bank

    from ..training.bank_coverage import coverage

    bank = sentence_bank(args.bank)
    rows = [("texts", "sentences", "nearest cosine, mean", "lowest tenth", "highest tenth", "at least 0.5")]
    for file in args.files:
        covered = coverage(bank, list(_texts(args, file))[: args.max_texts], task=on_terminal(Path(file).name))
        rows.append(
            (
                file,
                f"{covered.sentences:,}",
                f"{covered.mean:.3f} ± {covered.half:.3f}",
                f"{covered.low:.2f}",
                f"{covered.high:.2f}",
                f"{covered.near:.0%}",
            )
        )
    emit(table(rows))
    note(f"{bank.about.title}, {len(bank):,} sentences ({bank.about.licence}). ±: 95% interval of the mean.")
