"""Which of some texts was rewritten? Guesses that a small ε must keep near chance.

For mechanisms that write a new text of which nothing is stated but the promise. One of n public texts, drawn by the
audit with the same chance each, is rewritten; whoever reads the rewrite guesses the text that shares most words with
it. Under (ε, δ)-DP between any two texts a guess is right with a chance of at most e^ε/(n − 1 + e^ε) + δ, whatever was
guessed before: a text that comes through, wholly or by some of its words, is guessed right each time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from ..mechanisms.base import BATCH, Mechanism
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult

#: Texts that are told apart: as many as there are in a batch.
TEXTS = BATCH
_WORD = re.compile(r"\w+")


def is_guessable(m: Mechanism, texts: Sequence[str]) -> bool:
    """Whether the promise is about whole texts, and makes these alike."""
    return "alignment" not in m.can and m.guarantee(texts[0]).notion in ("pure", "approx")


def success_bound(m: Mechanism, texts: Sequence[str]) -> float:
    """How likely a guess among these texts is right, at most."""
    guarantees = [m.guarantee(t) for t in texts]
    epsilon = max(g.total for g in guarantees)
    delta = max(g.total_delta for g in guarantees)
    return min(1.0, math.exp(epsilon) / (len(texts) - 1 + math.exp(epsilon)) + delta)


def pick(n: int, texts: int, stream: NoiseStream) -> list[int]:
    """n numbers of texts, each drawn by itself."""
    return (stream.uniforms(n) * texts).astype(np.int64).tolist()


def guess(texts: Sequence[str], result: RewriteResult, stream: NoiseStream) -> int:
    """Return the text that shares most words with the rewrite, each counted by how few of the texts have it."""
    has = [set(_WORD.findall(t.casefold())) for t in texts]
    often: dict[str, int] = {}
    for words in has:
        for w in words:
            often[w] = often.get(w, 0) + 1
    found = set(_WORD.findall(result.text.casefold()))
    score = np.array([sum(1 / often[w] for w in words & found) for words in has])
    return int(np.argmax(score + 1e-9 * stream.uniforms(len(texts))))
