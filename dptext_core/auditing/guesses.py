"""Guess which of several texts was rewritten, which a small ε must keep near chance.

This is for mechanisms that write a new text and state only a guarantee. The audit samples one of n public texts
uniformly, and rewrites it. The guess is the text that shares most words with the rewrite. Under (ε, δ)-DP between any
two texts, a guess is correct with probability at most e^ε/(n − 1 + e^ε) + δ, whatever was guessed before. A text that
leaks, completely or through some of its words, is guessed correctly every time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from ..mechanisms.base import BATCH, Mechanism
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult

#: Number of texts to distinguish: as many as in a batch.
TEXTS = BATCH
_WORD = re.compile(r"\w+")


def is_guessable(m: Mechanism, texts: Sequence[str]) -> bool:
    """Return whether the guarantee is about whole texts, and compares these."""
    return "alignment" not in m.can and m.guarantee(texts[0]).notion in ("pure", "approx")


def success_bound(m: Mechanism, texts: Sequence[str]) -> float:
    """Return the largest probability of a correct guess among these texts."""
    guarantees = [m.guarantee(t) for t in texts]
    epsilon = max(g.total for g in guarantees)
    delta = max(g.total_delta for g in guarantees)
    return min(1.0, math.exp(epsilon) / (len(texts) - 1 + math.exp(epsilon)) + delta)


def pick(n: int, texts: int, stream: NoiseStream) -> list[int]:
    """Return n text numbers, sampled independently."""
    return (stream.uniforms(n) * texts).astype(np.int64).tolist()


def guess(texts: Sequence[str], result: RewriteResult, stream: NoiseStream) -> int:
    """Return the text that shares most words with the rewrite, weighted by the rarity of each word among the texts."""
    has = [set(_WORD.findall(t.casefold())) for t in texts]
    often: dict[str, int] = {}
    for words in has:
        for w in words:
            often[w] = often.get(w, 0) + 1
    release_words = set(_WORD.findall(result.text.casefold()))
    score = np.array([sum(1 / often[w] for w in words & release_words) for words in has])
    return int(np.argmax(score + 1e-9 * stream.uniforms(len(texts))))
