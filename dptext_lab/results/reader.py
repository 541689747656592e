"""Rows of `bench reader`: what each attacker recovers from a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .measurement import Measurement


@dataclass(frozen=True, slots=True)
class ReaderRow:
    """A mechanism at one ε on a data set.

    texts, words: numbers of texts with sampled words, and of these words. The success of attackers is a mean share over
    texts. reader: contextual Bayes attacker. alone: Bayes-optimal guess. same: the released word itself. nearest: the
    nearest other word. mask: language model. chance: without the output. gain: reader − alone, with its 95% interval
    (low, high). best: the strongest attacker, with an interval that is corrected for the choice (best_low, best_high).
    exact: whether p(z | w) is exact. seconds: CPU time per text."""

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
