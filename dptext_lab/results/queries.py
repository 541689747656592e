"""Rows of `bench queries`: how many answers reveal a word."""

from __future__ import annotations

from dataclasses import dataclass

from .measurement import Measurement

#: The paper's words: Table 7 has the first, Table 8 all of them.
WORDS = ("happy", "car", "she", "mary")


@dataclass(frozen=True, slots=True)
class QueryRow:
    """One word at one setting. k: size of the set. n: answers that reveal the word (None: no number does). p: the
    probability that it is unchanged."""

    word: str
    k: int
    epsilon: float
    p: float
    n: int | None


MEASUREMENT = Measurement("queries", QueryRow, "queries.json")
bundled = MEASUREMENT.bundled
