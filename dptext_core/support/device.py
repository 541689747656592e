"""The choice of the computing device, for all code that runs a model or multiplies vectors."""

from __future__ import annotations

import gc
import importlib.util
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from ..errors import Busy, ConfigError
from . import extras


def let_threads_sleep() -> None:
    """Let threads that share a product sleep while they wait, unless the environment sets another policy.

    OpenMP would let them spin and occupy the processor (docs/measurements/performance.md). Call this before torch is
    loaded.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


@cache
def _may_have_gpu() -> bool:
    """Return True if torch is installed and may find a GPU, judging by files that a driver installs."""
    if importlib.util.find_spec("torch") is None:
        return False
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    return bool(os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg") or shutil.which("nvidia-smi"))


def best_device(load: bool = True) -> str:
    """Return the GPU ("cuda" or "mps") if there is one, else "cpu".

    Without ``load``, only an already loaded torch is used. Does not load torch on a machine without a GPU.
    """
    if sys.modules.get("torch") is None and not (load and _may_have_gpu()):
        return "cpu"
    torch = importlib.import_module("torch")  # waits if another thread has begun to load it

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def resolve_device(device: str | None) -> str:
    """Return `device` after a check, or the best one. Raises ConfigError."""
    if device is None or device == "cpu":
        return device or best_device()
    if device != "mps" and not re.fullmatch(r"cuda(:\d+)?", device):
        raise ConfigError(f"The device must be 'cpu', 'cuda', 'cuda:1' (…) or 'mps', not {device!r}.")
    torch = extras.import_torch()

    if device.startswith("cuda"):
        wanted = int(device[5:] or 0)
        if not torch.cuda.is_available() or wanted >= torch.cuda.device_count():
            raise ConfigError(f"This machine, or this build of torch, has no device {device!r}. Use 'cpu'.")
    if device == "mps" and not torch.backends.mps.is_available():
        raise ConfigError("This machine, or this build of torch, has no device 'mps'. Use 'cpu'.")
    return device


def best_dtype(device: str) -> str:
    """Return the type for torch: "bfloat16" if the processor supports it natively, else "float32"."""
    import torch

    if device.startswith("cuda"):
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    if device == "cpu" and platform.machine().lower() in ("x86_64", "amd64") and torch.backends.mkldnn.is_available():
        able = torch.cpu.get_capabilities()
        return "bfloat16" if able.get("avx512_bf16") or able.get("amx_bf16") else "float32"
    return "float32"


@contextmanager
def enough_memory(device: str) -> Iterator[None]:
    """Wrap a pass of a model. Raises Busy, with what to do, if the device has no memory for it."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not _no_memory(error):
            raise
        what = "This machine" if device == "cpu" else f"The device {device!r}"
        raise Busy(
            f"{what} does not have enough memory for a pass of the language model. Close other programs, or use a "
            "shorter text."
        ) from None


def _no_memory(error: Exception) -> bool:
    message = str(error)
    ours = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return ours or "not enough memory" in message or "can't allocate memory" in message


def give_back_memory(device: str) -> None:
    """Release the device memory that PyTorch reserves but does not use."""
    gc.collect()
    if device == "cpu":
        return
    import torch

    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    elif device == "mps":
        torch.mps.empty_cache()
