"""The command line, ``python -m dptext_core``: see :mod:`dptext_core.cli.main`."""

from .main import build_parser, commands, main

__all__ = ["build_parser", "commands", "main"]
