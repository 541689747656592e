"""What becomes of a session whose visitor left: its work stops, and a while later all that it held is freed.

Streamlit tells nobody that a browser went away, and it keeps a session that nobody comes back to until another one
leaves. So one thread asks, once a second, which sessions still have a connection.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakSet, ref

from streamlit import runtime
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

from .streamlit_patches import SETTLE

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
    work: WeakSet[Any] = field(default_factory=WeakSet)


_visits: dict[str, _Visit] = {}
_lock = threading.Lock()
_watching = False


def watch(work: Work | None = None) -> None:
    """Look after the session that runs this, and after ``work`` of it. Outside of a server it does nothing."""
    global _watching
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or not runtime.exists():
        return
    with _lock:
        if (visit := _visits.get(context.session_id)) is None:
            session = runtime.get_instance().get_app_session(context.session_id)
            visit = _visits[context.session_id] = _Visit() if session is None else _Visit(ref(session))
        if work is not None:
            visit.work.add(work)
        if not _watching:
            _watching = True
            threading.Thread(target=_watch, name="sessions", daemon=True).start()


def visitor() -> str | None:
    """The name of the session that runs this; None outside of a server."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context is not None and runtime.exists() else None


def before() -> int:
    """How many sessions are here that came before the one that runs this. Outside of a server: none."""
    with _lock:
        here = list(_visits)
    return here.index(me) if (me := visitor()) in here else 0


def here() -> int:
    """How many sessions are here. Outside of a server: none."""
    with _lock:
        return len(_visits)


def mine() -> list[Any]:
    """The work of the session that runs this. Outside of a server: none."""
    with _lock:
        visit = _visits.get(visitor() or "")
        return [] if visit is None else list(visit.work)


def fragment() -> str | None:
    """The name of the fragment of a page that runs this; None outside of one."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return None
    return ThreadState.get().fragment_id


def ask_every(seconds: float, fragment: str) -> None:
    """Have the browser run a fragment of the page that runs now every so many seconds, from now on."""
    if (context := get_script_run_ctx(suppress_warning=True)) is not None:
        context.enqueue(_asking(seconds, fragment))


def wake(name: str, fragment: str, waits: Callable[[], bool]) -> None:
    """Have the browser of a session run a fragment of its page once now, as long as it waits. From any thread.

    The browser is asked, and not the page run from here: it alone knows what the controls are set to.
    """
    if runtime.exists():
        server = runtime.get_instance()
        with suppress(RuntimeError):  # the server has stopped
            server.stopped.get_loop().call_soon_threadsafe(_wake, server, name, fragment, waits)  # type: ignore[attr-defined]


def _asking(seconds: float, fragment: str) -> ForwardMsg:
    message = ForwardMsg()
    message.auto_rerun.interval, message.auto_rerun.fragment_id = seconds, fragment
    return message


def _wake(server: runtime.Runtime, name: str, fragment: str, waits: Callable[[], bool], told: bool = False) -> None:
    """told: the browser asks again and again by now, and is to stop once its page has begun to run."""
    session = server.get_app_session(name) if server.is_active_session(name) else None
    if session is None or not waits():
        return
    # Whether it still waits is known once its page has run.
    runs = session._scriptrunner is not None
    if not runs and not session.has_fragment(fragment):
        return
    if told and runs:
        message = ForwardMsg()
        message.stop_auto_rerun.fragment_ids.append(fragment)
        session._enqueue_forward_msg(message)
        told = False
    elif not told and not runs:
        session._enqueue_forward_msg(_asking(ASK, fragment))
        told = True
    loop = server.stopped.get_loop()  # type: ignore[attr-defined]
    loop.call_later(SETTLE, _wake, server, name, fragment, waits, told)


def _watch() -> None:
    global _watching
    closed = False
    try:
        while True:
            time.sleep(CHECK_SECONDS)
            if closed:
                gc.collect()  # what only cycles hold
            with _lock:
                if not _visits:
                    _watching = False
                    return
                visits = dict(_visits)
            closed = _look(runtime.get_instance(), visits, time.monotonic())
    except RuntimeError:  # the server has stopped, and its sessions with it
        with _lock:
            _visits.clear()
            _watching = False


def _look(server: runtime.Runtime, visits: dict[str, _Visit], now: float) -> bool:
    """Stop the work of those who left, and close their sessions in time. Whether one was closed."""
    closed = False
    for session, visit in visits.items():
        if server.is_active_session(session):
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
        # Sessions belong to the thread of the server's loop.
        server.stopped.get_loop().call_soon_threadsafe(_close, server, session, visit)  # type: ignore[attr-defined]
        closed = True
    return closed


def _close(server: runtime.Runtime, name: str, visit: _Visit) -> None:
    if server.is_active_session(name):  # back in the last moment
        return
    server.close_session(name)
    # The server's loop still holds the session that it served last, for as long as no other one comes: it is emptied.
    if (session := visit.session()) is not None:
        session._session_state = type(session.session_state)()  # its clear() leaves the arguments of callbacks
        session._client_state.Clear()
        session._fragment_storage.clear()
