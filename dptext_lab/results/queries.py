"""Rows of `bench queries`: how many answers give a word away."""

from __future__ import annotations

from dataclasses import dataclass

from .measurement import Measurement

#: The paper's, as far as they differ: Table 7 has one word, Table 8 all of these.
WORDS = ("happy", "car", "she", "mary")


@dataclass(frozen=True, slots=True)
class QueryRow:
    """One word at one setting. k: the size of the set. n: answers that give the word away, None where no number does.
    p: the chance that it stays."""

    word: str
    k: int
    epsilon: float
    p: float
    n: int | None


MEASUREMENT = Measurement("queries", QueryRow, "queries.json")
bundled = MEASUREMENT.bundled
