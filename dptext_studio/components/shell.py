"""The frame around a page."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dptext_core.support import plugins

from ..server.streamlit_patches import DeltaGenerator, PopoverContainer
from .style import add_style, read_beside
from .text import literal

state = st.session_state
#: A help mark is part of a switch's label, so a click on it would change the switch.
_MARKS = st.components.v2.component(
    "dptext_help_marks",
    html="<span hidden></span>",
    js=read_beside(__file__, "help_marks.js"),
)
_THEME = st.components.v2.component(
    "dptext_theme_change",
    html="<span hidden></span>",
    js=read_beside(__file__, "theme_change.js"),
)
_ROOM = '<div style="height: 420px; width: 10px"></div>'


def app_style() -> str:
    """Return the style of every page."""
    return read_beside(__file__, "app.css") + read_beside(__file__, "early.css")


def enter_app(page: str) -> None:
    """Redirect through app.py, once in a session, if a page was opened by its own address.

    A server without visitors so far does not know the app's navigation and would show the bare page.
    """
    if not state.get("app"):
        state.app_wanted = page
        st.switch_page("app.py", query_params=st.query_params.to_dict())
    state.page_at = page


def last_page() -> str | None:
    """Return the page that ran last, before the current one is set; None in a new session."""
    return state.get("page_at")


def plugin_problems() -> None:
    """Show at the top of every page which plugins of the machine's owner could not be loaded."""
    for problem in plugins.problems():
        st.warning(literal(problem))


def help_marks() -> None:
    """Let a click or a tap on a help mark show its help without changing a switch."""
    _MARKS(key="help_marks")


def follow_theme() -> None:
    """Run the page again after a change between light and dark, so that figures get the colours of the page."""
    _THEME(key="theme_change", on_ground_change=lambda: None)


def three_places(key: str) -> tuple[DeltaGenerator, DeltaGenerator, DeltaGenerator]:
    """Return containers for a text, the result and the options.

    The text is on the left with the options below it, and the result on the right. On a narrow screen they are one
    below the other, with the result before the options.
    """
    add_style(__file__, "beside.css", KEY=key)
    with st.container(key=f"{key}_page"):
        top, result, options = (st.container(key=f"{key}_{name}") for name in ("top", "result", "options"))
    return top, result, options


def draw_when_open(popover: PopoverContainer, width: int, draw: Callable[[], object]) -> None:
    """Draw the content of a popover when it is opened.

    The popover reserves that height until the content is ready, because it is positioned for its size at opening.
    """
    with popover:
        within = st.container(width=width)
        room = st.empty()
        room.html(_ROOM)
        if popover.open:
            with within:
                draw()
            room.empty()
