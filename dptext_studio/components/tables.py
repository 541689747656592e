"""Tables of results."""

from __future__ import annotations

from typing import Any

import streamlit as st

#: What a cell without a value shows.
GAP = "–"


def table(data: Any, place: Any = st, **given: Any) -> None:
    """Show rows as a table. place: a container. given: arguments of ``st.dataframe``."""
    place.dataframe(data, hide_index=True, placeholder=GAP, **given)
