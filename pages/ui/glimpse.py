"""An example that can be dragged, light enough for the first picture of a page: no candidates, no chances, no chart."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import streamlit as st

from dptext_core.show.figures.glimpse import Glimpse
from dptext_core.show.figures.glimpse import glimpse as data_of
from dptext_core.show.figures.lessons import colours
from dptext_core.show.lessons import note

_HTML = """
<div class="glimpse">
  <p class="text" aria-live="off"></p>
  <div class="dial">
    <div class="head"><label for="glimpse-slider">Privacy budget <b></b></label>
      <button type="button" class="original" aria-pressed="false">Show the original</button></div>
    <input id="glimpse-slider" type="range" min="0" max="200" step="1">
    <div class="ends" aria-hidden="true"><span>hides more</span><span>keeps more</span></div>
    <p class="count" role="status"></p>
  </div>
</div>
"""
_HERE = Path(__file__).parent
_mount = st.components.v2.component(
    "dptext_glimpse",
    html=_HTML,
    css=(_HERE / "glimpse.css").read_text(encoding="utf-8"),
    js=(_HERE / "glimpse.js").read_text(encoding="utf-8"),
)


@lru_cache(maxsize=1)
def example() -> Glimpse:
    """The bundled example, which is fictional, in one draw: the same for everybody."""
    low, high, default = type(note.mechanism()).epsilon_range({})
    return data_of(note.rewritten(default), low, high)


def glimpse(*, key: str) -> None:
    """Show the example. It moves by itself once, until it is touched, unless the reader wants no motion."""
    _mount(key=key, data={**example(), "colours": colours(st.context.theme.type == "dark")})
