"""Long tasks next to the page: a thread with progress that can be stopped."""

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

#: Seconds that a run of a page waits for a task before it shows progress and a button to stop.
PATIENCE = 0.8
#: The remaining time is shown only if it is longer than this many seconds.
TELL = 10.0
#: The remaining time is estimated once this share is done, or after this many seconds: the first steps may load models
#: and are then much slower than the rest.
ENOUGH_SHARE, ENOUGH_SECONDS = 0.1, 20.0
#: Seconds after which a waiting run of a page checks if another one is needed.
POLL_SECONDS = 0.05
#: Seconds after which a task that has not queued yet checks if it is still needed.
DELAY_SECONDS = 0.5
GONE = "The connection to this page was lost for a few seconds, so the task was stopped. Start it again."


MANY = (
    "You have {} tasks running, which is the limit per visitor. Wait for one of them to finish."
)
LONG = "This took longer than the server's limit of {:g} minutes per task. Request less at once."


class _Abandoned(Cancelled):
    """The job was stopped because the visitor left or its time was over."""


class _TimedTask(Task):
    """A task that cancels itself after some seconds. seconds: None for no limit."""

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
    """Run ``work(task)`` in a thread and store its result for the session that started it.

    The job stops when the visitor of that session leaves, unless it ``stays`` at the visitor's request. after: seconds
    before it queues for its turn. last: whether it runs only after everything that others wait for.
    """

    def __init__(
        self, work: Callable[[Task], Any], label: str, stays: bool = False, after: float = 0.0, last: bool = False
    ):
        self.label = label
        minutes = limits().minutes
        self.task = _TimedTask(self._count, None if minutes is None or stays else 60.0 * minutes)
        self.result: Any = None
        self.error: BaseException | None = None
        self._start_time = time.monotonic()
        self._num_done = 0
        self._num_steps = 0
        self._first_count: tuple[float, int] | None = None
        self._is_abandoned = self._is_discarded = False
        self._end_event = threading.Event()
        #: The fragment of a page that waits for its end and is notified, and the seconds between its checks until then.
        self.waiting_fragment: str | None = None
        self.check_seconds = _interval()
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
            while (rest := self._start_time + after - time.monotonic()) > 0:
                self.task.check()
                time.sleep(min(DELAY_SECONDS, rest))
            with all_turns.take(self._turn):
                result = work(self.task)
            self.result = None if self._is_discarded else result
        except Cancelled as error:
            why = GONE if self._is_abandoned else LONG.format(limits().minutes) if self.task.over else ""
            self.error = _Abandoned(why) if why else error
        except BaseException as error:
            self.error = error
        finally:
            self._end_event.set()
            if (fragment := self.waiting_fragment) is not None and self._visitor is not None:
                sessions.wake(self._visitor, fragment, lambda: self.waiting_fragment == fragment)

    def give_up(self) -> None:
        """Stop, and leave the queue at once, because a newer request replaces this one."""
        self.waiting_fragment = None
        all_turns.give_up(self._turn)

    def leave(self) -> None:
        """Stop, because the visitor has left."""
        if not self._end_event.is_set() and not self.task.cancelled:
            self._is_abandoned = True
            self.task.cancel()

    def forget(self) -> None:
        """Release all stored data."""
        self.leave()
        self._is_discarded = True
        self.result = self.error = None

    def _count(self, done: int, of: int) -> None:
        self._first_count = self._first_count or (time.monotonic(), done)
        self._num_done, self._num_steps = done, of
        self.task.check()
        all_turns.give_way(self._turn)

    @property
    def share(self) -> float:
        """Return the finished share, 0 to 1."""
        return min(1.0, self._num_done / self._num_steps) if self._num_steps else 0.0

    @property
    def counts(self) -> tuple[int, int]:
        """Return the number of finished steps and of all steps."""
        return self._num_done, self._num_steps

    @property
    def seconds_left(self) -> float | None:
        """Return the estimated seconds that remain; None before an estimate is possible."""
        if self._first_count is None:
            return None
        begun, before = self._first_count
        done, took = self._num_done - before, time.monotonic() - begun
        early = took <= 2 or (done < ENOUGH_SHARE * self._num_steps and took < ENOUGH_SECONDS)
        return None if done <= 0 or early else (self._num_steps - self._num_done) * took / done

    @property
    def age(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self._start_time

    def wait(self, seconds: float) -> bool:
        """Return True if it is finished, after waiting at most this long."""
        return self._end_event.wait(seconds)

    @property
    def jobs_ahead(self) -> int:
        """Return the number of other tasks that run before it."""
        return all_turns.before(self._turn)


_jobs: weakref.WeakSet[Job] = weakref.WeakSet()


def _cancel_all() -> None:
    for job in list(_jobs):
        job.task.cancel()


atexit.register(_cancel_all)


@dataclass(eq=False)
class Work:
    """The long task of one place on a page. request: the request of the newest task. result: of a finished task. error:
    why there is none.
    """

    request: Any = None
    job: Job | None = None
    result: Any = None
    error: DPTextError | None = None

    def start(
        self, asked: Any, work: Callable[[Task], Any], label: str, after: float = 0.0, last: bool = False
    ) -> None:
        """Start a task after this many seconds and replace the running one, or set ``error`` if the visitor has too
        many tasks.

        last: whether it runs only if nobody waits for anything else.
        """
        self.stop()
        under_way = [w for w in sessions.own_work() if isinstance(w, Job) and not (w.task.cancelled or w.wait(0))]
        if (most := limits().pieces) <= len(under_way):
            self.request, self.result, self.error = asked, None, Busy(MANY.format(most))
            return
        self.attach(asked, Job(work, label, after=after, last=last))

    def attach(self, asked: Any, job: Job) -> None:
        """Wait for a job that was started elsewhere, instead of the running one."""
        self.stop()
        self.request, self.result, self.error = asked, None, None
        self.job = job

    def stop(self) -> None:
        """Stop the running task and discard its result."""
        if self.job is not None:
            self.job.give_up()
            self.job = None

    def drop(self) -> None:
        """Stop a running task whose result is no longer needed, so that the page does not wait for it."""
        if self.job is not None:
            self.stop()
            self.request = None

    def wait(self, seconds: float) -> None:
        """Wait until it is finished, at most this long."""
        if self.job is not None:
            self.job.wait(seconds)

    def is_running(self, patience: float = PATIENCE) -> bool:
        """Return True if it is still running, after waiting until it is this many seconds old.

        Store the result or the error of a finished task. Errors of other packages are raised.
        """
        job = self.job
        if job is None:
            return False
        if not _ends(job, patience - job.age):
            return True
        self.job = job.waiting_fragment = None
        if job.error is None:
            self.result = job.result
        elif isinstance(job.error, DPTextError):
            self.error = job.error
        else:
            raise job.error
        return False

    def take_result(self) -> Any:
        """Return the result, once."""
        result, self.result = self.result, None
        return result

    def failure_text(self, stopped: str) -> str:
        """Return why there is no result, in plain words; empty without a failure. stopped: the message for a task that
        the user stopped.
        """
        if isinstance(self.error, Cancelled) and not isinstance(self.error, _Abandoned):
            return stopped
        return "" if self.error is None else str(self.error)

    def show_progress(self, key: str, text: Callable[[], str] | None = None) -> None:
        """Show progress and a button to stop, if it is running."""
        if self.job is not None:
            self.job.check_seconds = _interval()
            st.fragment(_progress_bar, run_every=self.job.check_seconds)(self.job, key, text)

    def follow(self) -> None:
        """Rerun the page when it has ended, and show nothing until then."""
        if self.job is not None:
            self.job.check_seconds = _interval()
            st.fragment(_refresh, run_every=self.job.check_seconds)(self.job)


def _ends(job: Job, seconds: float) -> bool:
    """Return True if it is finished, after waiting at most this long.

    A run of the page that must give way to another one ends here, so that newer input does not wait for the result of
    older input.
    """
    end = time.monotonic() + seconds
    while not job.wait(max(0.0, min(POLL_SECONDS, end - time.monotonic()))):
        if time.monotonic() >= end:
            return False
        st.session_state.get("session")  # lets Streamlit check if another run is needed
    return True


def duration_text(seconds: float) -> str:
    """Return a duration in the unit that people would use."""
    if seconds < 90:
        return f"{max(1, math.ceil(seconds))} s"
    return f"{math.ceil(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def progress_text(job: Job) -> str:
    """Return what it does, and the remaining time if it is long enough to mention."""
    left = job.seconds_left
    return f"{job.label} …" + ("" if left is None or left <= TELL else f" about {duration_text(left)} left")


def _interval(age: float = 0.0) -> float:
    """Return the seconds between two checks: checks of many pages slow the task slightly, and long tasks change slowly.
    """
    return max(1.0, all_turns.waiting / 2, age / 10)


def _refresh(job: Job) -> None:
    """Rerun the page when the task has ended, and regularly before."""
    job.waiting_fragment = me = sessions.fragment()
    if job.wait(0):
        job.waiting_fragment = None
        st.rerun(scope="app")
    if me is not None and (every := _interval(job.age)) > 1.5 * job.check_seconds:
        job.check_seconds = every
        sessions.ask_every(every, me)


def _progress_bar(job: Job, key: str, text: Callable[[], str] | None = None) -> None:
    """Show progress and a button to stop."""
    _refresh(job)
    bar, stop = st.columns([5, 1], vertical_alignment="center")
    message = f"Waiting for {pluralize(others, 'earlier task')} …" if (others := job.jobs_ahead) else ""
    bar.progress(job.share, text=message or (text() if text else progress_text(job)))
    if stop.button("Stop", key=key, width="stretch"):
        job.task.cancel()
