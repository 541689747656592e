"""Models that were added to the user's own cache."""

from __future__ import annotations


def added() -> list:
    """Those that there are."""
    return []
