"""Settings at one level of privacy, and which of them differ significantly from the best.

The scores select the best of several settings, so a comparison with it must be valid whichever setting is first.
Tukey's method ensures this: with k equal settings, the probability that any difference from the first is significant is
at most 5%. Hsu's comparison with the best has narrower limits, but it declares one of two tied settings not the best.
Differences are paired by texts and their errors differ, so the limits are those of Tukey and Kramer. Few texts widen
them as Student's t does. Between two settings with one seed each, the seeds' spread of the other settings counts. If no
setting has several seeds, that spread is unknown and no difference is called significant.

Equal privacy is itself measured. Its error, times the slope of the score over privacy, is part of every interval: text
by text if both are known for the same texts, else as an independent error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dptext_core.support.statistics import NORMAL, boundary

from .differences import LEVEL, POWER, half
from .paired_comparison import compare, unpack
from .rows import Row

#: Largest distance of a point that counts as being at a level, as a share of the metric's range.
NEAR = 0.02
#: Largest distance of two points for interpolation between them, as a share of the range.
APART = 0.35
#: Distance to the level below which no slope of the score is needed, as a share of the range.
_EXACT = 1e-3
#: Standard normal values for the integration of the range distribution.
_GRID = np.linspace(-8.0, 8.0, 641)


def range_tail(z: float, k: int) -> float:
    """Return Tukey's p-value of a difference of z standard errors among k settings."""
    from scipy.special import ndtr

    if k < 2 or z <= 0:
        return 1.0
    density = np.exp(-(_GRID**2) / 2) / math.sqrt(2 * math.pi)
    inside = density * (ndtr(_GRID + math.sqrt(2) * z) - ndtr(_GRID)) ** (k - 1)
    return float(np.clip(1 - k * inside.sum() * (_GRID[1] - _GRID[0]), 0.0, 1.0))


def critical(k: int, level: float = LEVEL) -> float:
    """Return the smallest significant difference among k settings, in standard errors."""
    return boundary(lambda z: range_tail(z, k) <= level, 0.0, 20.0, steps=40)[1]


@dataclass(frozen=True)
class LevelPoint:
    """One setting at a level of privacy.

    privacy, score: its rows at the level; if ``between`` has two ε, both are interpolated. error: standard error that
    equal privacy adds to the score (None: unknown). outcomes: score of each text, corrected to the level by the slope
    (None: unknown). runs: the score of each seed.
    """

    privacy: Row
    score: Row
    between: tuple[float, ...]
    error: float | None
    outcomes: np.ndarray | None
    runs: tuple[float, ...] = ()

    @property
    def half(self) -> float | None:
        """Return half of the 95% interval of the score at the level, or None if unknown."""
        if self.score.low is None or self.score.high is None or self.error is None:
            return None
        half_score = half(self.score)
        if self.outcomes is not None and len(self.outcomes) > 1:
            half_score = max(half_score, NORMAL * float(self.outcomes.std(ddof=1)) / math.sqrt(len(self.outcomes)))
        return math.hypot(half_score, NORMAL * self.error)


def at_level(pairs: Sequence[tuple[Row, Row]], at: float, span: float) -> LevelPoint | None:
    """Return a setting at a level of privacy from its rows at each ε, or None without points near.

    span: the range of the privacy metric.
    """
    ordered = sorted(pairs, key=lambda pair: pair[0].value)
    rising = [((a, x), (b, y)) for (a, x), (b, y) in pairwise(ordered) if b.value > a.value]
    # Two points that are closer than their errors have no slope.
    distinct = [pair for pair in rising if pair[1][0].value - pair[0][0].value > max(half(p) for p, _ in pair)]
    slopes = [
        ((y.value - x.value) / (b.value - a.value), (a.value, b.value)) for (a, x), (b, y) in distinct or rising
    ]
    slope = min(slopes, key=lambda s: _distance(at, s[1]), default=(None,))[0]
    near = min(pairs, key=lambda pair: abs(pair[0].value - at))
    texts = all(p.texts for p, _ in pairs)
    if not texts and abs(near[0].value - at) <= NEAR * span:
        return _measured(near[0], near[1], slope, at, span)
    for low, high in pairwise(ordered):
        if low[0].value <= at <= high[0].value and high[0].value - low[0].value <= APART * span:
            return _between(low, high, at)
    return None


def _distance(at: float, ends: tuple[float, float]) -> float:
    return max(ends[0] - at, at - ends[1], 0.0)


def _measured(privacy: Row, score: Row, slope: float | None, at: float, span: float) -> LevelPoint:
    """Return a measured point near the level."""
    away = math.hypot(half(privacy) / NORMAL, privacy.value - at)
    if privacy.low is None or (slope is None and away > _EXACT * span):
        error = None
    else:
        error = 0.0 if slope is None else abs(slope) * away
    outcomes = unpack(score.texts) if score.texts else None
    return LevelPoint(privacy, score, (), error, outcomes, score.runs)


def _between(low: tuple[Row, Row], high: tuple[Row, Row], at: float) -> LevelPoint:
    """Return the point on the line through two points."""
    (a, x), (b, y) = low, high
    share = (at - a.value) / (b.value - a.value) if b.value > a.value else 0.0
    slope = (y.value - x.value) / (b.value - a.value) if b.value > a.value else 0.0
    middle = x.value + share * (y.value - x.value)
    wide = max(half(x), half(y))
    ends = (None, None) if x.low is None or y.low is None else (middle - wide, middle + wide)
    interpolated = replace(
        x, setting=x.setting.at(None), value=middle, low=ends[0], high=ends[1], seeds=min(x.seeds, y.seeds), point=""
    )
    epsilons = tuple(sorted((float(x.epsilon or 0.0), float(y.epsilon or 0.0))))
    outcomes = _mixed(x, y, share)
    runs = tuple((1 - share) * p + share * q for p, q in zip(x.runs, y.runs, strict=True)) if _alike(x, y) else ()
    private = _mixed(a, b, share)
    if outcomes is not None and private is not None and len(private) == len(outcomes):
        return LevelPoint(a, interpolated, epsilons, 0.0, outcomes - slope * (private - private.mean()), runs)
    if a.low is None or b.low is None:
        return LevelPoint(a, interpolated, epsilons, None, outcomes, runs)
    return LevelPoint(a, interpolated, epsilons, abs(slope) * max(half(a), half(b)) / NORMAL, outcomes, runs)


def _alike(x: Row, y: Row) -> bool:
    return len(x.runs) == len(y.runs)


def _mixed(x: Row, y: Row, share: float) -> np.ndarray | None:
    """Return interpolated scores of the texts of two rows, or None if unknown or of different texts."""
    if not x.texts or not y.texts:
        return None
    one, other = unpack(x.texts), unpack(y.texts)
    return (1 - share) * one + share * other if one.shape == other.shape else None


# --- compared with the first


@dataclass(frozen=True)
class Versus:
    """The comparison of a setting with the first. difference: how much better the first is. p: Tukey's p-value (None:
    unknown error)."""

    difference: float
    error: float
    p: float | None


def versus_first(points: Sequence[LevelPoint], sign: int = 1) -> list[Versus]:
    """Compare every setting with the first. sign: −1 if less is better."""
    out = []
    spread = _seeds_spread(points)
    for other in points[1:]:
        difference, error = _difference(points[0], other, spread)
        if error is None:
            out.append(Versus(sign * difference, math.inf, None))
            continue
        z = abs(difference) / error if error > 0 else math.inf if difference else 0.0
        if (texts := _shared_texts(points[0], other)) > 1:
            z = _normal_quantile(z, texts)
        out.append(Versus(sign * difference, error, range_tail(z, len(points))))
    return out


def _seeds_spread(points: Sequence[LevelPoint]) -> float | None:
    """Return the standard deviation of the score over seeds, pooled over settings with several; None if none has."""
    variances = [float(np.var(p.runs, ddof=1)) for p in points if len(p.runs) > 1]
    return math.sqrt(sum(variances) / len(variances)) if variances else None


def _shared_texts(a: LevelPoint, b: LevelPoint) -> int:
    """Return the number of texts by which two settings are paired, or 0."""
    if a.outcomes is None or b.outcomes is None or len(a.outcomes) != len(b.outcomes):
        return 0
    return len(a.outcomes)


def _normal_quantile(z: float, texts: int) -> float:
    """Return the normal quantile that has the probability of Student's t at z with this many texts."""
    from scipy.special import ndtri, stdtr

    tail = float(stdtr(texts - 1, -z))
    return -float(ndtri(tail)) if tail > 0 else z


def _difference(a: LevelPoint, b: LevelPoint, spread: float | None) -> tuple[float, float | None]:
    """Return the difference and its standard error. spread: of one seed, for two settings with one seed each."""
    difference, one_seed = a.score.value - b.score.value, a.score.seeds == b.score.seeds == 1
    if a.error is None or b.error is None or (one_seed and spread is None):
        return difference, None
    if a.outcomes is not None and b.outcomes is not None and _shared_texts(a, b):
        comparison = compare(a.outcomes, b.outcomes, a.runs, b.runs)
        half_interval = (comparison.high - comparison.low) / 2 / NORMAL
        of_seeds = math.sqrt(2) * (spread or 0.0) if one_seed else 0.0
        return difference, math.hypot(half_interval, of_seeds, a.error, b.error)
    halves = half(a.score), half(b.score)
    if not all(halves) and not (a.score.low == a.score.high and b.score.low == b.score.high):
        return difference, None
    return difference, math.hypot(*halves, NORMAL * a.error, NORMAL * b.error) / NORMAL


def smallest_detectable(versus: Sequence[Versus], power: float = POWER) -> float | None:
    """Return the difference from the first that is detected with this power: the median over settings, or None."""
    from scipy.special import ndtri

    errors = [v.error for v in versus if v.p is not None and v.error > 0]
    if not errors:
        return None
    return (critical(len(versus) + 1) + float(ndtri(power))) * float(np.median(errors))
