"""Rows of `bench reader`: what each attacker finds in a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .measurement import Measurement


@dataclass(frozen=True, slots=True)
class ReaderRow:
    """A mechanism at one ε on a data set. texts: those in which a word was drawn; words: drawn in all. reader, alone,
    same, nearest, mask: the mean over texts of the share that is found by the reader, by the best guess, by guessing
    that nothing was changed, by the nearest other word, and by the language model; chance: without the output. gain:
    reader − alone, with its 95% interval (low, high). best: who finds most, with the interval that is corrected for
    that choice (best_low, best_high). exact: whether p(z | w) is. seconds: of processor time, for one text."""

    data: str
    mechanism: str
    options: dict[str, Any]
    epsilon: float
    texts: int
    words: int
    reader: float
    alone: float
    same: float
    nearest: float
    mask: float
    chance: float
    gain: float
    low: float
    high: float
    best: str
    best_low: float
    best_high: float
    exact: bool
    seconds: float


MEASUREMENT = Measurement("reader --data DIR", ReaderRow, "reader.json", digits=4)
bundled = MEASUREMENT.bundled
#: The columns of the attackers.
COLUMNS = {
    "same-word": "same",
    "nearest-words": "nearest",
    "best-guess": "alone",
    "language-model": "mask",
    "reader": "reader",
}
