"""What an audit asks of a mechanism: what its promise compares, and what stands between a text and its release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .capabilities import Facet, M
from .config import capitals

if TYPE_CHECKING:
    from .preparing import Prepared


def notion_distances(notion: str, n: int) -> np.ndarray:
    """Distances of n inputs where the promise says no more than its notion, float64 (n, n): 1 between any two different
    ones, NaN where nothing is promised."""
    return np.full((n, n), np.nan) if notion == "none" else 1.0 - np.eye(n)


class AuditSupport(Facet[M]):
    """What is asked of every mechanism; a family derives its own and says what it knows better."""

    __slots__ = ()

    # --- what the promise compares

    def distances(self, words: Sequence[str]) -> np.ndarray:
        """How far inputs are apart in the unit of the claim, float64 (n, n): ln of the ratio is at most ε times it.

        1 between any two different inputs for a pure promise; a metric's distance for a metric one; NaN between inputs
        that the promise does not make alike.
        """
        return notion_distances(type(self.m).notion, len(words))

    def adjacent(self, a: str | Prepared, b: str | Prepared) -> bool:
        """Whether the promise makes two texts alike as wholes: here by their tokens' number, kept words and gaps.

        Any two texts, where nothing answers to the words that were read.
        """
        m, aligned = self.m, self.m.alignment
        if aligned is None:
            return True
        one, other = m.plan(a), m.plan(b)
        drawn = (frozenset(aligned.drawn(one)), frozenset(aligned.drawn(other)))
        skeletons = [
            p.document.skeleton([i in d for i in range(len(p.document.tokens))])
            for p, d in zip((one, other), drawn, strict=True)
        ]
        if skeletons[0] == skeletons[1] and capitals(m.config) == "original":
            pairs = [(one.document.tokens[i].text, other.document.tokens[i].text) for i in drawn[0]]
            if any(a[:1].isupper() != b[:1].isupper() for a, b in pairs):
                return False
        if skeletons[0] != skeletons[1] or type(m).notion != "group":
            return skeletons[0] == skeletons[1]
        words = [(one.document.tokens[i].text, other.document.tokens[i].text) for i in sorted(drawn[0])]
        return all(np.isfinite(self.distances(pair)[0, 1]) for pair in words if pair[0].lower() != pair[1].lower())

    # --- what a released text is made of

    def spelled(self, drawn: Sequence[int]) -> str | None:
        """Return the text that is released where these candidates were drawn one after the other
        (``result.candidate(i)`` of each piece): for mechanisms whose pieces answer to no word. None: every piece is its
        candidate as it is listed, with one blank between two pieces at most."""
        return None

    @property
    def spells(self) -> bool:
        """Whether :meth:`spelled` says it."""
        return type(self).spelled is not AuditSupport.spelled

    # --- the noise that a text is written from

    def latent_loss(self, a: Prepared, b: Prepared) -> float | None:
        """Where the released text is computed from something noisy alone, of which the chances have a formula: the
        largest ln of their ratio between two texts, over everything that it can be. No release tells them apart by
        more. Where the promise has a δ: the smallest ε that holds with it between the two. None where there is no such
        thing."""
        return None

    def latent_advantage(self, a: Prepared, b: Prepared) -> float | None:
        """Of the same noisy thing, in [0, 1]: by how much more often a test can say "a" of a than of b, whatever it
        looks at (the total variation of the two, or a bound of it). None where that is not stated."""
        return None

    @property
    def writes_from_noise(self) -> bool:
        """Whether a rewrite is computed from one noisy thing of the whole text, of which it bounds the loss."""
        return type(self).latent_loss is not AuditSupport.latent_loss
