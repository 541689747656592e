"""Tables of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

#: What a cell without a value shows.
GAP = "–"
#: The browser makes a column as wide as its first cells need, this many, without those that are about twice as wide as
#: the average. Other labels would be cut.
MEASURED, OUTLIER = 10, 1.8
#: The width of a letter and of the margins of a cell, and the largest width for labels, in pixels.
LETTER, MARGINS, WIDEST = 6, 24, 300


def table(data: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]], place: Any = st, **given: Any) -> None:
    """Show rows or columns as a table, with every column of text as wide as its longest label.

    place: a container. given: arguments of ``st.dataframe``.
    """
    config = dict(given.pop("column_config", None) or {})
    for name, labels in _columns(data).items():
        if (width := label_width(labels)) is not None:
            config.setdefault(name, st.column_config.TextColumn(width=width))
    place.dataframe(data, hide_index=True, placeholder=GAP, column_config=config, **given)


def _columns(data: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]]) -> Mapping[str, Sequence[Any]]:
    if isinstance(data, Mapping):
        return data
    return {name: [row.get(name) for row in data] for name in dict.fromkeys(key for row in data for key in row)}


def label_width(labels: Sequence[Any]) -> int | None:
    """Return the width of a column of labels in pixels; None if the browser finds it, or if they are no text."""
    if not all(isinstance(label, str) for label in labels):
        return None
    lengths = [len(label) for label in labels]
    measured = lengths[:MEASURED]
    usual = [n for n in measured if n * len(measured) < OUTLIER * sum(measured)]
    longest, first = (min(WIDEST, MARGINS + LETTER * max(some, default=0)) for some in (lengths, usual))
    return longest if first < longest else None
