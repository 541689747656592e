"""The bundled model behind the pages: loaded in the background once the first page is painted."""

from __future__ import annotations

import gc
import threading

from dptext_core import Document, models
from dptext_core.models.worker import Engine

_done = {"before": False, "loaded": False, "words": False}


def warm() -> Engine:
    """The engine of the bundled model, loading if it is not loaded yet. Returns at once.

    Streamlit collects garbage after every run of a page. A million objects of torch and transformers, which never die,
    would make each of these collections take half a second: they are taken out of the collector's sight.
    """
    engine = models.engine("bundled")
    if not engine.ready and not _done["before"]:
        _freeze("before")
    elif engine.ready and not _done["loaded"]:
        _freeze("loaded")
    if not _done["words"]:
        _done["words"] = True
        # The first text to be cut into words imports NLTK.
        threading.Thread(target=Document.parse, args=("@ ready.",), daemon=True).start()
    engine.warm()
    return engine


def _freeze(stage: str) -> None:
    gc.collect()
    gc.freeze()
    _done[stage] = True


def where(engine: Engine) -> str:
    """What the engine runs on, in a few words."""
    if engine.error is not None:
        return f"not available: {engine.error}"
    if not engine.ready:
        return "loads in the background"
    return f"ready, {models.load_masked_lm('bundled').description}"
