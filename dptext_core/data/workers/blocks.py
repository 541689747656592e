"""A data set in blocks of rows, computed by workers with one mechanism each, into the folder of a run.

A block is a fixed number of consecutive rows; where it begins does not depend on the number of workers. The rows of a
finished block are appended to ``rows.jsonl`` once all earlier rows are there. Until then they are in ``blocks/``, one
file per block, written under another name and renamed. So a stopped run resumes with the missing blocks. A block whose
worker died, or that two workers computed, is in the result exactly once.

:class:`Orders` contains what all workers need. If all rows share a mechanism's draws, it works in parts under one noise
stream. Without a seed, its key is in ``noise.key`` in the folder of the run, so that all workers, and the same run
later, sample each word alike. Only the user who runs the command can read it; it is created before the first draw and
deleted with the last row. An abandoned run leaves it: delete its folder.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from ...errors import ConfigError, DPTextError, InputError, ModelUnavailable
from ...mechanisms.base import BATCH, Mechanism
from ...mechanisms.setting import Setting, SettingFields
from ...privacy.sampling import NoiseStream
from ...support.outcome import WorkOutcome
from ...support.private import Private
from ...support.task import UNWATCHED, Task
from ...support.version import __version__
from .. import rewriting
from ..folder import RunFolder
from ..records import rewrite_part, seeded_stream, shared_draws
from ..tables import Row, Source
from . import BLOCK

#: Number of attempts per block before the run ends with an error.
TRIES = 4
#: Blocks per worker: while it computes one, the next is in transit.
EACH = 2
#: The outcome of the blocks of a lost worker.
DIED = "the worker died"
KEY, BLOCKS = "noise.key", "blocks"
_POLL = 0.5  # seconds between two checks for requests

Kind = Literal["count", "rewrite"]


@dataclass(frozen=True, eq=False)
class Orders(SettingFields, Private):
    """What a worker must know once.

    loads: SHA-256 of the files that its options name; plugins: files that register mechanisms, at the same place on
    every machine; key: of the shared noise.
    """

    setting: Setting
    loads: dict[str, str]
    column: str
    keep: tuple[str, ...]
    seed: int | None
    batch: int = BATCH
    plugins: tuple[str, ...] = ()
    key: bytes | None = None
    version: str = __version__

    _shown: ClassVar[tuple[str, ...]] = ("mechanism", "seed")


@dataclass(frozen=True, eq=False)
class Block(Private):
    """Rows of a data set. number: from 0; first: the number of its first row."""

    number: int
    first: int
    rows: list[Row]

    _shown: ClassVar[tuple[str, ...]] = ("number", "first", "rows")


class Workers(Protocol):
    """An executor of blocks; a context manager, so that workers always end."""

    def room(self) -> int:
        """Return how many blocks it accepts now."""

    def give(self, kind: Kind, block: Block, draws: int | None) -> None: ...

    def take(self, timeout: float) -> Sequence[tuple[Block, WorkOutcome]]:
        """Return finished blocks in any order; nothing if none finished within these seconds.

        Raises errors that no retry would change.
        """


#: Opens workers for a run.
Open = Callable[[Orders], AbstractContextManager[Workers]]


class Worker:
    """A worker: a mechanism that computes blocks."""

    def __init__(self, orders: Orders, m: Mechanism | None = None):
        self._orders = orders
        self._m = self._make_mechanism() if m is None else m
        self._stream = None if orders.seed is None else seeded_stream(orders.seed)
        if orders.key is not None:
            self._stream = NoiseStream.of_key(orders.key)

    def _make_mechanism(self) -> Mechanism:
        from ...support import plugins

        orders = self._orders
        if orders.version != __version__:
            raise ConfigError(
                f"A worker has version {__version__} of dptext-studio, but the run started with {orders.version}. "
                "Install the same version on every machine."
            )
        for file in orders.plugins:
            plugins.load_file(file)
        m = orders.setting.make()
        loads = rewriting.run_options(m)[1]
        if different := [name for name in orders.loads if loads.get(name) != orders.loads[name]]:
            raise ConfigError(
                f"The files of {' and '.join(different)} differ between a worker and the machine that started "
                "the run. Copy the same files to every machine."
            )
        return m

    def count(self, block: Block) -> frozenset[Any] | None:
        """Return what its rows sample once for all of them."""
        return shared_draws(block.rows, self._m, self._orders.column)

    def rewrite(self, block: Block, draws: int | None) -> list[dict[str, Any]]:
        """Return its rows as in ``rows.jsonl``."""
        orders = self._orders
        records = rewrite_part(
            block.rows, block.first, self._m, orders.column, stream=self._stream, draws=draws, batch=orders.batch
        )
        return [rewriting.line_of(r, orders.column, orders.keep) for r in records]

    def answer(self, kind: Kind, block: Block, draws: int | None) -> WorkOutcome:
        """Return errors instead of raising them: their messages may quote a text, and would be written to logs."""
        try:
            return WorkOutcome(self.count(block) if kind == "count" else self.rewrite(block, draws))
        except DPTextError as error:
            return WorkOutcome(refused=error)
        except Exception as error:
            return WorkOutcome(lost=f"it stopped with {type(error).__name__}")


def begin(orders: Orders) -> tuple[Worker | None, WorkOutcome]:
    """Return a worker, or why there is none. Raises nothing, see :meth:`Worker.answer`."""
    try:
        return Worker(orders), WorkOutcome()
    except DPTextError as error:
        return None, WorkOutcome(refused=error)
    except Exception as error:
        return None, WorkOutcome(
            refused=ModelUnavailable(
                f"A worker could not create the mechanism {orders.mechanism}: it stopped with {type(error).__name__}. "
                "Install the same packages and files on every machine with workers."
            )
        )


def rewrite_data(
    data: Source,
    m: Mechanism,
    out: str | Path,
    open_workers: Open,
    *,
    column: str = "text",
    keep: Sequence[str] = (),
    seed: int | None = None,
    block: int = BLOCK,
    batch: int = BATCH,
    measures: Sequence[str] = (),
    plugins: Sequence[str] = (),
    task: Task = UNWATCHED,
) -> dict[str, Any]:
    """Rewrite as ``rewriting.rewrite_data`` does, with workers: the same folder, and with a seed the same rows.

    Raises what that function raises, and InputError if a block was lost repeatedly.
    """
    rewriting.check_columns(column, keep)
    config = rewriting.config_of(data, m, column, keep, seed, batch) | {"block": block}
    if m.shares_draws and m.in_parts is None:
        raise ConfigError(
            f"With these options, {m.title} shares its draws between all rows, and cannot do so in parts. Rewrite the "
            "data set on one machine."
        )
    with RunFolder(out, config) as folder:
        run = _Run(folder, rewriting.so_far(folder.path, m.shares_draws), data.count, task)
        run.drain()
        if run.whole.rows < data.count:
            folder.log(f"{'continues at' if run.whole.rows else 'begins with'} row {run.whole.rows} of {data.count}")
            key = _noise_key(folder.path, run.whole.rows > 0 or run.ahead) if m.shares_draws and seed is None else None
            loads = rewriting.run_options(m)[1]
            orders = Orders(m.setting, loads, column, tuple(keep), seed, batch, tuple(plugins), key)
            with open_workers(orders) as workers:
                draws = None
                if m.shares_draws:
                    drawn_once: set[Any] = set()
                    for _, some in _results(workers, "count", _cut_blocks(data.rows(), block), None, folder, task):
                        drawn_once |= some
                    draws = len(drawn_once)
                todo = (b for b in _cut_blocks(data.rows(), block, run.whole.rows) if b.number not in run.ahead)
                for one, lines in _results(workers, "rewrite", todo, draws, folder, task):
                    run.take(one, lines)
        with contextlib.suppress(FileNotFoundError):
            (folder.path / KEY).unlink()
        run.close()
        rewriting.check_count(run.whole.rows, data)
        result: dict[str, Any] = {"mode": "rewrite", **run.whole.to_dict()}
        if measures:
            result["measures"] = rewriting.score_run(data, folder.path, column, measures, task.quiet)
        folder.finish(result)
        folder.log(f"done: {run.whole.rows} rows, {run.whole.errors} errors")
    return result


def _cut_blocks(rows: Iterator[Row], size: int, start: int = 0) -> Iterator[Block]:
    """Yield blocks that begin at multiples of ``size``, without the rows before ``start``."""
    rows = itertools.islice(rows, start, None)
    while some := list(itertools.islice(rows, size - start % size)):
        yield Block(start // size, start, some)
        start += len(some)


def _results(
    workers: Workers, kind: Kind, blocks: Iterable[Block], draws: int | None, folder: RunFolder, task: Task
) -> Iterator[tuple[Block, Any]]:
    """Yield every block with its result, as it finishes.

    At most as many blocks are read as workers accept, and a lost one is retried.
    """
    given, again, lost = iter(blocks), deque[Block](), Counter[int]()
    out, more = 0, True
    while True:
        while (more or again) and workers.room() > 0:
            one = again.popleft() if again else next(given, None)
            if one is None:
                more = False
                break
            workers.give(kind, one, draws)
            out += 1
        if not (out or more or again):
            return
        task.check()
        for one, outcome in workers.take(_POLL):
            out -= 1
            if outcome.refused is not None:
                raise outcome.refused
            if outcome.lost:
                lost[one.number] += 1
                folder.log(f"the block from row {one.first} on was lost: {outcome.lost}")
                if lost[one.number] == TRIES:
                    raise InputError(
                        f"Rows {one.first + 1} to {one.first + len(one.rows)} were given to a worker {TRIES} times and "
                        f"never returned; the last time, {outcome.lost}. Check these rows, and run the same command "
                        "again: finished rows are kept."
                    )
                again.append(one)
            else:
                yield one, outcome.value


class _Run:
    """The rows of a run in order, and the blocks that are finished ahead of them."""

    def __init__(self, folder: RunFolder, total: Any, count: int, task: Task):
        self._folder, self.whole = folder, total
        self._count, self._task = count, task
        self._place = folder.path / BLOCKS
        #: Number of waiting rows in each finished block, by block number.
        self.ahead: dict[int, int] = {}
        self._starts: dict[int, int] = {}
        if self._place.is_dir():
            for path in self._place.iterdir():
                if path.suffix == ".jsonl":
                    number, first = (int(part) for part in path.stem.split("-"))
                    self._starts[first], self.ahead[number] = number, sum(1 for _ in self._lines(number, first))
                else:
                    path.unlink()  # a kill left it half-written
        self._size = folder.config["block"]

    def _path(self, number: int, first: int) -> Path:
        return self._place / f"{number:08d}-{first}.jsonl"

    def _lines(self, number: int, first: int) -> Iterator[dict[str, Any]]:
        with self._path(number, first).open("rb") as file:
            for line in file:
                yield json.loads(line)

    def take(self, block: Block, lines: list[dict[str, Any]]) -> None:
        """Store a finished block: append it if its turn has come, else set it aside."""
        if block.first == self.whole.rows:
            self._append(lines)
        elif block.first > self.whole.rows and block.number not in self.ahead:
            self._keep(block, lines)
        self.drain()

    def _keep(self, block: Block, lines: list[dict[str, Any]]) -> None:
        path = self._path(block.number, block.first)
        try:
            self._place.mkdir(exist_ok=True)
            with (beside := path.with_suffix(".tmp")).open("wb") as file:
                for line in lines:
                    file.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except OSError as error:
            raise InputError(
                f"{BLOCKS} in the folder {self._folder.path.name} cannot be written: {error.strerror or error}. Free "
                "some space, and run the same command again: finished rows are kept."
            ) from error
        self._starts[block.first], self.ahead[block.number] = block.number, len(lines)

    def _append(self, lines: Iterable[dict[str, Any]]) -> None:
        lines = list(lines)
        self._folder.append(lines)
        for line in lines:
            self.whole.add(rewriting.guarantee_of(line[rewriting.OWN]), line[rewriting.OWN].get("untouched", False))

    def drain(self) -> None:
        """Append the blocks whose turn has come; of one that a kill interrupted, the missing rows."""
        for first in sorted(self._starts):
            number = self._starts[first]
            if first > self.whole.rows:
                break
            if first + self.ahead[number] > self.whole.rows:
                self._append(itertools.islice(self._lines(number, first), self.whole.rows - first, None))
            self._path(number, first).unlink(missing_ok=True)
            del self._starts[first], self.ahead[number]
        self._task.report(self.whole.rows + sum(self.ahead.values()), self._count)

    def close(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._place.rmdir()


def _noise_key(folder: Path, begun: Any) -> bytes:
    """Return the key in the folder of a run, created if the run has no row yet. Raises ConfigError."""
    path = folder / KEY
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        key = b""
    if len(key) == 32:
        return key
    if begun:
        raise ConfigError(
            "With these options, all rows share their draws, but the key of the written rows is missing. Choose "
            "another folder for a new run."
        )
    key = os.urandom(32)
    path.unlink(missing_ok=True)  # a kill left it half-written, before the first draw
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(
            f"{KEY} in the folder {folder.name} cannot be written: {error.strerror}. Choose another folder."
        ) from error
    return key
