"""Cosine of the all-MiniLM-L6-v2 sentence embeddings of original and rewrite: -1 to 1, the papers' similarity.

DP-MLM and 1-Diffractor use the same model (:mod:`dptext_core.models.sentence_encoder`). An empty text has an embedding
too (of the model's start and end marks), so that two empty texts give 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...models import sentence_encoder


def score(originals: Sequence[str], rewrites: Sequence[str]) -> list[float]:
    """Return the cosine of each rewrite with its original."""
    distinct = list(dict.fromkeys([*originals, *rewrites]))
    rows = dict(zip(distinct, sentence_encoder.embed(distinct), strict=True))
    return [
        float(np.clip(np.dot(rows[original], rows[rewrite]), -1.0, 1.0))
        for original, rewrite in zip(originals, rewrites, strict=True)
    ]
