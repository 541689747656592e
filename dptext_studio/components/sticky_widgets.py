"""Controls that stay as they are while another page is shown, where Streamlit forgets them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from ..server.session import session

state = st.session_state


def stay(key: str, default: Any = None) -> str:
    """Set a control that is made next under this key to what it was left at.

    default: what it begins with, which the control is given too: a browser that draws two runs of a page at once takes
    the value of a control from the second one, where only its own default stands. None for a control that begins with
    what it shows by itself. Returns the key.
    """
    held = session().controls
    if key in state:
        held[key] = state[key]
    elif key in held:
        state[key] = held[key]
    elif default is not None:
        state[key] = default
    return key


def stay_all(prefix: str) -> None:
    """Do the same for all controls whose keys begin so, such as those of a mechanism's options."""
    for key in {k for k in (*state, *session().controls) if isinstance(k, str) and k.startswith(prefix)}:
        stay(key)
