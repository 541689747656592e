"""A text box that is answered while it is typed into: what is typed reaches the server when the keys rest.

Where an answer comes quickly, it is also asked for while keys are still pressed, as soon as the one before is there and
half as long again has passed: who types on and on sees the rewrite follow, and where many type, each asks less often.
Where it takes longer, a longer rest is waited for, and what is shown is dimmed from the first key on.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

#: Seconds without a key after which a text is sent; and where its answer takes long.
PAUSE, LONG_PAUSE = 0.25, 1.5
#: Seconds of work from which on an answer takes long, and words from which on a page does.
SECONDS, WORDS = 1.0, 300

#: What the box says of Ctrl+Enter by itself would flicker over the words, and is said below it where it is of use.
_PLAIN = "<style>.st-key-{} [data-testid=InputInstructions] {{ display: none; }}</style>"

_BEFORE = "<style>[class*=st-key-{}] {{ opacity: 0.45; {} }}</style>"

_mount = st.components.v2.component(
    "dptext_live",
    html="<span hidden></span>",
    js=(Path(__file__).parent / "live_text.js").read_text(encoding="utf-8"),
)


def pause_reason(text: str, seconds: float | None) -> str:
    """Return why the answer to a text waits for a longer rest, in a sentence; empty where it does not. seconds: that
    the last answer took, None where that is not known."""
    if seconds is not None and seconds > SECONDS:
        return f"The last rewrite took {seconds:.1f} seconds. {pause_note('The next one follows')}"
    if len(text.split()) > WORDS:
        return f"This text has more than {WORDS} words. {pause_note('Its rewrite follows')}"
    return ""


def pause_note(what: str) -> str:
    """Return a sentence that says when something slow starts again. what: the beginning of the sentence."""
    return f"{what} when you stop typing for {LONG_PAUSE:g} seconds or press Ctrl+Enter."


def dim(shows: str) -> None:
    """Dim rewrites of the same text while newer ones are on their way. shows: what the keys of their containers begin
    with."""
    st.html(_BEFORE.format(shows, "transition: opacity 200ms 300ms;"))


def dim_other_text(shows: str, what: str) -> None:
    """Dim rewrites of another text than that in the box, so that they cannot be used. what: they, in words."""
    st.caption(f"The results below {what} of the previous text.")
    st.html(_BEFORE.format(shows, "pointer-events: none;"))


def send_while_typing(box: str, *, busy: bool, patient: bool, shows: str = "") -> None:
    """Send what is typed into a text area while this is on the page.

    box: the key of the area. busy: whether what was sent is still worked on. patient: whether a longer rest is waited
    for, and nothing is sent without one. shows: what the keys of containers begin with that show what becomes of the
    text; where a rest is waited for, they are dimmed as soon as something is typed."""
    st.html(_PLAIN.format(box))
    pause = LONG_PAUSE if patient else PAUSE
    size = len(st.session_state.get(box) or "")
    data = {"box": box, "size": size, "pause": 1000 * pause, "along": not patient, "busy": busy, "shows": shows}
    _mount(key=f"{box}_live", data=data)
