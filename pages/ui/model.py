"""The bundled model behind the pages: loaded in the background once the first page is painted."""

from __future__ import annotations

import gc

from dptext_core import models
from dptext_core.models.worker import Engine

_frozen = {"before": False, "loaded": False}


def warm() -> Engine:
    """The engine of the bundled model, loading if it is not loaded yet. Returns at once.

    Streamlit collects garbage after every run of a page. A million objects of torch and transformers, which never die,
    would make each of these collections take half a second: they are taken out of the collector's sight.
    """
    engine = models.engine("bundled")
    if not engine.ready and not _frozen["before"]:
        _freeze("before")
    elif engine.ready and not _frozen["loaded"]:
        _freeze("loaded")
    engine.warm()
    return engine


def _freeze(stage: str) -> None:
    gc.collect()
    gc.freeze()
    _frozen[stage] = True


def where(engine: Engine) -> str:
    """What the engine runs on, in a few words."""
    if engine.error is not None:
        return f"not available: {engine.error}"
    if not engine.ready:
        return "loads in the background"
    lm = models.load_masked_lm("bundled")
    device = {"cpu": "the processor", "cuda": "the GPU", "mps": "the GPU"}[lm.device.split(":")[0]]
    return f"ready, on {device} in {lm.dtype}"
