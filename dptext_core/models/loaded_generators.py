"""The loaded generators, each loaded once per process."""

from __future__ import annotations

import os
import threading

from ..support.device import resolve_device
from .generator import Generator
from .generators import PROMPTED, generator_spec
from .masked_lm import read_whole
from .registry import BUNDLED

_loaded: dict[tuple[str, str], Generator] = {}
_guard = threading.Lock()
_locks: dict[tuple[str, str], threading.Lock] = {}


def load_generator(name: str = BUNDLED, bundled: str = PROMPTED) -> Generator:
    """Return the generator ``name``, loaded once, on a GPU if there is one.

    The process keeps the weights and never a text. Raises ModelUnavailable or ConfigError.
    """
    spec = generator_spec(name, bundled)
    key = (str(spec.folder), resolve_device(None))
    with _guard:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        if key not in _loaded:
            _loaded[key] = read_whole(lambda: Generator(spec, key[1]), spec.id, spec.folder, key[1])
        return _loaded[key]


def is_loaded(name: str = BUNDLED, bundled: str = PROMPTED) -> bool:
    """Return True if the generator is already in memory."""
    folder = str(generator_spec(name, bundled).folder)
    return any(key[0] == folder for key in _loaded)


def forget_locks() -> None:
    """Replace the locks after a fork: locks held by another thread would stay locked forever in the child."""
    global _guard
    _guard = threading.Lock()
    _locks.clear()
    for generator in _loaded.values():
        generator._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_locks)
