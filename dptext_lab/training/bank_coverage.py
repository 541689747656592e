"""How near a bank of sentences comes to texts: the best that one draw a sentence could do."""

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

#: A cosine from which on two sentences are called near.
NEAR = 0.5
_BLOCK = 256


@dataclass(frozen=True)
class Coverage:
    """Cosine of each sentence's nearest one in a bank, over the sentences of texts.

    Parameters
    ----------
    sentences
        How many there are.
    mean, half
        The mean, and half of its 95% interval over the sentences.
    low, high
        Below and above which a tenth of them lies.
    near
        The share that has a sentence at NEAR or more.
    """

    sentences: int
    mean: float
    half: float
    low: float
    high: float
    near: float


def nearest(bank: SentenceBank, sentences: Sequence[str], task: Task = UNWATCHED) -> np.ndarray:
    """Return cosine of the nearest sentence of a bank to each of these, float64 (n,)."""
    from dptext_core.models.sentence_encoder import embed

    out = np.empty(len(sentences))
    for start in range(0, len(out), _BLOCK):
        task.check()
        block = sentences[start : start + _BLOCK]
        out[start : start + _BLOCK] = bank.cosines(text_codes(embed(block)), task).max(axis=1)
        task.report(start + len(block), len(out))
    return out


def coverage(bank: SentenceBank, texts: Sequence[str], task: Task = UNWATCHED) -> Coverage:
    """Return how near a bank comes to the sentences of texts. Raises InputError where there is none."""
    sentences = [text[a:b] for text in text_list(texts) for a, b in Document.parse(text).sentences]
    if not sentences:
        raise InputError("There is no sentence in these texts. Give others.")
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
