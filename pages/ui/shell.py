"""The frame around a page."""

from __future__ import annotations

import streamlit as st

from dptext_core import plugins
from pages.ui.text import literal

state = st.session_state


def within_app(page: str) -> None:
    """Go through app.py, once a session, where a page's own address was asked for first.

    A server that nobody has visited yet does not know the app's navigation and would show the bare page.
    """
    if not state.get("app"):
        state.app_wanted = page
        st.switch_page("app.py")
    state.page_at = page


def last_page() -> str | None:
    """The page that ran last, before it is said which one runs now; None in a new session."""
    return state.get("page_at")


def plugin_problems() -> None:
    """Say at the top of every page which plugins of the machine's owner could not be loaded."""
    for problem in plugins.problems():
        st.warning(literal(problem))


def compact(width: str = "75rem") -> None:
    """Begin right below the navigation, and keep lines readable on a wide screen."""
    st.html(
        "<style>[data-testid=stMainBlockContainer] { padding-top: 4.2rem; padding-bottom: 2rem; "
        f"max-width: {width}; }}</style>"
    )
