"""Replicas of a masked language model, as a front end uses them; without Ray."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest

import dptext_core as dpt
from dptext_core.distributed import replicas
from dptext_core.models import MaskRequest
from dptext_core.support.outcome import WorkOutcome

CORE = Path(dpt.__file__).parent


def test_ray_is_imported_in_one_place_and_only_when_asked_for():
    """Every import of it goes through ``connection``, which sets what it reads at that moment."""
    found = [
        p.relative_to(CORE).as_posix()
        for p in CORE.rglob("*.py")
        if re.search(r"^\s*(import|from) ray\b", p.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert found == []
    users = [p.name for p in CORE.rglob("*.py") if re.search(r"\bray_module\(", p.read_text(encoding="utf-8"))]
    assert set(users) <= {"actors.py", "replicas.py", "connection.py"}


class Replicas:
    """What a handle of Ray Serve is to a front end: answers come when they are asked for, or never."""

    def __init__(self, never=False, error=None):
        self.never, self.error, self.cancelled, self.calls = never, error, 0, []

    @property
    def score(self):
        return self

    def remote(self, requests):
        self.calls.append(len(requests))
        return Response(self, requests)


class Response:
    def __init__(self, replicas, requests):
        self.replicas, self.requests = replicas, requests

    def result(self, timeout_s):
        if self.replicas.error is not None:
            raise self.replicas.error
        if self.replicas.never:
            raise TimeoutError
        return WorkOutcome([[float(r.target)] * 3 for r in self.requests])

    def cancel(self):
        self.replicas.cancelled += 1


class Full(Exception):
    pass


@pytest.fixture
def remote(monkeypatch):
    def made(**options):
        one = replicas.RemoteEngine("bundled", "auto", capacity=1)
        one._handle, one._width = Replicas(**options), 3
        return one

    exceptions = types.SimpleNamespace(BackPressureError=Full, RayServeException=ValueError, RayError=OSError)
    monkeypatch.setattr(
        replicas, "ray_module", lambda *_: types.SimpleNamespace(exceptions=exceptions, **vars(exceptions))
    )
    return made


def test_a_front_end_asks_replicas_in_parts_and_puts_their_scores_in_order(remote):
    requests = [MaskRequest(None, [[1]], i) for i in range(2 * replicas.CALL + 3)]
    engine, seen = remote(), []
    scores = engine.score(requests, task=dpt.Task(lambda *done: seen.append(done)))
    assert scores[:, 1].tolist() == list(range(len(requests))) and scores.dtype == "float32"
    assert engine._handle.calls == [replicas.CALL, replicas.CALL, 3] and seen[-1] == (len(requests),) * 2
    assert engine.waiting == 0


def test_a_call_to_replicas_ends_and_takes_back_what_is_open(remote):
    requests = [MaskRequest(None, [[1]], 0)] * (replicas.CALL + 1)
    stop = dpt.Task()
    stop.cancel()
    for options, given, expected in (
        ({"never": True}, {"task": stop}, dpt.Cancelled),
        ({"never": True}, {"timeout": 0.01}, dpt.Busy),
        ({"error": Full()}, {}, dpt.Busy),
        ({"error": OSError()}, {}, dpt.Busy),
    ):
        engine = remote(**options)
        with pytest.raises(expected):
            engine.score(requests, **given)
        assert engine._handle.cancelled == 2 and engine.waiting == 0
    engine._calls = 1
    with pytest.raises(dpt.Busy):
        engine.score(requests)


def test_one_setting_says_where_scores_are_computed(monkeypatch):
    from dptext_core.models import engines, worker

    monkeypatch.setattr(engines, "_engines", {})
    for setting in ("", "local"):
        monkeypatch.setenv("DPTEXT_ENGINE", setting)
        assert isinstance(dpt.models.engine(), worker.Engine)
    monkeypatch.setenv("DPTEXT_ENGINE", "ray:auto")
    assert isinstance(dpt.models.engine(), replicas.RemoteEngine) and dpt.models.engine() is dpt.models.engine()
    monkeypatch.setenv("DPTEXT_ENGINE", "ray")
    with pytest.raises(dpt.ConfigError, match="ray:ADDRESS"):
        dpt.models.engine()
    monkeypatch.setenv("DPTEXT_ENGINE", "ray:auto")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(dpt.ConfigError, match=r"pip install -r requirements-ray\.txt"):
        dpt.models.engine().score([])
