"""Figures on a page."""

from __future__ import annotations

from functools import cache
from typing import Any

import streamlit as st

#: No bar of tools over a figure.
CONFIG = {"displayModeBar": False}


def chart(figure: Any, *, key: str, alt: str, **options: Any) -> Any:
    """Show a figure of ``dptext_studio.figures``, as it is: Streamlit has plotly check every dictionary again, which
    takes longer than to make it, and adds a template of plotly's to it. alt: what it shows, for who cannot see it."""
    shown = _checked()(figure) if isinstance(figure, dict) else figure
    return st.plotly_chart(shown, theme=None, config=CONFIG, key=key, alt=alt, **options)


@cache
def _checked() -> type:
    from plotly.basedatatypes import BaseFigure

    class Checked(BaseFigure):
        """What Streamlit takes for a figure that plotly has checked."""

        def __init__(self, figure: dict[str, Any]):
            object.__setattr__(self, "made", figure)

        def to_dict(self) -> dict[str, Any]:
            return self.made

    return Checked


def dark() -> bool:
    """Return whether the page is dark."""
    return st.context.theme.type == "dark"
