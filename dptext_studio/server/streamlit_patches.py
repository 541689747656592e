"""Everything that replaces a part of Streamlit, done once when the server starts. Each replacement says what it is for.

``app.py`` calls :func:`apply` and serves :func:`lifespan`. What else of Streamlit is not public is used by
``sessions.py`` alone, which looks after sessions and replaces nothing.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from streamlit import cli_util, config, net_util, runtime
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.web.server import server_util
from streamlit.web.server.starlette import starlette_websocket

#: Seconds until a page that runs is looked at again.
SETTLE = 0.05
#: Seconds that a browser has to come for a file that it was told of, and until files that were made are looked at.
FETCH, CHECK_SECONDS = 20.0, 1.0


def apply() -> None:
    """Replace the parts of Streamlit below, before the server takes its first request."""
    stay_inside()
    refuse_broken_origins()
    let_runs_end()
    let_files_arrive()


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Prepare the server that has just started; open a browser, which Streamlit does only for its own server."""
    hide_sizes()
    if not config.get_option("server.headless"):
        cli_util.open_browser(server_util.get_url(config.get_option("browser.serverAddress")))
    yield


def stay_inside() -> None:
    """Keep Streamlit from looking up the addresses of this machine. For each request with a foreign ``Origin`` it would
    ask an outside service for the public one, up to two seconds in the loop that serves everyone. A page is served to
    those who opened it under the name that they ask, and no address is needed for that."""
    net_util.get_external_ip = net_util.get_internal_ip = lambda: None


def refuse_broken_origins() -> None:
    """Refuse an ``Origin`` that is no address. Streamlit would stop with an error, and write a page about it into the
    log for each one that a stranger sends."""
    if not hasattr(starlette_websocket._is_origin_allowed, "checks"):
        checks = starlette_websocket._is_origin_allowed
        starlette_websocket._is_origin_allowed = _of_addresses(checks)  # type: ignore[assignment]


def _of_addresses(checks: Callable[[str | None, str | None], bool]) -> Callable[[str | None, str | None], bool]:
    def check(origin: str | None, host: str | None) -> bool:
        try:
            return checks(origin, host)
        except ValueError:
            return False

    check.checks = checks  # type: ignore[attr-defined]
    return check


def hide_sizes() -> None:
    """Empty the server's metrics, which everyone can ask for: they tell how much its sessions hold."""
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
        _later(CHECK_SECONDS, runtime.get_instance().media_file_mgr.remove_orphaned_files)


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
