"""How well a sentence bank covers texts: an upper limit for the sentence-level mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dptext_core.errors import InputError
from dptext_core.support.checks import text_list
from dptext_core.support.statistics import half_width
from dptext_core.support.task import UNWATCHED, Task
from dptext_core.text.document import Document
from dptext_core.words.bank import SentenceBank, text_codes

#: Smallest cosine of two near sentences.
NEAR = 0.5
_BLOCK = 256


@dataclass(frozen=True)
class Coverage:
    """Cosines between the sentences of texts and their nearest sentences in a bank.

    Parameters
    ----------
    sentences
        Their number.
    mean, half
        The mean, and half of its 95% interval over the sentences.
    low, high
        The 10% and 90% quantiles.
    near
        The share of sentences with a cosine of at least NEAR.
    """

    sentences: int
    mean: float
    half: float
    low: float
    high: float
    near: float


def nearest(bank: SentenceBank, sentences: Sequence[str], task: Task = UNWATCHED) -> np.ndarray:
    """Return the cosine of each sentence's nearest one in a bank, float64 (n,)."""
    from dptext_core.models.sentence_encoder import embed

    out = np.empty(len(sentences))
    for start in range(0, len(out), _BLOCK):
        task.check()
        block = sentences[start : start + _BLOCK]
        out[start : start + _BLOCK] = bank.cosines(text_codes(embed(block)), task).max(axis=1)
        task.report(start + len(block), len(out))
    return out


def coverage(bank: SentenceBank, texts: Sequence[str], task: Task = UNWATCHED) -> Coverage:
    """Return how well a bank covers the sentences of texts. Raises InputError without a sentence."""
    sentences = [text[a:b] for text in text_list(texts) for a, b in Document.parse(text).sentences]
    if not sentences:
        raise InputError("These texts contain no sentence. Give other texts.")
    neighbours = nearest(bank, sentences, task)
    low, high = np.quantile(neighbours, [0.1, 0.9])
    return Coverage(
        sentences=len(neighbours),
        mean=float(neighbours.mean()),
        half=half_width(neighbours.tolist()),
        low=float(low),
        high=float(high),
        near=float((neighbours >= NEAR).mean()),
    )
