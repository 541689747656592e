"""Rows of `bench mappings`: words with a unique set."""

from __future__ import annotations

from dataclasses import dataclass

from .measurement import Measurement


@dataclass(frozen=True, slots=True)
class MappingRow:
    """The shares of ``n`` words, and of their occurrences, that have a unique set under a mapping."""

    k: int
    mapping: str
    words: float
    occurrences: float
    n: int


MEASUREMENT = Measurement("mappings --data DIR", MappingRow, "mappings.json")
bundled = MEASUREMENT.bundled
