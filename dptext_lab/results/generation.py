"""Rows of `bench generators`: mechanisms that write, next to DP-MLM."""

from __future__ import annotations

from dataclasses import dataclass

from .measurement import Measurement


@dataclass(frozen=True)
class GenerationRow:
    """One system at one ε. Means over texts, and half of their 95% intervals, None where too few texts tell them;
    ``log_perplexity`` is of a word, None without a judge. tokens: drawn in all; seconds: what that took."""

    data: str
    system: str
    epsilon: float
    texts: int
    cosine: float | None
    cosine_half: float | None
    bleu: float | None
    words: float
    log_perplexity: float | None
    log_perplexity_half: float | None
    tokens: int
    seconds: float


MEASUREMENT = Measurement("generators", GenerationRow, "generators.json", digits=5)
bundled = MEASUREMENT.bundled
