"""The title and the buttons of the tour, which replace the page's own during the tour."""

from __future__ import annotations

import streamlit as st

from .style import read_beside

_HTML = """<section class="tour" aria-label="Tour" hidden><div aria-live="polite"><h1></h1><p class="say"></p></div>
<div class="nav"><span class="dots" role="group" aria-label="Steps"></span>
<button type="button" class="skip">Skip</button>
<button type="button" class="back">Back</button><button type="button" class="next">Next</button></div></section>"""

_mount = st.components.v2.component(
    "dptext_tour_header",
    html=_HTML,
    css=read_beside(__file__, "tour_header.css"),
    js=read_beside(__file__, "tour_header.js"),
)


def tour_header(key: str) -> None:
    """Show the header of the tour, which is empty outside a tour."""
    _mount(key=key, data={"last": 5})
