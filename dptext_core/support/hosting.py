"""What whoever starts this program for others says, by environment variables.

DPTEXT_PUBLIC: it serves strangers. Then no plugin is loaded, and the pages accept less (limits:
``dptext_studio/server/public_hosting.py``). DPTEXT_SESSIONS: how many sessions may be open at a time.
DPTEXT_POCKET: the address of a site that rewrites in a browser. DPTEXT_RESULTS: files of your own results, which pages
show beside the bundled ones.
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
    """Return how many sessions may be open at a time; None where nobody says. Raise ConfigError."""
    if not (named := os.environ.get("DPTEXT_SESSIONS", "").strip()):
        return None
    if not named.isdecimal() or int(named) < 1:
        raise ConfigError(f"DPTEXT_SESSIONS is a number of sessions from 1, not {named!r}.")
    return int(named)


def browser_edition_url() -> str:
    """Return the address of the browser edition; empty if none is set."""
    named = os.environ.get("DPTEXT_POCKET", "").strip()
    return named if named.startswith(("https://", "http://", "/")) else ""


def results() -> list[Path]:
    """Return the result files shown beside the bundled ones, separated as in PATH."""
    return [Path(part) for part in os.environ.get("DPTEXT_RESULTS", "").split(os.pathsep) if part.strip()]
