"""Sentence BLEU as in ``bleu``, with both texts in lower case, so that changed capitals do not count."""

from __future__ import annotations

from collections.abc import Sequence

from . import bleu


def score(originals: Sequence[str], rewrites: Sequence[str]) -> list[float]:
    """Return sentence BLEU of each rewrite without case, in points: 100 if only capitals differ."""
    return bleu.score([text.lower() for text in originals], [text.lower() for text in rewrites])
