"""``new mechanism NAME``: create a package for a mechanism of your own."""

from __future__ import annotations

import argparse

from ..console import emit


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["mechanism"], help="kind of package")
    parser.add_argument("name", metavar="NAME", help="lower-case letters, digits and hyphens: my-mechanism")
    parser.add_argument("--out", metavar="DIR", help="the folder to make (default: NAME)")


def run(args: argparse.Namespace) -> None:
    from ...testing import new_mechanism

    files = new_mechanism(args.name, args.out)
    for file in files:
        emit(str(file))
    # An installed package does not include pytest; this command installs it.
    emit(f"If DP-Text Studio is installed as a package, first run: pip install -e '{files[0].parent}[dev]'")
    emit(f"Test it: python -m pytest {files[0].parent}")
