"""Long work beside the page: a thread with progress that can be stopped."""

from __future__ import annotations

import atexit
import math
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dptext_core import Busy, Cancelled, DPTextError, Task
from dptext_core.support.checks import pluralize
from dptext_core.support.exit_threads import join_at_exit
from dptext_core.support.task import Listener

from . import sessions
from .public_hosting import limits
from .scheduler import Turn, all_turns

#: Seconds that a run of a page waits for work before it shows progress and a way to stop.
PATIENCE = 0.8
#: Seconds that the rest must take for it to be told.
TELL = 10.0
#: Seconds after which a waiting run of a page looks whether another one is wanted.
POLL_SECONDS = 0.05
#: Seconds after which work that is yet to ask for its turn looks whether it is still wanted.
DELAY_SECONDS = 0.5
GONE = "The connection to this page was lost for some seconds, so the task was stopped. Start it again for the result."


MANY = (
    "You have {} tasks running, which is the limit per visitor. Wait for one of them to finish."
)
LONG = "This took longer than the server's limit of {:g} minutes per task. Request less at once."


class _Abandoned(Cancelled):
    """Stopped because the visitor had gone, or its time was over."""


class _TimedTask(Task):
    """Cancelled by itself when the time is over. seconds: None for no end."""

    def __init__(self, listener: Listener, seconds: float | None) -> None:
        super().__init__(listener)
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def over(self) -> bool:
        return self._end is not None and time.monotonic() > self._end

    @property
    def cancelled(self) -> bool:
        return super().cancelled or self.over


class Job:
    """Runs ``work(task)`` in a thread. Holds its result for the session that started it.

    It stops when the visitor of that session has gone, unless it ``stays``, as the visitor asked for. after: seconds
    until it asks for its turn. last: whether it goes after all that others wait for.
    """

    def __init__(
        self, work: Callable[[Task], Any], label: str, stays: bool = False, after: float = 0.0, last: bool = False
    ):
        self.label = label
        minutes = limits().minutes
        self.task = _TimedTask(self._count, None if minutes is None or stays else 60.0 * minutes)
        self.result: Any = None
        self.error: BaseException | None = None
        self._started = time.monotonic()
        self._done = 0
        self._of = 0
        self._first: tuple[float, int] | None = None
        self._left = self._forgotten = False
        self._ended = threading.Event()
        #: The fragment of a page that waits for its end, and is told of it; and how often that asks until then.
        self.awaited: str | None = None
        self.every = _interval()
        self._visitor = sessions.visitor()
        self._turn = Turn(self._visitor or self, self.task, last=last)
        self._thread = threading.Thread(target=self._run, args=(work, after), daemon=True)
        self._thread.start()
        join_at_exit(self._thread)
        _jobs.add(self)
        if not stays:
            sessions.watch(self)

    def _run(self, work: Callable[[Task], Any], after: float) -> None:
        try:
            while (rest := self._started + after - time.monotonic()) > 0:
                self.task.check()
                time.sleep(min(DELAY_SECONDS, rest))
            with all_turns.take(self._turn):
                result = work(self.task)
            self.result = None if self._forgotten else result
        except Cancelled as error:
            why = GONE if self._left else LONG.format(limits().minutes) if self.task.over else ""
            self.error = _Abandoned(why) if why else error
        except BaseException as error:
            self.error = error
        finally:
            self._ended.set()
            if (fragment := self.awaited) is not None and self._visitor is not None:
                sessions.wake(self._visitor, fragment, lambda: self.awaited == fragment)

    def give_up(self) -> None:
        """Stop, and leave the queue at once: something newer is wanted in its place."""
        self.awaited = None
        all_turns.give_up(self._turn)

    def leave(self) -> None:
        """Stop, because nobody is there."""
        if not self._ended.is_set() and not self.task.cancelled:
            self._left = True
            self.task.cancel()

    def forget(self) -> None:
        """Hold nothing any more."""
        self.leave()
        self._forgotten = True
        self.result = self.error = None

    def _count(self, done: int, of: int) -> None:
        self._first = self._first or (time.monotonic(), done)
        self._done, self._of = done, of
        self.task.check()
        all_turns.give_way(self._turn)

    @property
    def share(self) -> float:
        """How much is done, 0 to 1."""
        return min(1.0, self._done / self._of) if self._of else 0.0

    @property
    def counts(self) -> tuple[int, int]:
        """How many are done, and of how many."""
        return self._done, self._of

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the rest takes at the speed so far; None before that is known."""
        if self._first is None:
            return None
        begun, before = self._first
        done, took = self._done - before, time.monotonic() - begun
        return (self._of - self._done) * took / done if done > 0 and took > 2 else None

    @property
    def age(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self._started

    def wait(self, seconds: float) -> bool:
        """Return whether it is finished, after waiting at most so long."""
        return self._ended.wait(seconds)

    @property
    def jobs_ahead(self) -> int:
        """How much other work is to be done before it goes on."""
        return all_turns.before(self._turn)


_jobs: weakref.WeakSet[Job] = weakref.WeakSet()


def _cancel_all() -> None:
    for job in list(_jobs):
        job.task.cancel()


atexit.register(_cancel_all)


@dataclass(eq=False)
class Work:
    """One place of a page where long work runs. asked: what the newest is an answer to. result: of finished work.
    error: why it has none."""

    asked: Any = None
    job: Job | None = None
    result: Any = None
    error: DPTextError | None = None

    def start(
        self, asked: Any, work: Callable[[Task], Any], label: str, after: float = 0.0, last: bool = False
    ) -> None:
        """Begin after so many seconds, in the place of what runs there; or say in ``error`` that the visitor has too
        much under way. last: where nobody waits for anything else."""
        self.stop()
        under_way = [w for w in sessions.own_work() if isinstance(w, Job) and not (w.task.cancelled or w.wait(0))]
        if (most := limits().pieces) <= len(under_way):
            self.asked, self.result, self.error = asked, None, Busy(MANY.format(most))
            return
        self.attach(asked, Job(work, label, after=after, last=last))

    def attach(self, asked: Any, job: Job) -> None:
        """Wait for a job that was begun elsewhere, in the place of what runs here."""
        self.stop()
        self.asked, self.result, self.error = asked, None, None
        self.job = job

    def stop(self) -> None:
        """Stop what runs, and want its result no more."""
        if self.job is not None:
            self.job.give_up()
            self.job = None

    def drop(self) -> None:
        """Stop what runs where nobody looks at its answer any more, so that the page does not wait for it."""
        if self.job is not None:
            self.stop()
            self.asked = None

    def wait(self, seconds: float) -> None:
        """Wait until it is finished, at most so long."""
        if self.job is not None:
            self.job.wait(seconds)

    def is_running(self, patience: float = PATIENCE) -> bool:
        """Return whether it still runs, after waiting until it is so many seconds old. Take what is finished: its
        result or its error. What is no error of ours is raised."""
        job = self.job
        if job is None:
            return False
        if not _ends(job, patience - job.age):
            return True
        self.job = job.awaited = None
        if job.error is None:
            self.result = job.result
        elif isinstance(job.error, DPTextError):
            self.error = job.error
        else:
            raise job.error
        return False

    def take_result(self) -> Any:
        """Return the result, once."""
        found, self.result = self.result, None
        return found

    def failure_text(self, stopped: str) -> str:
        """Return why there is no result, in plain words; empty where nothing went wrong. stopped: of what the user
        stopped."""
        if isinstance(self.error, Cancelled) and not isinstance(self.error, _Abandoned):
            return stopped
        return "" if self.error is None else str(self.error)

    def show_progress(self, key: str, text: Callable[[], str] | None = None) -> None:
        """Show progress and a way to stop, where it runs."""
        if self.job is not None:
            self.job.every = _interval()
            st.fragment(_progress_bar, run_every=self.job.every)(self.job, key, text)

    def follow(self) -> None:
        """Have the page run again when it has ended, and show nothing meanwhile."""
        if self.job is not None:
            self.job.every = _interval()
            st.fragment(_refresh, run_every=self.job.every)(self.job)


def _ends(job: Job, seconds: float) -> bool:
    """Return whether it is finished, after waiting at most so long. A run of the page that is to make way for another
    one ends here: what was typed meanwhile does not wait for the answer to what was typed before."""
    end = time.monotonic() + seconds
    while not job.wait(max(0.0, min(POLL_SECONDS, end - time.monotonic()))):
        if time.monotonic() >= end:
            return False
        st.session_state.get("session")  # where Streamlit looks whether another run is wanted
    return True


def duration_text(seconds: float) -> str:
    """Return a time in the unit in which one would say it."""
    if seconds < 90:
        return f"{max(1, math.ceil(seconds))} s"
    return f"{math.ceil(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def progress_text(job: Job) -> str:
    """Return what it does, and how long that takes where it is worth telling."""
    left = job.seconds_left
    return f"{job.label} …" + ("" if left is None or left <= TELL else f" about {duration_text(left)} left")


def _interval(age: float = 0.0) -> float:
    """Return seconds from one look at work to the next: each look of so many pages costs the work a little, and what
    has taken long changes slowly."""
    return max(1.0, all_turns.waiting / 2, age / 10)


def _refresh(job: Job) -> None:
    """Have the page rerun when the work has ended, and now and then before."""
    job.awaited = me = sessions.fragment()
    if job.wait(0):
        job.awaited = None
        st.rerun(scope="app")
    if me is not None and (every := _interval(job.age)) > 1.5 * job.every:
        job.every = every
        sessions.ask_every(every, me)


def _progress_bar(job: Job, key: str, text: Callable[[], str] | None = None) -> None:
    """Show progress and a way to stop."""
    _refresh(job)
    bar, stop = st.columns([5, 1], vertical_alignment="center")
    message = f"Waiting for {pluralize(others, 'earlier task')} …" if (others := job.jobs_ahead) else ""
    bar.progress(job.share, text=message or (text() if text else progress_text(job)))
    if stop.button("Stop", key=key, width="stretch"):
        job.task.cancel()
