"""The command line, ``python -m dptext_core``: see :mod:`dptext_core.cli.main`."""

from .main import BENCHES, EARLIER, build_parser, main

__all__ = ["BENCHES", "EARLIER", "build_parser", "main"]
