"""Rows of `bench clipping`: what the width of the clipping range costs."""

from __future__ import annotations

from dataclasses import dataclass

from .measurement import Measurement


@dataclass(frozen=True)
class ClippingRow:
    """One range at one ε. n_w: mean chance that a drawn word stays; tied: mean number of words at the upper end.

    n_w_half, cosine_half: of the 95% interval of the mean over the drawn words, over the texts.
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
