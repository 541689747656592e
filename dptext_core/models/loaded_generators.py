"""The generators in memory: each is loaded once a process."""

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
    """Return the generator ``name``, loaded once, on a GPU where there is one.

    The process keeps the weights, never a text. Raises ModelUnavailable or ConfigError.
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
    """Whether the generator is in memory already."""
    folder = str(generator_spec(name, bundled).folder)
    return any(key[0] == folder for key in _loaded)


def forget_locks() -> None:
    """After a fork: locks that another thread held would stay locked for ever in the child."""
    global _guard
    _guard = threading.Lock()
    _locks.clear()
    for generator in _loaded.values():
        generator._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_locks)
