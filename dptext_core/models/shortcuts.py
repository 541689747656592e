"""Shortcuts that rely on more than a library's public interface, each tested when a model is loaded.

If a shortcut fails, or gives other scores than the public path, the public path is used: slower, with the same scores
up to rounding. One warning says so, and so does ``MaskedLM.description``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

_announced: set[str] = set()


class SlowerPath(UserWarning):
    """A shortcut does not work with the installed versions; the slower public path is used."""


def announce(why: str) -> None:
    """Warn, once per process for each reason, that the slower public path is used."""
    if why in _announced:
        return
    _announced.add(why)
    warnings.warn(
        f"The language model runs more slowly, because {why}. Its scores are the same up to rounding. For full "
        "speed, install the versions in requirements.txt of the repository.",
        SlowerPath,
        stacklevel=2,
    )


def agree(scores: np.ndarray, public: np.ndarray, dtype: str) -> bool:
    """Return True if scores (V,) match those of the public path in float32, as closely as ``dtype`` allows."""
    if scores.shape != public.shape or not np.array_equal(np.isnan(scores), np.isnan(public)):
        return False
    spread = 1.0 + float(np.nanmax(public, initial=0.0) - np.nanmin(public, initial=0.0))
    with np.errstate(invalid="ignore"):
        apart = np.nanmax(np.abs(scores - public), initial=0.0)
    return bool(apart <= (1e-3 if dtype == "float32" else 0.1) * spread)


def attempt(work: Callable[[], bool], what: str) -> str:
    """Return the reason why ``work`` failed or its scores differ from the public path; "" if neither is true.

    An error of the model itself comes up again on the public path.
    """
    import torch

    try:
        return "" if work() else f"{what} gives other scores than the public functions of transformers"
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # any error, if another version lacks a part or changes it
        return f"{what} does not work with the installed versions ({type(error).__name__})"
