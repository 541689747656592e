"""Rows of `bench two-texts`: how well two texts are distinguished by their rewrites."""

from __future__ import annotations

from dataclasses import dataclass

from .measurement import Measurement


@dataclass(frozen=True, slots=True)
class TwoTextsRow:
    """A mechanism at one ε on a bundled pair. draws: rewrites of each text. advantage: of the best classifier, with its
    95% interval (low, high); by: its title. epsilon_least: the lower bound of ε between the two (95%); most: the
    largest that so many draws can show. promised: what may be lost between them, None where nothing is promised.
    seconds: of processor time."""

    mechanism: str
    epsilon: float
    distance: str
    draws: int
    advantage: float
    low: float
    high: float
    by: str
    epsilon_least: float
    most: float
    promised: float | None
    seconds: float


MEASUREMENT = Measurement("two-texts", TwoTextsRow, "two_texts.json", digits=4)
bundled = MEASUREMENT.bundled
