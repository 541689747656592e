"""Workers on a Ray cluster: actors with one mechanism each, one processor per actor.

Why plain actors and not a Ray Data pipeline: its ``map_batches`` chooses block boundaries and their order itself and
numbers no block, so that a run could not be resumed. It also reserves memory for waiting data by the size of its store.
Here a worker has at most two blocks, one that it computes and one that waits, and nothing else is in memory. A worker
that dies is replaced if there is room, and its blocks go to others.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from ..data.workers.blocks import DIED, EACH, TRIES, Block, Kind, Open, Orders, Worker, begin
from ..errors import ConfigError
from ..support.outcome import WorkOutcome
from .connection import check_installed, connected

#: Seconds in which a worker must be placed and have loaded its mechanism.
PATIENCE = 300.0


class _Actor:
    """A worker in a process of the cluster."""

    def __init__(self) -> None:
        self._worker: Worker | None = None

    def begin(self, orders: Orders) -> WorkOutcome:
        self._worker, outcome = begin(orders)
        return outcome

    def answer(self, kind: Kind, block: Block, draws: int | None) -> WorkOutcome:
        assert self._worker is not None
        return self._worker.answer(kind, block, draws)


def ray_workers(count: int | None = None, gpus: float = 0.0) -> Open:
    """Return workers for ``blocks.rewrite_data``.

    count: how many; None: as many as the cluster has room for. gpus: the share of a GPU per worker. Raises ConfigError
    if Ray is not installed.
    """
    check_installed()

    @contextlib.contextmanager
    def opened(orders: Orders) -> Iterator[RayWorkers]:
        with connected(count) as ray, RayWorkers(ray, orders, count, gpus) as workers:
            yield workers

    def open_workers(orders: Orders) -> AbstractContextManager[RayWorkers]:
        return opened(orders)

    return open_workers


class RayWorkers:
    """Workers on the cluster: see ``blocks.Workers``."""

    def __init__(self, ray: Any, orders: Orders, count: int | None, gpus: float):
        self._ray = ray
        self._orders = ray.put(orders)
        # `blocks`, which knows the written rows, reassigns lost work: Ray itself must not retry.
        self._class = ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=0, max_task_retries=0)(_Actor)
        there = ray.cluster_resources()
        if count is None:
            count = int(min(there.get("CPU", 1), there.get("GPU", 0) / gpus if gpus else float("inf")))
        if count < 1:
            raise ConfigError("The cluster has too few resources for a worker. Request fewer GPUs for each, or add "
                              "machines.")
        self._count, self._num_failures = count, 0
        self._since = time.monotonic()
        self._starting: dict[Any, Any] = {}
        self._running: dict[Any, tuple[Any, Block]] = {}
        self._load: dict[Any, int] = {}  # blocks of each started worker
        for _ in range(count):
            self._start()

    def __enter__(self) -> RayWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        for actor in [*self._load, *self._starting.values()]:
            with contextlib.suppress(Exception):
                self._ray.kill(actor)

    def _start(self) -> None:
        actor = self._class.remote()
        self._starting[actor.begin.remote(self._orders)] = actor

    def room(self) -> int:
        return sum(EACH - n for n in self._load.values())

    def give(self, kind: Kind, block: Block, draws: int | None) -> None:
        actor = min(self._load, key=self._load.__getitem__)
        self._load[actor] += 1
        self._running[actor.answer.remote(kind, block, draws)] = actor, block

    def take(self, timeout: float) -> list[tuple[Block, WorkOutcome]]:
        waiting = [*self._running, *self._starting]
        done = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)[0] if waiting else []
        if not done and waiting:
            done = self._ray.wait(waiting, num_returns=1, timeout=timeout)[0]
        outcomes: list[tuple[Block, WorkOutcome]] = []
        for ref in done:
            if ref in self._starting:
                self._begun(ref)
            elif ref in self._running:
                actor, block = self._running.pop(ref)
                outcome = self._outcome(ref)
                if actor in self._load:
                    self._load[actor] -= 1
                    if outcome.lost == DIED:
                        del self._load[actor]
                        self._since = time.monotonic()
                        self._start()
                outcomes.append((block, outcome))
        if not self._load and time.monotonic() - self._since > PATIENCE:
            raise ConfigError(
                f"No worker started within {PATIENCE:.0f} seconds. Check that the cluster has a free processor, enough "
                "memory for the model, and a free GPU if you requested one."
            )
        return outcomes

    def _begun(self, ref: Any) -> None:
        actor = self._starting.pop(ref)
        outcome = self._outcome(ref)
        if outcome.refused is not None:
            raise outcome.refused
        if outcome.lost:
            self._num_failures += 1
            if self._num_failures > TRIES * self._count:
                raise ConfigError(
                    "No worker could start. Install the same packages on every machine of the cluster, "
                    "and check that the mechanism fits into the memory of each."
                )
            self._start()
        else:
            self._num_failures = 0
            self._load[actor] = 0

    def _outcome(self, ref: Any) -> WorkOutcome:
        try:
            return self._ray.get(ref)
        except self._ray.exceptions.RayActorError:
            return WorkOutcome(lost=DIED)
        except self._ray.exceptions.RayError as error:
            return WorkOutcome(lost=f"its result was lost ({type(error).__name__})")
