"""Keys of the presenter view, which clickers send too: arrows, page keys, and Escape to leave."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from .style import read_beside

_mount = st.components.v2.component(
    "dptext_keys", html="<span hidden></span>", js=read_beside(__file__, "presenter_keys.js")
)


def keys(on_step: Callable[[int], None], *, key: str = "presenter_keys") -> None:
    """Listen to keys while this is on the page. on_step: called before the rerun with 1, −1, or 0 for Escape."""

    def pressed() -> None:
        step = (st.session_state.get(key) or {}).get("step")
        if step in (-1, 0, 1):
            on_step(int(step))

    _mount(key=key, on_step_change=pressed)
