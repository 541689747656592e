"""Scheduler that decides which visitor's long task runs next, up to the machine's capacity.

Threads that alternate at every step achieve less than threads that run one after the other. The visitor with the fewest
turns goes first, then the one who came first. A task that reports progress gives way regularly, so that long tasks do
not delay short ones.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dptext_core import Task

#: The number of tasks that run at once. Tasks that wait for the language model leave the processor to others, and share
#: its passes.
PLACES = (os.cpu_count() or 1) + 2
#: Seconds after which a task gives way to others.
SLICE = 0.3
_POLL = 0.2


@dataclass(eq=False)
class Turn:
    """One task in the queue. whose: its visitor. since: when its turn began, by the monotonic clock. last: whether it
    runs only if nobody waits for anything else, and one at a time.
    """

    whose: Hashable
    task: Task
    since: float = 0.0
    last: bool = False


@dataclass(eq=False)
class Scheduler:
    """A queue with a fixed number of places."""

    places: int = PLACES
    _waiting: list[Turn] = field(default_factory=list)
    _running: list[Turn] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def take(self, turn: Turn) -> Iterator[None]:
        """Wait for a place and take it. Raises Cancelled once the turn's task is cancelled."""
        self._enter(turn)
        try:
            yield
        finally:
            self._leave(turn)

    def give_way(self, turn: Turn) -> None:
        """Let others go first if some are waiting and its turn has lasted a while. Raises Cancelled."""
        if self._waiting and turn.since and time.monotonic() - turn.since > SLICE:
            self._leave(turn)
            self._enter(turn)

    def give_up(self, turn: Turn) -> None:
        """Cancel the turn: it stops, or leaves the queue."""
        with self._changed:
            turn.task.cancel()
            self._changed.notify_all()

    def before(self, turn: Turn) -> int:
        """Return the number of turns that wait before it; 0 if it is running or next."""
        with self._changed:
            wanted = self._wanted()
            return wanted.index(turn) if turn in wanted else 0

    @property
    def waiting(self) -> int:
        """Return the number of waiting turns."""
        return len(self._waiting)

    def _enter(self, turn: Turn) -> None:
        with self._changed:
            self._waiting.append(turn)
            try:
                while not self._may_run(turn):
                    turn.task.check()
                    self._changed.wait(_POLL)
            finally:
                self._waiting.remove(turn)
            turn.since = time.monotonic()
            self._running.append(turn)

    def _leave(self, turn: Turn) -> None:
        with self._changed:
            if turn in self._running:
                self._running.remove(turn)
            turn.since = 0.0
            self._changed.notify_all()

    def _may_run(self, turn: Turn) -> bool:
        if len(self._running) >= self.places:
            return False
        if turn.last and any(t.last for t in self._running):
            return False
        busy = [t.whose for t in self._running]
        # The first with the fewest turns, because the queue is in order of arrival.
        return min(self._wanted(), key=lambda t: (t.last, busy.count(t.whose)), default=None) is turn

    def _wanted(self) -> list[Turn]:
        """Return the waiting turns, without those that were given up."""
        return [t for t in self._waiting if not t.task.cancelled]


#: The scheduler of all visitors of this server.
all_turns = Scheduler()
