"""Progress and cancellation of long work."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from ..errors import Cancelled

#: Progress callback ``(done, total)``, called in the thread of the work. What it raises ends the work.
Listener = Callable[[int, int], None]

_STOPPED = "Stopped as asked."
#: Resolution of the progress that parts report for the whole.
_STEPS = 1000


class Task:
    """Report the progress of long work, and cancel it.

    The caller passes a task to the work, and may :meth:`cancel` it from any thread. The work calls :meth:`report` with
    its progress and :meth:`check` to stop if cancelled, and passes each of its parts a :meth:`child`.

    Parameters
    ----------
    listener
        Called as ``listener(done, of)`` in the thread of the work; None: no reports.

    Examples
    --------
    Show the progress in a tqdm bar::

        bar = tqdm(total=1)
        task = dpt.Task(lambda done, of: bar.update(done / of - bar.n))
    """

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self._stop = threading.Event()

    def report(self, done: int, of: int) -> None:
        """Report that ``done`` of ``of`` steps are done."""
        if self._listener is not None:
            self._listener(done, of)

    @property
    def cancelled(self) -> bool:
        """Return True if the work should stop."""
        return self._stop.is_set()

    def cancel(self) -> None:
        """Request cancellation. The work raises Cancelled at its next check."""
        self._stop.set()

    def check(self, stopped: str = _STOPPED) -> None:
        """Raise Cancelled with this message if the work should stop."""
        if self.cancelled:
            raise Cancelled(stopped)

    def child(self, start: float, end: float, of: float = 1) -> Task:
        """Return a task for the part from ``start`` to ``end`` of ``of`` steps.

        It reports its share of the whole, in thousandths of a step of the whole, and is cancelled with it.
        """
        return _Part(
            self,
            lambda done, all_: self.report(
                round(_STEPS * (start + (end - start) * done / max(1, all_))), round(_STEPS * of)
            ),
        )

    @property
    def quiet(self) -> Task:
        """Return the same task for a part that reports no progress."""
        return _Part(self, None)


class _Part(Task):
    def __init__(self, parent: Task, listener: Listener | None) -> None:
        self._whole, self._listener = parent, listener

    @property
    def quiet(self) -> Task:
        return self if self._listener is None else self._whole.quiet

    @property
    def cancelled(self) -> bool:
        return self._whole.cancelled

    def cancel(self) -> None:
        self._whole.cancel()


class _Unwatched(Task):
    """The task of all work without a listener or cancellation."""

    def __init__(self) -> None: ...

    def report(self, done: int, of: int) -> None: ...

    @property
    def cancelled(self) -> bool:
        return False

    def cancel(self) -> None:
        raise TypeError("This shared task cannot be cancelled. Create your own: Task().")

    def child(self, start: float, end: float, of: float = 1) -> Task:
        return self

    @property
    def quiet(self) -> Task:
        return self


#: The internal task if none is given.
UNWATCHED: Task = _Unwatched()


def on_terminal(what: str) -> Task:
    """Return a task that shows progress on the terminal, if there is one."""
    watched = sys.stderr
    if watched is None or not watched.isatty():
        return UNWATCHED

    def show(done: int, of: int) -> None:
        end = "\r" if done < of else "\n"
        print(f"{what} … {100 * done // max(of, 1)}%", end=end, file=watched, flush=True)

    return Task(show)
