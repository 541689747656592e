"""The command line, ``python -m dptext_core``: see :mod:`dptext_core.cli.main`."""

from .main import build_parser, find_commands, main

__all__ = ["build_parser", "find_commands", "main"]
