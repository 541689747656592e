"""Imports that two threads must not begin at the same time."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_alone = threading.RLock()


@contextmanager
def transformers_import_guard() -> Iterator[None]:
    """Guard every ``from transformers import``, and every import that includes it.

    During its import it replaces its own module, and a thread that waited for the first one would search that for names
    and find none. Raises ImportError if it is not installed.
    """
    with _alone:
        importlib.import_module("transformers")
        yield
