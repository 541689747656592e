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
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

#: Seconds without a connection after which work stops (a browser that lost it is back sooner), and after which the
#: session is closed: somewhat below the two minutes in which Streamlit lets a browser come back to it.
STOP, CLOSE = 5.0, 100.0
LOOK = 1.0
#: Seconds until a page that runs is looked at again, and until a browser that was told asks.
SETTLE, ASK = 0.05, 0.2
#: Seconds that a browser has to come for a file that it was told of.
FETCH = 20.0


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


def keep_sizes() -> None:
    """Have the server tell nobody how much its sessions hold: its metrics are open to everyone."""
    if runtime.exists():
        runtime.get_instance().stats_mgr._providers_by_family.clear()


def let_runs_end() -> None:
    """Have a part of a page that is to run leave all that was drawn before it. Streamlit 1.67 would begin just as a run
    of the page ends, and throw away what the loop had not sent yet (its issue 9921): half a page. And of what waits to
    be sent it would drop what the part drew, not what parts inside of it did: a browser that hears of a seventh place
    before the fourth shows nothing any more."""
    if not hasattr(AppSession._create_scriptrunner, "begins"):
        AppSession._create_scriptrunner = _once_ended(AppSession._create_scriptrunner)  # type: ignore[assignment,method-assign]
    if not hasattr(AppSession._clear_queue, "clears"):
        AppSession._clear_queue = _of_pages(AppSession._clear_queue)  # type: ignore[assignment,method-assign]


def _of_pages(clears: Callable[[Any, list[str] | None], None]) -> Callable[[Any, list[str] | None], None]:
    def clear(session: Any, parts: list[str] | None = None) -> None:
        # As for a run of other parts: all that was drawn stays, and what is drawn now comes after it.
        clears(session, parts and [])

    clear.clears = clears  # type: ignore[attr-defined]
    return clear


def _once_ended(begins: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    def begin(session: Any, asked: Any) -> None:
        if session._scriptrunner is None or not asked.fragment_id:
            begins(session, asked)
        else:  # it has stopped, and what it said last is on its way through this loop
            session._event_loop.call_later(SETTLE, again, session, asked)

    def again(session: Any, asked: Any) -> None:
        if session._state is AppSessionState.SHUTDOWN_REQUESTED or not session.has_fragment(asked.fragment_id):
            return
        if session._scriptrunner is None or not session._scriptrunner.request_rerun(asked):
            begin(session, asked)

    begin.begins = begins  # type: ignore[attr-defined]
    return begin


def let_files_arrive() -> None:
    """Have what nothing refers to any more, a file or what makes one, stay for ``FETCH`` seconds and then go. Streamlit
    1.67 frees a file to download once any two pages have run since it was made, and what makes one once any page has:
    where many are at work, before a browser has come for it."""
    if not hasattr(MediaFileManager.remove_orphaned_files, "frees"):
        frees = MediaFileManager.remove_orphaned_files
        MediaFileManager.remove_orphaned_files = _in_time(frees)  # type: ignore[assignment,method-assign]


def file_made() -> None:
    """Have the file that is made now go in time, though no page runs any more."""
    if runtime.exists():
        _later(LOOK, runtime.get_instance().media_file_mgr.remove_orphaned_files)


def _later(seconds: float, call: Callable[..., object], *given: Any) -> None:
    with suppress(RuntimeError):  # the server has stopped
        loop = runtime.get_instance().stopped.get_loop()  # type: ignore[attr-defined]
        loop.call_soon_threadsafe(loop.call_later, seconds, call, *given)


def _in_time(frees: Callable[[MediaFileManager], None]) -> Callable[[MediaFileManager], None]:
    def free(manager: Any) -> None:
        now = time.monotonic()
        with manager._lock:
            files = manager._files_by_session_and_coord
            files.pop("", None)
            used = {file for placed in files.values() for file in placed.values()}
            before = getattr(manager, "loose", {})
            # Where nobody is there to click, what makes a file goes with its session.
            connected = runtime.get_instance().is_active_session
            makes = {name: 0 for name, entry in manager._deferred_callables.items() if connected(entry["session_id"])}
            loose = {file: made for file, made in (manager._file_metadata | makes).items() if file not in used}
            # A file that was made again counts from then on.
            manager.loose = {
                file: before[file] if file in before and before[file][0] is made else (made, now)
                for file, made in loose.items()
            }
            held = {file: file for file, (_, since) in manager.loose.items() if now - since < FETCH}
            if held:
                files[""] = held  # as if a session without a name had them
        frees(manager)
        if held and not getattr(manager, "due", False):
            manager.due = True
            oldest = min(manager.loose[file][1] for file in held)
            _later(oldest + FETCH - now, due, manager)

    def due(manager: Any) -> None:
        manager.due = False
        for _ in range(2):  # the first marks what is to go
            free(manager)

    free.frees = frees  # type: ignore[attr-defined]
    return free


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
            time.sleep(LOOK)
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
