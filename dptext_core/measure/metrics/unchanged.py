"""Share of the original's words and numbers that are unchanged in the rewrite, ignoring case: 0 to 1.

Punctuation, symbols and clitics do not count. Texts with the same number of words are compared position by position,
others after an alignment (difflib). An original without words gives 1, since nothing could change.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from ...text.document import Document


def score(originals: Sequence[str], rewrites: Sequence[str]) -> list[float]:
    """Return the share of unchanged words of each original."""
    return [_share(_words(original), _words(rewrite)) for original, rewrite in zip(originals, rewrites, strict=True)]


def _words(text: str) -> list[str]:
    return [token.text.casefold() for token in Document.parse(text).tokens if token.kind in ("word", "number")]


def _share(before: list[str], after: list[str]) -> float:
    if not before:
        return 1.0
    if len(before) == len(after):
        same = sum(a == b for a, b in zip(before, after, strict=True))
    else:
        same = sum(block.size for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks())
    return same / len(before)
