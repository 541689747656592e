"""The clean-up of the rewrite on Explore: a switch, and its result."""

from __future__ import annotations

import streamlit as st

import dptext_core as dpt

from ...components import download
from ...components.text import literal
from ...server import runs
from ...server.session import session

PLACE = "polish"


def panel(run: runs.Run, result: dpt.RewriteResult) -> None:
    """Show a switch below the rewrite ``result`` of ``run`` and, while it is on, the cleaned text."""
    if not st.toggle(
        "Clean up the text",
        key="play_polish",
        help="The bundled language model rewrites the output as more fluent text. It reads only the output, so this "
             "spends no ε and the guarantee below also covers the cleaned text.",
    ):
        return
    place = session().at(PLACE)
    if place.request != (run.number, result.config):
        place.start((run.number, result.config), lambda task: result.polished(task=task), "Cleaning up the text")
    if place.is_running():
        place.show_progress("play_polish_stop")
        return
    if place.error is not None:
        (st.info if isinstance(place.error, dpt.NoDistribution) else st.error)(literal(place.failure_text("Stopped.")))
        return
    cleaned = place.result
    with st.container(border=True):
        st.markdown(literal(cleaned.text))
    said, save = st.columns([2, 1])
    said.caption(literal(cleaned.sentence()) + " Sharing it counts as releasing the rewrite.")
    with save:
        download.button(
            "Download cleaned text",
            cleaned.text,
            "polished.txt",
            "text/plain",
            icon=":material/download:",
            width="stretch",
            key="play_polish_download",
            holds="rewrite",
            release=lambda book: book.record(result, released=True),
            help="A download counts as a release of the original output in the ledger, because the cleaned text is "
                 "computed from it.",
        )
