"""Rows of `bench clipping`: the effect of the width of the clipping range."""

from __future__ import annotations

from dataclasses import dataclass

from .measurement import Measurement


@dataclass(frozen=True)
class ClippingRow:
    """One range at one ε. n_w: mean probability that a sampled word is unchanged. tied: mean number of tied words.

    Tied words have scores at the upper end. n_w_half, cosine_half: half of the 95% interval over sampled words and over
    texts.
    """

    width: float
    clip_min: float
    clip_max: float
    epsilon: float
    n_w: float
    n_w_half: float
    cosine: float
    cosine_half: float
    tied: float
    words: int
    texts: int


MEASUREMENT = Measurement("clipping", ClippingRow, "clipping.json", digits=5)
bundled = MEASUREMENT.bundled
