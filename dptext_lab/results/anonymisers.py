"""Rows of `bench anonymisers`: redaction, surrogates, mechanisms and both together, on the same texts and questions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dptext_core.support.statistics import NORMAL, standard_error

from .curves import title
from .measurement import Measurement
from .paired_comparison import unpack

#: What the optimal reader is asked about. Each is a column of a row.
IDENTIFYING, OTHER = "identifying", "other"
FACTS = (IDENTIFYING, OTHER)
#: Alternatives to each fact, with the original among them.
ALTERNATIVES = 8


@dataclass(frozen=True, slots=True)
class AnonymiserRow:
    """An anonymiser at one ε on a data set. epsilon: None for one without. texts: the first of the data set's order,
    which all anonymisers share. releases: the most that estimate a certainty in a text, 0 where all were enumerated.
    seeds: rewrites of each text that are compared with it. identifying, other: expected success of the optimal reader
    who asks about an identifying word, or about another word. cosine: to the original. Each of the three is a mean; its
    plural has what every text has, as ``paired_comparison.pack`` writes it."""

    mechanism: str
    options: dict[str, Any]
    data: str
    epsilon: float | None
    texts: int
    releases: int
    seeds: int
    identifying: float
    other: float
    cosine: float
    identifyings: str
    others: str
    cosines: str

    @property
    def surrogates(self) -> bool:
        """Whether identifying words are replaced by stand-ins before the mechanism reads the text."""
        return bool(self.options.get("surrogates"))

    @property
    def title(self) -> str:
        """What people read, without the ε."""
        return title(self.mechanism) + (" with surrogates" if self.surrogates else "")

    def value(self, column: str) -> float:
        """Return the mean of a column."""
        return float(getattr(self, column))

    def interval(self, column: str) -> tuple[float, float]:
        """Return the 95% interval of the mean of a column, over the texts."""
        half = NORMAL * (standard_error(unpack(getattr(self, f"{column}s"))) or 0.0)
        return max(0.0, self.value(column) - half), min(1.0, self.value(column) + half)


MEASUREMENT = Measurement("anonymisers", AnonymiserRow, "anonymisers.json")
bundled = MEASUREMENT.bundled


def data_sets(rows: Iterable[AnonymiserRow]) -> list[str]:
    """Return the data sets of the rows, in their order."""
    return list(dict.fromkeys(row.data for row in rows))
