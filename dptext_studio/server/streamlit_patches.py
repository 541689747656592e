"""Streamlit's private parts: those that are replaced when the server starts, and those that the app uses.

``app.py`` calls :func:`apply` and serves :func:`lifespan`. No other module imports more of Streamlit than ``st``, so a
new version is tested here only: see ``TESTED``.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit import cli_util, config, file_util, net_util, runtime
from streamlit.components.v2.bidi_component import serialization
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.mutable_popover_container import PopoverContainer
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState
from streamlit.web.server import server_util
from streamlit.web.server.starlette import starlette_websocket

__all__ = ["DeltaGenerator", "PopoverContainer"]

#: The first tested version of Streamlit, and the first untested one after it; pyproject.toml has the same range.
TESTED = ((1, 67), (1, 68))
#: Seconds between two checks of a running page.
SETTLE = 0.05
#: Seconds in which a browser must fetch a file, and seconds between two checks of existing files.
FETCH, CHECK_SECONDS = 20.0, 1.0


def apply() -> None:
    """Replace the parts of Streamlit below, before the server answers its first request."""
    check_version()
    stay_inside()
    refuse_broken_origins()
    let_runs_end()
    let_files_arrive()
    send_plain_data()


def check_version(version: str = st.__version__) -> None:
    """Raise RuntimeError for a version of Streamlit whose internal parts were not tested with this app."""
    first, end = TESTED
    numbers = tuple(int(part) if part.isdigit() else -1 for part in version.split(".")[:2])
    if not first <= numbers < end:
        low, high = (".".join(map(str, v)) for v in TESTED)
        raise RuntimeError(
            f"This app replaces internal parts of Streamlit and was tested with versions from {low} to below {high}, "
            f"not {version}. Install one of these: pip install 'streamlit>={low},<{high}'"
        )


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Prepare the started server; open a browser, which Streamlit does only for its own server."""
    hide_sizes()
    if not config.get_option("server.headless"):
        cli_util.open_browser(server_util.get_url(config.get_option("browser.serverAddress")))
    yield


def send_plain_data() -> None:
    """Send the data of our components as JSON, which they always are.

    Streamlit would import pandas and PyArrow, 70 MB, to check that they contain no table.
    """
    serialization.is_dataframe_like = lambda obj: False


def stay_inside() -> None:
    """Stop Streamlit from looking up the addresses of this machine.

    For each request with a foreign ``Origin``, it would ask an external service for the public address, for up to two
    seconds in the loop that serves everyone. A page is served to visitors who opened it under the name in their
    request, so no address is needed.
    """
    net_util.get_external_ip = net_util.get_internal_ip = lambda: None


def refuse_broken_origins() -> None:
    """Reject an ``Origin`` that is not an address.

    Streamlit would fail and write a page about it into the log for each one that a stranger sends.
    """
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
    """Empty the server's public metrics, which reveal how much data its sessions store."""
    runtime.get_instance().stats_mgr._providers_by_family.clear()


def let_runs_end() -> None:
    """Let a partial rerun keep everything that was drawn before it.

    Streamlit 1.67 would start it just as a full run of the page ends, and discard what the loop had not sent yet (its
    issue 9921): half a page. From the queue it would drop what the fragment drew, but not what fragments inside it did:
    a browser that receives a seventh element before the fourth shows nothing more.
    """
    if not hasattr(AppSession._create_scriptrunner, "begins"):
        AppSession._create_scriptrunner = _once_ended(AppSession._create_scriptrunner)  # type: ignore[assignment,method-assign]
    if not hasattr(AppSession._clear_queue, "clears"):
        AppSession._clear_queue = _of_pages(AppSession._clear_queue)  # type: ignore[assignment,method-assign]


def _of_pages(clears: Callable[[Any, list[str] | None], None]) -> Callable[[Any, list[str] | None], None]:
    def clear(session: Any, parts: list[str] | None = None) -> None:
        # As for other fragments: keep everything drawn so far, and append new elements.
        clears(session, parts and [])

    clear.clears = clears  # type: ignore[attr-defined]
    return clear


def _once_ended(begins: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    def begin(session: Any, asked: Any) -> None:
        if session._scriptrunner is None or not asked.fragment_id:
            begins(session, asked)
        else:  # it has stopped, and this loop still delivers its last messages
            session._event_loop.call_later(SETTLE, again, session, asked)

    def again(session: Any, asked: Any) -> None:
        if session._state is AppSessionState.SHUTDOWN_REQUESTED or not session.has_fragment(asked.fragment_id):
            return
        if session._scriptrunner is None or not session._scriptrunner.request_rerun(asked):
            begin(session, asked)

    begin.begins = begins  # type: ignore[attr-defined]
    return begin


def let_files_arrive() -> None:
    """Keep unreferenced files, and functions that make them, for ``FETCH`` seconds before deleting them.

    Streamlit 1.67 frees a download once any two pages have run since it was made, and its function once any page has.
    With many users, that happens before a browser has fetched it.
    """
    if not hasattr(MediaFileManager.remove_orphaned_files, "frees"):
        frees = MediaFileManager.remove_orphaned_files
        MediaFileManager.remove_orphaned_files = _in_time(frees)  # type: ignore[assignment,method-assign]


def file_made() -> None:
    """Delete a file that is being made in time, although no page runs any more."""
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
            # Without a user who could click, the function is deleted with its session.
            connected = runtime.get_instance().is_active_session
            makes = {name: 0 for name, entry in manager._deferred_callables.items() if connected(entry["session_id"])}
            loose = {file: made for file, made in (manager._file_metadata | makes).items() if file not in used}
            shown = _still_shown(manager)
            # A file that was made again restarts its time.
            manager.loose = {
                file: before[file] if file in before and before[file][0] is made and file not in shown else (made, now)
                for file, made in loose.items()
            }
            recent = {file: file for file, (_, since) in manager.loose.items() if now - since < FETCH}
            if recent:
                files[""] = recent  # as if a session without a name had them
        frees(manager)
        if recent and not getattr(manager, "due", False):
            manager.due = True
            oldest = min(manager.loose[file][1] for file in recent)
            _later(oldest + FETCH - now, due, manager)

    def due(manager: Any) -> None:
        manager.due = False
        for _ in range(2):  # the first call marks files for deletion
            free(manager)

    free.frees = frees  # type: ignore[attr-defined]
    return free


def html_code() -> list[str]:
    """Return the addresses of Streamlit's code that shows HTML, from any page. A browser would request it late."""
    folder = Path(file_util.get_static_dir())
    return [f"./{path.relative_to(folder).as_posix()}" for path in folder.glob("static/js/Html.*.js")]


def _still_shown(manager: Any) -> set[str]:
    """Return the newest button of each place on running pages.

    A run gives up its page's buttons when it starts, and the browser shows them until it has others. The calling
    session is at the end of its run.
    """
    newest = {(e["session_id"], e["coordinates"]): name for name, e in manager._deferred_callables.items()}
    owners = {session: session_object(session) for session, _ in newest if session != session_name()}
    running = {session for session, owner in owners.items() if owner is not None and is_running(owner)}
    return {name for (session, _), name in newest.items() if session in running}


def is_serving() -> bool:
    """Return True if a server runs in this process."""
    return runtime.exists()


def option(name: str) -> Any:
    """Return an option of the server."""
    return config.get_option(name)


def set_option(name: str, value: Any) -> None:
    """Set an option of the server, for all visitors."""
    config.set_option(name, value)


def session_name() -> str | None:
    """Return the name of the current session; None outside a server."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context is not None and runtime.exists() else None


def session_object(name: str) -> Any:
    """Return Streamlit's own object of a session; None if it has ended."""
    return runtime.get_instance().get_app_session(name)


def fragment_name() -> str | None:
    """Return the name of the current fragment of a page; None outside one."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return None
    return ThreadState.get().fragment_id


def is_connected(name: str) -> bool:
    """Return True if a browser is connected to a session. Raise RuntimeError if the server has stopped."""
    return runtime.get_instance().is_active_session(name)


def call_in_loop(call: Callable[..., object], *given: Any) -> None:
    """Call a function in the thread of the server's loop, to which sessions belong. Raise RuntimeError if it has
    stopped.
    """
    runtime.get_instance().stopped.get_loop().call_soon_threadsafe(call, *given)  # type: ignore[attr-defined]


def call_later_in_loop(seconds: float, call: Callable[..., object], *given: Any) -> None:
    """Call a function later in the thread of the server's loop, from that thread."""
    runtime.get_instance().stopped.get_loop().call_later(seconds, call, *given)  # type: ignore[attr-defined]


def is_running(session: Any) -> bool:
    """Return True if the page of a session is running."""
    return session._scriptrunner is not None


def ask_this_browser(seconds: float, fragment: str) -> None:
    """Make the browser of the current session run a fragment of its page every few seconds."""
    if (context := get_script_run_ctx(suppress_warning=True)) is not None:
        context.enqueue(_rerun(seconds, fragment))


def ask_browser(session: Any, seconds: float, fragment: str) -> None:
    """Make the browser of a session run a fragment of its page every few seconds."""
    session._enqueue_forward_msg(_rerun(seconds, fragment))


def stop_asking(session: Any, fragment: str) -> None:
    """Stop the browser of a session from running a fragment repeatedly."""
    message = ForwardMsg()
    message.stop_auto_rerun.fragment_ids.append(fragment)
    session._enqueue_forward_msg(message)


def _rerun(seconds: float, fragment: str) -> ForwardMsg:
    message = ForwardMsg()
    message.auto_rerun.interval, message.auto_rerun.fragment_id = seconds, fragment
    return message


def close_session(name: str, session: Any) -> None:
    """Close a session and empty its object, which the server's loop keeps until it serves another one."""
    runtime.get_instance().close_session(name)
    if session is not None:
        session._session_state = type(session.session_state)()  # its clear() leaves the arguments of callbacks
        session._client_state.Clear()
        session._fragment_storage.clear()
