"""The parts of a lesson on a page: HTML and SVG that the core has made, shown in the colours of the page."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from ..figures import lessons as figures
from ..lessons import Part

_JS = """
export default function ({ data, parentElement }) {
  const box = parentElement.querySelector(".drawing");
  box.classList.toggle("across", data.across);
  for (const [name, value] of Object.entries(data.colours)) box.style.setProperty(name, value);
  // Parsed apart: nothing of it can run, whatever stands in it.
  const parsed = new DOMParser().parseFromString(data.html, "text/html");
  box.replaceChildren(...parsed.body.childNodes);
}
"""
_CSS = (
    ".drawing { font-family: var(--st-font), sans-serif; --font: var(--st-font); } @media (min-width: 860px) { "
    ".across { display: grid; grid-template-columns: 2fr 3fr; gap: 2em; } .across .part { margin: 0; } }"
    + figures.STYLE
)

_mount = st.components.v2.component("dptext_drawing", html='<div class="drawing"></div>', css=_CSS, js=_JS)


def drawing(parts: Iterable[Part], *, key: str, across: bool = False) -> None:
    """Show the parts one below the other. across: side by side, where there is room."""
    dark = st.context.theme.type == "dark"
    _mount(key=key, data={"html": figures.fragment(parts), "colours": figures.colours(dark), "across": across})
