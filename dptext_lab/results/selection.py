"""Settings at one level of privacy, and which of them differ significantly from the best.

The scores select the best of several settings, so a comparison with it must be valid whichever setting is first.
Tukey's method ensures this: with k equal settings, the probability that any difference from the first is significant is
at most 5%. Hsu's comparison with the best has narrower limits, but it declares one of two tied settings not the best.
Differences are paired by texts and their errors differ, so the limits are those of Tukey and Kramer.

An error that comes from few texts or few seeds is itself uncertain, so the limits are those of the studentized range.
Each part of an error has its degrees of freedom, and those of the sum are Satterthwaite's. Three seeds show too little
of their spread: a setting's variance over seeds is its own, but at least the pooled one of all settings. A setting with
one seed has the pooled one. If no setting has several seeds, the spread is unknown and no difference is called
significant.

Equal privacy is itself measured. Its error, times the slope of the score over privacy, is part of every interval: text
by text if both are known for the same texts, else as an independent error.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dptext_core.support.statistics import NORMAL, boundary

from .differences import LEVEL, POWER, half
from .paired_comparison import unpack
from .rows import Row

#: Largest distance of a point that counts as being at a level, as a share of the metric's range.
NEAR = 0.02
#: Largest distance of two points for interpolation between them, as a share of the range.
APART = 0.35
#: Distance to the level below which no slope of the score is needed, as a share of the range.
_EXACT = 1e-3
#: Standard normal values for the integration of the range distribution.
_GRID = np.linspace(-8.0, 8.0, 97)
#: Their weights.
_DENSITY = np.exp(-(_GRID**2) / 2) / math.sqrt(2 * math.pi) * (_GRID[1] - _GRID[0])
#: Degrees of freedom above which an error counts as known.
_LARGE = 1e5
#: Steps after which the variance of binary differences agrees with the difference.
_STEPS = 8
#: Largest difference that ``critical`` considers, in standard errors.
_MOST = 1000.0


def range_tail(z: float, k: int, degrees: float = math.inf) -> float:
    """Return Tukey's p-value of a difference of z standard errors among k settings.

    degrees: degrees of freedom of the standard error (infinite: it is known).
    """
    from scipy.special import ndtr

    if k < 2 or z <= 0:
        return 1.0
    sizes = z * _error_ratios(degrees)
    between = ndtr(_GRID + math.sqrt(2) * sizes[:, None]) - ndtr(_GRID)
    outside = 1 - k * (between ** (k - 1) @ _DENSITY)
    return float(np.clip(outside if math.isinf(degrees) else outside @ _DENSITY[::2] * 2, 0.0, 1.0).item())


@functools.lru_cache(maxsize=512)
def _error_ratios(degrees: float) -> np.ndarray:
    """Return estimated errors as multiples of the true one, at evenly spaced normal quantiles."""
    from scipy.special import chdtri, ndtr

    return np.ones(1) if math.isinf(degrees) else np.sqrt(chdtri(degrees, ndtr(-_GRID[::2])) / degrees)


@functools.lru_cache(maxsize=512)
def critical(k: int, level: float = LEVEL, degrees: float = math.inf) -> float:
    """Return the smallest significant difference among k settings, in standard errors."""
    return boundary(lambda z: range_tail(z, k, degrees) <= level, 0.0, _MOST, steps=32)[1]


def detectable(error: float, k: int, degrees: float = math.inf, power: float = POWER) -> float:
    """Return the difference of two of k settings that is significant with this probability.

    error: standard error of the difference. degrees: its degrees of freedom.
    """
    from scipy.special import nctdtrinc, ndtri

    limit = critical(k, degrees=degrees)
    if degrees > _LARGE:
        return (limit + float(ndtri(power))) * error
    return float(nctdtrinc(degrees, 1 - power, limit)) * error


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
    slopes = [((y.value - x.value) / (b.value - a.value), (a.value, b.value)) for (a, x), (b, y) in distinct or rising]
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
    both = ", ".join(filter(None, (x.point, y.point)))
    interpolated = replace(
        x, setting=x.setting.at(None), value=middle, low=ends[0], high=ends[1], seeds=min(x.seeds, y.seeds), point=both
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
    unknown error). degrees: degrees of freedom of the error."""

    difference: float
    error: float
    p: float | None
    degrees: float = math.inf


def versus_first(points: Sequence[LevelPoint], sign: int = 1) -> list[Versus]:
    """Compare every setting with the first. sign: −1 if less is better."""
    out = []
    spread = _seeds_spread(points)
    for other in points[1:]:
        difference = points[0].score.value - other.score.value
        parts = _error_parts(points[0], other, spread)
        if parts is None:
            out.append(Versus(sign * difference, math.inf, None))
            continue
        error, degrees = _sum_of_parts(parts)
        z = abs(difference) / error if error > 0 else math.inf if difference else 0.0
        out.append(Versus(sign * difference, error, range_tail(z, len(points), degrees), degrees))
    return out


@dataclass(frozen=True)
class _Part:
    """A part of the variance of a difference, with its degrees of freedom."""

    variance: float
    degrees: float = math.inf


def _seeds_spread(points: Sequence[LevelPoint]) -> _Part | None:
    """Return the variance of the score over seeds, pooled over settings with several; None if none has."""
    several = [p.runs for p in points if len(p.runs) > 1]
    degrees = sum(len(runs) - 1 for runs in several)
    if not degrees:
        return None
    return _Part(sum((len(runs) - 1) * float(np.var(runs, ddof=1)) for runs in several) / degrees, degrees)


def _of_seeds(point: LevelPoint, spread: _Part | None) -> float:
    """Return the variance of a setting's mean over its seeds. spread: of one seed, pooled over the settings."""
    pooled = spread.variance if spread else 0.0
    if len(point.runs) > 1:
        return max(float(np.var(point.runs, ddof=1)), pooled) / len(point.runs)
    return pooled / max(point.score.seeds, 1)


def _sum_of_parts(parts: Sequence[_Part]) -> tuple[float, float]:
    """Return the standard error and its degrees of freedom (Satterthwaite 1946)."""
    variance = sum(part.variance for part in parts)
    uncertain = sum(part.variance**2 / part.degrees for part in parts)
    return math.sqrt(variance), variance**2 / uncertain if uncertain > 0 else math.inf


def _shared_texts(a: LevelPoint, b: LevelPoint) -> int:
    """Return the number of texts by which two settings are paired, or 0."""
    if a.outcomes is None or b.outcomes is None or len(a.outcomes) != len(b.outcomes):
        return 0
    return len(a.outcomes)


def _error_parts(a: LevelPoint, b: LevelPoint, spread: _Part | None) -> list[_Part] | None:
    """Return the parts of a difference's error, or None if it is unknown. spread: of one seed."""
    if a.error is None or b.error is None or (a.score.seeds == b.score.seeds == 1 and spread is None):
        return None
    of_privacy = _Part(a.error**2 + b.error**2)
    if a.outcomes is not None and b.outcomes is not None and (texts := _shared_texts(a, b)) > 1:
        of_texts = _Part(float(np.var(a.outcomes - b.outcomes, ddof=1)) / texts, texts - 1)
        of_seeds = _Part(_of_seeds(a, spread) + _of_seeds(b, spread), spread.degrees if spread else math.inf)
        return [of_texts, of_seeds, of_privacy]
    halves = half(a.score), half(b.score)
    if not all(halves) and not (a.score.low == a.score.high and b.score.low == b.score.high):
        return None
    return [_Part(math.hypot(*halves) ** 2 / NORMAL**2), of_privacy]


def smallest_detectable(versus: Sequence[Versus], power: float = POWER) -> float | None:
    """Return the difference from the first that is detected with this power, for the median error, or None."""
    known = [v for v in versus if v.p is not None and v.error > 0]
    if not known:
        return None
    error, degrees = (float(np.median(values)) for values in zip(*((v.error, v.degrees) for v in known), strict=True))
    return detectable(error, len(versus) + 1, degrees, power)


# --- before a measurement


def planned_detectable(
    texts: int, k: int, deviation: float, seeds: int = 1, seed_deviation: float = 0.0, binary: bool = False
) -> float:
    """Return the difference of two of k settings that n texts will detect with 80% power.

    deviation: standard deviation of a text's paired difference, averaged over the seeds. seed_deviation: standard
    deviation of a setting's score over seeds. binary: differences of a text are −1, 0 or 1, so their variance shrinks
    by the square of the difference.
    """
    from scipy.special import chdtr

    of_seeds = _Part(0.0)
    if seeds > 1:
        own = seeds - 1
        # The mean of the larger one of a setting's own variance and the pooled one, relative to the true variance.
        larger = float(chdtr(own, own) + 1 - chdtr(own + 2, own))
        of_seeds = _Part(2 * larger * seed_deviation**2 / seeds, k * own)
    difference = 0.0
    for _ in range(_STEPS):
        of_texts = _Part(max(deviation**2 - binary * difference**2, 0.0) / texts, texts - 1)
        error, degrees = _sum_of_parts([of_texts, of_seeds])
        difference = detectable(error, k, degrees)
    return difference
