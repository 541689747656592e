from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tiny import tiny_masked_lm

from dptext_core import Task, models
from dptext_core.errors import Busy, Cancelled, ConfigError, InputError
from dptext_core.models import MaskRequest
from dptext_core.models.masked_lm import MaskedLM, rows_for
from dptext_core.models.windows import ModelInput
from dptext_core.models.worker import Engine, _Job
from dptext_core.support import exit_threads
from dptext_core.text.document import Document
from dptext_lab.speed import engine as speed

ROOT = Path(__file__).resolve().parents[2]
LONG = "My old friend told the doctor in London that she was sick and afraid last winter. " * 8
SHORT = "The nurse gave him bread."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_masked_lm(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def lm(folder):
    return models.load_masked_lm(str(folder))


@pytest.fixture(scope="module")
def engine(folder):
    return models.engine(str(folder))


def requests(lm, text, context=True):
    pieces = lm.encode(Document.parse(text))
    return [MaskRequest(pieces if context else None, pieces, i) for i in range(len(pieces))]


class FakeLM:
    """A model whose passes wait for a permit: what is served when can be told apart from how fast it is."""

    candidates = ("a", "b")
    workers = at_once = 1

    def __init__(self):
        self.permits = threading.Semaphore(0)
        self.inside = 0
        self.begun = threading.Event()
        self.passes = []

    def model_inputs(self, requests):
        if "refused" in requests:
            raise InputError("Not this one.")
        return [ModelInput([request], None, 0) for request in requests]

    def shape_for(self, length, query=False):
        return 4, 8

    def text_of(self, x):
        return 0

    def forward_all(self, passes):
        return np.concatenate([self.forward(inputs, *shape) for inputs, shape in passes])

    def forward(self, inputs, rows, length):
        self.begun.set()
        self.inside += 1
        assert self.permits.acquire(timeout=30)
        self.inside -= 1
        self.passes.append([x.ids[0] for x in inputs])
        if "broken" in self.passes[-1]:
            raise RuntimeError("the model broke")
        return np.arange(2, dtype=np.float32)[None].repeat(len(inputs), 0)


@pytest.fixture
def fake():
    worker = Engine("fake", capacity=3)
    worker._lm = FakeLM()
    yield worker
    worker._lm.permits.release(1000)
    worker.stop()


def call(function, *args, **options):
    """Run in a thread; (thread, result list)."""
    got = []

    def run():
        try:
            got.append(function(*args, **options))
        except Exception as error:
            got.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, got


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def test_scores_are_the_models(engine, lm):
    reqs = requests(lm, LONG)[:40] + requests(lm, SHORT, context=False)
    told, threads = [], set()

    def progress(done, total):
        told.append((done, total))
        threads.add(threading.current_thread())

    scores = engine.score(reqs, task=Task(progress))
    assert scores.shape == (len(reqs), len(lm.candidates)) and scores.dtype == np.float32
    for row, r in zip(scores, reqs, strict=True):
        x = lm.model_input(r)
        assert np.array_equal(row, lm.forward([x], *lm.shape_for(len(x.ids)))[0])
    assert told == sorted(told) and told[-1] == (len(reqs), len(reqs))
    assert threads == {threading.current_thread()}


def test_no_requests_no_rows(engine, lm):
    assert engine.score([]).shape == (0, len(lm.candidates))


def test_scores_do_not_depend_on_the_neighbours(engine, lm):
    """Bit for bit: alone, in other orders, and while other callers fill up the same passes."""
    reqs = requests(lm, LONG)[:30] + requests(lm, SHORT)
    want = engine.score(reqs)
    rng = np.random.default_rng(1)
    for _ in range(3):
        order = rng.permutation(len(reqs))
        assert np.array_equal(engine.score([reqs[i] for i in order]), want[order])
    assert np.array_equal(engine.score(reqs[3:4]), want[3:4])
    calls = [call(engine.score, [reqs[i] for i in rng.permutation(len(reqs))[:17]]) for _ in range(4)]
    mixed = [call(engine.score, reqs[n::3]) for n in range(3)]
    for thread, _ in [*calls, *mixed]:
        thread.join(60)
    for n, (_, got) in enumerate(mixed):
        assert np.array_equal(got[0], want[n::3])


@pytest.mark.parametrize(("length", "rows"), [(5, 19), (24, 4), (44, 2), (64, 2), (68, 1), (256, 1)])
def test_rows_of_a_pass_fill_one_core(length, rows):
    assert rows_for(length, "cpu", 1) == rows
    assert rows_for(length, "cuda", 1) == 1 << (8192 // length).bit_length() - 1


def test_threads_compute_passes_of_their_own(fake, monkeypatch):
    """Two at once here; one that dies takes only its own callers with it, and is started again."""
    fake._lm.workers = 2
    thread, got = call(fake.score, ["x"] * 4 + ["y"] * 4)
    until(lambda: fake._lm.inside == 2)
    fake._lm.permits.release(2)
    thread.join(20)
    assert got[0].shape == (8, 2) and sorted(p[0] for p in fake._lm.passes) == ["x", "y"]
    forward = fake._lm.forward

    def dies(inputs, rows, length):
        if inputs[0].ids[0] == "dies":
            raise SystemExit
        return forward(inputs, rows, length)

    monkeypatch.setattr(fake._lm, "forward", dies)
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    kept, got_kept = call(fake.score, ["kept"] * 4)
    until(lambda: fake._lm.inside == 1)
    thread, got = call(fake.score, ["dies"])
    thread.join(20)
    assert isinstance(got[0], Cancelled) and kept.is_alive() and len(fake._threads) == 1
    fake._lm.permits.release(50)
    kept.join(20)
    assert got_kept[0].shape == (4, 2)
    assert fake.score(["x"]).shape == (1, 2) and len(fake._threads) == 2


def test_a_short_text_does_not_wait_for_a_long_one(fake):
    long, got_long = call(fake.score, ["long"] * 100)
    assert fake._lm.begun.wait(20)
    short, got_short = call(fake.score, ["short"] * 6)
    until(lambda: len(fake._jobs) == 2)
    fake._lm.permits.release(5)  # long, long, short, long, short: the callers take turns
    short.join(20)
    assert not short.is_alive() and got_short[0].shape == (6, 2)
    assert long.is_alive()
    fake._lm.permits.release(100)
    long.join(20)
    assert got_long[0].shape == (100, 2)


def test_callers_share_a_pass(fake):
    first, _ = call(fake.score, ["x"])
    assert fake._lm.begun.wait(20)
    others = [call(fake.score, [name]) for name in ("y", "z")]
    until(lambda: len(fake._jobs) == 2)
    fake._lm.permits.release(2)
    for thread, _ in [*others, (first, None)]:
        thread.join(20)
    assert [sorted(p) for p in fake._lm.passes] == [["x"], ["y", "z"]]


def test_too_many_callers_are_told(fake):
    calls = [call(fake.score, ["x"] * 9) for _ in range(3)]
    until(lambda: fake.waiting == 3)
    with pytest.raises(Busy, match="busy with 3 texts"):
        fake.score(["y"])
    fake._lm.permits.release(50)
    for thread, got in calls:
        thread.join(20)
        assert got[0].shape == (9, 2)
    assert fake.score(["y"]).shape == (1, 2)


def test_a_timeout_says_busy_and_withdraws(fake):
    with pytest.raises(Busy):
        fake.score(["x"] * 50, timeout=0.1)
    assert fake.waiting == 0 and not fake._jobs


def test_cancelling_ends_the_call_and_the_work(fake):
    stop = Task()
    thread, got = call(fake.score, ["x"] * 50, task=stop)
    assert fake._lm.begun.wait(20)
    stop.cancel()
    thread.join(20)
    assert isinstance(got[0], Cancelled)
    fake._lm.permits.release(50)
    assert fake.score(["y"]).shape == (1, 2)
    assert sum(p.count("x") for p in fake._lm.passes) <= 4


def test_an_error_in_progress_withdraws_the_rest(fake):
    fake._lm.permits.release(1)

    def progress(done, total):
        raise KeyError("the page was left")

    with pytest.raises(KeyError):
        fake.score(["x"] * 50, task=Task(progress))
    fake._lm.permits.release(50)
    assert fake.score(["y"]).shape == (1, 2)
    assert sum(p.count("x") for p in fake._lm.passes) <= 8


def test_errors_travel_and_the_engine_goes_on(fake):
    fake._lm.permits.release(50)
    with pytest.raises(RuntimeError, match="the model broke"):
        fake.score(["broken"])
    with pytest.raises(InputError):
        fake.score(["refused"])
    assert fake.score(["y"]).tolist() == [[0.0, 1.0]]
    assert fake.waiting == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("how", ["ends", "answers nothing"])
def test_an_engine_that_dies_fails_its_callers_and_starts_again(fake, how, monkeypatch):
    """Also those whose requests were in the pass, which wait for nobody any more."""
    fake._lm.permits.release(50)
    died = SystemExit if how == "ends" else ValueError

    def forward(inputs, rows, length):
        if how == "ends":
            raise SystemExit
        return np.zeros((len(inputs) + 1, 2), np.float32)

    with monkeypatch.context() as broken:
        broken.setattr(fake._lm, "forward", forward)
        threads = [call(fake.score, ["x"]), call(fake.score, ["y"] * 9)]
        for thread, got in threads:
            thread.join(10)
            assert not thread.is_alive(), "a caller waits for an engine that is gone"
            assert isinstance(got[0], Cancelled if died is SystemExit else died) and str(got[0])
    assert fake.score(["y"]).tolist() == [[0.0, 1.0]] and fake.waiting == 0


@pytest.mark.slow
def test_a_pass_without_memory_is_made_again_and_then_said(lm, monkeypatch, new_objects):
    """In the same shape: with fewer rows at once the last bits of the scores would be others."""
    import torch

    inputs = [lm.model_input(r) for r in requests(lm, SHORT)]
    shape = lm.shape_for(max(len(x.ids) for x in inputs))
    wanted, logits, left = lm.forward(inputs[: shape[0]], *shape), lm._logits, []

    def scarce(*given):
        if left:
            raise left.pop()
        return logits(*given)

    monkeypatch.setattr(lm, "_logits", scarce)
    for error in (
        torch.OutOfMemoryError("CUDA out of memory."),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes."),
        MemoryError(),
    ):
        left += [error]
        assert np.array_equal(lm.forward(inputs[: shape[0]], *shape), wanted)
    left += [error, error]
    with pytest.raises(Busy, match=r"not have enough memory .* Close other programs"):
        lm.forward(inputs[: shape[0]], *shape)
    left += [RuntimeError("something else")]
    with pytest.raises(RuntimeError, match="something else"):
        lm.forward(inputs[: shape[0]], *shape)


def test_stopping_releases_the_callers_and_starts_again(fake):
    thread, got = call(fake.score, ["x"] * 50)
    assert fake._lm.begun.wait(20)
    fake._lm.permits.release(1)
    stopper, _ = call(fake.stop)
    until(lambda: fake._stopping)
    fake._lm.permits.release(1)
    thread.join(20)
    stopper.join(20)
    assert isinstance(got[0], Cancelled)
    fake._lm.permits.release(50)
    assert fake.score(["y"]).shape == (1, 2)


def test_warm_returns_at_once_and_loads_behind(folder):
    worker = Engine(str(folder), "cpu")
    assert not worker.ready
    worker.warm()
    until(lambda: worker.ready)
    assert worker.error is None
    worker.stop()


def test_a_model_that_does_not_load_tells_every_caller(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "model.safetensors").write_bytes(b"x")
    worker = Engine(str(tmp_path), "no such device")
    for _ in range(2):
        with pytest.raises(ConfigError):
            worker.score([])
    worker.warm()
    until(lambda: worker.error is not None)
    assert not worker.ready


def test_one_engine_a_model_and_device(folder, engine):
    from dptext_core.support.device import best_device

    assert models.engine(str(folder)) is engine
    assert models.engine(str(folder), best_device()) is engine


@pytest.mark.slow
def test_nothing_of_a_text_is_kept(engine, lm, new_objects):
    engine.score(requests(lm, SHORT))
    with pytest.raises(Busy):
        engine.score(requests(lm, LONG), timeout=0.0)
    gc.collect()
    until(lambda: not any(type(o) is _Job for o in gc.get_objects()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_works(folder, lm):
    engine, reqs = models.engine(str(folder), "cpu"), requests(lm, SHORT)[:3]
    want = engine.score(reqs)
    if (child := os.fork()) == 0:
        try:
            os._exit(0 if np.array_equal(engine.score(reqs, timeout=60), want) else 3)
        finally:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


#: A model that is torch's products alone, which is all that is in the middle of work where a process ends.
ENDS = """
import atexit, sys, threading
atexit.register(lambda: print("alive:", sum(t.is_alive() for t in threads)))  # after what the engine registers
from dptext_core import models
from dptext_core.measure.metrics import score
from dptext_core.models.windows import ModelInput

for metric in ("cosine", "bertscore"):
    score(metric, ["a"], ["b"])
print([name for name in ("torch", "transformers", "sentence_transformers", "sklearn") if name in sys.modules])
import torch

class Model:
    candidates, workers, at_once = ("a",), 2, 1
    def model_inputs(self, requests):
        return [ModelInput([1], None, 0) for _ in requests]
    def shape_for(self, length, query=False):
        return 4, 8
    def text_of(self, x):
        return 0
    def forward_all(self, passes):
        begun.set()
        x = torch.ones(200, 200)
        for _ in range(50):
            x = torch.tanh(x @ x)
        return x[:len(passes[0][0]), :1].numpy()

begun, engine = threading.Event(), models.engine(sys.argv[1])
engine._lm = Model()
threading.Thread(target=engine.score, args=(["x"] * 100_000,), daemon=True).start()
begun.wait()
threads = set(engine._threads)
print("end", len(threads))
"""


@pytest.mark.slow
def test_a_process_embeds_without_large_libraries_and_ends_in_the_middle_of_work(folder):
    env = os.environ | {"OMP_NUM_THREADS": "2", "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-c", ENDS, str(folder)]
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.split()) == (0, ["[]", "end", "2", "alive:", "0"]), done.stderr


def test_the_end_of_the_process_waits_for_a_model_that_is_being_loaded(monkeypatch):
    loaded = threading.Event()
    monkeypatch.setattr("dptext_core.models.masked_lm.load", lambda *_: loaded.wait(30) and FakeLM())
    worker = Engine("loading")
    worker.warm()
    worker.stop(wait=0)
    assert worker._threads and worker._threads <= set(exit_threads._threads)
    loaded.set()
    exit_threads._join_all()
    assert not worker._threads


def test_the_plain_loop_and_the_engine_compute_the_same(folder):
    from dptext_core.models.torch_masked import plain_model

    lm = MaskedLM(models.masked_lm_spec(str(folder)), "cpu", "float32")
    worker = Engine(str(folder), "cpu")
    worker._lm = lm
    plain, tokenizer = plain_model(lm.spec)
    want = np.stack([x.numpy() for x in speed.plain_scores(plain, tokenizer, SHORT)])[:, lm.candidate_ids]
    np.testing.assert_allclose(speed.engine_scores(worker, lm, [SHORT]), want, atol=1e-4)
    worker.stop()


def test_the_texts_of_the_speed_report_have_twenty_tokens():
    short_texts = speed.short_texts
    assert len(set(short_texts())) == 20
    assert {len(Document.parse(t).tokens) for t in short_texts()} == {20}
