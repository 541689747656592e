"""Comparisons on the same test texts: tests of their differences, how large these are, and how many were looked at.

Two settings are measured on the same texts, and with the same training sample at each seed, so that what the texts have
in common cancels: of two accuracies whose intervals overlap widely, the difference may still be certain.

* ``mcnemar``: of two classifiers, from the texts that only one of them has right.
* ``compare``: of any score that each text has, over seeds. A text's difference is that of its means over the seeds; the
  interval has the sampling of texts (texts are the clusters) and the spread of the differences of the seeds that both
  have, as the root of the sum of their squares. With one seed and right or wrong it is McNemar's test.
* ``bootstrap``: the interval of a mean difference by resampling texts.
* ``holm``: the same p-values, corrected for how many there are.

``pack`` writes what each text has into a short text, which lines and rows of a benchmark hold.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..measure.metrics.registry import measure

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .rows import Row

#: Texts that only one of two has right, up to which McNemar's test is exact.
EXACT = 1000
_SIGNS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
#: The finest steps of what a text has.
STEPS = len(_SIGNS) - 1
#: Resamples.
DRAWS = 2000
#: Student's t, 97.5%, for 1, 2, … degrees of freedom.
T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


def student(n: int) -> float:
    """The 97.5% quantile of Student's t for n values, which have n − 1 degrees of freedom."""
    return T[n - 2] if n - 2 < len(T) else 2.0


# --- what each text has ---------------------------------------------------------------------------------------------


def pack(values: ArrayLike, low: float = 0.0, high: float = 1.0, steps: int = STEPS, short: bool = False) -> str:
    """One value a text as a text: "low high steps signs", values rounded to so many steps from low to high.

    Right and wrong with 1 step, and shares of n seeds with n, are exact. short: the signs are compressed.
    """
    x = np.clip((np.asarray(values, float) - low) / (high - low), 0.0, 1.0)
    if not 1 <= steps <= STEPS or not np.isfinite(x).all():
        raise InputError(f"What a text has is a finite number, in 1 to {STEPS} steps.")
    levels = np.rint(x * steps).astype(np.uint8)
    if short:
        signs = "." + base64.b64encode(zlib.compress(levels.tobytes(), 9)).decode("ascii")
    else:
        signs = "".join(_SIGNS[i] for i in levels.tolist())
    return f"{low:g} {high:g} {steps} {signs}"


def unpack(packed: str) -> NDArray[np.float64]:
    """What ``pack`` was given, float64 (texts,), rounded. Raises InputError for anything else."""
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
        raise InputError("what the texts have is no packed text") from error


def together(packed: Sequence[str]) -> str:
    """The mean of each text over seeds, of what ``pack`` wrote for each seed; compressed."""
    low, high, steps, _ = packed[0].split(" ")
    values = np.array([unpack(p) for p in packed])
    # Of right and wrong the mean over few seeds is kept as it is.
    fine = len(packed) if steps == "1" and len(packed) <= STEPS else STEPS
    return pack(values.mean(axis=0), float(low), float(high), fine, short=True)


# --- tests ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class McNemar:
    """only_a, only_b: texts that only the one has right. p: two-sided. odds: only_a / only_b. g: Cohen's, how far the
    larger share of these texts lies above one half; with the sign of a."""

    only_a: int
    only_b: int
    p: float
    odds: float
    g: float


def mcnemar(a: ArrayLike, b: ArrayLike) -> McNemar:
    """Of right (1) and wrong (0) on the same texts, (texts,) each: exact for up to ``EXACT`` texts that differ."""
    from scipy import stats

    one, other = np.asarray(a, bool), np.asarray(b, bool)
    if one.shape != other.shape or one.ndim != 1:
        raise InputError("McNemar's test compares two lists of right and wrong on the same texts.")
    only_a, only_b = int((one & ~other).sum()), int((other & ~one).sum())
    n = only_a + only_b
    if n == 0:
        p = 1.0
    elif n <= EXACT:
        p = float(min(1.0, 2 * stats.binom.cdf(min(only_a, only_b), n, 0.5)))
    else:
        p = float(stats.chi2.sf((abs(only_a - only_b) - 1) ** 2 / n, 1))
    odds = only_a / only_b if only_b else (math.inf if only_a else 1.0)
    return McNemar(only_a, only_b, p, odds, only_a / n - 0.5 if n else 0.0)


def bootstrap(a: ArrayLike, b: ArrayLike, draws: int = DRAWS, seed: int = 0) -> tuple[float, float, float]:
    """The mean of a − b and its 95% interval over resampled texts: of (texts,), or of (seeds, texts) with the texts as
    clusters. The same input gives the same interval."""
    d = np.atleast_2d(np.asarray(a, float)) - np.atleast_2d(np.asarray(b, float))
    each = d.mean(axis=0)
    n = len(each)
    rng = np.random.default_rng(seed)
    means = [float(each[rng.integers(0, n, n)].mean()) for _ in range(draws)]
    low, high = np.quantile(means, (0.025, 0.975))
    return float(each.mean()), float(low), float(high)


@dataclass(frozen=True)
class Comparison:
    """The difference of two settings, a − b, with its 95% interval.

    p: two-sided, of no difference; holm: corrected for the family it was looked at in, None outside of one. texts,
    seeds: behind it; seeds is 1 where the two have no seeds in common. g: Cohen's g of the texts where they differ:
    how far the share of a in what separates them lies from one half; for any score, by the size of the differences.
    """

    difference: float
    low: float
    high: float
    p: float
    texts: int
    seeds: int
    g: float
    holm: float | None = None

    @property
    def certain(self) -> bool:
        """Whether it is told from no difference at 5%, corrected where it stands in a family."""
        return (self.p if self.holm is None else self.holm) < 0.05


def compare(
    a: ArrayLike, b: ArrayLike, runs_a: Sequence[float] = (), runs_b: Sequence[float] = ()
) -> Comparison:  # fmt: skip
    """Two settings by what each test text has, (texts,) or (seeds, texts), and, of several seeds, by each seed's mean.

    Of (seeds, texts) the seeds' means are taken from there. The score test of the texts is McNemar's where there is one
    seed and each text is right or wrong: (Σd)² / Σd², as Obuchowski (1998) has it for clusters.
    """
    one, other = np.asarray(a, float), np.asarray(b, float)
    if one.shape != other.shape or not one.size:
        raise InputError("A paired comparison needs the same test texts, and the same seeds, on both sides.")
    if one.ndim == 2:
        runs_a, runs_b = one.mean(axis=1).tolist(), other.mean(axis=1).tolist()
        one, other = one.mean(axis=0), other.mean(axis=0)
    d = one - other
    n = len(d)
    between, spread, seeds = _of_seeds(runs_a, runs_b)
    # The runs are exact where the texts' values are rounded.
    difference = float(d.mean()) if between is None else between
    of_texts = float(d.std(ddof=1) / math.sqrt(n)) if n > 1 else math.inf
    half = 1.96 * math.hypot(of_texts, spread)
    # Under no difference the spread is that around 0.
    error = math.hypot(math.sqrt(float((d**2).sum())) / n, spread)
    p = math.erfc(abs(difference) / error / math.sqrt(2)) if error > 0 else (1.0 if difference == 0 else 0.0)
    apart = float(np.abs(d).sum())
    g = float(np.maximum(d, 0).sum()) / apart - 0.5 if apart else 0.0
    return Comparison(difference, difference - half, difference + half, p, n, seeds, g)


def _of_seeds(runs_a: Sequence[float], runs_b: Sequence[float]) -> tuple[float | None, float, int]:
    """The mean difference of the seeds that both have (the first ones of each), None for fewer than two; what seeds add
    to its standard error, as wide as Student's t makes it; and how many seeds both have, at least 1.

    Where one side has a single seed, its spread is taken to be that of the other's seeds; of two single ones nothing
    is known, and 0 is added.
    """
    both = min(len(runs_a), len(runs_b))
    if both > 1:
        between = np.array(runs_a[:both], float) - np.array(runs_b[:both], float)
        return float(between.mean()), _t(both) * float(between.std(ddof=1)) / math.sqrt(both), both
    longer = max(runs_a, runs_b, key=len)
    if len(longer) > 1:
        spread = float(np.std(longer, ddof=1)) * math.sqrt(1 + 1 / len(longer))
        return None, _t(len(longer)) * spread, 1
    return None, 0.0, 1


def _t(n: int) -> float:
    """How much wider Student's t makes an interval than the normal distribution does."""
    return student(n) / 1.96


def compare_rows(a: Row, b: Row) -> Comparison | None:
    """Two rows of results by their texts; None where they have none, not the same ones, or of different metrics. Two
    attackers who guess the same of the same texts can be compared: a static and an adaptive one."""
    attackers = {measure(row.metric).kind for row in (a, b)} == {"privacy"}
    if a.data != b.data or not (a.metric == b.metric or attackers) or not a.texts or not b.texts:
        return None
    one, other = unpack(a.texts), unpack(b.texts)
    if one.shape != other.shape:
        return None
    found = compare(one, other, a.runs, b.runs)
    return found


def holm(ps: Sequence[float]) -> list[float]:
    """p-values corrected for how many there are (Holm 1979), in the order given."""
    order = sorted(range(len(ps)), key=ps.__getitem__)
    out, most = [0.0] * len(ps), 0.0
    for rank, i in enumerate(order):
        most = max(most, min(1.0, (len(ps) - rank) * ps[i]))
        out[i] = most
    return out


def family(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Comparisons that answer one question, each with its p corrected for all of them."""
    return [replace(c, holm=p) for c, p in zip(comparisons, holm([c.p for c in comparisons]), strict=True)]
