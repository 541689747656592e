"""The methods paragraph beside downloads, with a button to copy it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from dptext_core.errors import DPTextError
from dptext_core.mechanisms.base import Mechanism

from ..exports.methods import FRESH, methods
from .shell import draw_when_open
from .text import literal

#: The width of the popover, in pixels.
WIDTH = 560
Uses = Sequence[tuple[Mechanism, Sequence[float]]]


def panel(uses: Uses, randomness: str = FRESH, polish: bool = False) -> None:
    """Show the paragraph and the BibTeX entries that it cites; for the parameters see :func:`methods`."""
    st.caption(
        "For a paper: settings, guarantee, randomness and software. Keys in square brackets refer to BibTeX entries."
    )
    try:
        made = methods(uses, randomness, polish)
    except DPTextError as error:
        st.error(literal(str(error)))
        return
    st.code(made.text, language=None, wrap_lines=True)
    st.code(made.bibtex, language="bibtex", height=240)


def popover(uses: Callable[[], Uses], key: str, randomness: str = FRESH) -> None:
    """Show the same in a popover. uses: called when it is opened."""
    box = st.popover("Methods", icon=":material/article:", key=key, on_change="rerun")
    draw_when_open(box, WIDTH, lambda: panel(uses(), randomness))


def expander(uses: Callable[[], Uses], key: str, randomness: str = FRESH, polish: bool = False) -> None:
    """Show the same in an expander. uses: called when it is opened."""
    with st.expander("Methods paragraph", icon=":material/article:", key=key, on_change="rerun") as drawer:
        if drawer.open:
            panel(uses(), randomness, polish)
