"""BLEU of a rewrite with its original as the reference, by sacrebleu: 0 to 100 points, case-sensitive.

Papineni et al. 2002; Post 2018. Single texts are scored with ``effective_order``, which omits n-gram orders that a
short text cannot have. A data set has one corpus BLEU, which is not the mean of the single ones. Two blank texts give
100, one blank text gives 0.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from ...support import extras


def score(originals: Sequence[str], rewrites: Sequence[str]) -> list[float]:
    """Return sentence BLEU of each rewrite, in points."""
    metric = _bleu(effective_order=True)
    return [
        100.0 if not original.strip() and not rewrite.strip() else _points(metric.sentence_score(rewrite, [original]))
        for original, rewrite in zip(originals, rewrites, strict=True)
    ]


def corpus_bleu(originals: Sequence[str], rewrites: Sequence[str]) -> float:
    """Return BLEU of all rewrites as one corpus, in points, as papers print for a data set. No text: 0."""
    if not originals:
        return 0.0
    # force: no warning about tokenized texts, which these data sets contain on purpose.
    return _points(_bleu(force=True).corpus_score(list(rewrites), [list(originals)]))


def _bleu(**options: Any) -> Any:
    """Return sacrebleu's BLEU with its 13a tokenizer, bypassing the caches that keep 65,536 texts for the process."""
    extras.require("sacrebleu")

    from sacrebleu.metrics import BLEU
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    metric = BLEU(tokenize="13a", **options)
    marks = partial(inspect.unwrap(TokenizerRegexp.__call__), TokenizerRegexp())
    metric.tokenizer = partial(inspect.unwrap(Tokenizer13a.__call__), SimpleNamespace(_post_tokenizer=marks))
    return metric


def _points(result) -> float:
    # The geometric mean of four 100s exceeds 100 by a rounding error.
    return min(100.0, float(result.score))
