"""The contents of a privacy ledger: entries, exports, totals and accounts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from ..privacy.draw_counts import DrawCounts, optimal_note
from ..privacy.kinds import Notion
from ..privacy.numbers import bound, scientific
from ..support.checks import pluralize, public_config

#: What an exported file may contain, and what that means.
HOLDS = {
    "rewrite": "a rewrite, which counts as released",
    "promise": "the guarantee, in numbers that a release also shows; this spends nothing",
    "private": "your text or results computed from it; no guarantee covers these, so do not publish them",
    "nothing": "nothing of your texts; this spends nothing",
}
ALL = "All texts together, if by one person or with shared content (which the program cannot detect)"

SHARED_NOISE = "two releases share their noise, so together no finite ε holds"


@dataclass(frozen=True)
class LedgerEntry:
    """One draw.

    text: the number of its text in this ledger, from 1. time: UTC. epsilon: per draw of a word; total: of the whole
    rewrite; both spent only if ``released``. kind: the kind of total that it adds to. reason: why there is no
    guarantee, if there is none. rows: for a data set, its number of rows so far; 0 for a single text. Then total and
    delta are of all rows together; one and one_delta are the largest spent on one text in it.
    """

    time: datetime
    text: int
    mechanism: str
    config: Any
    notion: str
    epsilon: float
    total: float
    delta: float
    noise_id: str
    seeded: bool
    released: bool
    kind: str
    reason: str = ""
    rows: int = 0
    one: float = 0.0
    one_delta: float = 0.0
    _draws: DrawCounts = field(default_factory=DrawCounts, repr=False)
    _output: int = field(default=0, repr=False)
    _batch: str = field(default="", repr=False)
    _source: int = field(default=0, repr=False)
    _texts: np.ndarray | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict:
        """Return plain data, without texts; null for what is not guaranteed."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if not f.name.startswith("_")}
        if self.notion == "none":
            values |= dict.fromkeys(("epsilon", "total", "delta", "one", "one_delta"))
        return values | {"time": self.time.isoformat(timespec="seconds"), "config": public_config(self.config)}


@dataclass(frozen=True)
class ExportEntry:
    """A file exported from a page, or a text copied there.

    holds: one of HOLDS. file: never a name that a user gave.
    """

    time: datetime
    page: str
    file: str
    holds: str

    def to_dict(self) -> dict:
        return dataclasses.asdict(self) | {"time": self.time.isoformat(timespec="seconds"), "means": HOLDS[self.holds]}


@dataclass(frozen=True)
class Total:
    """A sum over released results of one text whose guarantees are of one kind.

    optimal: ε by optimal composition, at :data:`~dptext_core.privacy.sentences.DELTA`; None if it is not smaller.
    """

    kind: str
    epsilon: float
    delta: float
    releases: int
    notion: str = ""
    optimal: float | None = None

    def __str__(self) -> str:
        if self.delta >= 1:
            return f"no guarantee, because δ adds up to 1 ({pluralize(self.releases, 'release')})"
        delta = f", δ = {scientific(self.delta)}" if self.delta else ""
        times = f" ({self.releases} releases)" if self.releases > 1 else ""
        return f"ε = {bound(self.epsilon)}{delta}{times}, {self.kind}{optimal_note(self.optimal)}"


@dataclass(frozen=True)
class Account:
    """The total of the releases of one text.

    totals: one per kind; void: why there is no guarantee, or empty. text: 0 for all texts together, and for an unknown
    text without releases. rows: for data sets, the largest number of rows; 0 if no data set contains the text. Then
    totals are those of an author of all rows, and ``each`` those of the text with the largest total.
    """

    text: int
    totals: tuple[Total, ...]
    releases: int
    seeded: int
    void: str = ""
    rows: int = 0
    each: tuple[Total, ...] = ()

    @property
    def name(self) -> str:
        if not self.text:
            return ALL if self.releases else "This text"
        return f"Data set {self.text} ({self.rows:,} rows)" if self.rows else f"Text {self.text}"

    def sentence(self) -> str:
        """Return the account in plain words."""
        if not self.releases:
            return f"{self.name}: nothing was released, so nothing was spent."
        if self.void:
            return f"{self.name}: no guarantee, because {self.void}."
        sums = _sums(self.totals)
        if self.rows and self.each != self.totals:
            at_most = "at most " * all(t.delta < 1 for t in self.each)
            sums = f"{at_most}{_sums(self.each)}, for one text in it. For an author of all rows: {sums}"
        apart = ". These guarantees have different types, which do not add up" if len(self.totals) > 1 else ""
        return f"{self.name}: {sums}{apart}."

    def to_dict(self) -> dict:
        return dataclasses.asdict(self) | {"sentence": self.sentence()}


def _sums(totals: Sequence[Total]) -> str:
    return "; and ".join(map(str, totals))


def _once_for_all(a: LedgerEntry, b: LedgerEntry) -> bool:
    """Return True if two results share their noise on purpose: their draws serve all texts of a list.

    The total of each is that of the list. The total does not include the same noise in another call.
    """
    return a._batch == b._batch != "" and (a.mechanism, a.config, a.total) == (b.mechanism, b.config, b.total)


def _account(text: int, mine: list[LedgerEntry], every: Sequence[LedgerEntry]) -> Account:
    counted: list[LedgerEntry] = []
    for e in mine:
        if not any(_once_for_all(e, o) for o in counted):
            counted.append(e)
    totals = _totals(counted, lambda e: (e.total, e.delta, e._draws))
    each = _totals(counted, lambda e: (e.one, e.one_delta, e._draws.within(e.one) if e.rows else e._draws))
    void = _void(mine, [e for e in every if e.released])
    rows = max((e.rows for e in mine), default=0)
    return Account(text, totals, len(mine), sum(e.seeded for e in mine), void, rows, each if rows else ())


def _totals(
    entries: Sequence[LedgerEntry], spent: Callable[[LedgerEntry], tuple[float, float, DrawCounts]]
) -> tuple[Total, ...]:
    """Return the sums of each kind. spent: ε, δ and draws of an entry."""
    totals: dict[str, Total] = {}
    draws: dict[str, DrawCounts] = {}
    for e in entries:
        t = totals.get(e.kind, Total(e.kind, 0.0, 0.0, 0))
        epsilon, delta, counts = spent(e)
        draws.setdefault(e.kind, DrawCounts()).join(counts)
        totals[e.kind] = Total(e.kind, t.epsilon + epsilon, min(1.0, t.delta + delta), t.releases + 1, e.notion)
    totals = {k: dataclasses.replace(t, optimal=draws[k].optimal(t.epsilon)) for k, t in totals.items()}
    by_notion = {t.notion: t for t in totals.values()}  # both have the same total
    pure, approx = by_notion.get(Notion.PURE), by_notion.get(Notion.APPROX)
    if pure is not None and approx is not None:  # a pure guarantee is an approximate one with δ = 0
        del totals[pure.kind]
        n = pure.releases + approx.releases
        totals[approx.kind] = Total(approx.kind, pure.epsilon + approx.epsilon, approx.delta, n, approx.notion)
    return tuple(totals.values())


def _void(mine: list[LedgerEntry], released: list[LedgerEntry]) -> str:
    if any(e.seeded for e in mine):
        return "a released result is seeded, so anyone who knows the seed can reproduce its noise (not private)"
    for e in mine:
        if e.notion == "none":
            return e.reason.rstrip(".") or "one of the mechanisms has no guarantee"
        if any(o is not e and o.noise_id == e.noise_id and not _once_for_all(o, e) for o in released):
            return SHARED_NOISE
    return ""
