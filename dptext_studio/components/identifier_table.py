"""A table of the names, dates and other identifiers that rewrites still contain, with a column and a colour for each
kind.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dptext_core.detectors.rules import KINDS

#: Colours on which the text of light and dark pages is readable.
COLORS = {
    "name": "blue",
    "place": "green",
    "date": "orange",
    "number": "violet",
    "phone number": "red",
    "e-mail address": "red",
    "web address": "red",
}


def identifier_table(rows: Sequence[tuple[int, Sequence[tuple[str, str]]]], key: str) -> None:
    """Show the remaining identifiers. rows: the number of each row and its (kind, text) pairs. Kinds without any have
    no column.
    """
    kinds = [k for k in KINDS if any(k == kind for _, pairs in rows for kind, _ in pairs)]
    st.dataframe(
        [{"row": row} | {KINDS[k]: [text for kind, text in pairs if kind == k] for k in kinds} for row, pairs in rows],
        column_config={"row": st.column_config.NumberColumn("Row", width="small")}
        | {
            KINDS[k]: st.column_config.MultiselectColumn(
                KINDS[k].capitalize(),
                options=list(dict.fromkeys(text for _, pairs in rows for kind, text in pairs if kind == k)),
                color=COLORS[k],
            )
            for k in kinds
        },
        hide_index=True,
        key=key,
    )
