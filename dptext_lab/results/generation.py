"""Rows of `bench generators`: generators compared with DP-MLM."""

from __future__ import annotations

from dataclasses import dataclass

from .measurement import Measurement


@dataclass(frozen=True)
class GenerationRow:
    """One system at one ε, with means over texts and half of their 95% intervals (None: too few texts).

    log_perplexity: per word, None without a judge. tokens: number of sampled tokens. seconds: their time."""

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
