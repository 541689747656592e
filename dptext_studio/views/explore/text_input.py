"""The text: its box, bundled examples and files that you open."""

from __future__ import annotations

from functools import cache

import streamlit as st

import dptext_core as dpt
from dptext_core.mechanisms import recommended
from dptext_core.support.assets import Example, examples

from ...components import live_text
from ...components.text import decode, literal, shorten, too_long
from ...components.tour_header import tour_header
from ...server.session import session
from . import share
from .layout import hide_until_open, set_open

state = st.session_state
OWN_TEXT = "Choose a word to protect."
#: What to do, after the sentence on what the text reveals.
DRAG = "Drag to the left until a reader can no longer tell. Drag to the right to get the meaning back."


def use_text(text: str) -> None:
    """Put a text into the box, and keep the previous one for undo."""
    forget_problems()
    session().previous_text = state.get("play_text", "")
    state.play_text = text


def keep_what_fits(text: str) -> None:
    beginning = shorten(text)
    use_text(beginning)
    st.toast(f"The first {len(beginning):,} of {len(text):,} characters are kept. “Undo”, below the text, restores the "
             "whole text.")


def use_example() -> None:
    if chosen := state.play_example:
        use_text(next(e.text for e in examples() if e.title == chosen))


def generates_text(spec: dpt.MechanismSpec) -> bool:
    """Return True if the mechanism writes new text with a bundled model, which was trained on single sentences."""
    return not {"language model", "autoencoder"}.isdisjoint(spec.needs)


def offer_title(spec: dpt.MechanismSpec) -> str:
    """Return the title of a mechanism in the menu, which marks bundled generators as small."""
    return f"{spec.title} (small demo model)" if generates_text(spec) else spec.title


def use_mechanism() -> None:
    forget_problems()
    suit_example(state.play_mechanism)


def suit_example(mechanism: str) -> None:
    """Replace the example by one of its sentences for a mechanism that writes new text, and restore it for others.

    Your own text is unchanged.
    """
    wanted = generates_text(dpt.mechanism_class(mechanism).spec())
    now = example_of(state.get("play_text") or "")
    if wanted and now is not None:
        use_text(one_sentence(now))
    elif not wanted and (whole := next((e for e in examples() if state.get("play_text") == one_sentence(e)), None)):
        use_text(whole.text)


@cache
def one_sentence(example: Example) -> str:
    """Return the sentence of an example that contains its fact."""
    spans = dpt.Document.parse(example.text).sentences
    return next((s for a, b in spans if example.sensitive in (s := example.text[a:b])), example.text)


def use_upload() -> None:
    forget_problems()
    if state.play_upload is not None:
        try:
            data, name = state.play_upload.getvalue(), state.play_upload.name
            if share.is_session(name):
                share.open_session(data, name, use_text)
            else:
                use_text(decode(data, name))
        except dpt.InputError as error:
            session().upload_error = str(error)


def forget_problems() -> None:
    """Clear the errors of a file or a link after another choice."""
    session().upload_error = session().link_problem = ""


def example_of(text: str) -> Example | None:
    """Return the bundled text that equals this one."""
    return next((e for e in examples() if e.text == text), None)


def origin_of(text: str) -> Example | None:
    """Return the bundled text that equals this one, or whose sentence with the fact does."""
    return next((e for e in examples() if text in (e.text, one_sentence(e))), None)


def headline() -> None:
    """Show the purpose of the page, what the text reveals, and a button for another text."""
    with st.container(key="play_tour_header"):
        tour_header("play_tour_steps")
    st.markdown("# Can a reader still tell?")
    # Replaces the text box's value of the previous run; callbacks set it before this.
    mine = origin_of(state.play_text)
    # On a wide screen the examples come with the editor.
    shown = "flex" if state.get("play_editing") else "none"
    st.html(f"<style>:root {{ --play-examples: {shown}; }}</style>")
    with st.container(key="play_about", horizontal=True, vertical_alignment="center", gap="small"):
        chosen = state.get("play_mechanism", recommended.ORDER[0])
        drag = f" {DRAG}" if dpt.mechanism_class(chosen).uses_epsilon else ""
        st.markdown((literal(mine.problem) if mine else OWN_TEXT) + drag, width="stretch")
        state.play_example = mine.title if mine else None  # a second click undoes nothing
        st.pills(
            "Examples",
            [e.title for e in examples()],
            key="play_example",
            on_change=use_example,
            wrap=True,
            label_visibility="collapsed",
            width="content",
        )
        st.button(
            "Close the editor" if state.get("play_editing") else "Your text",
            icon=":material/edit:",
            key="play_edit",
            on_click=set_open,
            args=("play_editing", not state.get("play_editing", False)),
        )


def text_box() -> None:
    """Show the text behind its button; the rewrite follows the typing."""
    hide_until_open("play_editor", "play_editing")
    st.text_area(
        "Text",
        state.play_text,
        key="play_text",
        height=120,
        placeholder="Type or paste a text, or pick an example above.",
        help="Only this session uses it. It is not stored and not logged.",
        on_change=forget_problems,
    )
    before = session().previous_text
    if before and before != state.play_text:
        st.button("Undo", on_click=use_text, args=(before,), help="Restore the previous text.")
    if waits := typing_pause():
        st.caption(waits)
    if too_long(state.play_text):
        st.caption("This text is too long for this page.")


def typing_pause() -> str:
    """Return why the rewrite waits for a longer pause in typing; empty if it follows at once."""
    run = session().run
    return live_text.pause_reason(state.play_text, None if run is None else run.seconds)
