"""Figures on a page."""

from __future__ import annotations

from functools import cache
from typing import Any

import streamlit as st

#: No toolbar over a figure.
CONFIG = {"displayModeBar": False}


def chart(figure: Any, *, key: str, alt: str, **options: Any) -> Any:
    """Show a figure of ``dptext_studio.figures`` unchanged. alt: a description for screen readers.

    Streamlit lets plotly check every dictionary again, which takes longer than making the figure, and adds one of
    plotly's templates.
    """
    shown = _checked()(figure) if isinstance(figure, dict) else figure
    return st.plotly_chart(shown, theme=None, config=CONFIG, key=key, alt=alt, **options)


@cache
def _checked() -> type:
    from plotly.basedatatypes import BaseFigure

    class Checked(BaseFigure):
        """A figure that Streamlit accepts as already checked by plotly."""

        def __init__(self, figure: dict[str, Any]):
            object.__setattr__(self, "made", figure)

        def to_dict(self) -> dict[str, Any]:
            return self.made

    return Checked


def dark() -> bool:
    """Return True if the page is dark."""
    return st.context.theme.type == "dark"
