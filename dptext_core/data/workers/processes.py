"""Workers in processes of this machine, for a data set in ``blocks``, without additional packages or a network.

Each process has its own mechanism and computes on one thread, unless OMP_NUM_THREADS is set. Blocks go there and back
through its own pipe. A process has at most two blocks, one that it computes and one that waits. A process that dies is
replaced, and its blocks go to others. All processes end with the command, however it ends.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, cast

from ...errors import ConfigError
from ...support.outcome import WorkOutcome
from .blocks import DIED, EACH, TRIES, Block, Kind, Open, Orders, begin

_THREADS = "OMP_NUM_THREADS"


def process_workers(count: int) -> Open:
    """Return workers for ``blocks.rewrite_data`` in this many processes of this machine."""

    def open_workers(orders: Orders) -> AbstractContextManager[ProcessWorkers]:
        return ProcessWorkers(orders, count)

    return open_workers


@dataclass(eq=False)
class _Process:
    """A worker as the command sees it. blocks: its blocks, in the order in which they return."""

    process: Any
    ready: bool = False
    blocks: deque[Block] = field(default_factory=deque)


class ProcessWorkers:
    """Workers in processes: see ``blocks.Workers``."""

    def __init__(self, orders: Orders, count: int):
        self._orders, self._count, self._num_failures = orders, count, 0
        self._processes: dict[Connection, _Process] = {}

    def __enter__(self) -> ProcessWorkers:
        with _process_setup():
            for _ in range(self._count):
                self._start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._processes.values():
            one.process.terminate()
        for link, one in self._processes.items():
            one.process.join()
            link.close()
        self._processes.clear()

    def _start(self) -> None:
        # Not by a fork: locks that other threads hold at that moment would stay locked forever.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self._orders), daemon=True)
        process.start()
        theirs.close()  # so that its end is noticed here
        self._processes[ours] = _Process(process)

    def room(self) -> int:
        return sum(EACH - len(one.blocks) for one in self._processes.values() if one.ready)

    def give(self, kind: Kind, block: Block, draws: int | None) -> None:
        link = min((c for c, one in self._processes.items() if one.ready), key=lambda c: len(self._processes[c].blocks))
        self._processes[link].blocks.append(block)
        with contextlib.suppress(OSError):  # it died: ``take`` notices that
            link.send((kind, block, draws))

    def take(self, timeout: float) -> list[tuple[Block, WorkOutcome]]:
        finished: list[tuple[Block, WorkOutcome]] = []
        for link in cast(list[Connection], wait(list(self._processes), timeout)):
            one = self._processes[link]
            try:
                outcome: WorkOutcome = link.recv()
            except (EOFError, OSError):
                finished += [(block, WorkOutcome(lost=DIED)) for block in one.blocks]
                self._replace(link)
                continue
            if one.ready:
                finished.append((one.blocks.popleft(), outcome))
            elif outcome.refused is not None:
                raise outcome.refused
            else:
                one.ready, self._num_failures = True, 0
        return finished

    def _replace(self, link: Connection) -> None:
        one = self._processes.pop(link)
        link.close()
        one.process.join()
        if not one.ready:
            self._num_failures += 1
            if self._num_failures > TRIES * self._count:
                raise ConfigError(
                    "No worker could start. Use fewer workers, or check that the memory is large enough "
                    "for one mechanism per worker."
                )
        with _process_setup():
            self._start()


@contextlib.contextmanager
def _process_setup() -> Iterator[None]:
    """Set up a new process: one thread, and no Ctrl-C, which the command handles."""
    threads = os.environ.get(_THREADS)
    here = threading.current_thread() is threading.main_thread()  # other threads may not install a signal handler
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if here else None
    os.environ.setdefault(_THREADS, "1")
    try:
        yield
    finally:
        if threads is None:
            del os.environ[_THREADS]
        if here:
            signal.signal(signal.SIGINT, before)


def _serve(link: Connection, orders: Orders) -> None:
    """Run a worker process: create the mechanism, report it, and answer blocks one by one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    given: queue.SimpleQueue[tuple[Kind, Block, int | None]] = queue.SimpleQueue()

    def read() -> None:
        # Read continuously, so that a block can be sent while another is computed.
        with contextlib.suppress(EOFError, OSError):
            while True:
                given.put(link.recv())
        os._exit(0)  # the command has ended

    threading.Thread(target=read, daemon=True).start()
    worker, outcome = begin(orders)
    with contextlib.suppress(OSError):
        link.send(outcome)
        while worker is not None:
            link.send(worker.answer(*given.get()))
