"""The bundled model of the pages, loaded in the background after the first page is drawn."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dptext_core import Document, DPTextError, models
from dptext_core.mechanisms import recommended
from dptext_core.models.worker import Engine
from dptext_core.support.assets import examples
from dptext_core.support.exit_threads import join_at_exit

from . import heap, streamlit_patches

#: Mechanisms whose vocabularies are loaded after the model, so that a first rewrite with them does not wait.
SOON = recommended.ORDER[1:4]
#: Seconds after which gauges of a first visit are loaded too.
SETTLE = 5.0
_done = {"words": False, "soon": False}
_ending = threading.Event()
atexit.register(_ending.set)


def warm() -> Engine:
    """Return the engine of the bundled model and start loading it if needed. Returns at once."""
    engine = models.engine("bundled")
    if not _done["words"]:
        _done["words"] = True
        # The first text to be cut into words imports NLTK.
        _begin(Document.parse, "@ ready.")
    if not _done["soon"] and streamlit_patches.is_serving():
        _done["soon"] = True
        _begin(_read_vocabularies, engine)
    engine.warm()
    return engine


def _begin(work: Callable[..., object], *given: Any) -> None:
    thread = threading.Thread(target=work, args=given, daemon=True)
    thread.start()
    join_at_exit(thread)


def _read_vocabularies(engine: Engine) -> None:
    """Rewrite an example with each mechanism, once nothing else is being loaded."""
    while not engine.ready and engine.error is None:
        if _ending.wait(0.2):
            return
    for name in SOON:
        if _ending.wait(0.5):  # running tasks come first
            return
        with suppress(DPTextError):
            recommended.recommended(name).rewrite(examples()[0].text)
    if _ending.wait(SETTLE):
        return
    heap.settle()  # everything for a first visit is loaded
    heap.give_back()


def where(engine: Engine) -> str:
    """Return where the engine runs, in a few words."""
    if engine.error is not None:
        return f"not available: {engine.error}"
    if not engine.ready:
        return "loads in the background"
    return f"ready, {models.load_masked_lm('bundled').description}"
