"""Rows of `bench composition`: what attackers recover from several releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .measurement import Measurement


@dataclass(frozen=True, slots=True)
class CompositionRow:
    """A mechanism at one ε on texts of a number of words.

    releases: of each text, read together; they multiply the total ε. texts, drawn: numbers of texts and of attacked
    words. reader, alone: mean share of words that the contextual attacker and the Bayes-optimal guess recover. half: of
    the contextual attacker's 95% interval. more, low, high: its gain over one release of the same texts. likely: share
    that a causal language model recovers from the first release of the first texts, or None. seconds: CPU time per
    text."""

    data: str
    mechanism: str
    options: dict[str, Any]
    epsilon: float
    words: int
    releases: int
    texts: int
    drawn: int
    reader: float
    half: float
    alone: float
    more: float
    low: float
    high: float
    likely: float | None
    seconds: float


MEASUREMENT = Measurement(
    "composition --data DIR --stopwords FILE --judge NAME", CompositionRow, "composition.json", digits=4
)
