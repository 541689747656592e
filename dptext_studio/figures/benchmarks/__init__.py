"""Benchmark series and the utility-privacy plane as plotly figures.

Ours are filled marks on lines, the papers' hollow marks on thin dotted lines. A mechanism has its colour, and a
configuration its dash and mark, in every figure. No two of a figure differ in colour alone. A mark's ``customdata``
begins with its point.
"""

from __future__ import annotations

from .curve_figure import YOUR_TEXT, YOURS, curves
from .frame import GUESS, PAPERS
from .panel_figure import panels
from .plane_figure import FRONT, plane

__all__ = ["FRONT", "GUESS", "PAPERS", "YOURS", "YOUR_TEXT", "curves", "panels", "plane"]
