"""What was drawn in this session, what was released of it, and what that adds up to."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

import dptext_core as dpt
from dptext_core.guarantee import number
from dptext_core.ledger import Ledger
from pages.ui.text import literal


def panel(ledger: Ledger, results: Sequence[dpt.RewriteResult] = ()) -> None:
    """Draws and totals. results: what the user may release now; the panel says what that would mean."""
    if not ledger.entries:
        st.caption("Nothing was drawn yet. Each rewrite appears here with what it spends once it is released.")
        return
    for account in ledger.accounts():
        (st.warning if account.void else st.info)(literal(account.sentence()))
        draws = ledger.draws(account.text)
        if draws > max(1, account.releases):
            st.caption(
                f"Text {account.text} was drawn {draws} times. Choosing the one you like best tells about all of them: "
                "then count every one as released."
            )
    if results:
        one = "this one" if len(results) == 1 else f"these {len(results)}"
        st.markdown(f"**If you release {one}:** " + literal(ledger.what_if(results)))
    st.dataframe(table(ledger), hide_index=True, height=min(320, 36 * (1 + len(ledger.entries)) + 2))
    st.download_button(
        "Download the ledger", ledger.to_json(), "ledger.json", "application/json", icon=":material/receipt_long:",
        key="ledger_download", on_click="ignore", help="Without your texts.",
    )  # fmt: skip


def table(ledger: Ledger) -> dict[str, list]:
    """Columns of the draws, the latest first."""
    titles = {s.name: s.title for s in dpt.mechanisms()}
    rows = ledger.entries[::-1]
    return {
        "time (UTC)": [e.time.strftime("%H:%M:%S") for e in rows],
        "text": [e.text for e in rows],
        "mechanism": [titles.get(e.mechanism, e.mechanism) for e in rows],
        "total ε": ["none" if e.notion == "none" else number(e.total) for e in rows],
        "released": [e.released for e in rows],
        "note": ["seeded, not private" if e.seeded else "no guarantee" if e.notion == "none" else "" for e in rows],
    }
