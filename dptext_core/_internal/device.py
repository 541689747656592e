"""Which device computes: asked here by all that run a model or multiply vectors."""

from __future__ import annotations

import gc
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import Busy, ConfigError
from . import extras

_setting = threading.Lock()
_here = threading.local()


def let_threads_sleep() -> None:
    """Have threads that share a product sleep while they wait for each other, unless the environment says otherwise.
    OpenMP would let them spin, and take the processor from all else (docs/measurements/performance.md). To be called
    before torch is loaded."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def best_device(load: bool = True) -> str:
    """The GPU ("cuda" or "mps") where there is one, else "cpu". Without ``load`` only a loaded torch is asked."""
    if not load and "torch" not in sys.modules:
        return "cpu"
    torch = extras.torch()

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def resolve_device(device: str | None) -> str:
    """`device`, checked, or the best one. Raises ConfigError."""
    if device is None:
        return best_device()
    torch = extras.torch()

    if device != "cpu" and device != "mps" and not re.fullmatch(r"cuda(:\d+)?", device):
        raise ConfigError(f"The device is 'cpu', 'cuda', 'cuda:1' (…) or 'mps', not {device!r}.")
    if device.startswith("cuda"):
        wanted = int(device[5:] or 0)
        if not torch.cuda.is_available() or wanted >= torch.cuda.device_count():
            raise ConfigError(f"This machine, or this build of torch, has no device {device!r}: use 'cpu'.")
    if device == "mps" and not torch.backends.mps.is_available():
        raise ConfigError("This machine, or this build of torch, has no device 'mps': use 'cpu'.")
    return device


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it PyTorch computes in the calling thread alone. Other threads keep the number that they have."""
    import torch

    if getattr(_here, "alone", False):
        yield
        return
    with _setting:
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        # That was the number of this thread, and of those that begin later: they get theirs back from another one.
        other = threading.Thread(target=torch.set_num_threads, args=(before,))
        other.start()
        other.join()
    _here.alone = True
    try:
        yield
    finally:
        _here.alone = False
        torch.set_num_threads(before)


def _after_fork() -> None:
    """A child process may have inherited a locked lock."""
    global _setting
    _setting = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def enough_memory(device: str) -> Iterator[None]:
    """Around a pass of a model. Raises Busy, with what to do, where the device has no memory for it."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not _no_memory(error):
            raise
        what = "This machine" if device == "cpu" else f"The device {device!r}"
        raise Busy(
            f"{what} has not enough memory for a pass of the language model. Close what else uses it, or give a "
            "shorter text."
        ) from None


def _no_memory(error: Exception) -> bool:
    said = str(error)
    ours = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return ours or "not enough memory" in said or "can't allocate memory" in said


def give_back_memory(device: str) -> None:
    """Give back what PyTorch holds of the device's memory and does not use."""
    import torch

    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    elif device == "mps":
        torch.mps.empty_cache()
