"""One choice of the device for all: models, metrics, word vectors."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import pytest

from dptext_core.errors import ConfigError
from dptext_core.support import device, extras
from dptext_core.support.device import best_device, resolve_device
from dptext_core.words import space


def torch_with(cuda: int = 0, mps: bool = False) -> SimpleNamespace:
    return SimpleNamespace(
        cuda=SimpleNamespace(is_available=lambda: cuda > 0, device_count=lambda: cuda),
        backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps)),
    )


@pytest.mark.parametrize(
    ("torch", "best", "float64"),
    [(torch_with(), "cpu", None), (torch_with(cuda=2, mps=True), "cuda", "cuda"), (torch_with(mps=True), "mps", None)],
)
def test_a_gpu_is_taken_where_there_is_one(monkeypatch, torch, best, float64):
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert best_device() == best_device(load=False) == resolve_device(None) == best
    assert space._cuda() == float64, "only CUDA multiplies in float64"


def test_vectors_alone_load_no_torch(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert best_device(load=False) == "cpu" and space._cuda() is None and "torch" not in sys.modules


def test_who_comes_while_another_thread_loads_torch_waits_for_all_of_it(monkeypatch, tmp_path):
    begun = threading.Event()
    (tmp_path / "torch.py").write_text(
        "import time\nfrom loads_torch import begun\nbegun.set()\ntime.sleep(0.5)\nwhole = True\n"
    )
    monkeypatch.setitem(sys.modules, "loads_torch", SimpleNamespace(begun=begun))
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    first = threading.Thread(target=extras.import_torch)
    first.start()
    assert begun.wait(10) and extras.import_torch().whole
    first.join()


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", torch_with(cuda=1))
    assert (resolve_device("cuda:0"), resolve_device("cpu")) == ("cuda:0", "cpu")
    for name, message in (("cuda:1", "has no device 'cuda:1'"), ("mps", "no device 'mps'"), ("tpu", "The device must")):
        with pytest.raises(ConfigError, match=message):
            resolve_device(name)


def test_the_machine_is_searched_for_a_gpu_once(monkeypatch):
    """Every text asks for the device."""
    searched = []
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(device.importlib.util, "find_spec", lambda name: searched.append(name))
    device._may_have_gpu.cache_clear()
    try:
        assert [best_device() for _ in range(3)] == ["cpu"] * 3 and searched == ["torch"]
    finally:
        device._may_have_gpu.cache_clear()
