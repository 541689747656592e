"""Shortcuts past what a library promises to keep: each is tried when a model is loaded.

Where one fails, or gives other scores than the public way, the public way is taken: slower, with the same scores up to
rounding. A warning says so once, and so does ``MaskedLM.description``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

_announced: set[str] = set()


class SlowerPath(UserWarning):
    """A shortcut is lost with the installed versions; the public way is taken."""


def announce(why: str) -> None:
    """Warn, once a process for each reason, that the slower public way is taken."""
    if why in _announced:
        return
    _announced.add(why)
    warnings.warn(
        f"The language model runs by a slower public path, because {why}. Its scores are the same up to rounding. "
        "The versions in requirements.txt of the repository have the faster one.",
        SlowerPath,
        stacklevel=2,
    )


def agree(found: np.ndarray, public: np.ndarray, dtype: str) -> bool:
    """Return True if scores (V,) match those of the public path in float32, as closely as ``dtype`` allows."""
    if found.shape != public.shape or not np.array_equal(np.isnan(found), np.isnan(public)):
        return False
    spread = 1.0 + float(np.nanmax(public, initial=0.0) - np.nanmin(public, initial=0.0))
    with np.errstate(invalid="ignore"):
        apart = np.nanmax(np.abs(found - public), initial=0.0)
    return bool(apart <= (1e-3 if dtype == "float32" else 0.1) * spread)


def attempt(work: Callable[[], bool], what: str) -> str:
    """Why ``work``, which says whether the scores of a path agree, did not go well; "" where it did.

    An error of the model itself comes back when the public path is taken.
    """
    import torch

    try:
        return "" if work() else f"{what} gives other scores than the public path"
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # whatever another version does where a part is missing or differs
        return f"{what} does not work with the installed versions ({type(error).__name__})"
