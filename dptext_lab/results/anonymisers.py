"""Rows of `bench anonymisers`: redaction, surrogates, mechanisms and both together, on the same texts and questions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dptext_core.mechanisms.registry import mechanism_class
from dptext_core.privacy.numbers import number, percent
from dptext_core.support.statistics import NORMAL, standard_error
from dptext_core.support.version import PROG

from .curves import title
from .measurement import Measurement
from .paired_comparison import unpack

#: The questions to the optimal reader. Each is a column of a row.
IDENTIFYING, OTHER = "identifying", "other"
FACTS = (IDENTIFYING, OTHER)
#: The certainty at which anonymisers are compared.
LEVEL = 0.5
#: Number of alternatives to each fact, including the original.
ALTERNATIVES = 8


@dataclass(frozen=True, slots=True)
class AnonymiserRow:
    """An anonymiser at one ε on a data set. epsilon: None without one. texts: the first ones in the data set's order,
    shared by all anonymisers. releases: the largest number of releases behind a certainty, 0 if all were enumerated.
    seeds: number of compared rewrites of each text. identifying, other: expected success of the optimal reader for an
    identifying word, or for another word. cosine: to the original. Each of the three is a mean; its plural has the
    values of all texts, packed by ``paired_comparison.pack``. recovered: share of the replaced words that the strongest
    attacker on single words recovers, with its 95% interval. attacker: its name, or empty."""

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
    attacker: str = ""
    recovered: float = 0.0
    recovered_low: float = 0.0
    recovered_high: float = 1.0

    @property
    def surrogates(self) -> bool:
        """Return whether stand-ins replace identifying words before the mechanism reads the text."""
        return bool(self.options.get("surrogates"))

    @property
    def title(self) -> str:
        """Return the display title, without the ε."""
        return title(self.mechanism) + (" with surrogates" if self.surrogates else "")

    def value(self, column: str) -> float:
        """Return the mean of a column."""
        return float(getattr(self, column))

    def interval(self, column: str) -> tuple[float, float]:
        """Return the 95% interval of the mean of a column, over the texts."""
        half = NORMAL * (standard_error(unpack(getattr(self, f"{column}s"))) or 0.0)
        return max(0.0, self.value(column) - half), min(1.0, self.value(column) + half)

    @property
    def command(self) -> str:
        """Return the command that measures the rows of this data set."""
        source = "--notes FILE" if self.data == "notes" else "--data DIR"
        return f"{PROG} bench anonymisers {source} --sets {self.data} --texts {self.texts} --lines FILE"


MEASUREMENT = Measurement("anonymisers", AnonymiserRow, "anonymisers.json")
bundled = MEASUREMENT.bundled


def redaction(rows: Iterable[AnonymiserRow]) -> AnonymiserRow | None:
    """Return the first row that removes identifying words by a rule and samples nothing; None if there is none."""
    return next((row for row in rows if row.epsilon is None), None)


def preserves_most(rows: Iterable[AnonymiserRow], fact: str, at: float = LEVEL) -> AnonymiserRow | None:
    """Return the row with a guarantee that preserves the most while the reader's certainty of a fact is within the
    level."""
    able = [r for r in rows if mechanism_class(r.mechanism).notion != "none" and r.value(fact) <= at]
    return max(able, key=lambda r: r.cosine, default=None)


def finding(rows: Iterable[AnonymiserRow]) -> tuple[str, ...]:
    """Return two sentences on what the removal of names protects, and what it does not, from the rows of one data set.
    Empty without a row of redaction.
    """
    rows = tuple(rows)
    removed = redaction(rows)
    if removed is None:
        return ()
    names, others = (removed.value(fact) for fact in FACTS)
    first = (
        f"{removed.title} {_protects(removed, IDENTIFYING)} identifying words: a reader who guesses one is right "
        f"{percent(names)} of the time ({100 / ALTERNATIVES:g}% by chance)."
    )
    second = f"It {_protects(removed, OTHER)} other facts: there the reader is right {percent(others)} of the time"
    if (best := preserves_most(rows, OTHER)) is not None:
        second += f", and {percent(best.other)} under {best.title} at ε = {number(best.epsilon or 0.0)}"
    return first, f"{second}."


def _protects(row: AnonymiserRow, fact: str) -> str:
    """Return the verb for a fact, depending on which side of the level the 95% interval of the certainty is."""
    low, high = row.interval(fact)
    return "protects" if high <= LEVEL else "does not protect" if low > LEVEL else "partly protects"


def data_sets(rows: Iterable[AnonymiserRow]) -> list[str]:
    """Return the data sets of the rows, in their order."""
    return list(dict.fromkeys(row.data for row in rows))
