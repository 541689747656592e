"""What we found: claims of the papers, each held against our own runs by a test that was said before the numbers.

Every verdict and every number comes from the rows of ``assets/benchmarks`` and ``assets/papers``; a file keeps what
they come to. One paper a file: a claim is a function that looks at rows, and writing it lists it; the paper's words,
where they stand, and what decides are below its name in ``claims.toml``. All comparisons of a claim are corrected for
their number (Holm); a difference counts where it is then beyond chance and at least as large as matters.
"""

from .evidence import CONTRADICTED, INCONCLUSIVE, MISSING, NOT_COMPARABLE, REPLICATED, VERDICTS
from .runs import Runs
from .verdicts import CLAIMS, ClaimFinding, bundled, findings

__all__ = [
    "CLAIMS",
    "CONTRADICTED",
    "INCONCLUSIVE",
    "MISSING",
    "NOT_COMPARABLE",
    "REPLICATED",
    "VERDICTS",
    "ClaimFinding",
    "Runs",
    "bundled",
    "findings",
]
