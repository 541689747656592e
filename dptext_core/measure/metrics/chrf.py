"""chrF of a rewrite with its original as the reference, by sacrebleu, both texts in lower case: 0 to 100 points.

Popović 2015: the F-score (β = 2) of sequences of 1 to 6 characters, without blanks. Two blank texts give 100, one blank
text gives 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...support import extras


def score(originals: Sequence[str], rewrites: Sequence[str]) -> list[float]:
    """Return chrF of each rewrite, in points."""
    extras.require("sacrebleu")

    from sacrebleu.metrics import CHRF

    metric = CHRF(lowercase=True)
    return [
        100.0
        if not original.strip() and not rewrite.strip()
        else min(100.0, float(metric.sentence_score(rewrite, [original]).score))
        for original, rewrite in zip(originals, rewrites, strict=True)
    ]
