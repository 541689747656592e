"""Nothing personal left on a shared machine: what is kept where, and how to forget it."""

from __future__ import annotations

import streamlit as st

from .session import session

#: Your data where, as (what, where, until when).
KEPT = (
    (
        "The text, its rewrites and the ledger",
        "in the memory of this program, in your session",
        "you forget them here, or two minutes after the page is closed",
    ),
    (
        "In a class that is counted: which answers you chose, without a name",
        "in the memory of this program",
        "the teacher ends it, or six hours after the last answer of the class",
    ),
    (
        "What is on the screen, where sliders stand, what was copied",
        "in the memory of this tab",
        "it is closed or reloaded",
    ),
    ("The number of the tour's step", "in the storage of this tab", "the tour ends, or the tab is closed"),
    ("Light or dark, the width of a bar", "in the storage of the browser, by Streamlit", "its data are cleared"),
    ("A token against forged requests", "in a cookie, by Streamlit", "the browser is closed"),
    ("What you download or copy", "on your disk and in your clipboard", "you delete it: this page cannot"),
)

_RELOAD = st.components.v2.component(
    "dptext_reload",
    html="<span hidden></span>",
    js="export default function () { window.location.replace(window.location.pathname); }",
)


def forget() -> None:
    """Stop what runs, and have the session emptied before anything is drawn. What other controls changed by the same
    message still calls back, and finds its values."""
    for work in session().work.values():
        work.stop()
    st.session_state.forgotten = True


def reset_note() -> bool:
    """Return whether the session is to be emptied, and its page is not reloaded yet."""
    return bool(st.session_state.get("forgotten"))


def reload() -> bool:
    """Empty the session where that was asked for, and reload the page, which empties the tab: whether that is under
    way."""
    if not reset_note():
        return False
    st.session_state.clear()
    st.session_state.forgotten = True
    st.info("Everything in this session was forgotten. The page is reloading.")
    _RELOAD(key="reload")
    return True


def panel(key: str) -> None:
    """Show the button, and what is kept where."""
    st.button(
        "Forget everything here",
        icon=":material/delete_sweep:",
        key=key,
        on_click=forget,
        help="This empties your session and reloads the page. There is no way back.",
    )
    st.markdown("\n".join(f"- **{what}**: {where}, until {until}." for what, where, until in KEPT))
    st.caption(
        "No text is sent to another machine or put into an address, and but for the files of Batch, of which that page "
        "tells, none is written to a disk. The history of the browser has addresses with settings, and no text."
    )
