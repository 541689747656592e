"""Scores of masked language models from a pool of replicas behind Ray Serve, for many front ends.

If the environment variable DPTEXT_ENGINE is ``ray:ADDRESS`` (the address of a cluster that this machine is a node of,
or ``auto``), ``dptext_core.models.engine`` returns a :class:`RemoteEngine` instead of this process's engine, for
English on the replicas' devices. Masking and sampling remain in this process; only the scores come from the replicas.
Replicas keep nothing of a text after the answer, and log none.

Each replica batches with its own engine (``models.worker``), across all calls that reach it. It fills a pass with
requests of the same shape from any caller, and its scores do not depend on the other requests. Batches that Serve cuts
by time could not guarantee that. Serve spreads calls over replicas, and adds and removes replicas with the number of
waiting calls.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..errors import Busy, ConfigError, DPTextError, ModelUnavailable
from ..models.engines import VARIABLE
from ..models.registry import masked_lm_spec, weights_sha256
from ..models.windows import MaskRequest
from ..support.outcome import WorkOutcome
from ..support.task import UNWATCHED, Task
from ..support.version import __version__
from .connection import ray_module

#: Requests per call: a long text is spread over replicas, and cancelling waits for at most this many.
CALL = 32
#: Calls that one replica processes at a time, and calls that wait at one front end before more are refused.
AT_ONCE, QUEUED = 64, 256
_POLL = 0.05


def application(model: str) -> str:
    """Return the name under which a model is served."""
    spec = masked_lm_spec(model)
    return f"dptext-{hashlib.blake2b(spec.id.encode(), digest_size=6).hexdigest()}"


class Replica:
    """One engine in a process of the cluster."""

    def __init__(self, model: str):
        from ..models.masked_lm import load
        from ..models.worker import Engine

        lm = load(model)
        self._identity = identity(model)
        self._engine = Engine(model, capacity=AT_ONCE + 1)
        self._engine.warm()
        self._width = len(lm.candidates)
        self._pool = ThreadPoolExecutor(AT_ONCE)

    async def identity(self) -> tuple[str, str]:
        return self._identity

    async def score(self, requests: list[MaskRequest]) -> WorkOutcome:
        import asyncio

        task = Task()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._answer, requests, task)
        except asyncio.CancelledError:
            task.cancel()
            raise

    def _answer(self, requests: list[MaskRequest], task: Task) -> WorkOutcome:
        """Return errors instead of raising them: their messages would be written to logs."""
        try:
            return WorkOutcome(self._engine.score(requests, task=task))
        except DPTextError as error:
            return WorkOutcome(refused=error)
        except Exception as error:
            return WorkOutcome(
                refused=ModelUnavailable(
                    f"The model's replica stopped with {type(error).__name__}. Check its node, and try again."
                )
            )


def identity(model: str) -> tuple[str, str]:
    """Return what a front end and its replicas must share: the program's version and the weights."""
    return __version__, weights_sha256(masked_lm_spec(model).folder)


def serve(address: str, model: str, least: int = 1, most: int = 1, gpus: float = 0.0, cpus: float = 1.0) -> None:
    """Serve a model on a cluster until :func:`withdraw`, with ``least`` replicas and up to ``most`` if calls wait.

    No port is opened: front ends reach it as nodes of the cluster. Raises ConfigError, ModelUnavailable.
    """
    connect(address)
    ray_serve = ray_module("ray.serve")
    ray_serve.start(proxy_location="Disabled", logging_config={"enable_access_log": False})
    deployment = ray_serve.deployment(
        max_ongoing_requests=AT_ONCE,
        max_queued_requests=QUEUED,
        ray_actor_options={"num_cpus": cpus, "num_gpus": gpus},
        autoscaling_config={
            "min_replicas": least,
            "max_replicas": most,
            "target_ongoing_requests": 4,
            "upscale_delay_s": 10,
            "downscale_delay_s": 300,
        },
    )(Replica)
    try:
        ray_serve.run(deployment.options(name="Scores").bind(model), name=application(model), route_prefix=None)
    except _lost_errors(RuntimeError) as error:  # this error if a replica stops while it starts
        raise ModelUnavailable(
            f"The model {model!r} could not be served ({type(error).__name__}). Check that each node has the program, "
            "the model's files, a free processor, and a free GPU if you requested one."
        ) from error


def _lost_errors(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the exceptions that Ray and Serve raise if an actor or a deployment is gone."""
    return ray_module().exceptions.RayError, ray_module("ray.serve.exceptions").RayServeException, TimeoutError, *more


def withdraw(address: str, model: str) -> None:
    """Stop serving a model after its running calls."""
    connect(address)
    ray_module("ray.serve").delete(application(model))


_guard = threading.Lock()


def connect(address: str) -> Any:
    """Connect this process's ``ray``. Raises ConfigError."""
    ray = ray_module()
    with _guard:
        if not ray.is_initialized():
            try:
                ray.init(address=address, log_to_driver=False, logging_level="ERROR")
            except Exception as error:
                raise ConfigError(
                    f"No cluster can be reached at {address} ({type(error).__name__}). Start one with 'ray start "
                    f"--head', join it on this machine, and correct {VARIABLE} or the address."
                ) from error
    return ray


class RemoteEngine:
    """A substitute for ``models.worker.Engine`` whose scores come from replicas."""

    def __init__(self, name: str, address: str, capacity: int = QUEUED):
        self.name, self.device, self.capacity = name, None, capacity
        self._address = address
        self._handle: Any = None
        self._width = 0
        self._error: Exception | None = None
        self._state = threading.Lock()
        self._connecting = threading.Lock()
        self._calls = 0
        self._thread: threading.Thread | None = None

    @property
    def ready(self) -> bool:
        return self._handle is not None

    @property
    def error(self) -> Exception | None:
        return self._error

    @property
    def waiting(self) -> int:
        return self._calls

    def warm(self) -> None:
        """Connect in the background."""

        def work() -> None:
            try:
                self._connected()
            except Exception as error:
                self._error = error

        with self._state:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=work, name=f"dptext remote {self.name}", daemon=True)
                self._thread.start()

    def _connected(self) -> Any:
        with self._connecting:
            if self._handle is None:
                connect(self._address)
                try:
                    handle = ray_module("ray.serve").get_app_handle(application(self.name))
                    there = handle.identity.remote().result(timeout_s=120)
                except _lost_errors() as error:
                    raise ModelUnavailable(
                        f"No replica serves the model {self.name!r} ({type(error).__name__}). Start some with: "
                        f"dptext serve-model --model {self.name}"
                    ) from error
                if tuple(there) != identity(self.name):
                    raise ConfigError(
                        f"The replicas of {self.name!r} have other weights or another version of the program. Install "
                        "the same version on every machine, and serve the model again."
                    )
                from ..models.masked_lm import load

                self._width = len(load(self.name).candidates)
                self._handle, self._error = handle, None
        return self._handle

    def score(self, reqs: Sequence[MaskRequest], *, task: Task = UNWATCHED, timeout: float | None = None) -> np.ndarray:
        """Return scores: see ``Engine.score``."""
        end = None if timeout is None else time.monotonic() + timeout
        with self._state:
            if self._calls >= self.capacity:
                raise self._busy()
            self._calls += 1
        try:
            handle = self._connected()
            return self._scored(handle, list(reqs), task, end)
        finally:
            with self._state:
                self._calls -= 1

    def _busy(self) -> Busy:
        return Busy("The model is busy with other texts. Try again in a moment.")

    def _scored(self, handle: Any, reqs: list[MaskRequest], task: Task, end: float | None) -> Any:
        out = np.empty((len(reqs), self._width), np.float32)
        open_calls: deque[tuple[int, Any]] = deque()
        try:
            for at in range(0, len(reqs), CALL):
                open_calls.append((at, handle.score.remote(reqs[at : at + CALL])))
            done = 0
            while open_calls:
                at, response = open_calls[0]
                scores = self._result(response, task, end)
                open_calls.popleft()
                out[at : at + len(scores)] = scores
                done += len(scores)
                task.report(done, len(reqs))
            return out
        finally:
            for _, response in open_calls:
                response.cancel()

    def _result(self, response: Any, task: Task, end: float | None) -> np.ndarray:
        full = ray_module("ray.serve.exceptions").BackPressureError
        while True:
            task.check("Stopped as asked. Run again to get a result.")
            if end is not None and time.monotonic() >= end:
                raise self._busy()
            try:
                outcome = response.result(timeout_s=_POLL)
            except TimeoutError:
                continue
            except full:
                raise self._busy() from None
            except _lost_errors() as error:
                raise Busy(
                    f"The replica stopped before it answered ({type(error).__name__}). Try again in a moment."
                ) from None
            if outcome.refused is not None:
                raise outcome.refused
            return outcome.value

    def stop(self, wait: float = 0.0) -> None:
        """Do nothing: this engine runs no threads."""
