"""The distribution of a word that is sampled by its rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...privacy.distribution import ScoreTable, TokenDistribution
from ...privacy.sampling import LOG_DEPTH, NoiseStream
from ...support.statistics import boundary


@dataclass(frozen=True, eq=False)
class RankTable(ScoreTable):
    """A score table with the best candidates first, sampled by one uniform: the last rank whose tail reaches it.

    The tail P(rank ≥ j) decreases as ε grows, so with a locked uniform the released score never decreases. It is
    compared in the log domain with a full-range uniform, so no possible output is lost.
    """

    def log_tails(self, epsilon: float) -> np.ndarray:
        """Return ln P(rank ≥ j) for every rank j, float64 (K,), descending from 0."""
        return log_tails(self.log_weights(epsilon))

    def ranks(self, epsilon: float, log_uniforms: np.ndarray) -> np.ndarray:
        """Return the released candidate for each uniform, given by its logarithm, int64."""
        return np.searchsorted(-self.log_tails(epsilon), -log_uniforms, side="right") - 1

    def at(self, epsilon: float) -> TokenDistribution:
        return replace(
            super().at(epsilon), _sampler=lambda n, stream: self.ranks(epsilon, stream.log_uniforms(n)), depth=LOG_DEPTH
        )

    def draw(self, epsilon: float, stream: NoiseStream) -> int:
        return int(self.ranks(epsilon, stream.log_uniforms(1))[0])

    def drawer(self, epsilon: float) -> Callable[[NoiseStream], int]:
        tails = -self.log_tails(epsilon)
        return lambda stream: int(tails.searchsorted(-stream.log_uniforms(1), side="right")[0]) - 1

    def epsilon_breakpoints(self, stream: NoiseStream, low: float, high: float) -> list[tuple[float, int]]:
        uniform = stream.log_uniforms(1)
        first = int(self.ranks(low, uniform)[0])
        out, at = [(float(low), first)], low

        def left(rank: int) -> float:
            return boundary(lambda e: self.ranks(e, uniform)[0] < rank, at, high, 50)[1]

        last = int(self.ranks(high, uniform)[0])
        while (rank := out[-1][1]) > last:
            # The ε at which the tail of the currently released rank falls below the uniform.
            at = left(rank)
            out.append((float(at), int(self.ranks(at, uniform)[0])))
        return out


def log_tails(weights: np.ndarray) -> np.ndarray:
    """Return log-tails of log-weights, best first along the last axis: ln of the share of each and all after it, 0 at
    the first."""
    tails = np.logaddexp.accumulate(weights[..., ::-1], axis=-1)[..., ::-1]
    return tails - tails[..., :1]
