"""The frame around a page."""

from __future__ import annotations

import streamlit as st

state = st.session_state


def within_app(page: str) -> None:
    """Go through app.py, once a session, where a page's own address was asked for first.

    A server that nobody has visited yet does not know the app's navigation and would show the bare page.
    """
    if not state.get("app"):
        state.app_wanted = page
        st.switch_page("app.py")
