"""What to try next with an example, and the tour of ε."""

from __future__ import annotations

import streamlit as st

from ...components.token_strip import view_of
from ...server import runs
from ...server.session import session
from .layout import PANELS, open_panel
from .text_input import example_of

state = st.session_state
#: What to try with an example, one after the other.
PROMPTS = ("drag", "word", "attack")


def has_tour(run: runs.Run) -> bool:
    """Return whether ε moves by itself once: for an example that nobody has touched."""
    return example_of(run.inputs.text) is not None and not session().followed and run.number == 1


def next_prompt(run: runs.Run, epsilon: float) -> None:
    """Show what to try next with an example: one thing at a time, until it was done in this session."""
    done = session().followed
    if epsilon < 0.7 * run.payload["default_eps"]:
        done.add("drag")
    view = view_of(state.get("play_strip"))
    if view.get("run") == run.number and view.get("token") != run.payload.get("pin"):
        done.add("word")
    if state.get("play_further") == PANELS[0]:
        done.add("attack")
    if example_of(run.inputs.text) is None or not run.payload["live"]:
        return
    now = next((p for p in PROMPTS if p not in done), None)
    if now is None:
        return
    with st.container(key="play_prompt", horizontal=True, vertical_alignment="center"):
        step = f"**Try it, {PROMPTS.index(now) + 1} of {len(PROMPTS)}:** "
        if now == "drag":
            st.markdown(step + "drag to the left to lower certainty.", width="content")
        elif now == "word":
            st.markdown(step + "click a word: what else could it be?", width="content")
        else:
            st.markdown(step.rstrip(), width="content")
            st.button(
                "see what an attacker finds in it",
                key="play_prompt_attack",
                type="tertiary",
                on_click=open_panel,
                args=(PANELS[0],),
            )
