"""Rows of `bench composition`: what attackers find in several releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .measurement import Measurement


@dataclass(frozen=True, slots=True)
class CompositionRow:
    """A mechanism at one ε on texts of so many words. releases: of each text, read together; the total ε is so many
    times that of one. texts, drawn: measured, and words that were attacked in all. reader, alone: the mean over texts
    of the share that the reader and the best guess find, with the half of the reader's 95% interval; more, low, high:
    what the reader finds beyond what it finds in one release of the same texts. likely: of the first release the share
    that a causal language model finds, over the first texts; None without one. seconds: of processor time for reading
    one text."""

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
