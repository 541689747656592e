"""What was drawn from a text in a session, what was released of it, and what that adds up to.

Only what leaves counts: the total of a text is that of its released results. Fresh draws add up (sequential
composition), as long as they promise the same kind of thing; different notions or distances are listed side by side.
Two results of one noise have no finite ε together, and a seeded one has none for whoever knows the seed.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from .guarantee import NOTIONS, bound, scientific
from .result import RewriteResult

SHARED_NOISE = "two of them share their noise, so that together they tell more than any finite ε allows"


@dataclass(frozen=True)
class Entry:
    """One draw. text: the number of its text in this ledger, from 1. time: UTC. epsilon: per draw of a word; total: of
    the whole rewrite; both spent only where ``released``. kind: what a total can be added to. reason: why there is no
    guarantee, where there is none."""

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
    _output: str = field(default="", repr=False)
    _batch: str = field(default="", repr=False)

    def to_dict(self) -> dict:
        """As plain data, without texts; null for what is not promised."""
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if not f.name.startswith("_")}
        if self.notion == "none":
            own |= dict.fromkeys(("epsilon", "total", "delta"))
        return own | {"time": self.time.isoformat(timespec="seconds"), "config": dataclasses.asdict(self.config)}


@dataclass(frozen=True)
class Total:
    """What may be added up: released results of one text whose promises are of one kind."""

    kind: str
    epsilon: float
    delta: float
    releases: int

    def __str__(self) -> str:
        delta = f", δ = {scientific(self.delta)}" if self.delta else ""
        times = f" ({self.releases} releases)" if self.releases > 1 else ""
        return f"ε = {bound(self.epsilon)}{delta}{times}, {self.kind}"


@dataclass(frozen=True)
class Account:
    """What the releases of one text amount to. totals: one for each kind; void: why they promise nothing, or empty."""

    text: int
    totals: tuple[Total, ...]
    releases: int
    seeded: int
    void: str = ""

    def sentence(self) -> str:
        """The account in plain words."""
        if not self.releases:
            return f"Text {self.text}: nothing was released, so nothing was spent."
        if self.void:
            return f"Text {self.text}: no guarantee: {self.void}."
        sums = "; and ".join(str(t) for t in self.totals)
        apart = ". These are promises of different kinds, which do not add" if len(self.totals) > 1 else ""
        return f"Text {self.text}: {sums}{apart}."

    def to_dict(self) -> dict:
        return dataclasses.asdict(self) | {
            "totals": [dataclasses.asdict(t) for t in self.totals], "sentence": self.sentence()
        }  # fmt: skip


class Ledger:
    """Draws of one session, held by that session. Entries do not change; releasing a draw replaces its entry."""

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)):
        self._clock = clock
        self._entries: list[Entry] = []
        self._texts: dict[str, int] = {}

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All draws, in their order."""
        return tuple(self._entries)

    def record(self, result: RewriteResult, released: bool = False) -> Entry:
        """Write a draw down. One that stands there already is not counted twice, and stays released once it was."""
        entry = self._entry(result, released)
        for i, old in enumerate(self._entries):
            if _same(old, entry):
                # One output of one draw may stand in two lists of texts: the larger of what they promise holds.
                total, delta = max(old.total, entry.total), max(old.delta, entry.delta)
                new = dataclasses.replace(old, released=old.released or released, total=total, delta=delta)
                if new != old:
                    self._entries[i] = new
                return self._entries[i]
        self._entries.append(entry)
        return entry

    def account(self, text: int | str) -> Account:
        """What the released results of one text amount to. text: its number here, or itself."""
        text = self._number(text)
        return _account(text, [e for e in self._entries if e.released and e.text == text], self._entries)

    def accounts(self) -> tuple[Account, ...]:
        """One for each text, in the order in which they came."""
        return tuple(self.account(n) for n in self._texts.values())

    def draws(self, text: int | str) -> int:
        """How many draws with fresh noise were made from a text (its number here, or itself), released or not."""
        return len(self._noises(self._number(text)))

    def draw_of(self, entry: Entry) -> int:
        """Which draw of its text an entry belongs to, from 1: entries of one draw are settings under one noise."""
        return self._noises(entry.text).index(entry.noise_id) + 1

    def _noises(self, text: int) -> list[str]:
        return list(dict.fromkeys(e.noise_id for e in self._entries if e.text == text))

    def _number(self, text: int | str) -> int:
        return text if isinstance(text, int) else self._texts.get(text, 0)

    def what_if(self, results: Sequence[RewriteResult]) -> str:
        """What releasing these, beside what was released, would mean. Nothing is written down."""
        trial = Ledger(self._clock)
        trial._entries, trial._texts = [e for e in self._entries if e.released], dict(self._texts)
        numbers = [trial.record(r, released=True).text for r in results]
        if not results:
            return "Nothing is released by this, so nothing is spent."
        return " ".join(trial.account(n).sentence() for n in dict.fromkeys(numbers))

    def to_dict(self) -> dict:
        """As plain data, without any text: draws, and what the releases of each text amount to."""
        return {
            "draws": [e.to_dict() | {"draw": self.draw_of(e)} for e in self._entries],
            "texts": [a.to_dict() | {"draws": self.draws(a.text)} for a in self.accounts()],
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)

    def _entry(self, result: RewriteResult, released: bool) -> Entry:
        number_ = self._texts.setdefault(result.original, len(self._texts) + 1)
        g = result.guarantee
        where = f", {space}" if g.notion == "group" and (space := getattr(result.config, "space", "")) else ""
        kind = NOTIONS[g.notion] + " for each unit of distance" * (g.notion == "metric")
        kind += f" ({g.metric or g.group}{where})" * bool(g.metric or g.group)
        return Entry(
            self._clock(), number_, result.mechanism, result.config, g.notion, g.epsilon, g.total, g.total_delta,
            result.noise_id, result.seed is not None, released, kind, g.reason, result.text, result.batch,
        )  # fmt: skip


def _same(a: Entry, b: Entry) -> bool:
    """Whether two entries are one draw: the same output of the same mechanism under the same noise."""
    return (a.text, a.noise_id, a.mechanism, a.config, a._output) == (
        b.text,
        b.noise_id,
        b.mechanism,
        b.config,
        b._output,
    )


def _once_for_all(a: Entry, b: Entry) -> bool:
    """Whether two results of different texts share their noise on purpose: a word is drawn once for all texts of a
    list, and the total of each is that of the list. What the same noise gave in another call is not in that total."""
    return (
        getattr(a.config, "strategy", "") == "dataset"
        and a._batch == b._batch != ""
        and (a.mechanism, a.config, a.total) == (b.mechanism, b.config, b.total)
        and a.text != b.text
    )


def _account(text: int, mine: list[Entry], every: Sequence[Entry]) -> Account:
    totals: dict[str, Total] = {}
    for e in mine:
        t = totals.get(e.kind, Total(e.kind, 0.0, 0.0, 0))
        totals[e.kind] = Total(e.kind, t.epsilon + e.total, min(1.0, t.delta + e.delta), t.releases + 1)
    seeded = sum(e.seeded for e in mine)
    return Account(text, tuple(totals.values()), len(mine), seeded, _void(mine, [e for e in every if e.released]))


def _void(mine: list[Entry], released: list[Entry]) -> str:
    if any(e.seeded for e in mine):
        return "a released result is seeded, so that whoever knows the seed can replay its noise (not private)"
    for e in mine:
        if e.notion == "none":
            return e.reason.rstrip(".") or "one of the mechanisms promises nothing"
        if any(o is not e and o.noise_id == e.noise_id and not _once_for_all(o, e) for o in released):
            return SHARED_NOISE
    return ""
