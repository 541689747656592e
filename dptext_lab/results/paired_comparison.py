"""Paired comparisons on the same test texts: their tests and effect sizes.

Two settings are measured on the same texts, and with the same training sample at each seed, so effects of the texts
cancel. A difference can be significant even if the intervals of the two accuracies overlap widely.

* ``compare`` takes any score per text, over seeds. A text's difference is that of its means over the seeds. The
  interval combines the sampling of texts (as clusters) and the spread over the seeds that both have, as the root of the
  sum of squares. With one seed and binary outcomes, it is McNemar's test.

``pack`` encodes the scores of texts in a short string, which lines and rows of a benchmark store.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dptext_core.errors import InputError
from dptext_core.measure.metrics.registry import measure
from dptext_core.support.statistics import NORMAL, standard_error, student, two_sided

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .rows import Row

_SIGNS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
#: The largest number of steps for a text's score.
STEPS = len(_SIGNS) - 1


# --- scores of texts -----------------------------------------------------------------------------------------------


def pack(values: ArrayLike, low: float = 0.0, high: float = 1.0, steps: int = STEPS, short: bool = False) -> str:
    """Encode one value per text as the string "low high steps signs", rounded to this many steps from low to high.

    Binary outcomes with 1 step, and shares of n seeds with n steps, are exact. short: compress the signs.
    """
    x = np.clip((np.asarray(values, float) - low) / (high - low), 0.0, 1.0)
    if not 1 <= steps <= STEPS or not np.isfinite(x).all():
        raise InputError(f"Scores of texts must be finite numbers, and steps must be from 1 to {STEPS}.")
    levels = np.rint(x * steps).astype(np.uint8)
    if short:
        signs = "." + base64.b64encode(zlib.compress(levels.tobytes(), 9)).decode("ascii")
    else:
        signs = "".join(_SIGNS[i] for i in levels.tolist())
    return f"{low:g} {high:g} {steps} {signs}"


def unpack(packed: str) -> NDArray[np.float64]:
    """Decode a string from ``pack`` to rounded values, float64 (texts,). Raises InputError for any other string."""
    try:
        low, high, steps, signs = packed.split(" ")
        if signs.startswith("."):
            levels = np.frombuffer(zlib.decompress(base64.b64decode(signs[1:], validate=True)), np.uint8)
        else:
            levels = np.array([_SIGNS.index(s) for s in signs], np.uint8)
        if levels.max(initial=0) > int(steps):
            raise ValueError
        return float(low) + levels / int(steps) * (float(high) - float(low))
    except (ValueError, zlib.error) as error:
        raise InputError("the scores of the texts are not in the packed format") from error


def mean_outcomes(packed: Sequence[str]) -> str:
    """Return the packed means of texts over seeds, from the packed values of each seed."""
    low, high, steps, _ = packed[0].split(" ")
    values = np.array([unpack(p) for p in packed])
    # The mean of binary outcomes over few seeds stays exact.
    fine = len(packed) if steps == "1" and len(packed) <= STEPS else STEPS
    return pack(values.mean(axis=0), float(low), float(high), fine, short=True)


# --- tests ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairedComparison:
    """The difference of two settings, a − b, with its 95% interval.

    p: two-sided, of no difference. texts, seeds: their numbers; seeds is 1 if the two have no seeds in common. g:
    Cohen's g, the distance of a's share of the differences from 0.5, weighted by their size.
    """

    difference: float
    low: float
    high: float
    p: float
    texts: int
    seeds: int
    g: float


def compare(
    a: ArrayLike,
    b: ArrayLike,
    runs_a: Sequence[float] = (),
    runs_b: Sequence[float] = (),
    seed_spread: float = 0.0,
) -> PairedComparison:
    """Compare two settings by the scores of test texts, (texts,) or (seeds, texts), and by the mean of each seed.

    seed_spread: standard deviation of one seed's mean, which counts only if both settings have a single seed.

    With (seeds, texts), the seeds' means come from the scores. The score test of the texts is (Σd)² / Σd² for clusters
    (Obuchowski 1998), which is McNemar's with one seed and binary outcomes.
    """
    one, other = np.asarray(a, float), np.asarray(b, float)
    if one.shape != other.shape or not one.size:
        raise InputError("The two settings have no scores, or different test texts or seeds. Use the same for both.")
    if one.ndim == 2:
        runs_a, runs_b = one.mean(axis=1).tolist(), other.mean(axis=1).tolist()
        one, other = one.mean(axis=0), other.mean(axis=0)
    d = one - other
    n = len(d)
    between, spread, seeds = _of_seeds(runs_a, runs_b, seed_spread)
    # The runs are exact where the texts' values are rounded.
    difference = float(d.mean()) if between is None else between
    of_texts = standard_error(d)
    half = math.inf if of_texts is None else NORMAL * math.hypot(of_texts, spread)
    # Under the null hypothesis, the spread is around 0.
    error = math.hypot(math.sqrt(float((d**2).sum())) / n, spread)
    p = two_sided(difference / error) if error > 0 else (1.0 if difference == 0 else 0.0)
    apart = float(np.abs(d).sum())
    g = float(np.maximum(d, 0).sum()) / apart - 0.5 if apart else 0.0
    return PairedComparison(difference, difference - half, difference + half, p, n, seeds, g)


def _of_seeds(
    runs_a: Sequence[float], runs_b: Sequence[float], one_seed: float
) -> tuple[float | None, float, int]:
    """Return the mean difference of the seeds that both have (the first ones of each), None for fewer than two; what
    seeds add to its standard error, as wide as Student's t makes it; and how many seeds both have, at least 1.

    If one side has a single seed, its spread is assumed equal to the other's. With two single seeds, one_seed is the
    standard deviation of each.
    """
    both = min(len(runs_a), len(runs_b))
    if both > 1:
        between = np.array(runs_a[:both], float) - np.array(runs_b[:both], float)
        return float(between.mean()), _t(both) * (standard_error(between) or 0.0), both
    longer = max(runs_a, runs_b, key=len)
    if len(longer) <= 1:
        return None, math.sqrt(2) * one_seed, 1
    spread = float(np.std(longer, ddof=1)) * math.sqrt(1 + 1 / len(longer))
    return None, _t(len(longer)) * spread, 1


def _t(n: int) -> float:
    """Return the ratio of interval widths of Student's t and the normal distribution."""
    return student(n) / NORMAL


def compare_rows(a: Row, b: Row, seed_spread: float = 0.0) -> PairedComparison | None:
    """Compare two rows of results by their texts, or return None if texts or metrics differ or are missing.

    seed_spread: standard deviation of one seed, for two rows with one seed each. Two attackers with the same target
    and texts can be compared: a static and an adaptive one.
    """
    attackers = {measure(row.metric).kind for row in (a, b)} == {"privacy"}
    if a.data != b.data or not (a.metric == b.metric or attackers) or not a.texts or not b.texts:
        return None
    one, other = unpack(a.texts), unpack(b.texts)
    if one.shape != other.shape:
        return None
    return compare(one, other, a.runs, b.runs, seed_spread)
