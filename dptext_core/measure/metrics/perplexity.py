"""Pseudo-perplexity of the rewrite under the bundled masked language model: its readability; 1 and up, lower is better.

Salazar et al. 2020: every word is masked in turn and scored from all the others, and the result is exp(-mean log
P(word)). Two things differ here, so compare these figures only with each other: a word is masked as a whole, by one
mask, and P is normalised over the model's candidate words. Words that are not candidates (names, numbers, rare words)
are context and are not scored. A text without a scored word gives nan. The originals are not used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...text.document import Document

# Scores of one call to the engine: 256 rows of about 20,000 candidates are 20 MB.
_ROWS = 256


def score(originals: Sequence[str], rewrites: Sequence[str]) -> list[float]:
    """Return the pseudo-perplexity of each rewrite."""
    return pseudo_perplexity(rewrites)


def pseudo_perplexity(texts: Sequence[str], name: str = "bundled") -> list[float]:
    """Return the pseudo-perplexity of each text under the masked language model ``name``; nan without a scored word."""
    from ... import models

    lm: Any = models.load_masked_lm(name)
    engine: Any = models.engine(name)
    column = {word: i for i, word in enumerate(lm.candidates)}
    requests, columns, owners = [], [], []
    for owner, text in enumerate(texts):
        document = Document.parse(text)
        pieces = lm.encode(document)
        for i, token in enumerate(document.tokens):
            target = column.get(token.text.lower()) if token.kind == "word" else None
            if target is not None:
                requests.append(models.MaskRequest(context=None, masked=pieces, target=i))
                columns.append(target)
                owners.append(owner)
    total = [0.0] * len(texts)
    count = [0] * len(texts)
    for start in range(0, len(requests), _ROWS):
        rows = np.asarray(engine.score(requests[start : start + _ROWS]), dtype=np.float64)
        rows -= rows.max(axis=1, keepdims=True)
        log_norm = np.log(np.exp(rows).sum(axis=1))
        for row, norm, target, owner in zip(rows, log_norm, columns[start:], owners[start:], strict=False):
            total[owner] += norm - row[target]
            count[owner] += 1
    return [math.exp(t / n) if n else math.nan for t, n in zip(total, count, strict=True)]
