"""Words that are never released, where a text is written in pieces: which piece would write one, given those before.

Which pieces are taken out at a step follows from the pieces that were written before, and from nothing private. Given
these, the draw is from a public set: ε of each piece, and their sum by adaptive composition, stay what they are.
A piece is taken out as soon as the word that is being written would be a listed one, also where it could have gone on
to a longer one; so at the end, or where the limit cuts, no listed word stands there.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

from ..blocklist import Blocklist, fold, has_invisible, runs

#: What changes what stands before it, or is a part of a character: with these, pieces cannot be compared one by one.
_APART = ("Mn", "Mc", "Me", "Cf", "Cs", "Co")


class Spelling:
    """pieces: what each candidate adds to a text, with the blank before it where it begins a word."""

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
        """Return the beginning of a word that a text of these pieces ends with."""
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
