"""The questions that an audit asks a mechanism: which texts its guarantee compares, and the noise before a release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .capabilities import Facet, M
from .config import capitals

if TYPE_CHECKING:
    from .preparing import Prepared


def notion_distances(notion: str, n: int) -> np.ndarray:
    """Return distances of n inputs if only the notion is known, float64 (n, n).

    1 between any two different inputs, NaN without a guarantee.
    """
    return np.full((n, n), np.nan) if notion == "none" else 1.0 - np.eye(n)


class AuditSupport(Facet[M]):
    """Answers for an audit of any mechanism. A family derives its own class and overrides what it knows better."""

    __slots__ = ()

    # --- the comparisons of the guarantee

    def distances(self, words: Sequence[str]) -> np.ndarray:
        """Return distances of inputs, float64 (n, n): the log-ratio is at most ε times the distance.

        1 between any two different inputs for a pure guarantee; a metric's distance for a metric one; NaN between
        inputs that the guarantee does not compare.
        """
        return notion_distances(type(self.m).notion, len(words))

    def adjacent(self, a: str | Prepared, b: str | Prepared) -> bool:
        """Return True if the guarantee compares two whole texts: here, by token number, copied words and gaps.

        Without aligned words, it compares any two texts.
        """
        m, aligned = self.m, self.m.alignment
        if aligned is None:
            return True
        one, other = m.plan(a), m.plan(b)
        drawn = (frozenset(aligned.sampled_tokens(one)), frozenset(aligned.sampled_tokens(other)))
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

    # --- the parts of a released text

    def spelled(self, drawn: Sequence[int]) -> str | None:
        """Return the released text for these sampled candidates in order (``result.candidate(i)`` of each part).

        For mechanisms without aligned words. None: every part is its candidate as listed, with at most one blank
        between two parts.
        """
        return None

    @property
    def spells(self) -> bool:
        """Return True if :meth:`spelled` returns a text."""
        return type(self).spelled is not AuditSupport.spelled

    # --- the noise on which a text is based

    def latent_loss(self, a: Prepared, b: Prepared) -> float | None:
        """Return the largest log-ratio of the noisy values between two texts, if the release depends on them alone.

        No release distinguishes the texts by more. If the guarantee has a δ: the smallest ε that holds with it between
        the two. None if there is no such noise with a formula.
        """
        return None

    def latent_advantage(self, a: Prepared, b: Prepared) -> float | None:
        """Return how much more often a test of the same noisy values can say "a" for a than for b, in [0, 1].

        It is the total variation of the two, or a bound of it. None if that is unknown.
        """
        return None

    @property
    def writes_from_noise(self) -> bool:
        """Return True if a rewrite is computed from noisy values of the whole text, whose loss is bounded."""
        return type(self).latent_loss is not AuditSupport.latent_loss
