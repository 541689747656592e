"""The session's text in a box, for pages that share it with Explore."""

from __future__ import annotations

import streamlit as st

from dptext_core.support.assets import examples

from ..server.session import session

state = st.session_state


def text_box(key: str, height: int) -> str:
    """Show the box and return its content: the session's text, or the first example if there is none yet."""
    if key not in state:
        text = session().text
        state[key] = next((e.text for e in examples()), "") if text is None else text
    st.text_area(
        "Text",
        state[key],
        key=key,
        height=height,
        placeholder="Type or paste one text.",
        help="One text, the same as on Explore: line breaks do not separate texts. Only this session uses it.",
    )
    session().text = state[key]
    return state[key]
