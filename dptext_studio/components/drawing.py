"""The parts of a lesson on a page: HTML and SVG in the colours of the page."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from ..figures import lessons as figures
from ..lessons import Part
from .style import read_beside

_mount = st.components.v2.component(
    "dptext_drawing",
    html='<div class="drawing"></div>',
    css=read_beside(__file__, "drawing.css") + figures.STYLE,
    js=read_beside(__file__, "drawing.js"),
)


#: Both themes, because the page does not run again when the browser changes from one to the other.
_COLOURS = {
    name: f"light-dark({light}, {dark})"
    for (name, light), dark in zip(figures.colours().items(), figures.colours(dark=True).values(), strict=True)
}


def drawing(parts: Iterable[Part], *, key: str, across: bool = False) -> None:
    """Show the parts one below the other; with across, side by side if there is room."""
    _mount(key=key, data={"html": figures.fragment(parts), "colours": _COLOURS, "across": across})
