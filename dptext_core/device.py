"""Which device computes: asked here by all that run a model or multiply vectors."""

from __future__ import annotations

import re
import sys

from .errors import ConfigError


def best_device(load: bool = True) -> str:
    """The GPU ("cuda" or "mps") where there is one, else "cpu". Without ``load`` only a loaded torch is asked."""
    if not load and "torch" not in sys.modules:
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def resolve_device(device: str | None) -> str:
    """`device`, checked, or the best one. Raises ConfigError."""
    if device is None:
        return best_device()
    import torch

    if device != "cpu" and device != "mps" and not re.fullmatch(r"cuda(:\d+)?", device):
        raise ConfigError(f"The device is 'cpu', 'cuda', 'cuda:1' (…) or 'mps', not {device!r}.")
    if device.startswith("cuda"):
        wanted = int(device[5:] or 0)
        if not torch.cuda.is_available() or wanted >= torch.cuda.device_count():
            raise ConfigError(f"This machine, or this build of torch, has no device {device!r}: use 'cpu'.")
    if device == "mps" and not torch.backends.mps.is_available():
        raise ConfigError("This machine, or this build of torch, has no device 'mps': use 'cpu'.")
    return device
