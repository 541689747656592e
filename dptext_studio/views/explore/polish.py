"""The polish of the rewrite on Explore: a switch, and what came of it."""

from __future__ import annotations

import streamlit as st

import dptext_core as dpt

from ...components import download
from ...components.text import literal
from ...server import runs
from ...server.session import session

PLACE = "polish"


def panel(run: runs.Run, result: dpt.RewriteResult) -> None:
    """Show a switch under the rewrite ``result`` of ``run``; while it is on, the polished text."""
    if not st.toggle(
        "Clean up the text",
        key="play_polish",
        help="What was drawn is read again with the bundled language model, and written out as it would most likely "
        "be. Nothing private is looked at, so that this spends no ε: the promise below holds for the polished text "
        "too.",
    ):
        return
    held = session().at(PLACE)
    if held.asked != (run.number, result.config):
        held.start((run.number, result.config), lambda task: result.polished(task=task), "Cleaning up the text")
    if held.is_running():
        held.show_progress("play_polish_stop")
        return
    if held.error is not None:
        (st.info if isinstance(held.error, dpt.NoDistribution) else st.error)(literal(held.failure_text("Stopped.")))
        return
    found = held.result
    with st.container(border=True):
        st.markdown(literal(found.text))
    said, save = st.columns([2, 1])
    said.caption(literal(found.sentence()) + " To give it away counts as releasing the rewrite.")
    with save:
        download.button(
            "Download cleaned text",
            found.text,
            "polished.txt",
            "text/plain",
            icon=":material/download:",
            width="stretch",
            key="play_polish_download",
            holds="rewrite",
            release=lambda book: book.record(result, released=True),
            help="What you download counts as released in the ledger: what was drawn, since all is computed from it.",
        )
