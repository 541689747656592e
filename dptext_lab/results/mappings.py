"""Rows of `bench mappings`: words that are alone in their group."""

from __future__ import annotations

from dataclasses import dataclass

from .measurement import Measurement


@dataclass(frozen=True, slots=True)
class MappingRow:
    """Of ``n`` words under a mapping: the share of them, and of their occurrences, whose set is no other word's."""

    k: int
    mapping: str
    words: float
    occurrences: float
    n: int


MEASUREMENT = Measurement("mappings --data DIR", MappingRow, "mappings.json")
bundled = MEASUREMENT.bundled
