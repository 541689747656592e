"""Views of how a word was sampled (``dptext_core.explain``), each with its figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dptext_core.explain import CloudView, DiffractionView, GroupView, ProposalView, View

from .cloud_view import cloud_figure
from .diffraction_view import diffraction_figure
from .group_view import group_figure
from .proposal_view import proposal_figure
from .theme import Plot
from .view_captions import caption, title, unknown_view

_FIGURES: dict[type, Callable[[Any, bool, int, int], Plot]] = {
    DiffractionView: diffraction_figure,
    GroupView: group_figure,
    CloudView: cloud_figure,
    ProposalView: proposal_figure,
}

__all__ = ["caption", "draw_view", "title"]


def draw_view(view: View, dark: bool = False, height: int = 300, width: int = 450) -> Plot:
    """Draw a view of one sampled word for a light or a dark page.

    height: pixels; a figure grows if its rows need more. width: pixels of the narrowest column: labels do not overlap
    from this width on. The figure takes the width of its column.
    """
    if type(view) not in _FIGURES:
        raise unknown_view(view)
    return _FIGURES[type(view)](view, dark, height, width)
