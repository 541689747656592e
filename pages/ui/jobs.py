"""Long work beside the page: a thread with progress that can be stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import streamlit as st

from dptext_core import Cancelled, DPTextError
from pages.ui import sessions

GONE = "The connection to this page was lost for some seconds, so this was stopped. Start it again to get its result."


class _Left(Cancelled):
    """Stopped because the visitor had gone."""


class Job:
    """Runs ``work(progress, cancel)`` in a thread. Holds its result for the session that started it.

    It stops when the visitor of that session has gone.
    """

    def __init__(self, work: Callable[[Callable[[int, int], None], threading.Event], Any], label: str):
        self.label = label
        self.cancel = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None
        self._started = time.monotonic()
        self._done = 0
        self._of = 0
        self._left = self._forgotten = False
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()
        sessions.watch(self)

    def _run(self, work) -> None:
        try:
            result = work(self._progress, self.cancel)
            self.result = None if self._forgotten else result
        except Cancelled as error:
            self.error = _Left(GONE) if self._left else error
        except BaseException as error:
            self.error = error

    def leave(self) -> None:
        """Stop, because nobody is there."""
        if self._thread.is_alive() and not self.cancel.is_set():
            self._left = True
            self.cancel.set()

    def forget(self) -> None:
        """Hold nothing any more."""
        self.leave()
        self._forgotten = True
        self.result = self.error = None

    def _progress(self, done: int, of: int) -> None:
        self._done, self._of = done, of
        if self.cancel.is_set():
            raise Cancelled("Stopped, as you asked.")

    @property
    def share(self) -> float:
        """How much is done, 0 to 1."""
        return min(1.0, self._done / self._of) if self._of else 0.0

    @property
    def age(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self._started

    def wait(self, seconds: float) -> bool:
        """Whether it is finished, after waiting at most so long."""
        self._thread.join(seconds)
        return not self._thread.is_alive()


def failure(job: Job, stopped: str | None = None) -> str | None:
    """Why a finished job has no result, in plain words; None where it has one. What is no error of ours is raised.

    stopped: what to say where the user stopped it.
    """
    if job.error is None:
        return None
    if isinstance(job.error, Cancelled) and not isinstance(job.error, _Left) and stopped is not None:
        return stopped
    if isinstance(job.error, DPTextError):
        return str(job.error)
    raise job.error


@st.fragment(run_every=1.0)
def waiting(job: Job, key: str, text: Callable[[], str] | None = None) -> None:
    """Progress and a way to stop. Each run of a fragment takes time from the job, so that they are few."""
    if not job.wait(0):
        bar, stop = st.columns([5, 1], vertical_alignment="center")
        bar.progress(job.share, text=text() if text else f"{job.label} …")
        if stop.button("Stop", key=key, width="stretch"):
            job.cancel.set()
    if job.wait(0.7):
        st.rerun(scope="app")
