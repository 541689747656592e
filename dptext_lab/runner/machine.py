"""The machine of a run: its description and number of threads."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path


@cache
def describe_machine() -> str:
    """Return the processor, its cores, and the versions of Python and (if installed) torch."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    description = f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"
    with suppress(importlib.metadata.PackageNotFoundError):
        description += f", torch {importlib.metadata.version('torch')}"
    return f"{description}, embeddings in float32"


def use_one_thread() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)
