"""The engine: threads of a model and device that score the requests of all callers.

With ONNX Runtime there are as many threads as cores, which they share: a single text gets all of them. With PyTorch
there is one thread. Callers take turns pass by pass, so that a short text does not wait for a long one. Free space in a
pass is filled with requests of other callers that have the same shape. Scores do not depend on the other requests (see
`masked_lm`). Nothing of a text is kept once its caller has the answer.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..errors import Busy, Cancelled, DPTextError
from ..support.exit_threads import join_at_exit
from ..support.task import UNWATCHED, Task
from ..text.language import Language
from ..text.languages import ENGLISH
from .windows import MaskRequest, ModelInput

if TYPE_CHECKING:
    from .masked_lm import MaskedLM

#: Rows and padded length of a pass, and which text it is about; 0 if it may be about several.
PassShape = tuple[int, int, int]

_STOPPED = "The engine was stopped. Run again to get a result."
_POLL = 0.05  # seconds between a caller's checks whether to stop
_ENOUGH = 768  # maximum positions of texts and queries: larger passes are not faster, and others wait for them


class _Job:
    """The requests of one call, and their scores."""

    def __init__(self, inputs: list[ModelInput], shapes: list[PassShape], width: int):
        self.inputs = inputs
        #: Requests that fit into one pass.
        self.open: dict[PassShape, deque[int]] = {}
        for i, shape in enumerate(shapes):
            self.open.setdefault(shape, deque()).append(i)
        self.out = np.empty((len(inputs), width), np.float32)
        self.done = 0
        self.error: BaseException | None = None
        self.dropped = False

    def take(self, shape: PassShape, most: int) -> list[int]:
        """Take up to `most` open requests of `shape`; they are then no longer open."""
        waiting = self.open.get(shape)
        if not waiting:
            return []
        taken = [waiting.popleft() for _ in range(min(most, len(waiting)))]
        if not waiting:
            del self.open[shape]
        return taken

    def answer(self, which: list[int], rows: np.ndarray) -> None:
        """Store the scores of these requests."""
        if which == list(range(len(self.inputs))):
            self.out = rows  # all requests, from one pass: no copy
        else:
            self.out[which] = rows
        self.done += len(which)


class Engine:
    """Scores masked positions in threads of its own. Make one with `dptext_core.models.engine`.

    `capacity`: maximum number of calls that may wait; the next one is refused with Busy.
    """

    #: The language of the models that replicas serve.
    served: ClassVar[Language] = ENGLISH

    def __init__(self, name: str, device: str | None = None, capacity: int = 64, language: Language = ENGLISH):
        self.name = name
        self.device = device
        self.language = language
        self.capacity = capacity
        self._lm: MaskedLM | None = None
        self._reset()

    def _reset(self) -> None:
        """Clear the queue and the threads: at the beginning, and in a child process after a fork."""
        self._state = threading.Condition()
        self._jobs: deque[_Job] = deque()
        self._calls = 0
        self._threads: set[threading.Thread] = set()
        self._load_error: Exception | None = None
        self._stopping = False

    @property
    def ready(self) -> bool:
        """Return True if the model is loaded."""
        return self._lm is not None

    @property
    def error(self) -> Exception | None:
        """Return why the last attempt to load the model failed, or None.

        The next call to `warm` or `score` tries again.
        """
        return self._load_error

    @property
    def waiting(self) -> int:
        """Return the number of calls to `score` that are running or waiting."""
        return self._calls

    def warm(self) -> None:
        """Load the model in the background; return at once. See `ready` and `error`."""
        with self._state:
            self._start()

    def score(self, reqs: Sequence[MaskRequest], *, task: Task = UNWATCHED, timeout: float | None = None) -> np.ndarray:
        """Return raw, unclipped logits of the candidates at each request's mask: float32 (len(reqs), |V|).

        Loads the model on the first call. `task` is updated in the caller's thread. Raises Cancelled once it is
        cancelled, Busy if too many calls wait or after `timeout` seconds, and any error of loading or scoring
        (ModelUnavailable, ConfigError, InputError). Open requests are always withdrawn at the end.
        """
        end = None if timeout is None else time.monotonic() + timeout
        with self._state:
            if self._calls >= self.capacity:
                raise self._busy()
            self._calls += 1
        try:
            lm = self._wait_for_model(task, end)
            inputs = lm.model_inputs(reqs)
            shapes = [(*lm.shape_for(len(x.ids), x.query), lm.text_of(x)) for x in inputs]
            job = _Job(inputs, shapes, len(lm.candidates))
            return self._run(job, task, end)
        finally:
            with self._state:
                self._calls -= 1

    def _busy(self) -> Busy:
        others = self._calls
        return Busy(f"The model is busy with {others} text{'' if others == 1 else 's'}. Try again in a moment.")

    def _check(self, task: Task, end: float | None) -> None:
        task.check("Stopped as asked. Run again to get a result.")
        if end is not None and time.monotonic() >= end:
            raise self._busy()

    def _wait_for_model(self, task: Task, end: float | None) -> MaskedLM:
        with self._state:
            self._start()
            while True:
                if self._lm is not None:
                    return self._lm
                if self._load_error is not None:
                    raise self._load_error
                self._check(task, end)
                self._state.wait(_POLL)

    def _run(self, job: _Job, task: Task, end: float | None) -> np.ndarray:
        total, reported = len(job.inputs), 0
        if not total:
            return job.out
        with self._state:
            self._start()
            self._jobs.append(job)
            self._state.notify_all()
        try:
            while True:
                with self._state:
                    if job.done == reported and job.error is None:
                        self._state.wait(_POLL)
                    done, error = job.done, job.error
                if error is not None:
                    raise error
                if done > reported:
                    task.report(done, total)
                reported = done
                if done == total:
                    return job.out
                self._check(task, end)
        finally:
            with self._state:
                self._drop(job)

    def _drop(self, job: _Job) -> None:
        job.dropped = True
        job.open.clear()
        if job in self._jobs:
            self._jobs.remove(job)

    def _start(self) -> None:
        """Start the missing threads. The caller must hold the state lock."""
        self._threads = {t for t in self._threads if t.is_alive()}
        if not self._threads:
            self._load_error = None
            self._stopping = False
        # The first one loads the model.
        wanted = 0 if self._stopping else 1 if self._lm is None else self._lm.workers
        while len(self._threads) < wanted:
            thread = threading.Thread(target=self._work, name=f"dptext engine {self.name}", daemon=True)
            self._threads.add(thread)
            thread.start()
            join_at_exit(thread)

    def _work(self) -> None:
        try:
            if self._lm is None:
                self._load()
            if self._lm is not None:
                with self._state:
                    self._start()
                self._serve(self._lm)
        finally:
            with self._state:
                self._threads.discard(threading.current_thread())
                if not self._threads:
                    for job in list(self._jobs):
                        job.error = Cancelled(_STOPPED)
                        self._drop(job)
                    self._state.notify_all()

    def _load(self) -> None:
        from .masked_lm import load

        try:
            lm = load(self.name, self.device, self.language)
        except Exception as error:
            if not isinstance(error, DPTextError):
                error.add_note(f"while loading the masked language model {self.name!r}")
            with self._state:
                self._load_error = error
        else:
            with self._state:
                self._lm = lm
                self._state.notify_all()

    def _serve(self, lm: MaskedLM) -> None:
        while True:
            with self._state:
                while not self._jobs and not self._stopping:
                    self._state.wait()
                if self._stopping:
                    return
                passes = self._next_passes(lm)
            batch = [one for _, some in passes for one in some]
            try:
                scores = lm.forward_all([([job.inputs[i] for job, i in some], shape[:2]) for shape, some in passes])
                if len(scores) != len(batch):  # before a caller receives any of them
                    raise ValueError(f"The model gave {len(scores)} rows of scores for {len(batch)} requests.")
                with self._state:
                    at = 0
                    for job, asked in groupby(batch, itemgetter(0)):
                        which = [i for _, i in asked]
                        if not job.dropped:
                            job.answer(which, scores[at : at + len(which)])
                        at += len(which)
                    self._state.notify_all()
                del scores
            except BaseException as error:
                # A caller with requests in the pass waits for this thread alone, so an error of any kind must reach it.
                failure = error if isinstance(error, Exception) else Cancelled(_STOPPED)
                with self._state:
                    for job, _ in batch:
                        job.error = failure
                        self._drop(job)
                    self._state.notify_all()
                if failure is not error:
                    raise
                del failure
            # Nothing of a text remains in this frame while the thread sleeps.
            passes = batch = job = asked = None  # type: ignore[assignment]

    def _next_passes(self, lm: MaskedLM) -> list[tuple[PassShape, list[tuple[_Job, int]]]]:
        """Return the next passes of one thread: its share of the open ones, and no more than is useful at once."""
        remaining = sum(-(-len(some) // shape[0]) for job in self._jobs for shape, some in job.open.items())
        passes = [self._next_pass()]
        positions = lambda: sum(shape[1] + len(some) for shape, some in passes)  # noqa: E731
        while self._jobs and len(passes) < min(lm.at_once, -(-remaining // lm.workers)) and positions() < _ENOUGH:
            passes.append(self._next_pass())
        return passes

    def _next_pass(self) -> tuple[PassShape, list[tuple[_Job, int]]]:
        """Return the next pass, filled with requests of the first caller, then of others, under the state lock."""
        first = self._jobs[0]
        shape = next(iter(first.open))
        batch: list[tuple[_Job, int]] = []
        for job in list(self._jobs):
            batch += [(job, i) for i in job.take(shape, shape[0] - len(batch))]
            if not job.open:
                self._jobs.remove(job)
            if len(batch) == shape[0]:
                break
        if self._jobs and self._jobs[0] is first:
            self._jobs.rotate(-1)
        return shape, batch

    def stop(self, wait: float = 2.0) -> None:
        """End the threads after the passes they are in. A later call starts them again."""
        end = time.monotonic() + wait
        with self._state:
            self._stopping = True
            threads = self._threads - {threading.current_thread()}
            self._state.notify_all()
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
