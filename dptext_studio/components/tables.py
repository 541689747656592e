"""Tables of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

#: What a cell without a value shows.
GAP = "–"
#: The browser makes a column as wide as its first cells need, this many. Later labels would be cut.
MEASURED = 10
#: The width of a letter and of the margins of a cell, and the largest width of a label, in pixels.
LETTER, MARGINS, WIDEST = 7, 24, 300


def table(data: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]], place: Any = st, **given: Any) -> None:
    """Show rows or columns as a table, with a first column as wide as its longest label.

    place: a container. given: arguments of ``st.dataframe``.
    """
    name, labels = _first_column(data)
    width = label_width(labels)
    if width is not None and name not in (config := dict(given.get("column_config") or {})):
        given["column_config"] = config | {name: st.column_config.TextColumn(width=width)}
    place.dataframe(data, hide_index=True, placeholder=GAP, **given)


def _first_column(data: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]]) -> tuple[str, Sequence[Any]]:
    if not data:
        return "", ()
    if isinstance(data, Mapping):
        return next(iter(data.items()))
    name = next(iter(data[0]))
    return name, [row.get(name) for row in data]


def label_width(labels: Sequence[Any]) -> int | None:
    """Return the width of a column of labels in pixels; None if the browser finds it, or if they are no text."""
    if not all(isinstance(label, str) for label in labels):
        return None
    longest, first = (max(map(len, some), default=0) for some in (labels, labels[:MEASURED]))
    return min(WIDEST, MARGINS + LETTER * longest) if longest > first else None
