"""The Pareto front of points."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..errors import ConfigError


def pareto(points: Sequence[tuple[float, float]], better: tuple[int, int]) -> list[int]:
    """Return the indices of the points that no other one dominates, in order of x; of equal points the first.

    better: 1 or −1 for x and for y, whether more or less is better. A point dominates another one if it is at least as
    good in both and better in one. Raises ConfigError for another direction.
    """
    if any(b not in (1, -1) for b in better):
        raise ConfigError("A front needs a direction for both axes: 1 if more is better, -1 if less is better.")
    order = sorted(range(len(points)), key=lambda i: (-better[0] * points[i][0], -better[1] * points[i][1], i))
    front: list[int] = []
    best = -math.inf
    for i in order:
        if (y := better[1] * points[i][1]) > best:
            front.append(i)
            best = y
    return sorted(front, key=lambda i: points[i][0])
