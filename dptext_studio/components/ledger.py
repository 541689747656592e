"""The privacy ledger of this session: draws, releases and their total."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

import dptext_core as dpt
from dptext_core.measure.ledger import Ledger
from dptext_core.measure.ledger_entries import HOLDS, LedgerEntry
from dptext_core.privacy.numbers import bound
from dptext_core.support.checks import pluralize

from ..server import sessions
from ..server.session import session
from . import download
from .text import literal


@st.fragment
def panel(ledger: Ledger, results: Sequence[dpt.RewriteResult] = ()) -> None:
    """Show draws and totals, which each download updates. results: rewrites that the user may release now; the panel
    states what that would cost.
    """
    session().ledger_fragment = (sessions.fragment(),)
    if not ledger.entries and not ledger.exports:
        st.caption("There are no draws yet. Each rewrite appears here with the budget that it spends if released.")
        return
    for account in ledger.accounts():
        (st.warning if account.void else st.info)(literal(account.sentence()))
        draws = ledger.draws(account.text)
        message = f"This text was rewritten {draws:,} {'time' if draws == 1 else 'times'} with fresh noise."
        if draws > max(1, account.releases):
            message += " If you choose the best of several, count all of them as released."
        st.caption(message)
    if (together := ledger.overall()) is not None:
        (st.warning if together.void else st.info)(literal(together.sentence()))
    if results:
        one = "this one" if len(results) == 1 else f"these {len(results)}"
        st.markdown(f"**If you release {one}:** " + literal(ledger.what_if(results)))
    if ledger.entries:
        rows = budget_table(ledger)
        st.dataframe(rows, hide_index=True, height=_height(rows))
        st.caption("Each row is one draw, or one released version of a draw.")
    if ledger.exports:
        files = copies_table(ledger)
        st.dataframe(files, hide_index=True, height=_height(files))
        st.caption(
            "The ledger counts each downloaded file and each copy once. It cannot count prints, screenshots, "
            "saved charts, or text that you select by hand outside a rewrite."
        )
    download.button(
        "Download the ledger",
        ledger.to_json,
        "ledger.json",
        "application/json",
        icon=":material/receipt_long:",
        key="ledger_download",
        on_click="ignore",
        holds="promise",
        help="The file does not contain your texts.",
    )


def _height(rows: dict[str, list]) -> int:
    return min(320, 36 * (1 + len(next(iter(rows.values())))) + 2)


def copies_table(ledger: Ledger) -> dict[str, list]:
    """Return columns of the releases, newest first."""
    taken = ledger.exports[::-1]
    return {
        "time (UTC)": [t.time.strftime("%H:%M:%S") for t in taken],
        "page": [t.page for t in taken],
        "file": [t.file for t in taken],
        "contents": [HOLDS[t.holds] for t in taken],
    }


def budget_table(ledger: Ledger) -> dict[str, list]:
    """Return columns of the draws, newest first: each released setting has a row, the other settings of a draw share
    one.
    """
    titles = {s.name: s.title for s in dpt.mechanisms()}
    groups: dict[tuple, list[LedgerEntry]] = {}
    for k, e in enumerate(ledger.entries):
        groups.setdefault((e.text, e.noise_id, k if e.released else -1), []).append(e)
    rows = list(groups.values())[::-1]
    return {
        "time (UTC)": [row[0].time.strftime("%H:%M:%S") for row in rows],
        "text": [row[0].text for row in rows],
        "draw": [ledger.draw_of(row[0]) for row in rows],
        "mechanism": [", ".join(dict.fromkeys(titles.get(e.mechanism, e.mechanism) for e in row)) for row in rows],
        "settings": [len(row) for row in rows],
        "total ε": [_totals(row) for row in rows],
        "released": [row[0].released for row in rows],
        "note": [_note(row) for row in rows],
    }


def _totals(row: Sequence[LedgerEntry]) -> str:
    """Return the total of a row, or the range of totals."""
    totals = [e.total for e in row if e.notion != "none"]
    if not totals:
        return "none"
    low, high = bound(min(totals)), bound(max(totals))
    return low if low == high else f"{low} to {high}"


def _note(row: Sequence[LedgerEntry]) -> str:
    said = [pluralize(rows, "row")] if (rows := max(e.rows for e in row)) else []
    if any(e.seeded for e in row):
        said.append("seeded, not private")
    elif any(e.notion == "none" for e in row):
        said.append("no guarantee")
    return ", ".join(said)
