"""Controls that keep their values while another page is shown, although Streamlit forgets them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from ..server.session import session

state = st.session_state


def stay(key: str, default: Any = None) -> str:
    """Restore the last value of the control that is made next under this key, and return the key.

    default: the initial value, which is also passed to the control: a browser that draws two runs of a page at once
    uses the value from the second one only if its default matches. None for a control that starts with its own value.
    """
    values = session().controls
    if key in state:
        values[key] = state[key]
    elif key in values:
        state[key] = values[key]
    elif default is not None:
        state[key] = default
    return key


def stay_all(prefix: str) -> None:
    """Do the same for all controls whose keys start with this, such as those of a mechanism's options."""
    for key in {k for k in (*state, *session().controls) if isinstance(k, str) and k.startswith(prefix)}:
        stay(key)
