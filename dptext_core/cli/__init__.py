"""The command line, ``python -m dptext_core``: see :mod:`dptext_core.cli.main`."""

from .main import BENCHES, build_parser, main

__all__ = ["BENCHES", "build_parser", "main"]
