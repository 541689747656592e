"""Where data are stored, and how to delete them, so that nothing personal stays on a shared machine."""

from __future__ import annotations

import streamlit as st

from .session import session

#: Stored data as (what, where, until when).
KEPT = (
    (
        "The text, its rewrites and the ledger",
        "in the memory of this program, in your session",
        "you delete them here, or two minutes after the page is closed",
    ),
    (
        "In a class with voting: which answers you chose, without a name",
        "in the memory of this program",
        "the teacher ends the class session, or six hours after its last use",
    ),
    (
        "The screen, slider positions and copies",
        "in the memory of this tab",
        "it is closed or reloaded",
    ),
    ("Your step in the tour", "in the storage of this tab", "the tour ends, or the tab is closed"),
    (
        "Light or dark mode and the width of the sidebar",
        "in the storage of the browser, by Streamlit",
        "you clear the storage",
    ),
    ("A token that prevents forged requests", "in a cookie, by Streamlit", "the browser is closed"),
    ("What you download or copy", "on your disk and in your clipboard", "you delete it, because this page cannot"),
)

_RELOAD = st.components.v2.component(
    "dptext_reload",
    html="<span hidden></span>",
    js="export default function () { window.location.replace(window.location.pathname); }",
)


def forget() -> None:
    """Stop running tasks, and empty the session before anything is drawn.

    Callbacks of other controls changed by the same message still run, and find their values.
    """
    for work in session().work.values():
        work.stop()
    st.session_state.forgotten = True


def reset_note() -> bool:
    """Return True if the session will be emptied and its page has not been reloaded yet."""
    return bool(st.session_state.get("forgotten"))


def reload() -> bool:
    """Empty the session if requested, and reload the page, which empties the tab. Return True if this is under way."""
    if not reset_note():
        return False
    st.session_state.clear()
    st.session_state.forgotten = True
    st.info("Everything in this session was deleted. The page is reloading.")
    _RELOAD(key="reload")
    return True


def panel(key: str) -> None:
    """Show the button, and what is stored where."""
    st.button(
        "Delete everything",
        icon=":material/delete_sweep:",
        key=key,
        on_click=forget,
        help="This deletes your session data and reloads the page. You cannot undo it.",
    )
    st.markdown("\n".join(f"- **{what}**: {where}, until {until}." for what, where, until in KEPT))
    st.caption(
        "No text is sent to another machine or put into an address. Texts are never written to disk, except for "
        "files in Batch, which that page explains. The browser history contains addresses with settings but no text."
    )
