"""A rewrite as running text with marked differences, next to other rewrites of the same text.

Pointing at a word highlights it in every rewrite on the page. The view reports chosen words and copies, which count as
released, to the server. The payload contains the original words, so it is for the author's screen only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from ..figures.side_by_side import Piece
from .text import number

_HERE = Path(__file__).parent

# Fixed markup: everything that comes from a text is set by the script as text content.
_HTML = """
<section class="rewrite">
  <p class="text" role="group"></p>
  <p class="foot"><span class="count"></span><button type="button" class="copy" hidden>Copy text</button></p>
  <p class="spoken" role="status"></p>
</section>
"""

_mount = st.components.v2.component(
    "dptext_rewrite_view",
    html=_HTML,
    css=(_HERE / "rewrite_view.css").read_text(encoding="utf-8"),
    js=(_HERE / "rewrite_view.js").read_text(encoding="utf-8"),
)


def _ignore() -> None:
    """Do nothing: Streamlit keeps a state attribute only if a callback is given."""


def payload(
    pieces: Sequence[Piece],
    *,
    chosen: int | None = None,
    copies: int | None = None,
    name: str = "",
    note: str = "",
    button: bool = True,
) -> dict[str, Any]:
    """Return the data of the view.

    chosen: the position of the chosen word in the original. copies: the number under which copies are reported. button:
    whether to show a copy button; without it, copies by hand are still reported. name: the title of the rewrite, for
    screen readers. note: text before the count of changed words.
    """
    words = [p for p in pieces if p.at is not None or p.is_changed]
    changed = sum(p.is_changed for p in words)
    return {
        "pieces": [[p.text, int(p.is_changed), p.original, p.at, int(p.is_sampled)] for p in pieces],
        "chosen": chosen,
        "copies": copies,
        "button": button and copies is not None,
        "name": name,
        "count": f"{note}{changed:,} {'change' if changed == 1 else 'changes'}",
    }


def rewrite_view(data: Mapping[str, Any], *, key: str, on_word: Callable[[], None] | None = None) -> list[int]:
    """Show a rewrite and return the numbers of all rewrites copied so far.

    on_word: called before the rerun after the choice of a word; :func:`word_of` then has it.
    """
    view = _mount(key=key, data=dict(data), on_word_change=on_word or _ignore, on_copies_change=_ignore)
    return copies_of(view)


def word_of(state: Any) -> int | None:
    """Return the position of the chosen word in the original, from the session value under the view's key."""
    place = state.get("word") if isinstance(state, Mapping) else None
    return None if (place := number(place)) is None else int(place)


def copies_of(state: Any) -> list[int]:
    """Return the numbers of all rewrites copied so far."""
    copies = state.get("copies") if isinstance(state, Mapping) else None
    if not isinstance(copies, Sequence) or isinstance(copies, str | bytes):
        return []
    return [int(n) for n in map(number, copies) if n is not None]
