"""Findings: claims of the papers, each tested on our own runs with a test that was written before the results.

Every verdict and number comes from the rows in ``assets/benchmarks`` and ``assets/papers``; a bundled file stores the
verdicts. There is one module for each paper. A claim is a registered function that reads rows. Its quotation, its place
in the paper and its test are below its name in ``claims.toml``. All comparisons of a claim are corrected by Holm's
method. A difference counts if it is then significant and at least as large as the smallest effect that matters.
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
