"""Which release this is, and how its command line is called."""

import sys
from pathlib import Path

__version__ = "0.1.0"
#: The command line as it can be started wherever the package is.
PROG = "python -m dptext_core"


def program_name() -> str:
    """Return how this program was started: by the name of the installed command, or as a module."""
    return "dptext" if Path(sys.argv[0]).stem == "dptext" else PROG
