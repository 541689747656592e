"""Style sheets of pages and components, in files next to their modules."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import streamlit as st


@cache
def read_beside(module: str, name: str) -> str:
    """Return the text of the file ``name`` next to a module, which is given by its ``__file__``."""
    return (Path(module).parent / name).read_text(encoding="utf-8")


def add_style(module: str, name: str, **replaced: str) -> None:
    """Add the style sheet next to a module to the page. ``replaced``: words of the sheet and their replacements."""
    css = read_beside(module, name)
    for word, value in replaced.items():
        css = css.replace(word, value)
    st.html(f"<style>\n{css}</style>")
