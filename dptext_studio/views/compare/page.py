"""Compare: two to four settings side by side on one text, a trade-off plot of many settings, or all anonymisers."""

from __future__ import annotations

import streamlit as st

from ...components import address, live_text
from ...components.shell import enter_app
from ...components.sticky_widgets import stay
from ...components.text import too_long
from ...components.text_box import text_box
from ...server.session import session
from . import anonymisers, card_settings, cards, certainty, plot_settings, trade_off_plot
from .card_settings import PAGE

BOX, VIEW = "compare_text", "compare_view"
VIEWS = {"cards": "Side by side", "map": "Trade-off plot", "tools": "All anonymisers"}
ABOUT = {
    "cards": "Two to four mechanisms or settings. Underlined words differ from your text.",
    "map": "Utility and privacy of each mechanism at many ε, measured as you watch. Click a point to see its rewrites.",
    "tools": "Redaction, surrogates and mechanisms on public texts. Add the rewrites of any other tool.",
}

state = st.session_state


def lines_note(text: str) -> str:
    """Return how several lines are read; empty for one line."""
    lines = sum(bool(line.strip()) for line in text.split("\n"))
    if lines < 2:
        return ""
    return f"1 text with {lines:,} lines. To rewrite each line separately, open a TXT file in Batch."


def main() -> None:
    mine = session()
    if mine.query is not None:
        state[VIEW] = "map" if mine.query.get("view") == "map" else "cards"
    elif mine.columns_new:  # settings from another page or the trade-off plot
        state[VIEW] = "cards"
    head, which = st.columns([3, 2], vertical_alignment="bottom")
    head.markdown("## Compare")
    view = which.segmented_control(
        "View",
        list(VIEWS),
        required=True,
        format_func=VIEWS.__getitem__,
        key=stay(VIEW, "cards"),
        label_visibility="collapsed",
    )
    view = view or "cards"
    st.caption(ABOUT[view])
    if view == "tools":
        anonymisers.anonymisers_view()
        return
    (plot_settings if view == "map" else card_settings).follow_link()
    certainty.follow_explore()
    text = text_box(BOX, 110)
    with st.container():  # always drawn, so that later elements keep their places
        if said := lines_note(text):
            st.caption(said)
    work = mine.at("compare")
    waits = live_text.pause_reason(text, mine.rewrite_cache.seconds)
    if not text.strip() or (said := too_long(text)):
        work.stop()
        if text.strip():
            st.error(said)
        else:
            st.info("Type a text to see its rewrites here.")
    elif view == "map":
        st.caption(live_text.pause_note("The plot updates"))
        trade_off_plot.trade_off_view(text)
    else:
        if waits:
            st.caption(waits)
        cards.columns_view(text)
    if view == "map":
        live_text.send_while_typing(BOX, busy=False, patient=True)
    else:
        live_text.send_while_typing(BOX, busy=work.job is not None, patient=bool(waits), shows=cards.BEFORE)


def render() -> None:
    """Draw the page."""
    address.take_link(PAGE)
    enter_app(PAGE)
    main()
