"""Rewrite data sets row by row: iterator in, iterator out, in bounded memory.

Each row is an independent text with its own noise and guarantee; :class:`DatasetGuarantee` adds up the guarantees. Rows
are yielded in order, so that a stopped run resumes after the last written row.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from ..errors import Busy, Cancelled, ConfigError, DPTextError, InputError, ModelUnavailable
from ..mechanisms.base import BATCH, Mechanism
from ..privacy.draw_counts import DrawCounts, optimal_note
from ..privacy.guarantee import Guarantee, Notion
from ..privacy.numbers import bound, scientific
from ..privacy.sampling import NoiseStream
from ..privacy.sentences import DELTA, NOTIONS
from ..result import RewriteResult
from ..support.checks import check_whole_number, column_names, one_dimension, pluralize
from ..support.private import Private
from ..support.task import UNWATCHED, Task
from ..text.document import too_long
from ..text.visible import visible_text

#: Errors that affect all rows alike, and end the run.
FATAL = (Cancelled, Busy, ModelUnavailable, ConfigError)


class UnreadableRow(dict[str, Any]):
    """A row of a file that could not be read: its columns with empty values, and the reason."""

    def __init__(self, columns: Iterable[str], why: str):
        super().__init__(dict.fromkeys(columns))
        self.why = why


@dataclass(frozen=True, eq=False)
class Record(Private):
    """A row after its text was rewritten.

    Attributes
    ----------
    index : int
        Its number in the input, from 0.
    text : str or None
        The released text.
    guarantee : Guarantee or None
        Its guarantee.
    error : str or None
        Why there is neither text nor guarantee.
    row : mapping
        The other columns, unchanged and not protected.
    untouched : bool
        Whether no word was sampled under the guarantee, which then protects nothing of it. Flagged words and words
        outside the vocabulary may still be replaced.
    """

    index: int
    text: str | None
    guarantee: Guarantee | None
    error: str | None
    row: Mapping[str, Any] = field(default_factory=dict)
    untouched: bool = False
    sampled_text: str | None = None

    _shown: ClassVar[tuple[str, ...]] = ("index", "guarantee")


def rewrite_records(
    rows: Iterable[Any],
    m: Mechanism,
    column: str = "text",
    *,
    seed: int | None = None,
    start: int = 0,
    batch: int = BATCH,
    polish: bool = False,
    task: Task | None = None,
) -> Iterator[Record]:
    """Yield each row with the text of its ``column`` rewritten, in order.

    Parameters
    ----------
    rows : iterable
        Mappings (those of a ``datasets.Dataset`` too), rows of pandas, or texts; or a whole data frame (pandas, polars,
        Arrow). At most ``batch`` of them are in memory, unless all texts share the mechanism's draws
        (``m.shares_draws``).
    m : Mechanism
    column : str
        The column of the text.
    seed : int, optional
        For a demonstration that is not private. The noise of a row depends only on the seed and its number in ``rows``,
        from 0. So the same seed gives the same rows wherever the run starts, in blocks of any size, and next to rows
        that cannot be rewritten. The noise differs from that of ``m.rewrite`` with the same seed.
    start : int
        Number of rows to skip at the beginning.
    batch : int
        Number of rows that are rewritten together.
    polish : bool
        Post-process each rewrite into more fluent text (``attacks.polish``). This spends no ε, since it reads only the
        release. The sampled text is in ``drawn``.
    task : Task, optional
        Receives the progress, and may cancel the work.

    Yields
    ------
    Record
        With ``error`` if the row cannot be rewritten.

    Raises
    ------
    ConfigError
        No row can be rewritten with these options.
    Cancelled
        The task was stopped.
    InputError
        ``rows`` contains other values than rows, or is a table with two columns of the same name.
    ModelUnavailable
        A model of the mechanism is not on this machine.
    """
    _check_arguments(m, column)
    given = _rows_of(rows)
    start, batch = check_whole_number("start", start, least=0), check_whole_number("batch", batch, least=1)
    _check_start(m, start)
    stream = None if seed is None else seeded_stream(seed)
    rows = itertools.islice(given, start, None)
    return _records(rows, start, m, column, stream, None if m.shares_draws else batch, None, task or UNWATCHED, polish)


def _check_arguments(m: object, column: object) -> None:
    """Raise ConfigError for an invalid mechanism, or an invalid name of a column."""
    if not isinstance(m, Mechanism):
        raise ConfigError(f"m must be a mechanism, not {type(m).__name__}. Create one with "
                          "dptext_core.get_mechanism(…).")
    if not isinstance(column, str):
        raise ConfigError("column must be the name of a column, as a text.")


def _check_start(m: Mechanism, start: int) -> None:
    """Raise ConfigError if rows that share draws would start in the middle."""
    if start and m.shares_draws:
        raise ConfigError(
            "With these options, all rows share their draws, so the run cannot start in the middle. Start at the "
            "first row, with a new result file."
        )


def _rows_of(given: Any) -> Iterator[Any]:
    """Return the rows of a table, or an iterable of rows or texts. Raises InputError."""
    kind, names = type(given), None if isinstance(given, Mapping) else column_names(given)
    if names is not None and len(set(names)) < len(names):
        raise InputError("The data frame has two columns of the same name, but a row can have only one. Rename one.")
    if names is not None and hasattr(kind, "itertuples"):  # pandas, which iterates over the names of its columns
        return (dict(zip(names, cells, strict=True)) for cells in given.itertuples(index=False, name=None))
    if names is not None and hasattr(kind, "iter_rows"):  # polars, which iterates over its columns
        return iter(given.iter_rows(named=True))
    if names is not None and hasattr(kind, "slice") and hasattr(kind, "to_pylist"):  # Arrow, which does, too
        return (row for at in range(0, len(given), BATCH) for row in given.slice(at, BATCH).to_pylist())
    if names is None or not hasattr(kind, "features"):  # a Dataset iterates over rows
        one_dimension(given, "rows or texts")
    if names is None and hasattr(kind, "to_pylist"):
        return iter(given.to_pylist())
    if not isinstance(given, str):
        with contextlib.suppress(TypeError):
            return iter(given)
    raise InputError(f"Give a list of rows or texts, or a generator, not {kind.__name__}.")


def seeded_stream(seed: int) -> NoiseStream:
    """Return the stream of all rows of a seeded run: see :func:`rewrite_part`."""
    return NoiseStream(seed).at("records")


def rewrite_part(
    rows: Iterable[Any],
    first: int,
    m: Mechanism,
    column: str,
    *,
    stream: NoiseStream | None,
    draws: int | None = None,
    batch: int = BATCH,
    task: Task = UNWATCHED,
) -> Iterator[Record]:
    """Rewrite a part of many rows, starting with number ``first``, as :func:`rewrite_records` does for all.

    stream: that of all rows (:func:`seeded_stream`), or, if all texts share their draws, the one that all parts share;
    None: fresh randomness. draws: how much all parts together sample once (:func:`shared_draws`).
    """
    return _records(iter(rows), first, m, column, stream, None if m.shares_draws else batch, draws, task)


def shared_draws(rows: Iterable[Any], m: Mechanism, column: str, task: Task = UNWATCHED) -> frozenset[Hashable] | None:
    """Return what the valid rows sample once for all of them (``Mechanism.in_parts``); None for nothing."""
    if (parts := m.in_parts) is None:
        return None
    texts, _, _ = texts_of(list(rows), column)
    try:
        return parts.draws(list(texts.values()), task)
    except FATAL:
        raise
    except Exception as error:
        if not (at_fault := _faults(texts, m, task)):
            raise error
        return parts.draws([text for i, text in texts.items() if i not in at_fault], task)


def _records(
    rows: Iterator[Any],
    at: int,
    m: Mechanism,
    column: str,
    stream: NoiseStream | None,
    size: int | None,
    draws: int | None,
    task: Task,
    polish: bool = False,
) -> Iterator[Record]:
    while block := list(itertools.islice(rows, size)):
        task.check()
        row_stream = NoiseStream() if stream is None else stream
        for record in _block(block, at, m, column, row_stream, task, polish):
            if draws is not None and record.guarantee is not None and m.in_parts is not None:
                record = replace(record, guarantee=m.in_parts.with_draws(record.guarantee, draws))
            yield record
        at += len(block)


def texts_of(block: list[Any], column: str) -> tuple[dict[int, str], dict[int, str], list[Mapping[str, Any]]]:
    """Return, by position in the block, the texts, the reasons for missing texts, and the other columns of each row."""
    texts: dict[int, str] = {}
    errors: dict[int, str] = {}
    others: list[Mapping[str, Any]] = []
    for i, row in enumerate(block):
        cells = _cells(row)
        text = row if isinstance(row, str) else cells.get(column)
        others.append({k: v for k, v in cells.items() if k != column})
        if isinstance(row, UnreadableRow):
            errors[i] = row.why
        elif isinstance(text, str) and (why := too_long(text)):
            errors[i] = why
        elif isinstance(text, str):
            texts[i] = text
        else:
            errors[i] = f"This row has no text in the column {column!r}. Correct it, and rewrite it separately."
    return texts, errors, others


def _faults(texts: Mapping[int, str], m: Mechanism, task: Task) -> dict[int, str]:
    return {i: why for i, text in texts.items() if (why := _fault(text, m, task))}


def _block(
    block: list[Any], at: int, m: Mechanism, column: str, stream: NoiseStream, task: Task, polish: bool
) -> Iterator[Record]:
    texts, errors, others = texts_of(block, column)
    try:
        results = _results(texts, at, m, stream, task)
    except FATAL:
        raise
    except Exception as error:
        # Nothing was released: identify the faulty texts, and sample again for the others.
        if not (at_fault := _faults(texts, m, task)):
            raise error
        errors |= at_fault
        results = _results({i: text for i, text in texts.items() if i not in errors}, at, m, stream, task)
    for i, other in enumerate(others):
        if i in errors:
            yield Record(at + i, None, None, errors[i], other)
        else:
            result = next(results)
            untouched = _is_untouched(texts[i], result, m)
            text, drawn = result.text, None
            if polish:
                text, drawn = result.polished(m, task=task.quiet).text, text
            yield Record(at + i, text, result.guarantee, None, other, untouched, drawn)


def _is_untouched(text: str, result: RewriteResult, m: Mechanism) -> bool:
    """Return True if the guarantee covers no word of the text, or if nothing is sampled and the text is unchanged."""
    alone = m.guarantee(text) if m.shares_draws else result.guarantee
    if alone.notion is not Notion.NONE and alone.draws == 0:
        return True
    return result.text == visible_text(text) and not any(piece.is_sampled for piece in result.releases)


def _cells(row: Any) -> Mapping[str, Any]:
    """Return a row by column name: from a mapping, a row of pandas or a named tuple; else nothing."""
    if isinstance(row, Mapping):
        return row
    if callable(getattr(row, "keys", None)) and hasattr(row, "__getitem__"):
        return {k: row[k] for k in row.keys()}  # noqa: SIM118
    return row._asdict() if isinstance(row, tuple) and hasattr(row, "_asdict") else {}


def _results(
    texts: Mapping[int, str], at: int, m: Mechanism, stream: NoiseStream, task: Task
) -> Iterator[RewriteResult]:
    """Return one result per text, in order, each with the noise of its number.

    Errors that a text causes are raised here, and not later.
    """
    if not texts:
        return iter(())
    stream = stream.numbered([at + i for i in texts])
    if not m.shares_draws:
        return iter(m.rewrite(list(texts.values()), stream=stream, task=task.quiet))
    each = m.rewrite_each(list(texts.values()), stream=stream, task=task)
    first = next(each)
    return itertools.chain([first], each)


def _fault(text: str, m: Mechanism, task: Task) -> str:
    """Return why this text cannot be rewritten; empty if it can."""
    try:
        m.rewrite(text, task=task.quiet)
    except FATAL:
        raise
    except DPTextError as error:
        return str(error)
    except Exception as error:  # a plugin's mechanism; its message may quote the text
        return f"{m.title} stopped with {type(error).__name__} at this row. Rewrite it separately."
    return ""


@dataclass(eq=False)
class DatasetGuarantee:
    """The guarantees of many rows: of each alone, and of all together by sequential composition.

    shares_draws: whether all rows share their draws, so that each row's total is that of all. untouched: number of rows
    without a sampled word, which the guarantee does not protect. exposed: of the first row; the other rows differ only
    in numbers, and state their own.
    """

    shares_draws: bool = False
    rows: int = 0
    errors: int = 0
    untouched: int = 0
    notions: dict[str, int] = field(default_factory=dict)
    one: float = 0.0
    one_delta: float = 0.0
    all: float = 0.0
    all_delta: float = 0.0
    seeded: bool = False
    reason: str = ""
    exposed: tuple[str, ...] = ()
    draws: DrawCounts = field(default_factory=DrawCounts)

    def add(self, g: Guarantee | None, untouched: bool = False) -> None:
        """Count a row with this guarantee; None: a row with an error, whose text is not released."""
        self.rows += 1
        self.untouched += untouched
        if g is None:
            self.errors += 1
            return
        # Without a guarantee, no number is a bound.
        total, delta = (math.inf, 1.0) if g.notion == "none" else (g.total, g.total_delta)
        self.notions[g.notion] = self.notions.get(g.notion, 0) + 1
        self.one, self.one_delta = max(self.one, total), max(self.one_delta, delta)
        self.all = max(self.all, total) if self.shares_draws else self.all + total
        self.all_delta = max(self.all_delta, delta) if self.shares_draws else min(1.0, self.all_delta + delta)
        if self.shares_draws:
            self.draws = DrawCounts.of(g) if total >= self.all else self.draws
        else:
            self.draws.add(g)
        self.seeded = self.seeded or g.seeded
        self.reason = self.reason or g.reason
        self.exposed = self.exposed or g.exposed

    @property
    def one_optimal(self) -> float | None:
        """Return ε of the row that spends most, by optimal composition; None if it is not smaller, or ε differs."""
        return self.all_optimal if self.shares_draws else self.draws.within(self.one).optimal(self.one)

    @property
    def all_optimal(self) -> float | None:
        """Return ε of all rows by optimal composition; None if it is not smaller."""
        return self.draws.optimal(self.all)

    def counted(self) -> str:
        """Summarise the outcome of the rows in plain words."""
        n = self.rows - self.errors - self.untouched
        parts = [f"{pluralize(n, 'row')} {'was' if n == 1 else 'were'} rewritten"]
        if self.untouched:
            parts.append(f"{self.untouched:,} had no sampled word")
        if self.errors:
            parts.append(f"{self.errors:,} had an error")
        return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1]))) + "."

    def sentence(self) -> str:
        """Return the guarantee of the whole in plain words."""
        n = self.rows - self.errors - self.untouched
        remark = ""
        if self.untouched:
            them = "it" if self.untouched == 1 else "them"
            remark = (
                f" {pluralize(self.untouched, 'row')} had no sampled word: this guarantee protects nothing in {them}."
            )
        if self.errors:
            their = "its text" if self.errors == 1 else "their texts"
            remark += f" {pluralize(self.errors, 'row')} had an error: nothing of {their} is released."
        if not n:
            return f"No row was rewritten.{remark}"
        if self.notions.get("none"):
            return f"There is no privacy guarantee: {self.reason}{remark}"
        message = ""
        if self.seeded:
            message = (
                "This is a demonstration, not private: anyone who knows the seed can reproduce it. Without a "
                "seed: "
            )
        kind = " and ".join(NOTIONS[name] for name in self.notions)
        unit = " for each unit of distance" if "metric" in self.notions else ""
        one, every = f"ε = {bound(self.one)}{unit}", f"ε = {bound(self.all)}{unit}"
        if self.all_delta:
            one, every = f"{one} and δ = {scientific(self.one_delta)}", f"{every} and δ = {scientific(self.all_delta)}"
        one += optimal_note(self.one_optimal)
        every += optimal_note(self.all_optimal)
        every = "there is no guarantee, because their δ add up to 1" if self.all_delta >= 1 else f"at most {every}"
        if self.shares_draws:
            return f"{message}All {n:,} rows together: {kind}, {every}.{remark}"
        if n == 1:
            return f"{message}The row has its own guarantee ({kind}): at most {one}.{remark}"
        return (
            f"{message}Each of {n:,} rows has its own guarantee ({kind}): at most {one} for the row that spends most. "
            f"For an author of several rows, the ε of these rows add up; over all rows {every}.{remark}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data: null if a total is not finite, or a row has no guarantee."""
        totals = {
            "one_row": self.one,
            "one_row_delta": self.one_delta,
            "all_rows": self.all if self.all_delta < 1 else math.inf,
            "all_rows_delta": self.all_delta,
        }
        promised = "none" not in self.notions
        optimal = {"one_row_optimal": self.one_optimal, "all_rows_optimal": self.all_optimal}
        return {
            "rows": self.rows,
            "errors": self.errors,
            "untouched": self.untouched,
            "notions": dict(self.notions),
            **{k: v if promised and math.isfinite(v) else None for k, v in totals.items()},
            **{k: None if v is None else {"epsilon": v, "delta": DELTA} for k, v in optimal.items()},
            "seeded": self.seeded,
            "exposed": [str(entry) for entry in self.exposed],
            "counted": self.counted(),
            "sentence": self.sentence(),
        }
