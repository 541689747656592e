"""Benchmark series and the utility-privacy plot as plotly figures.

Our results are filled marks on lines, the papers' are hollow marks on thin dotted lines. A mechanism keeps its colour,
and a configuration its dash and mark, in every figure. No two of them differ in colour alone. A mark's ``customdata``
starts with its point.
"""

from __future__ import annotations

from .curve_figure import YOUR_TEXT, YOURS, curves
from .frame import GUESS, PAPERS
from .panel_figure import panels
from .plane_figure import FRONT, plane

__all__ = ["FRONT", "GUESS", "PAPERS", "YOURS", "YOUR_TEXT", "curves", "panels", "plane"]
