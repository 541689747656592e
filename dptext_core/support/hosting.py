"""Settings of the person who hosts this program, by environment variables.

DPTEXT_PUBLIC: it serves strangers. Then no plugin is loaded, and the pages accept less (limits:
``dptext_studio/server/public_hosting.py``). DPTEXT_SESSIONS: maximum number of concurrent sessions. DPTEXT_POCKET: the
address of the browser edition. DPTEXT_RESULTS: files of your own results, shown on pages with the bundled ones.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import ConfigError

VARIABLE = "DPTEXT_PUBLIC"


def is_public_host() -> bool:
    """Return True if public hosting is on: for every value except an empty one, 0, no, off and false."""
    return os.environ.get(VARIABLE, "").strip().lower() not in ("", "0", "no", "off", "false")


def most_sessions() -> int | None:
    """Return the maximum number of concurrent sessions; None if it is not set. Raises ConfigError."""
    if not (named := os.environ.get("DPTEXT_SESSIONS", "").strip()):
        return None
    if not named.isdecimal() or int(named) < 1:
        raise ConfigError(f"DPTEXT_SESSIONS must be a whole number of at least 1, not {named!r}.")
    return int(named)


def browser_edition_url() -> str:
    """Return the address of the browser edition; empty if none is set."""
    named = os.environ.get("DPTEXT_POCKET", "").strip()
    return named if named.startswith(("https://", "http://", "/")) else ""


def results() -> list[Path]:
    """Return the result files shown with the bundled ones, separated as in PATH."""
    return [Path(part) for part in os.environ.get("DPTEXT_RESULTS", "").split(os.pathsep) if part.strip()]
