"""Names of the page's containers, and drawers that open and close."""

from __future__ import annotations

import streamlit as st

from ...server.session import session

state = st.session_state

PAGE = "explore"
#: Containers of the page, from top to bottom.
PARTS = ("head", "editor", "result", "options")
#: The width of the popovers, in pixels.
WIDE = 560
PANELS = ("Attacks", "Equal privacy", "Ledger", "Guarantee", "Benchmarks")
#: Drawers, each with a separate button.
SHUT = "<style>.st-key-{} {{ display: {}; }}</style>"
#: The drawer below everything else, and its container.
DRAWERS = {"play_far_open": "play_far", "play_options_open": "play_options"}
#: It takes the focus too: the menu with the button that opened it is gone.
BRING = """<script>
setTimeout(() => {{
  const drawer = document.querySelector(".st-key-{}");
  if (!drawer) return;
  drawer.scrollIntoView({{ block: "start" }});
  drawer.tabIndex = -1;
  drawer.focus({{ preventScroll: true }});
}}, 200);
</script>"""
#: The container of the last result, which always exists, and its name in sentences.
BEFORE, REWRITE = "play_before", "are the rewrite"


def set_open(what: str, to: bool) -> None:
    """Open or close a drawer, close “More”, and scroll to a drawer that opens.

    The state is explicit, because a click that arrives with a run of the whole page may be handled twice.
    """
    state[what] = to
    close_more()
    session().bring = DRAWERS.get(what, "") if to else ""


def close_more() -> None:
    """Close “More” after a choice in it: it would cover the result."""
    state.play_others = False


def hide_until_open(key: str, opened: str) -> None:
    """Hide a container from view and keyboard until it is opened. Its controls keep their values."""
    # Streamlit keeps a style that a fragment no longer draws, so draw one in both cases.
    st.html(SHUT.format(key, "flex" if state.get(opened, False) else "none"))


def options_drawer() -> None:
    """Show the drawer with all less frequent options, and its button."""
    hide_until_open("play_options", "play_options_open")
    drawer_button("Advanced", "play_advanced", "play_options_open")


def drawer_button(label: str, key: str, opened: str) -> None:
    is_open = state.get(opened, False)
    st.button(
        label,
        key=key,
        on_click=set_open,
        args=(opened, not is_open),
        type="tertiary",
        icon=f":material/keyboard_arrow_{'up' if is_open else 'down'}:",
        help=f"{'Close' if is_open else 'Open'} it below",
    )
