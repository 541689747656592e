"""The choice of engine: one in this process for each model and device, or the replicas of a cluster."""

from __future__ import annotations

import atexit
import importlib
import os
import sys
import threading
from typing import Any

from ..errors import ConfigError
from ..support.device import best_device, resolve_device
from ..text.language import Language
from ..text.languages import ENGLISH
from .registry import masked_lm_spec
from .worker import Engine

VARIABLE = "DPTEXT_ENGINE"
_engines: dict[tuple[str, str | None, Language], Any] = {}
_guard = threading.Lock()


def shared_engine(name: str, device: str | None = None, language: Language = ENGLISH) -> Engine:
    """Return this process's one engine for model `name` on `device`, or the client of the replicas in DPTEXT_ENGINE.

    Raises what `masked_lm_spec` raises, and ConfigError.
    """
    address = None
    if device is None and language is Engine.served:
        address = served_address()
    spec = masked_lm_spec(name)
    if device is not None:
        # The best device and None share one engine; only an explicit device requires an import of torch here.
        device = None if resolve_device(device) == best_device() else device
    key = (str(spec.folder), device if address is None else f"ray:{address}", language)
    with _guard:
        if key not in _engines and address is not None:
            # Optional: the package of Ray is imported only on request.
            replicas = importlib.import_module("dptext_core.distributed.replicas")
            _engines[key] = replicas.RemoteEngine(name, address)
        if key not in _engines:
            _engines[key] = Engine(name, device, language=language)
        return _engines[key]


def served_address() -> str | None:
    """Return the address in DPTEXT_ENGINE; None if this process computes scores. Raises ConfigError."""
    setting = os.environ.get(VARIABLE, "").strip()
    if setting in ("", "local"):
        return None
    kind, _, address = setting.partition(":")
    if kind != "ray" or not address:
        raise ConfigError(
            f"{VARIABLE} must be local or ray:ADDRESS, such as ray:auto or ray:10.0.0.5:6379. Correct or unset it."
        )
    return address


def _stop_all() -> None:
    for engine in list(_engines.values()):
        engine.stop()


def _after_fork() -> None:
    """Replace locks and threads: a child process has no threads of its parent, but may inherit locked locks."""
    global _guard
    _guard = threading.Lock()
    for engine in _engines.values():
        if isinstance(engine, Engine):
            engine._reset()
    if (loader := sys.modules.get("dptext_core.models.masked_lm")) is not None:
        loader.forget_locks()


atexit.register(_stop_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
