"""Run groups of points in this process or in several."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from dptext_core.errors import DPTextError

from ..results.rows import RunLine
from .grid import GridPoint
from .group_run import RunConfig, run_group
from .machine import use_one_thread


def _end_with_parent(process: Any) -> None:
    process.join()
    os._exit(1)


def _worker(work: Any, done: Any, setup: RunConfig) -> None:
    """Run groups from ``work`` until None, and put their lines into ``done``. The process ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    use_one_thread()
    try:
        for group in iter(work.get, None):
            for line in run_group(group, setup):
                done.put(line)
    except DPTextError as error:
        done.put(error)
    done.put(None)


def run_groups(todo: Sequence[list[GridPoint]], setup: RunConfig, jobs: int) -> Iterator[RunLine]:
    """Yield the lines of all groups, in this process or in ``jobs`` others."""
    if jobs == 1:
        use_one_thread()
        for group in todo:
            yield from run_group(group, setup)
        return
    context = multiprocessing.get_context("spawn")
    work, done = context.Queue(), context.Queue()
    for group in todo:
        work.put(group)
    for _ in range(jobs):
        work.put(None)
    workers = [context.Process(target=_worker, args=(work, done, setup), daemon=True) for _ in range(jobs)]
    try:
        for w in workers:
            w.start()
        running = jobs
        while running:
            try:
                got = done.get(timeout=5)
            except queue.Empty as error:
                if any(w.exitcode for w in workers):
                    raise DPTextError(
                        "A process of the run stopped, perhaps because memory ran out. Repeat the command to continue."
                    ) from error
                continue
            if isinstance(got, DPTextError):
                raise got
            if got is None:
                running -= 1
            else:
                yield got
    finally:
        for w in workers:
            w.terminate()


def seconds_left(took: float, done: float, total: float, jobs: int = 1) -> float:
    """Return the seconds until the end. took: seconds so far. done, whole: estimated seconds on one core.

    The estimate has the weight of a tenth of the work, because the first points also load models."""
    trusted = max(0.1 * total, 1e-9)
    return (took + trusted / jobs) / (done + trusted) * max(0.0, total - done)
