"""A text box with live answers: the text reaches the server when typing pauses.

If answers are quick, the box also asks during typing, once the previous answer has arrived and half its duration has
passed. So the rewrite follows continuous typing, and with many users each asks less often. If answers are slow, the box
waits for a longer pause and dims the old result from the first key on.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

#: Seconds without a key before a text is sent; the second value applies to slow answers.
PAUSE, LONG_PAUSE = 0.25, 1.5
#: Seconds after which an answer counts as slow, and the number of words from which a page does.
SECONDS, WORDS = 1.0, 300

#: The box's own note on Ctrl+Enter would flicker over the words, so it is shown below the box when useful.
_PLAIN = "<style>.st-key-{} [data-testid=InputInstructions] {{ display: none; }}</style>"

_BEFORE = "<style>[class*=st-key-{}] {{ opacity: 0.45; {} }}</style>"

_mount = st.components.v2.component(
    "dptext_live",
    html="<span hidden></span>",
    js=(Path(__file__).parent / "live_text.js").read_text(encoding="utf-8"),
)


def pause_reason(text: str, seconds: float | None) -> str:
    """Return a sentence on why the answer waits for a longer pause; empty if it does not. seconds: the duration of the
    last answer, None if unknown.
    """
    if seconds is not None and seconds > SECONDS:
        return f"The last rewrite took {seconds:.1f} seconds. {pause_note('The next one starts')}"
    if len(text.split()) > WORDS:
        return f"This text has more than {WORDS} words. {pause_note('Its rewrite starts')}"
    return ""


def pause_note(what: str) -> str:
    """Return a sentence that says when something slow starts again. what: the beginning of the sentence."""
    return f"{what} when you stop typing for {LONG_PAUSE:g} seconds or press Ctrl+Enter."


def dim(shows: str) -> None:
    """Dim rewrites of the same text until newer ones arrive. shows: the beginning of the keys of their containers."""
    st.html(_BEFORE.format(shows, "transition: opacity 200ms 300ms;"))


def dim_other_text(shows: str, what: str) -> None:
    """Dim rewrites of a text other than the one in the box, so that they cannot be used. what: their name in a
    sentence.
    """
    st.caption(f"The results below {what} of the previous text.")
    st.html(_BEFORE.format(shows, "pointer-events: none;"))


def send_while_typing(box: str, *, busy: bool, patient: bool, shows: str = "") -> None:
    """Send the content of a text area while the user types, as long as this is on the page.

    box: the key of the area. busy: whether the server still works on the last text. patient: whether to wait for a
    longer pause, and send nothing before it. shows: the beginning of the keys of containers with the results; with
    patient, they are dimmed as soon as the user types.
    """
    st.html(_PLAIN.format(box))
    pause = LONG_PAUSE if patient else PAUSE
    size = len(st.session_state.get(box) or "")
    data = {"box": box, "size": size, "pause": 1000 * pause, "along": not patient, "busy": busy, "shows": shows}
    _mount(key=f"{box}_live", data=data)
