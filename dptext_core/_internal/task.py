"""Long work: how far it is, and whether it should stop."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from ..errors import Cancelled

#: Told how much is done, and of how much, in the thread of the work. What it raises ends the work.
Listener = Callable[[int, int], None]

_STOPPED = "Stopped, as you asked."
#: Steps in which the parts of a whole are told.
_STEPS = 1000


class Task:
    """Long work, for who waits for it and for who does it: how far it is, and whether it should stop.

    Who waits hands one to the work, and may :meth:`cancel` it from any thread. The work tells with :meth:`report` how
    much is done, asks with :meth:`check` whether to go on, and hands each part of itself a :meth:`child`.

    Parameters
    ----------
    listener
        Called as ``listener(done, of)`` in the thread of the work; a bar is one (``on_bar``). None: nobody is told.
    """

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self._stop = threading.Event()

    def report(self, done: int, of: int) -> None:
        """Say that ``done`` of ``of`` steps are done."""
        if self._listener is not None:
            self._listener(done, of)

    @property
    def cancelled(self) -> bool:
        """Whether the work should stop."""
        return self._stop.is_set()

    def cancel(self) -> None:
        """Ask the work to stop. It raises Cancelled at its next look."""
        self._stop.set()

    def check(self, stopped: str = _STOPPED) -> None:
        """Raise Cancelled, in these words, where the work should stop."""
        if self.cancelled:
            raise Cancelled(stopped)

    def child(self, start: float, end: float, of: float = 1) -> Task:
        """The part from ``start`` to ``end`` of ``of`` steps: it tells its share of the whole, in thousandths of a step
        of the whole, and stops with it."""
        return _Part(self, lambda done, all_: self.report(
            round(_STEPS * (start + (end - start) * done / max(1, all_))), round(_STEPS * of)
        ))  # fmt: skip

    @property
    def quiet(self) -> Task:
        """The same for a part of which nothing is told."""
        return _Part(self, None)


class _Part(Task):
    def __init__(self, whole: Task, listener: Listener | None) -> None:
        self._whole, self._listener = whole, listener

    @property
    def quiet(self) -> Task:
        return self if self._listener is None else self._whole.quiet

    @property
    def cancelled(self) -> bool:
        return self._whole.cancelled

    def cancel(self) -> None:
        self._whole.cancel()


class _Unwatched(Task):
    """One for all work that nobody watches or stops."""

    def __init__(self) -> None: ...

    def report(self, done: int, of: int) -> None: ...

    @property
    def cancelled(self) -> bool:
        return False

    def cancel(self) -> None:
        raise TypeError("This task stands for all that nobody stops. Make one to stop: Task().")

    def child(self, start: float, end: float, of: float = 1) -> Task:
        return self

    @property
    def quiet(self) -> Task:
        return self


#: What stands inside for no task.
UNWATCHED: Task = _Unwatched()


def on_bar(bar: Any) -> Listener:
    """A listener that moves a ``tqdm`` bar, and closes it at the end."""

    def show(done: int, of: int) -> None:
        bar.total = of
        bar.update(done - bar.n)
        if done >= of:
            bar.close()

    return show


def on_terminal(what: str) -> Task:
    """A task with a bar on the terminal; without one where nobody watches."""
    if sys.stderr is None or not sys.stderr.isatty():
        return UNWATCHED
    from tqdm import tqdm

    return Task(on_bar(tqdm(desc=what, bar_format="{desc} … {percentage:.0f}% ({remaining} left)")))
