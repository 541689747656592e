"""The privacy ledger of a session: draws from each text, releases, and their totals.

Only releases count: the total of a text is that of its released results. Fresh draws add up (sequential composition) if
their guarantees have the same type; a pure guarantee counts as an approximate one with δ = 0. Different distances and
groups are listed separately. Two results with the same noise have no finite total ε, and a seeded one has none for
anyone who knows the seed.

Two texts count as one if they have the same letters and digits in the same order, whatever their spacing, marks and
capitals, or if the same words of them are sampled: a guarantee compares those and holds the rest fixed. The program
cannot see whether other texts are by the same person, so it also states the sum over all of them. A ledger contains no
text: it recognises one by a hash with its own key, which is lost with the ledger.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import secrets
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..pieces import deleted_by_chance
from ..privacy.draw_counts import DrawCounts
from ..privacy.guarantee import Guarantee
from ..privacy.sentences import NOTIONS
from ..result import RewriteResult
from ..text.visible import visible_text
from .ledger_entries import Account, ExportEntry, LedgerEntry, _account

if TYPE_CHECKING:
    from ..mechanisms.base import Mechanism

_MARKS = re.compile(r"[\W_]+")


class _RowSums:
    """Add up the spending of a data set's rows: in total, and per text, whose rows are recognised by shared keys."""

    def __init__(self, m: Mechanism, keys: Callable[[str, Sequence[str]], list[int]]):
        self.m, self.keys = m, keys
        self.spent: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self.every = [0.0, 0.0]
        self.draws = DrawCounts()
        self.joined: dict[int, int] = {}  # a key of a text → another key of the same text
        self.notions: dict[str, None] = {}
        self.count, self.epsilon, self.seeded, self.reason = 0, 0.0, False, ""

    def add(self, text: str, g: Guarantee | None) -> None:
        """Add a row; one without a guarantee is counted alone."""
        self.count += 1
        if g is None:
            return
        self.notions[g.notion] = None
        self.epsilon, self.seeded = max(self.epsilon, g.epsilon), self.seeded or g.seeded
        self.reason = self.reason or g.reason
        if g.draws:
            words: list[str] = []
            if self.m.alignment is not None:
                plan = self.m.plan(text)
                words = [plan.document.words[i] for i in self.m.alignment.sampled_tokens(plan)]
            key, *others = self.keys(text, words)
            self._first(key)
            for other in others:
                self.joined[self._first(other)] = self._first(key)
            if not self.m.shares_draws:
                self.draws.add(g)
            elif g.total >= self.every[0]:
                self.draws = DrawCounts.of(g)
            for sums in (self.spent[key], self.every):
                self._more(sums, (g.total, g.total_delta))

    def texts(self) -> np.ndarray:
        """Return the keys of all texts, sorted."""
        return np.unique(np.fromiter(self.joined, np.uint64, len(self.joined)))

    def of_one_text(self) -> list[float]:
        """Return the largest total and the largest δ of one text."""
        by_text: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for key, sums in self.spent.items():
            self._more(by_text[self._first(key)], sums)
        return [max(column) for column in zip(*by_text.values(), strict=True)] or [0.0, 0.0]

    def _more(self, sums: list[float], more: Sequence[float]) -> None:
        # Draws shared by all rows are spent once.
        sums[:] = [max(a, b) if self.m.shares_draws else a + b for a, b in zip(sums, more, strict=True)]

    def _first(self, key: int) -> int:
        while (further := self.joined.setdefault(key, key)) != key:
            self.joined[key] = key = self.joined[further]
        return key


class Ledger:
    """The draws of one session, owned by that session.

    Entries do not change: releasing a draw replaces its entry, and so does the discovery that two texts are one.
    Thread-safe for writing.
    """

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)):
        self._clock = clock
        self._entries: list[LedgerEntry] = []
        self._exports: list[ExportEntry] = []
        self._texts: dict[int, int] = {}
        self._last_number = 0
        self._key = secrets.token_bytes(32)
        self._lock = threading.RLock()

    def __reduce__(self) -> Any:
        raise InputError("A ledger belongs to its session and cannot be copied. Use to_json() instead.")

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Return all draws, in order."""
        return tuple(self._entries)

    @property
    def exports(self) -> tuple[ExportEntry, ...]:
        """Return all exports: each file and each copy once, in order."""
        return tuple(self._exports)

    def take(self, page: str, file: str, holds: str) -> ExportEntry:
        """Record that a file was exported or a text copied; a rewrite in it is recorded separately, as released."""
        taken = ExportEntry(self._clock(), page, file, holds)
        with self._lock:
            there = [t for t in self._exports if (t.page, t.file, t.holds) == (page, file, holds)]
            self._exports += [] if there else [taken]
        return there[0] if there else taken

    def record(self, result: RewriteResult, released: bool = False, *, edited: str | None = None) -> LedgerEntry:
        """Record a draw. A known draw is not counted twice, and remains released.

        edited: the text that this one was edited from. Both count as one text from now on, so that their releases add
        up. If the draw moved on with the edited text, earlier views of it are no longer entries: only the latest state
        remains.
        """
        if not isinstance(result, RewriteResult):
            raise InputError("A ledger can only record rewrites. Pass a result of mechanism.rewrite.")
        with self._lock:
            if edited is not None:
                self._entries = [e for e in self._entries if e.released or e.noise_id != result.noise_id]
            return self._put(self._entry(result, released, edited), _is_same_draw)

    def spent(self, noise_id: str, text: str) -> bool:
        """Return True if another text was released under this noise, so that together they have no guarantee."""
        mine = self._hash(text)
        return any(e.released and e.noise_id == noise_id and e._source != mine for e in self._entries)

    def knows(self, noise_id: str, text: str) -> bool:
        """Return True if the ledger has a draw of this text with this noise."""
        mine = self._hash(text)
        return any(e.noise_id == noise_id and e._source == mine for e in self._entries)

    def record_rows(
        self, m: Mechanism, rows: Iterable[tuple[str, Guarantee | None]], noise_id: str, released: bool = False
    ) -> LedgerEntry:
        """Record the rows of a data set that one run has rewritten so far.

        rows: each text with the guarantee of its rewrite, None if it has none. noise_id: a name of the run; its rows
        count once, however often they are exported.
        """
        sums = _RowSums(m, self._keys)
        for text, g in rows:
            sums.add(text, g)
        texts, one = sums.texts(), sums.of_one_text()
        notion = "none" if "none" in sums.notions else next(iter(sums.notions), type(m).notion)
        g = m.guarantee("a")
        kind = _kind(g) if g.notion == notion else NOTIONS[notion]
        with self._lock:
            return self._put(
                LedgerEntry(
                    time=self._clock(),
                    text=self._number_of(texts),
                    mechanism=m.name,
                    config=m.config,
                    notion=notion,
                    epsilon=sums.epsilon,
                    total=sums.every[0],
                    delta=min(1.0, sums.every[1]),
                    noise_id=noise_id,
                    seeded=sums.seeded,
                    released=released,
                    kind=kind,
                    reason=sums.reason,
                    rows=sums.count,
                    one=one[0],
                    one_delta=min(1.0, one[1]),
                    _draws=sums.draws,
                    _texts=texts,
                ),
                _same_run,
            )

    def account(self, text: int | str) -> Account:
        """Account for the released results of one text.

        text: its number here, or the text itself. Raises InputError for an unknown number.
        """
        text = self._number(text)
        return _account(text, [e for e in self._entries if e.released and e.text == text], self._entries)

    def accounts(self) -> tuple[Account, ...]:
        """Return one account per text, in order of appearance."""
        return tuple(self.account(n) for n in sorted({e.text for e in self._entries}))

    def overall(self) -> Account | None:
        """Return the account of all releases as if all texts were by one person; None if they are of one text."""
        mine = [e for e in self._entries if e.released]
        if len({e.text for e in mine}) < 2:
            return None
        return dataclasses.replace(_account(0, mine, self._entries), rows=0, each=())

    def draws(self, text: int | str) -> int:
        """Count the draws with fresh noise from a text (its number here, or the text itself), released or not."""
        return len(self._noises(self._number(text)))

    def draw_of(self, entry: LedgerEntry) -> int:
        """Return an entry's draw number for its text, from 1: entries of one draw share their noise."""
        return self._noises(entry.text).index(entry.noise_id) + 1

    def what_if(self, results: Sequence[RewriteResult]) -> str:
        """Describe the account if these were released too. Records nothing."""
        trial = Ledger(self._clock)
        trial._entries, trial._texts = [e for e in self._entries if e.released], dict(self._texts)
        trial._key, trial._last_number = self._key, self._last_number
        if not results:
            return "This releases nothing and spends nothing."
        for r in results:
            trial.record(r, released=True)
        sentences = [trial.account(n).sentence() for n in dict.fromkeys(trial._number(r.original) for r in results)]
        together = trial.overall()
        return " ".join(sentences + ([together.sentence()] if together is not None else []))

    def to_dict(self) -> dict:
        """Return plain data without any text: draws, totals of each text and of all texts, and exports."""
        together = self.overall()
        return {
            "draws": [e.to_dict() | {"draw": self.draw_of(e)} for e in self._entries],
            "texts": [a.to_dict() | {"draws": self.draws(a.text)} for a in self.accounts()],
            "together": None if together is None else together.to_dict(),
            "taken": [t.to_dict() for t in self._exports],
        }

    def to_json(self) -> str:
        """Return :meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)

    # --- which text is which

    def _hash(self, text: str) -> int:
        """Return a hash of a text that only the key of this ledger can reproduce."""
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=self._key).digest()
        return int.from_bytes(digest, "big")

    def _keys(self, text: str, drawn: Iterable[str]) -> list[int]:
        """Return the keys of a text: its letters, and its sampled words. Texts that share a key count as one."""
        words = " ".join(map(_letters, drawn))
        return [self._hash(_letters(text)), *[self._hash(f"drawn: {words}")] * bool(words)]

    def _number(self, text: int | str) -> int:
        """Return the number of a text; 0 if it has none. Raises InputError for an unknown number."""
        which = "Give the number of a text in this ledger, or the text itself."
        if isinstance(text, bool) or not isinstance(text, int | str):
            raise InputError(f"A text cannot be of the type {type(text).__name__}. {which}")
        if isinstance(text, int):
            if text not in self._texts.values() and all(e.text != text for e in self._entries):
                raise InputError(f"There is no text {text}. {which}")
            return text
        return next(iter(self._numbers(np.array([self._hash(_letters(text))], np.uint64))), 0)

    def _numbers(self, texts: np.ndarray) -> set[int]:
        """Return the numbers that any of these texts has so far."""
        numbers = {self._texts[t] for t in texts.tolist() if t in self._texts}
        return numbers | {e.text for e in self._entries if e._texts is not None and _common(texts, e._texts)}

    def _number_of(self, texts: np.ndarray) -> int:
        """Return one number for all of these: the first that any of them has, else a new one."""
        numbers = self._numbers(texts)
        if not numbers:
            self._last_number += 1
            return self._last_number
        number = min(numbers)
        if len(numbers) > 1:
            self._entries = [dataclasses.replace(e, text=number) if e.text in numbers else e for e in self._entries]
            self._texts = {t: number if n in numbers else n for t, n in self._texts.items()}
        return number

    def _noises(self, text: int) -> list[str]:
        return list(dict.fromkeys(e.noise_id for e in self._entries if e.text == text))

    # --- entries

    def _put(self, entry: LedgerEntry, same: Callable[[LedgerEntry, LedgerEntry], bool]) -> LedgerEntry:
        for i, old in enumerate(self._entries):
            if same(old, entry):
                # One output of one draw may be in two lists of texts, and a run may have been resumed: the larger
                # guarantee counts.
                new = dataclasses.replace(
                    old,
                    text=entry.text,
                    released=old.released or entry.released,
                    total=max(old.total, entry.total),
                    delta=max(old.delta, entry.delta),
                    one=max(old.one, entry.one),
                    one_delta=max(old.one_delta, entry.one_delta),
                    rows=max(old.rows, entry.rows),
                    _draws=entry._draws if entry.total >= old.total else old._draws,
                    _texts=entry._texts if entry.rows >= old.rows else old._texts,
                )
                if new != old:
                    self._entries[i] = new
                return self._entries[i]
        self._entries.append(entry)
        return entry

    def _entry(self, result: RewriteResult, released: bool, edited: str | None = None) -> LedgerEntry:
        drawn = [s.original for s in result.steps if s.depends_on_original or deleted_by_chance(s)]
        keys = self._keys(result.original, drawn)
        keys += [] if edited is None else [self._hash(_letters(edited))]
        number = self._number_of(np.array(keys, np.uint64))
        self._texts |= dict.fromkeys(keys, number)
        g = result.guarantee
        return LedgerEntry(
            time=self._clock(),
            text=number,
            mechanism=result.mechanism,
            config=result.config,
            notion=g.notion,
            epsilon=g.epsilon,
            total=g.total,
            delta=g.total_delta,
            noise_id=result.noise_id,
            seeded=result.seed is not None,
            released=released,
            kind=_kind(g),
            reason=g.reason,
            rows=0,
            one=g.total,
            one_delta=g.total_delta,
            _draws=DrawCounts.of(g),
            _output=self._hash(result.text),
            _batch=result.batch,
            _source=self._hash(result.original),
        )


def _letters(text: str) -> str:
    """Return the key of a text: its letters and digits, or without any, everything except blanks."""
    text = visible_text(text)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _MARKS.sub("", folded) or "".join(text.split())


def _common(some: np.ndarray, others: np.ndarray) -> bool:
    """Return True if two sets of hashes overlap. others: uint64, ascending."""
    return bool((np.searchsorted(others, some) < np.searchsorted(others, some, side="right")).any())


def _kind(g: Guarantee) -> str:
    kind = NOTIONS[g.notion] + " for each unit of distance" * (g.notion == "metric")
    within = g.distance or g.metric or g.group
    return kind + f" ({within})" * bool(within)


def _is_same_draw(a: LedgerEntry, b: LedgerEntry) -> bool:
    """Return True if two entries are one draw: the same output of the same mechanism under the same noise."""
    return (a.text, a.noise_id, a.mechanism, a.config, a.rows, a._output) == (
        b.text,
        b.noise_id,
        b.mechanism,
        b.config,
        b.rows,
        b._output,
    )


def _same_run(a: LedgerEntry, b: LedgerEntry) -> bool:
    return bool(a.rows) and (a.noise_id, a.mechanism, a.config) == (b.noise_id, b.mechanism, b.config)
