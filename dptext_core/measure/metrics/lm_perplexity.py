"""Perplexity of the rewrite under an added causal language model (:mod:`dptext_core.models.causal`).

It measures fluency per word: 1 and up, lower is better. A blank text gives nan. The originals are not used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...models import causal


def score(originals: Sequence[str], rewrites: Sequence[str]) -> list[float]:
    """Return the perplexity of each rewrite by the added model. Raises ModelUnavailable if there is none."""
    with np.errstate(over="ignore"):  # a word of hundreds of pieces: inf
        return np.exp(causal.judge()(rewrites)).tolist()
