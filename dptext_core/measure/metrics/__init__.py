"""Metrics of a rewritten text: one per file, loaded on first use, listed in ``registry``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence

from ...errors import ConfigError, InputError
from ...support.checks import pluralize, text_list
from .registry import REGISTRY, Metric, measure

_FILES = {module.name for module in pkgutil.iter_modules(__path__)}
#: Metrics of a text: each is a file in this folder.
METRICS: dict[str, Metric] = {name: metric for name, metric in REGISTRY.items() if name in _FILES}


def score(name: str, originals: Sequence[str], rewrites: Sequence[str]) -> list[float]:
    """Return one number per text by a metric. The metric's module documents its value for an empty text.

    Parameters
    ----------
    name : str
        One of ``METRICS``.
    originals, rewrites : sequence of str, of one length
        The first original is compared with the first rewrite, and so on.

    Returns
    -------
    list of float

    Raises
    ------
    ConfigError
        There is no metric of this name.
    InputError
        The arguments are not lists of texts of the same length.
    ModelUnavailable
        The metric's model is not on this machine.
    """
    if name not in METRICS:
        raise ConfigError(f"Unknown metric {name!r}. Use one of {', '.join(METRICS)}.")
    originals, rewrites = text_list(originals, "originals"), text_list(rewrites, "rewrites")
    if len(originals) != len(rewrites):
        numbers = f"{pluralize(len(originals), 'original')} and {pluralize(len(rewrites), 'rewrite')}"
        raise InputError(f"score needs one rewrite for each original: got {numbers}.")
    if not originals:
        return []
    return importlib.import_module(f".{name}", __name__).score(originals, rewrites)


__all__ = ["METRICS", "REGISTRY", "Metric", "measure", "score"]
