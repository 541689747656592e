"""Rows of `bench polish`: how post-processed releases read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .measurement import Measurement


@dataclass(frozen=True, slots=True)
class PolishRow:
    """A mechanism at one ε on a data set. texts: measured. reads_before, reads_after: geometric mean of the perplexity
    of a word under the judge, and how often the former the latter is, with its 95% interval (ratio, ratio_low,
    ratio_high); None without a judge. cosine_before, cosine_after: mean similarity to the original, and what the polish
    adds to it, with its 95% interval (gain, low, high). kept_before, kept_after: the share of the drawn words that are
    the original, as a mean over texts; None where no word answers to one of the original. found: the shares of the
    original's words, without stop words, that each attacker names before and after, as means over texts."""

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
