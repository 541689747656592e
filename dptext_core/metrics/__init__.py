"""What a rewritten text is measured with: one metric a file, each with its unit and direction; loaded on first use."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import ConfigError, InputError


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of a rewrite against its original. Scores lie in [low, high]; ``unit`` is "" for a plain number."""

    name: str
    title: str
    unit: str
    greater_is_better: bool
    low: float
    high: float


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("cosine", "Similarity (MiniLM cosine)", "", True, -1.0, 1.0),
        Metric("bleu", "BLEU", "points", True, 0.0, 100.0),
        Metric("unchanged", "Words unchanged", "share", False, 0.0, 1.0),
        Metric("perplexity", "Pseudo-perplexity", "", False, 1.0, float("inf")),
        Metric("bertscore", "BERTScore F1 (MiniLM, layer 5)", "", True, -1.0, 1.0),
    )
}


def score(name: str, originals: Sequence[str], rewrites: Sequence[str]) -> list[float]:
    """One number a text by the metric ``name``; ``originals[i]`` is compared with ``rewrites[i]``.

    What each gives for an empty text is in its module's docstring. Raises ConfigError for an unknown name, InputError
    where the two are no lists of texts of one length, ModelUnavailable where the metric's model is not there.
    """
    if name not in METRICS:
        raise ConfigError(f"Unknown metric {name!r}: use one of {', '.join(METRICS)}.")
    if isinstance(originals, str) or isinstance(rewrites, str):
        raise InputError("score compares lists of texts: put a single text into a list.")
    originals, rewrites = list(originals), list(rewrites)
    if len(originals) != len(rewrites):
        raise InputError(
            f"score needs one rewrite for each original: got {len(originals)} originals and {len(rewrites)} rewrites."
        )
    if not all(isinstance(text, str) for text in (*originals, *rewrites)):
        raise InputError("score compares texts: every original and every rewrite must be a str.")
    if not originals:
        return []
    return importlib.import_module(f".{name}", __name__).score(originals, rewrites)


__all__ = ["METRICS", "Metric", "score"]
