"""Rows of `bench polish`: how post-processed releases read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .measurement import Measurement


@dataclass(frozen=True, slots=True)
class PolishRow:
    """A mechanism at one ε on a data set, before and after post-processing.

    reads_before, reads_after: geometric mean of the perplexity per word under the judge. ratio, ratio_low, ratio_high:
    the second divided by the first, with its 95% interval; None without a judge. cosine_before, cosine_after: mean
    similarity to the original. gain, low, high: their difference with its 95% interval. kept_before, kept_after: mean
    share of sampled words that are unchanged; None without aligned words. found: mean shares of the original's content
    words that each attacker recovers before and after."""

    data: str
    mechanism: str
    options: dict[str, Any]
    epsilon: float
    texts: int
    reads_before: float | None
    reads_after: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    cosine_before: float
    cosine_after: float
    gain: float
    low: float
    high: float
    kept_before: float | None
    kept_after: float | None
    found: dict[str, tuple[float, float]]


MEASUREMENT = Measurement("polish --data DIR --stopwords FILE --judge NAME", PolishRow, "polish.json", digits=4)
