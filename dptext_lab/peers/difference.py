"""Test whether draws come from a channel, or two sets of draws from the same one, by total variation and N_w."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: Significance level for different distributions.
RARE = 1e-3
RESAMPLES = 3999


@dataclass(frozen=True)
class Difference:
    """Mean total variation over the test words, and its mean for equal distributions.

    p: the share of equal pairs that differ as much in total variation or N_w (twice the smaller share, for two tests).
    """

    tv: float
    chance: float
    p: float

    @property
    def same(self) -> bool:
        return self.p >= RARE


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    return float(np.abs(p - q).sum() / 2)


def against_channel(
    channels: np.ndarray,
    counts: np.ndarray,
    at: Sequence[int] | np.ndarray,
    stream: np.random.Generator,
    resamples: int = RESAMPLES,
) -> Difference:
    """Compare counts of draws, int64 (words, n), with their expected channels, float64 (words, n).

    at: which of the n outputs is the word itself.
    """
    observed, null = np.zeros(2), np.zeros((2, resamples))
    for channel, sampled, own_column in zip(channels, counts, at, strict=True):
        total = int(sampled.sum())
        channel = channel / channel.sum()
        observed += total_variation(channel, sampled / total), sampled[own_column] / total - channel[own_column]
        # Words with almost no probability form one cell of the resampling, to which each adds its share.
        order = np.argsort(-channel)
        likely = order[: int(np.searchsorted(np.cumsum(channel[order]), 1 - 1e-6)) + 1]
        likely = np.append(likely[likely != own_column], own_column)
        remaining = max(0.0, 1 - channel[likely].sum())
        again = stream.multinomial(total, np.append(channel[likely], remaining), size=resamples) / total
        null[0] += np.abs(again[:, :-1] - channel[likely]).sum(1) / 2 + (again[:, -1] + remaining) / 2
        null[1] += again[:, -2] - channel[own_column]
    return _decide(observed / len(channels), null / len(channels))


def against_draws(
    first: np.ndarray,
    second: np.ndarray,
    at: Sequence[int] | np.ndarray,
    stream: np.random.Generator,
    resamples: int = RESAMPLES,
) -> Difference:
    """Compare two sets of draws, counts int64 (words, n) each, by an exact permutation test. at: see
    `against_channel`."""
    observed, null = np.zeros(2), np.zeros((2, resamples))
    for a, b, own_column in zip(first, second, at, strict=True):
        cells = np.flatnonzero(a + b)
        cells = np.append(cells[cells != own_column], own_column)
        pooled, n, m = (a + b)[cells], int(a.sum()), int(b.sum())
        observed += total_variation(a / n, b / m), a[own_column] / n - b[own_column] / m
        again = stream.multivariate_hypergeometric(pooled, n, size=resamples, method="marginals")
        apart = again / n - (pooled - again) / m
        null[0] += np.abs(apart).sum(1) / 2
        null[1] += apart[:, -1]
    return _decide(observed / len(first), null / len(first))


def _decide(observed: np.ndarray, null: np.ndarray) -> Difference:
    shares = (1 + (np.abs(null) >= np.abs(observed)[:, None] - 1e-12).sum(1)) / (1 + null.shape[1])
    return Difference(float(observed[0]), float(null[0].mean()), min(1.0, 2 * float(shares.min())))
