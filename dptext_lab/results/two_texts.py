"""Rows of `bench two-texts`: how well rewrites distinguish two texts."""

from __future__ import annotations

from dataclasses import dataclass

from .measurement import Measurement


@dataclass(frozen=True, slots=True)
class TwoTextsRow:
    """A mechanism at one ε on a bundled pair. draws: rewrites of each text. advantage: of the best classifier, with its
    95% interval (low, high). by: its title. epsilon_least: lower bound on ε between the two (95%). most: the largest
    bound that these draws can show. promised: guaranteed ε between the texts (None: no guarantee). seconds: CPU
    time."""

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
