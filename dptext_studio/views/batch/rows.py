"""Originals next to rewrites, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

import streamlit as st

from dptext_core.text.visible import count_removed, removed_note
from dptext_studio.server import batch as core

from ...components import links
from ...components.text import literal
from ...server.session import session

#: Rows of results on the screen at a time, and characters of a cell.
PAGE, CELL = 20, 1000


@st.fragment
def row_browser(batch: core.Batch, rows: int) -> None:
    """Show one page of originals and rewrites; the browser never receives more."""
    pages = -(-rows // PAGE)
    page = 1
    if pages > 1:
        page = int(st.number_input(f"Page, 1 to {pages:,}", 1, pages, 1, key="batch_page", width=200))
    shown = batch.page((page - 1) * PAGE, PAGE)
    pair_table(shown, "batch_pairs_page")
    st.caption("Private: this table shows the originals next to the rewrites.")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by_row = {p.row: p for p in shown if p.original.strip()}
        row = st.selectbox("Look at a row word by word", list(by_row), key="batch_row", width=240)
        if row in by_row and st.button(
            "Open in Explore",
            key="batch_to_explore",
            help="Explore rewrites the original with fresh noise. Do not release that rewrite in addition to the "
                 "result.",
        ):
            session().text = by_row[row].original
            st.switch_page("pages/explore.py", query_params=links.to_query(batch.request.setting))


def pair_table(found: list[core.Pair], key: str) -> None:
    """Show originals and rewrites side by side, as a wrapping table with marked differences."""
    lines = ["| row | original | rewrite |", "|---:|---|---|"]
    for p in found:
        original, rewrite = marked_cells(p.original, p.text)
        if p.error:
            original, rewrite = cell(p.original), f"*No rewrite: {cell(p.error)}*"
        lines.append(f"| {p.row} | {original} | {rewrite} |")
    with st.container(key=key):
        st.markdown("\n".join(lines))
        st.caption("Marked words differ between the original and its rewrite.")
        if said := removed_note(sum(count_removed(p.original) for p in found)):
            st.caption(f"In these rows: {said}")


def number_list(numbers: Sequence[int], n: int) -> str:
    """Return row numbers as text. n: the number of all rows, of which ``numbers`` are the first."""
    names = [f"{number:,}" for number in numbers]
    last = f"{n - len(names):,} more" if n > len(names) else names.pop()
    return f"{', '.join(names)} and {last}" if names else last


def marked_cells(original: str, rewrite: str) -> tuple[str, str]:
    """Return both texts as cells with marked differences, ignoring case."""
    sides = [shortened_cell(text).split() for text in (original, rewrite)]
    before, after = ([word.casefold() for word in side] for side in sides)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    out: tuple[list[str], list[str]] = ([], [])
    for kind, *ends in matcher.get_opcodes():
        for side, words, start, end in zip(out, sides, ends[::2], ends[1::2], strict=True):
            if start < end:
                shown = literal(" ".join(words[start:end]))
                side.append(shown if kind == "equal" else f":orange-background[{shown}]")
    return " ".join(out[0]), " ".join(out[1])


def cell(text: str) -> str:
    """Return a text for a cell of a Markdown table, unchanged in appearance."""
    return literal(" ".join(shortened_cell(text).split()))


def shortened_cell(value: Any) -> Any:
    """Return a shortened cell of a table on the screen."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text if len(text) <= CELL else f"{text[:CELL]} …"
