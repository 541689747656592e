"""What happens after a visitor leaves: the session's tasks stop, and later all its data are freed.

Streamlit reports no lost browser, and keeps an abandoned session until another one ends. So one thread checks every
second which sessions still have a connection.
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

#: Seconds without a connection after which tasks stop (a browser that lost it returns sooner), and after which the
#: session is closed: slightly less than the two minutes in which Streamlit lets a browser return to it.
STOP, CLOSE = 5.0, 100.0
CHECK_SECONDS = 1.0
#: Seconds until a notified browser responds.
ASK = 0.2


class Work(Protocol):
    """A task of a session. leave: its visitor has left. forget: nobody will request its result."""

    def leave(self) -> None: ...

    def forget(self) -> None: ...


@dataclass(eq=False)
class _Visit:
    session: Callable[[], Any] = lambda: None  # Streamlit's object, if it still exists
    gone: float | None = None  # since when, by the monotonic clock
    has_place: bool = False  # if places are limited
    work: WeakSet[Any] = field(default_factory=WeakSet)


_visits: dict[str, _Visit] = {}
_lock = threading.Lock()
_watching = False


def watch(work: Work | None = None) -> None:
    """Watch the current session and its task ``work``. Outside a server, do nothing."""
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
    """Return the name of the current session; None outside a server."""
    return inner.session_name()


def take_place(most: int) -> bool:
    """Return True if the current session has one of a limited number of places.

    A session keeps its place; one without a place stays without, however often it returns. Outside a server there is
    always a place.
    """
    with _lock:
        if (mine := _visits.get(visitor() or "")) is None:
            return True
        mine.has_place = mine.has_place or sum(visit.has_place for visit in _visits.values()) < most
        return mine.has_place


def session_count() -> int:
    """Return the number of sessions; 0 outside a server."""
    with _lock:
        return len(_visits)


def own_work() -> list[Any]:
    """Return the tasks of the current session; none outside a server."""
    with _lock:
        visit = _visits.get(visitor() or "")
        return [] if visit is None else list(visit.work)


def fragment() -> str | None:
    """Return the name of the current fragment of a page; None outside one."""
    return inner.fragment_name()


def ask_every(seconds: float, fragment: str) -> None:
    """Make the browser run a fragment of the current page repeatedly, with this many seconds between runs."""
    inner.ask_this_browser(seconds, fragment)


def wake(name: str, fragment: str, waits: Callable[[], bool]) -> None:
    """Make the browser of a session run a fragment of its page once, while it waits. Callable from any thread.

    The browser is asked, because only it knows the values of the controls.
    """
    if inner.is_serving():
        with suppress(RuntimeError):  # the server has stopped
            inner.call_in_loop(_wake, name, fragment, waits)


def _wake(name: str, fragment: str, waits: Callable[[], bool], is_asking: bool = False) -> None:
    """Ask the browser, and stop asking once its page has begun to run. ``is_asking``: whether it is already being
    asked.
    """
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
                heap.settle()  # cyclic garbage
            with _lock:
                if not _visits:
                    _watching = False
                    return
                visits = dict(_visits)
            closed = _look(visits, time.monotonic())
    except RuntimeError:  # the server and its sessions have stopped
        with _lock:
            _visits.clear()
            _watching = False


def _look(visits: dict[str, _Visit], now: float) -> bool:
    """Stop the tasks of visitors who left, and close their sessions in time. Return True if one was closed."""
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
    if not inner.is_connected(name):  # otherwise it has just returned
        inner.close_session(name, visit.session())
