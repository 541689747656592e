"""What becomes of a session whose visitor left: its work stops, and a while later all that it held is freed.

Streamlit tells nobody that a browser went away, and it keeps a session that nobody comes back to until another one
leaves. So one thread asks, once a second, which sessions still have a connection.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakSet, ref

from . import heap
from . import streamlit_patches as inner

#: Seconds without a connection after which work stops (a browser that lost it is back sooner), and after which the
#: session is closed: somewhat below the two minutes in which Streamlit lets a browser come back to it.
STOP, CLOSE = 5.0, 100.0
CHECK_SECONDS = 1.0
#: Seconds until a browser that was told asks.
ASK = 0.2


class Work(Protocol):
    """Work of a session. leave: its visitor has gone. forget: nobody will ask for its result."""

    def leave(self) -> None: ...

    def forget(self) -> None: ...


@dataclass(eq=False)
class _Visit:
    session: Callable[[], Any] = lambda: None  # Streamlit's object, where it is still there
    gone: float | None = None  # since when, by the monotonic clock
    has_place: bool = False  # where places are limited
    work: WeakSet[Any] = field(default_factory=WeakSet)


_visits: dict[str, _Visit] = {}
_lock = threading.Lock()
_watching = False


def watch(work: Work | None = None) -> None:
    """Look after the session that runs this, and after ``work`` of it. Outside of a server, do nothing."""
    global _watching
    if (name := inner.session_name()) is None:
        return
    with _lock:
        if (visit := _visits.get(name)) is None:
            session = inner.session_object(name)
            visit = _visits[name] = _Visit() if session is None else _Visit(ref(session))
        if work is not None:
            visit.work.add(work)
        if not _watching:
            _watching = True
            threading.Thread(target=_watch, name="sessions", daemon=True).start()


def visitor() -> str | None:
    """Return the name of the session that runs this; None outside of a server."""
    return inner.session_name()


def take_place(most: int) -> bool:
    """Return whether the session that runs this has one of so many places. It keeps the one that it has; one that is
    turned away takes none, however often it comes back. Outside of a server there is always one."""
    with _lock:
        if (mine := _visits.get(visitor() or "")) is None:
            return True
        mine.has_place = mine.has_place or sum(visit.has_place for visit in _visits.values()) < most
        return mine.has_place


def session_count() -> int:
    """Return how many sessions are here. Outside of a server: none."""
    with _lock:
        return len(_visits)


def own_work() -> list[Any]:
    """Return the work of the session that runs this. Outside of a server: none."""
    with _lock:
        visit = _visits.get(visitor() or "")
        return [] if visit is None else list(visit.work)


def fragment() -> str | None:
    """Return the name of the fragment of a page that runs this; None outside of one."""
    return inner.fragment_name()


def ask_every(seconds: float, fragment: str) -> None:
    """Have the browser run a fragment of the page that runs now every so many seconds, from now on."""
    inner.ask_this_browser(seconds, fragment)


def wake(name: str, fragment: str, waits: Callable[[], bool]) -> None:
    """Have the browser of a session run a fragment of its page once now, as long as it waits. From any thread.

    The browser is asked, and not the page run from here: it alone knows what the controls are set to.
    """
    if inner.is_serving():
        with suppress(RuntimeError):  # the server has stopped
            inner.call_in_loop(_wake, name, fragment, waits)


def _wake(name: str, fragment: str, waits: Callable[[], bool], is_asking: bool = False) -> None:
    """Ask the browser, and stop it once its page has begun to run. ``is_asking``: it asks again and again by now."""
    session = inner.session_object(name) if inner.is_connected(name) else None
    if session is None or not waits():
        return
    # Whether it still waits is known once its page has run.
    runs = inner.is_running(session)
    if not runs and not session.has_fragment(fragment):
        return
    if is_asking and runs:
        inner.stop_asking(session, fragment)
        is_asking = False
    elif not is_asking and not runs:
        inner.ask_browser(session, ASK, fragment)
        is_asking = True
    inner.call_later_in_loop(inner.SETTLE, _wake, name, fragment, waits, is_asking)


def _watch() -> None:
    global _watching
    closed = False
    try:
        while True:
            time.sleep(CHECK_SECONDS)
            if closed:
                heap.settle()  # what only cycles hold
            with _lock:
                if not _visits:
                    _watching = False
                    return
                visits = dict(_visits)
            closed = _look(visits, time.monotonic())
    except RuntimeError:  # the server has stopped, and its sessions with it
        with _lock:
            _visits.clear()
            _watching = False


def _look(visits: dict[str, _Visit], now: float) -> bool:
    """Stop the work of those who left, and close their sessions in time. Return whether one was closed."""
    closed = False
    for session, visit in visits.items():
        if inner.is_connected(session):
            visit.gone = None
            continue
        visit.gone = now if visit.gone is None else visit.gone
        away = now - visit.gone
        if away < STOP:
            continue
        for work in list(visit.work):
            work.leave()
        if away < CLOSE:
            continue
        for work in list(visit.work):
            work.forget()
        with _lock:
            _visits.pop(session, None)
        inner.call_in_loop(_close, session, visit)
        closed = True
    return closed


def _close(name: str, visit: _Visit) -> None:
    if not inner.is_connected(name):  # else it is back in the last moment
        inner.close_session(name, visit.session())
