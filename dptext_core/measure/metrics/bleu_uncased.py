"""Sentence BLEU as in ``bleu``, of both texts in lower case: what a rewriter's capitals cost is no loss of words."""

from __future__ import annotations

from collections.abc import Sequence

from . import bleu


def score(originals: Sequence[str], rewrites: Sequence[str]) -> list[float]:
    """Sentence BLEU of each rewrite without case, in points: 100 where only capitals differ."""
    return bleu.score([text.lower() for text in originals], [text.lower() for text in rewrites])
