"""Figures as files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dptext_core.support import extras

from .theme import escape


def to_html(figure: Mapping[str, Any], title: str) -> str:
    """Return a self-contained page that shows one figure, with the script that draws it."""
    extras.require("plotly")

    import plotly.io

    config = {"displaylogo": False, "plotlyServerURL": "", "showSendToCloud": False, "responsive": True}
    page = plotly.io.to_html(
        figure, config=config, include_plotlyjs=True, include_mathjax=False, full_html=True, validate=False
    )
    return page.replace("<head>", f"<head><title>{escape(title)}</title>", 1)
