"""An uploaded data set in a separate folder: a preview of ten rows, the rewrite of all rows, and the results.

The folder contains the uploaded file, ``job.json`` and ``run``, the folder of a run as ``rewrite-data`` makes it. So a
stopped run can resume, and the command that :func:`command` writes gives the same result.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
import secrets
import shlex
import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

from dptext_core.data import release_files, tables
from dptext_core.data.folder import RESULT, read_lines, some_lines
from dptext_core.data.reading_notes import ReadingNote
from dptext_core.data.records import UnreadableRow, rewrite_records
from dptext_core.data.rewriting import OWN, errors_of, guarantee_of, polished, rewrite_data, score_run, so_far
from dptext_core.data.tables import Source
from dptext_core.errors import ConfigError, DPTextError, InputError
from dptext_core.measure import pii_survival
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.mechanisms.recommended import spelled_out
from dptext_core.mechanisms.registry import fields_of
from dptext_core.mechanisms.setting import Setting, SettingFields
from dptext_core.privacy.guarantee import Guarantee
from dptext_core.support.assets import examples, read_json
from dptext_core.support.checks import public_config
from dptext_core.support.private import Private
from dptext_core.support.task import UNWATCHED, Task
from dptext_core.support.version import __version__
from dptext_core.text import names
from dptext_core.text.document import has_more, too_long

from .forecast import NAMED, DatasetForecast, forecast

#: Rows of the preview; rows that measures use; errors that are shown.
FIRST, MEASURED, ERRORS = 10, 2000, 500
#: Rows that are searched for identifiers, and how many of them are shown.
LOOKED, SHOWN = 500, 20
_RUN, _NAME = "run", "noise-id.txt"
_naming = threading.Lock()
_NOT_IN_NAMES = re.compile(r"[^\w .()-]+")


@dataclass(frozen=True)
class BatchRequest(SettingFields, Private):
    """Settings of a job.

    file: its name. header: whether the first row of a table names the columns. column: the one to rewrite. keep: the
    columns to copy. setting: the mechanism. polish: whether to clean up each rewrite.
    """

    file: str
    column: str
    header: bool
    keep: tuple[str, ...]
    setting: Setting
    polish: bool = False

    _shown: ClassVar[tuple[str, ...]] = ("mechanism",)

    def to_dict(self) -> dict[str, Any]:
        options = self.setting.to_query()
        del options["mechanism"]
        return {
            "file": self.file,
            "column": self.column,
            "header": self.header,
            "keep": list(self.keep),
            "mechanism": self.mechanism,
            "options": options,
            **({"polish": True} if self.polish else {}),
        }

    @classmethod
    def from_dict(cls, about: dict[str, Any]) -> BatchRequest:
        """Raise InputError for what is none."""
        try:
            setting = Setting.from_query({**about["options"], "mechanism": about["mechanism"]})
            return cls(
                about["file"],
                about["column"],
                about["header"],
                tuple(about["keep"]),
                setting,
                about.get("polish") is True,
            )
        except (KeyError, TypeError, AttributeError, ConfigError):
            raise InputError("This job was made by another version of the program. Start the job again.") from None


@dataclass(frozen=True)
class Pair(Private):
    """A row for its owner: its number from 1, original and rewrite, or why there is none."""

    row: int
    original: str
    text: str
    error: str

    _shown: ClassVar[tuple[str, ...]] = ("row",)


@dataclass(frozen=True)
class FilePreview(Private):
    """The content of a file: its columns, the number of rows and of unreadable rows, the first rows, and what was left
    out.
    """

    columns: tuple[str, ...]
    count: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    unread: int = 0
    notes: tuple[ReadingNote, ...] = ()

    _shown: ClassVar[tuple[str, ...]] = ("count", "unread")

    def longest(self) -> str:
        """Return the column that is most likely the text: by its name, otherwise the one with the longest cells."""
        named = [c for c in self.columns if c.strip().lower() in ("text", "texts", "message", "sentence", "review")]

        def size(column: str) -> int:
            return sum(len(v) for row in self.rows if isinstance(v := row[column], str))

        return named[0] if named else max(self.columns, key=size)


@dataclass(frozen=True)
class BatchSummary:
    """Results of the rows written so far.

    promise: as in result.json, with its sentences. errors: the first (row, reason) pairs. measures: of the rewrites
    against their originals. remaining_identifiers: identifiers that are still visible. polish: the effect of the
    clean-up, empty without one. untouched: the numbers from 1 of the first rows without a sampled word.
    """

    rows: int
    promise: dict[str, Any]
    errors: tuple[tuple[int, str], ...]
    measures: dict[str, dict[str, float]]
    remaining_identifiers: PiiSurvivors
    polish: str = ""
    untouched: tuple[int, ...] = ()


@dataclass(frozen=True)
class PiiSurvivors(Private):
    """Names, numbers, dates and places of originals that are still visible in their rewrites, found by simple rules.

    num_searched: the number of rows searched. rows: how many of them contain any. first: the first such rows, each as
    (row, (kind, text) of each).
    """

    num_searched: int
    rows: int
    first: tuple[tuple[int, tuple[tuple[str, str], ...]], ...]

    _shown: ClassVar[tuple[str, ...]] = ("num_searched", "rows")


def file_name(given: str) -> str:
    """Return a safe file name for a user's file name. Raises InputError for an unknown kind."""
    name = _NOT_IN_NAMES.sub("_", given.replace("\\", "/").rpartition("/")[2]).lstrip(". ")[-80:]
    if Path(name).suffix.lower() not in tables.KINDS:
        raise InputError(
            f"This file has none of these types: {', '.join(tables.KINDS)}. Save the data as one of them."
        )
    return name if Path(name).stem else f"data{Path(name).suffix}"


def example() -> bytes:
    """Return a small table of fictitious texts as a CSV file."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["source", "text"])
    for one in examples():
        sentences = re.split(r"(?<=[.!?])\s+", " ".join(one.text.split()))
        writer.writerows([one.title, sentence] for sentence in sentences)
    return out.getvalue().encode("utf-8")


def look(
    path: Path,
    header: bool = True,
    rows: int = FIRST,
    most: int | None = None,
    wide: int | None = None,
    task: Task = UNWATCHED,
) -> FilePreview:
    """Read a complete file once. most, wide: the largest number of rows and columns. Raises InputError, Cancelled."""
    columns = tables.heading(path, header, task)
    if not columns:
        raise InputError(f"{path.name} is empty. Choose a file with rows in it.")
    if wide is not None and len(columns) > wide:
        raise InputError(
            f"{path.name} has {len(columns):,} columns, but this page accepts up to {wide:,}. Save the columns that "
            "you need in a separate file."
        )
    data = tables.source(path, columns, header, each=True, task=task, most=most)
    return FilePreview(columns, data.count, list(itertools.islice(data.rows(), rows)), data.unread, data.notes)


class Batch(Private):
    """A file in its folder, with the settings of its job. words: the largest number of words and punctuation marks in a
    row; a longer row becomes an error.
    """

    def __init__(self, folder: Path, asked: BatchRequest, words: int | None = None):
        self.folder, self.request, self.words = folder, asked, words
        self._data: Source | None = None
        self._row_errors: dict[int, str] = {}
        self._guard = threading.Lock()

    @property
    def run(self) -> Path:
        """The folder of the run."""
        return self.folder / _RUN

    @property
    def stem(self) -> str:
        """Return the name of its file without the extension."""
        return Path(self.request.file).stem

    @cached_property
    def mechanism(self) -> Mechanism:
        return self.request.setting.make()

    def data(self, task: Task = UNWATCHED) -> Source:
        """Return the rows. The first call reads the complete file. Raises InputError, Cancelled."""
        a = self.request
        with self._guard:
            if self._data is None:
                columns = (a.column, *a.keep)
                data = tables.source(self.folder / a.file, columns, a.header, each=True, task=task)
                self._data = data if self.words is None else replace(data, rows=partial(self._limited_rows, data))
            return self._data

    def _limited_rows(self, data: Source) -> Iterator[dict[str, Any]]:
        column, most = self.request.column, self.words
        assert most is not None
        for number, row in enumerate(data.rows()):
            if not isinstance(text := row[column], str) or len(text) <= most:
                yield row
                continue
            # The rows are read many times, and their words counted once.
            if (why := self._row_errors.get(number)) is None:
                why = self._row_errors[number] = _too_long(text, most)
            yield UnreadableRow(row, why) if why else row

    def first(self, n: int = FIRST, task: Task = UNWATCHED) -> list[Pair]:
        """Return the first rows rewritten as a preview with separate noise, without writing them to disk."""
        column = self.request.column
        rows = list(itertools.islice(self.data(task).rows(), n))
        records = rewrite_records(rows, self.mechanism, column, polish=self.request.polish, task=task)
        return [
            Pair(i, _shown(row[column]), record.text or "", record.error or "")
            for i, (row, record) in enumerate(zip(rows, records, strict=True), 1)
        ]

    def forecast(self, task: Task = UNWATCHED) -> DatasetForecast | None:
        """Return the guarantee of a rewrite of all rows; None if only the run can determine it."""
        return forecast(self.data(task).rows(), self.mechanism, self.request.column, task)

    def rewrite(self, task: Task = UNWATCHED) -> BatchSummary:
        """Rewrite all rows, or resume a stopped run. Raises Cancelled with all finished rows in the folder."""
        a = self.request
        rewrite_data(
            self.data(task), self.mechanism, self.run, column=a.column, keep=a.keep, polish=a.polish, task=task
        )
        return self.summarise(task=task)

    def summarise(self, task: Task = UNWATCHED) -> BatchSummary:
        """Summarise the rows written so far."""
        whole = so_far(self.run, self.mechanism.shares_draws)
        errors = itertools.islice(errors_of(self.run), ERRORS)
        measures = self.measure(("unchanged",), task=task.quiet) if whole.rows else {}
        polish = polished(self.data(task), self.run, self.request.column)["sentence"] if self.request.polish else ""
        own = (line[OWN] for line in read_lines(self.run))
        untouched = tuple(itertools.islice((line["row"] + 1 for line in own if line.get("untouched")), NAMED))
        left = self.remaining_identifiers(task.quiet)
        return BatchSummary(whole.rows, whole.to_dict(), tuple(errors), measures, left, polish, untouched)

    def remaining_identifiers(self, task: Task = UNWATCHED) -> PiiSurvivors:
        """Return the names, numbers, dates and places that survive, in at most about :data:`LOOKED` evenly spaced rows.
        """
        step = max(1, self.written // LOOKED)
        column, looked, rows = self.request.column, 0, 0
        first: list[tuple[int, tuple[tuple[str, str], ...]]] = []
        aligned = "alignment" in self.mechanism.can and not self.request.polish
        pairs = itertools.islice(zip(self.data(task).rows(), read_lines(self.run), strict=False), None, None, step)
        for row, line in pairs:
            task.check()
            if not isinstance(original := row[column], str) or not isinstance(text := line.get(column), str):
                continue
            looked += 1
            if items := pii_survival.find_survivors(original, text, self.mechanism.language, names.finder(), aligned):
                rows += 1
                if len(first) < SHOWN:
                    each = {(t.kind, t.text.casefold()): (t.kind, t.text) for t in reversed(items)}
                    first.append((line[OWN]["row"] + 1, tuple(reversed(each.values()))))
        return PiiSurvivors(looked, rows, tuple(first))

    def measure(self, names: Sequence[str], task: Task = UNWATCHED) -> dict[str, dict[str, float]]:
        """Return metrics over at most about :data:`MEASURED` evenly spaced rows."""
        step = max(1, self.written // MEASURED)
        return score_run(self.data(task), self.run, self.request.column, names, task, step)

    @property
    def noise_id(self) -> str:
        """Return the identity of this run, by which a ledger recognises repeated rewrites. Raises InputError."""
        try:
            with _naming, contextlib.suppress(FileExistsError), (self.run / _NAME).open("x", encoding="ascii") as file:
                file.write(secrets.token_hex(8))
            with _naming:  # so that nobody reads an incomplete one
                return (self.run / _NAME).read_text(encoding="ascii")
        except OSError as error:
            raise InputError(f"The job folder cannot be used: {error.strerror}. Start the job again.") from error

    def row_guarantees(self) -> Iterator[tuple[str, Guarantee | None]]:
        """Yield the texts of the finished rows, each with the guarantee of its rewrite; None if it has none."""
        column = self.request.column
        for row, line in zip(self.data().rows(), read_lines(self.run), strict=False):
            g = guarantee_of(line[OWN])
            yield _shown(row[column]), replace(g, draws=0) if g and line[OWN].get("untouched") else g

    @property
    def written(self) -> int:
        """Return the number of finished rows."""
        try:
            with (self.run / tables.ROWS).open("rb") as file:
                return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))
        except FileNotFoundError:
            return 0

    @property
    def done(self) -> bool:
        """Return True if all rows are done."""
        return (self.run / RESULT).is_file()

    def meaning(self) -> tuple[str, ...]:
        """Explain in plain words what a guarantee about many rows means."""
        once = self.mechanism.guarantee("a").unit.counts_distinct_words
        if self.mechanism.shares_draws:
            return (
                "Each distinct word of the data set is sampled once and replaced consistently in every row. So "
                "everyone can see which rows share a word.",
                "The total counts distinct words. It is the same for a person who wrote one row and for one who "
                "wrote all rows.",
                "The random key for consistent replacement exists only in this server's memory while the job runs. "
                "A stopped job of this kind cannot resume; it must start again.",
            )
        same = (
            "Within a row, a repeated word is sampled once and replaced consistently. This spends less, but everyone "
            "can see repeated words. Rows share nothing."
            if once
            else "Every word has separate noise: repeated words are sampled independently."
        )
        return (
            "The guarantee of a row covers only its text. It holds even against somebody who knows all other rows.",
            "For a person who wrote several rows, the ε of these rows add up, so the guarantee is weaker.",
            same,
        )

    def first_promise(self) -> str:
        """Return the guarantee of the first row with a text, in plain words; empty if it is the same for all rows."""
        column = self.request.column
        if self.mechanism.shares_draws:
            return ""
        texts = (row[column] for row in itertools.islice(self.data().rows(), FIRST))
        for text in (t for t in texts if isinstance(t, str) and t.strip()):
            with contextlib.suppress(DPTextError):
                return self.mechanism.guarantee(text).sentence()
        return ""

    @property
    def strategies(self) -> dict[str, str]:
        """Return what each strategy would change, by name; empty if the mechanism has none."""
        meanings = (option_meta(f).row_meanings for f in fields_of(self.request.mechanism).values())
        return next((dict(m) for m in meanings if m is not None), {})

    def forget_run(self) -> None:
        """Delete the rewrites, to start from scratch."""
        shutil.rmtree(self.run, ignore_errors=True)

    def page(self, start: int, n: int) -> list[Pair]:
        """Return this many rows from an index (from 0) on, as far as they are finished."""
        column = self.request.column
        rows = itertools.islice(self.data().rows(), start, start + n)
        return [
            Pair(line[OWN]["row"] + 1, _shown(row[column]), line[column] or "", line[OWN]["error"] or "")
            for row, line in zip(rows, some_lines(self.run, start, n), strict=False)
        ]

    def release(self, suffix: str, exact: bool = False) -> Path:
        """Return the release as a file in the folder."""
        out = self.folder / f"{self.stem}-release{suffix}"
        release_files.release(self.run, self.request.column, self.request.keep, out, exact=exact)
        return out

    def inspection(self, suffix: str, exact: bool = False) -> Path:
        """Return the inspection as a file in the folder: private, in name and content."""
        out = self.folder / f"{self.stem}-PRIVATE-with-originals{suffix}"
        release_files.inspection(self.data(), self.run, self.request.column, self.request.keep, out, exact=exact)
        return out

    def promise(self) -> dict[str, Any]:
        """Return the guarantee in a finished run's result.json."""
        return read_json(self.run / RESULT)

    def guarantee_file(self, found: BatchSummary) -> dict[str, Any]:
        """Return the public guarantee file of a release, with the mechanism that made it, and no private option value.
        """
        config, result = self.request.setting.make().config, found.promise
        return {
            "software": f"DP-Text Studio {__version__}",
            "mechanism": self.request.mechanism,
            "config": public_config(config),
            **{name: value for name, value in result.items() if name not in ("mode", "exposed")},
            "not_protected_in_the_first_row": result["exposed"],
        }


def _too_long(text: str, most: int) -> str:
    """Explain why a row is too long; empty if it has no more words and marks than this."""
    if why := too_long(text):
        return why
    if not has_more(text, most):
        return ""
    many = f"more than {most:,} words and punctuation marks"
    return f"This row has {many}, which is the limit of this server. Split the row."


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


# --- the same elsewhere ---------------------------------------------------------------------------------------------


def command(asked: BatchRequest, release: str = ".csv") -> str:
    """Return the command that does the same with the same file."""
    stem = Path(asked.file).stem
    words = ["rewrite-data", *_option_words("--data", asked.file), *_option_words("--text-column", asked.column)]
    if asked.keep:
        words += _option_words("--keep", _listed(asked.keep))
    if (flag := _header(asked)) is not None:
        words.append("--header" if flag else "--no-header")
    words += [
        "--mechanism",
        asked.mechanism,
        *spelled_out(asked.setting).flags(),
        *(["--polish"] if asked.polish else []),
    ]
    words += [*_option_words("--out", f"{stem}-run"), *_option_words("--release", f"{stem}-release{release}")]
    return "python -m dptext_core " + shlex.join(words)


def snippet(asked: BatchRequest) -> str:
    """Return the Python code that does the same with the same file."""
    header = "" if (flag := _header(asked)) is None else f", header={flag}"
    polish = ", polish=True" if asked.polish else ""
    return (
        "import dptext_core as dpt\n"
        "from dptext_core.data import tables\n\n"
        f"mechanism = {spelled_out(asked.setting).call()}\n"
        f"data = tables.source({asked.file!r}, {(asked.column, *asked.keep)!r}{header}, each=True)\n"
        f"for record in dpt.rewrite_records(data.rows(), mechanism, column={asked.column!r}{polish}):\n"
        "    print(record.error or record.text, dict(record.row))\n"
    )


def _header(asked: BatchRequest) -> bool | None:
    """Return the note about the header; None if no note is needed."""
    if Path(asked.file).suffix.lower() not in tables.TABLES:
        return None
    usual = not all(c.isdecimal() for c in (asked.column, *asked.keep))
    return None if asked.header == usual else asked.header


def _option_words(flag: str, value: str) -> Iterator[str]:
    """Return a flag with its value, as one argument if the value looks like a flag."""
    return iter([f"{flag}={value}"] if value.startswith("-") else [flag, value])


def _listed(names: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(names)
    return out.getvalue()
