"""``cite``: print BibTeX entries of mechanisms and of this program."""

from __future__ import annotations

import argparse

import dptext_core as dpt
from dptext_core.cli.console import emit


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("mechanism", nargs="*", metavar="NAME", help="name of a mechanism (default: all)")


def run(args: argparse.Namespace) -> None:
    from ..references import OWN, bibtex, references

    names = args.mechanism or [spec.name for spec in dpt.mechanisms()]
    keys = [key for name in names for key in dpt.mechanism_class(name).references if key in references()]
    emit(bibtex((*keys, OWN)).rstrip("\n"))
