"""Results as plotly figures, and the data of the token view.

Plain functions from a result to a figure. They escape what a user typed, because plotly interprets some HTML in its
labels. Figures import results and numbers; the core imports no figures. plotly is loaded when the first figure is made.
"""

from .anonymisers import anonymisers
from .attackers import query_figure
from .audit import audit_figure
from .authors import authors
from .case_study import case_study
from .certainty import certainty
from .clip_ranges import clipping
from .detection_curve import detection_curve
from .distributions import logit_histogram
from .epsilon_curves import N_W, S_W, curves
from .files import to_html
from .leaderboard import leaderboard
from .memory import memory_over_words
from .public_prior import public_prior
from .theme import DARK, LIGHT, LINES_DARK, LINES_LIGHT
from .total_budget import total_budget
from .trade_off import trade_off
from .verdicts import verdicts
from .word_bars import word_bars
from .word_views import caption, draw_view, title

__all__ = [
    "DARK",
    "LIGHT",
    "LINES_DARK",
    "LINES_LIGHT",
    "N_W",
    "S_W",
    "anonymisers",
    "audit_figure",
    "authors",
    "caption",
    "case_study",
    "certainty",
    "clipping",
    "curves",
    "detection_curve",
    "draw_view",
    "leaderboard",
    "logit_histogram",
    "memory_over_words",
    "public_prior",
    "query_figure",
    "title",
    "to_html",
    "total_budget",
    "trade_off",
    "verdicts",
    "word_bars",
]
