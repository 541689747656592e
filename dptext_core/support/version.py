"""The version of this release, and the name of its command line."""

import sys
from pathlib import Path

__version__ = "0.1.0"
#: The command line, available wherever the package is.
PROG = "python -m dptext_core"


def program_name() -> str:
    """Return how this program was started: the name of the installed command, or the module."""
    return "dptext" if Path(sys.argv[0]).stem == "dptext" else PROG
