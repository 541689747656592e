"""Long work: how far it is, and whether it should stop."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from ..errors import Cancelled

#: Told how much is done, and of how much.
Progress = Callable[[int, int], None]


def check_cancel(cancel: threading.Event | None) -> None:
    """Raise Cancelled when the caller has asked to stop."""
    if cancel is not None and cancel.is_set():
        raise Cancelled("Stopped, as you asked.")


def progress(what: str) -> Progress | None:
    """A line that counts, where someone watches."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None

    def show(done: int, of: int) -> None:
        end = "\r" if done < of else "\n"
        print(f"{what} … {100 * done // max(of, 1)}%", end=end, file=sys.stderr, flush=True)

    return show
