"""Noise on a position in a word list: geometric and truncated exponential."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Positions beyond γ(ε) are sampled with at most this probability.
BETA = 0.001


def span(length: Any) -> np.ndarray:
    """Return ε·γ(ε)/2 on a list of ``length``: ln((1−β)(|V|−1)/β)."""
    return np.log(np.maximum(2.0, (1 - BETA) * (np.asarray(length, np.float64) - 1) / BETA))


def window(gamma: float | None, epsilon: Any, length: Any) -> np.ndarray:
    """Return γ on a list of ``length``: as given, else computed from ε."""
    computed = 2 * span(length) / np.asarray(epsilon, np.float64)
    return computed if gamma is None else np.full(computed.shape, gamma, np.float64)


def log_pmf(noise: str, epsilon: Any, at: Any, to: Any, length: Any, gamma: float | None) -> np.ndarray:
    """Return the log-probability that position ``at`` becomes ``to`` on a list of ``length``, float64."""
    epsilon, at, to = np.asarray(epsilon, np.float64), np.asarray(at), np.asarray(to)
    distance = np.abs(at - to)
    if noise == "geometric":
        # ln tanh(ε/2) and ln 1/(1+e^−ε), without losing digits.
        inside = np.log(-np.expm1(-epsilon)) - np.log1p(np.exp(-epsilon))
        end = (to == 0) | (to == length - 1)
        out = -epsilon * distance + np.where(end, -np.log1p(np.exp(-epsilon)), inside)
        return np.where(np.asarray(length) == 1, 0.0, out)
    near = Window.of(epsilon, at, length, gamma)
    return -epsilon / 2 * np.minimum(distance, near.gamma) - np.logaddexp(near.inside, near.beyond)


@dataclass(frozen=True)
class Window:
    """TEM noise around positions: those at distance ``reach`` or less, and those beyond. All arrays broadcast.

    gamma: γ. reach: the number of whole positions within it. before, after: how many of them are on either side of the
    word. inside, beyond: ln of the weights of both parts; the word's own is 1.
    """

    epsilon: np.ndarray
    gamma: np.ndarray
    reach: np.ndarray
    before: np.ndarray
    after: np.ndarray
    outside: np.ndarray
    inside: np.ndarray
    beyond: np.ndarray

    @classmethod
    def of(cls, epsilon: Any, at: Any, length: Any, gamma: float | None) -> Window:
        epsilon, at, length = np.asarray(epsilon, np.float64), np.asarray(at), np.asarray(length)
        far = window(gamma, epsilon, length)
        reach = np.minimum(np.floor(far), length).astype(np.int64)
        before, after = np.minimum(at, reach), np.minimum(length - 1 - at, reach)
        outside = length - 1 - before - after
        with np.errstate(divide="ignore"):
            beyond = np.log(outside.astype(np.float64)) - epsilon / 2 * far
        inside = np.logaddexp(0.0, _log_steps(epsilon, before, after, 1))
        return cls(epsilon, far, reach, before, after, outside, inside, beyond)

    def log_tail(self, j: Any) -> np.ndarray:
        """Return ln of the weight of the positions at distance j or more (j ≥ 1) within γ."""
        return _log_steps(self.epsilon, self.before, self.after, j)


def _log_steps(epsilon: np.ndarray, before: np.ndarray, after: np.ndarray, j: Any) -> np.ndarray:
    """Return ln Σ e^(−εi/2) over i = j … before, and over i = j … after: two geometric series."""
    with np.errstate(divide="ignore"):
        sides = [np.log(-np.expm1(-epsilon / 2 * np.maximum(side + 1 - j, 0))) for side in (before, after)]
    return np.logaddexp(*sides) - epsilon / 2 * j - np.log(-np.expm1(-epsilon / 2))


def _crossing(holds: Callable[[np.ndarray], np.ndarray], n: int, low: float, high: float) -> np.ndarray:
    """Return the ε at which each of n monotone conditions becomes true, for those true before ``high``."""
    a, b = np.full(n, low), np.full(n, high)
    for _ in range(60):
        middle = (a + b) / 2
        true = holds(middle)
        a, b = np.where(true, a, middle), np.where(true, middle, b)
    return b[b < high]


def geometric_steps(epsilon: Any, log_uniform: Any) -> np.ndarray:
    """Return |k| for ln U: the largest m with U ≤ P(|k| ≥ m) = 2·e^(−εm)/(1+e^(−ε)); float64, whole."""
    epsilon = np.asarray(epsilon, np.float64)
    return np.floor((np.log(2.0) - np.log1p(np.exp(-epsilon)) - np.asarray(log_uniform)) / epsilon)


def noisy_place(
    noise: str,
    epsilon: Any,
    at: np.ndarray,
    length: Any,
    gamma: float | None,
    sign: Any,
    log_uniform: Any,
    log_far: Any,
) -> np.ndarray:
    """Return the noisy positions of (m,) positions, int64 (m,). sign: ±1; log_uniform: ln U for the distance; log_far:
    ln of a uniform for a position beyond γ."""
    if noise == "geometric":
        steps = np.minimum(geometric_steps(epsilon, log_uniform), np.asarray(length, np.float64)).astype(np.int64)
        return np.clip(at + sign * steps, 0, np.asarray(length) - 1)
    near = Window.of(epsilon, at, length, gamma)
    steps, pick = tem_steps(near, gamma is None, log_uniform, log_far)
    # One side only near an end.
    forward, back = at + steps, at - steps
    inside = np.where(
        (sign > 0) & (forward < length) | (back < 0), np.minimum(forward, np.asarray(length) - 1), np.maximum(back, 0)
    )
    first, size = at - near.before, near.before + near.after + 1
    place = np.minimum(np.floor(np.exp(pick) * near.outside), near.outside - 1).astype(np.int64)
    return np.where(steps <= near.reach, inside, np.where(place < first, place, place + size))


def tem_steps(near: Window, computed: bool, log_uniform: Any, log_far: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the distance of TEM noise, reach + 1 for beyond γ; and ln of the uniform that picks a position there.

    With a given γ, one uniform decides both the distance and leaving, whose probability decreases with ε. With γ(ε),
    that probability increases, so the other uniform decides on leaving. Either way, each decision changes only once as
    ε grows.
    """
    total, extra = np.logaddexp(near.inside, near.beyond), near.beyond
    if computed:
        leaves, pick = log_far <= near.beyond - total, log_uniform
        total, extra = near.inside, np.full(np.shape(near.inside), -np.inf)
    else:
        leaves, pick = np.zeros(np.shape(total), bool), log_far
    low = np.zeros(np.broadcast_shapes(np.shape(near.reach), np.shape(log_uniform)), np.int64)
    high = low + near.reach + 1
    while (low < high).any():
        middle = (low + high + 1) // 2
        reached = log_uniform <= np.logaddexp(near.log_tail(np.maximum(middle, 1)), extra) - total
        low, high = np.where(reached, middle, low), np.where(reached, high, np.maximum(middle - 1, low))
    return np.where(leaves, near.reach + 1, low), pick
