"""The keys of the presenter view, as clickers send them too: the arrows and the page keys, and Escape to leave it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

_JS = """
const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1, Escape: 0 };
export default function ({ setTriggerValue }) {
  const pressed = (event) => {
    if (!(event.key in STEPS) || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    // What is typed, and what a slider or a list does with its arrows, stays theirs.
    const at = event.composedPath()[0];
    if (at instanceof Element && at.closest("input, textarea, select, [role=slider], [role=listbox]")) return;
    event.preventDefault();
    setTriggerValue("step", STEPS[event.key]);
  };
  document.addEventListener("keydown", pressed);
  return () => document.removeEventListener("keydown", pressed);
}
"""

_mount = st.components.v2.component("dptext_keys", html="<span hidden></span>", js=_JS)


def keys(on_step: Callable[[int], None], *, key: str = "presenter_keys") -> None:
    """Listen while this is on the page. on_step: called before the rerun with 1, −1, or 0 for Escape."""

    def pressed() -> None:
        step = (st.session_state.get(key) or {}).get("step")
        if step in (-1, 0, 1):
            on_step(int(step))

    _mount(key=key, on_step_change=pressed)
