"""What we found: claims of the papers, each held against our own runs by a test that was said before the numbers.

Nothing here is a stored result: every verdict and every number comes from the rows of ``assets/benchmarks`` and
``assets/papers`` at the moment it is asked for. One paper a file: a claim is a function that looks at rows, beneath the
paper's words, where they stand, and what decides; writing it lists it. All comparisons of a claim are corrected for
their number (Holm); a difference counts where it is then beyond chance and at least as large as matters.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..rows import Gate, Row
from . import custext, diffractor, dp_mlm, dp_rewrite, ours, several
from .base import AGREES, DISAGREES, MISSING, OPEN, OURS, PARTLY, REGISTERED, Claim, Finding, Paired, Runs

__all__ = [
    "AGREES",
    "CLAIMS",
    "DISAGREES",
    "MISSING",
    "OPEN",
    "PARTLY",
    "Finding",
    "findings",
]

_FILES = (dp_mlm, diffractor, custext, dp_rewrite, ours, several)
_PAPERS = [getattr(file, "PAPER", OURS) for file in _FILES]
#: Every claim, paper by paper.
CLAIMS: tuple[Claim, ...] = tuple(sorted(REGISTERED, key=lambda claim: _PAPERS.index(claim.paper)))


def findings(rows: Iterable[Row], gates: Iterable[Gate] = (), paired: Paired | None = None) -> list[Finding]:
    """Every claim held against these rows and gates of results. paired: compares rows text by text, where it can."""
    runs = Runs(rows, gates, paired)
    return [claim(runs) for claim in CLAIMS]
