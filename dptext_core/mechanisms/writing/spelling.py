"""Blocklists for mechanisms that write word pieces: which piece would complete a listed word.

The pieces removed at a step depend only on the pieces written before, and on nothing private. Given these, the sample
is from a public set, so the ε of each piece and their sum by adaptive composition are unchanged. A piece is removed as
soon as the current word would be a listed one, even if it could continue to a longer word. So no listed word remains at
the end, or where the limit cuts the text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

from ..blocklist import Blocklist, fold, has_invisible, runs

#: Pieces that change earlier ones, or are a part of a character: with these, pieces cannot be compared one by one.
_APART = ("Mn", "Mc", "Me", "Cf", "Cs", "Co")


class Spelling:
    """The words that pieces spell. pieces: the text that each candidate appends, with a leading blank or not."""

    def __init__(self, pieces: Sequence[str], never: Blocklist):
        self._words = never.words
        self._heads: dict[str, list[int]] = {}
        self._pieces: list[str] = []
        always = []
        for i, piece in enumerate(pieces):
            folded = fold(piece)
            self._pieces.append(folded)
            inside = list(runs(folded))
            if folded[:1].isalnum():
                self._heads.setdefault(inside.pop(0), []).append(i)
            if not self._words.isdisjoint(inside) or not (piece.isascii() or _alone(piece)):
                always.append(i)
        self._always = np.array(always, np.int64)

    def banned(self, written: Sequence[int]) -> np.ndarray:
        """Return the candidates that may not come after these, int64, in no order."""
        word = self._word(written)
        ends = (self._heads.get(w[len(word) :], ()) for w in self._words if len(w) > len(word) and w.startswith(word))
        return np.concatenate([self._always, *(np.array(e, np.int64) for e in ends if e)])

    def _word(self, written: Sequence[int]) -> str:
        """Return the unfinished word at the end of these pieces."""
        word = ""
        for i in reversed(written):
            piece = self._pieces[i]
            if not piece.isalnum():
                at = len(piece)
                while at and piece[at - 1].isalnum():
                    at -= 1
                return piece[at:] + word
            word = piece + word
        return word


def _alone(piece: str) -> bool:
    return not has_invisible(piece) and not any(c == "\ufffd" or unicodedata.category(c) in _APART for c in piece)
