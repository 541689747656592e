"""Perplexity of the rewrite under a causal language model that was added (:mod:`dptext_core.models.causal`).

How well it reads, for each word: 1 and up, low is better. A blank text gives nan. The originals are not used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...models import causal


def score(originals: Sequence[str], rewrites: Sequence[str]) -> list[float]:
    """Perplexity of each rewrite by the model that was added. Raises ModelUnavailable where there is none."""
    with np.errstate(over="ignore"):  # a word of hundreds of pieces: inf
        return np.exp(causal.judge()(rewrites)).tolist()
