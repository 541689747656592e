"""Copies and downloads of the page, which count as released in the ledger."""

from __future__ import annotations

import streamlit as st

import dptext_core as dpt

from ...components import download
from ...server.session import session
from .layout import PAGE
from .rewriting import current_ledger, redraw


def record_copies(copies: list[tuple[str, int, float]]) -> None:
    """Record the browser's copies: exactly the displayed rewrite. Copies that were already reported change nothing."""
    reported = session().copies
    for copy in copies:
        noise_id, number_, epsilon = copy
        run = session().recent.get((noise_id, number_))
        if copy in reported or run is None or not run.payload["lo"] <= epsilon <= run.payload["hi"]:
            continue
        reported.add(copy)
        current_ledger().record(run.at(epsilon), released=True)
        current_ledger().take(PAGE, "copied text", "rewrite")


def warn_if_void(result: dpt.RewriteResult) -> bool:
    """Warn if the draw has lost its guarantee because two of its settings were released. Return True in that case."""
    mine = [e for e in current_ledger().entries if e.released and e.noise_id == result.noise_id]
    if len(mine) < 2 or not current_ledger().account(result.original).void:
        return False
    at = [e.config.epsilon for e in mine]
    which = f", at ε = {' and '.join(f'{e:g}' for e in at)}" if all(isinstance(e, float) for e in at) else ""
    st.error(
        f"**The guarantee no longer holds for this draw.** You released {len(mine)} versions of it{which}. They "
        "share their noise, so no finite ε covers them all. Rewrite again and release only one version.",
        icon=":material/warning:",
    )
    return True


def rewrite_button() -> None:
    """Show the button that draws fresh noise."""
    if st.button(
        "Rewrite again",
        icon=":material/casino:",
        key="play_again",
        help="Uses fresh noise. Each rewrite that you release spends its budget; if you choose among several, all of "
             "them count.",
    ):
        redraw()
        st.rerun(scope="app")


def download_button(result: dpt.RewriteResult) -> None:
    """Show the button that downloads the text."""
    download.button(
        "Download text",
        result.text,
        "rewrite.txt",
        "text/plain",
        icon=":material/download:",
        width="stretch",
        key="play_download",
        holds="rewrite",
        release=lambda book: book.record(result, released=True),
        help="What you download counts as released in the ledger.",
    )
