"""Imports that two threads must not begin at once."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_alone = threading.RLock()


@contextmanager
def transformers_import_guard() -> Iterator[None]:
    """Stands around every ``from transformers import`` and what imports it.

    While it is imported it puts another module in its own place, and a thread that waited for the first would look for
    the names there and find none. Raises ImportError where it is not installed.
    """
    with _alone:
        importlib.import_module("transformers")
        yield
