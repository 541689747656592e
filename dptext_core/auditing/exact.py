"""The exact largest loss of closed forms, over all pairs of inputs and all outputs."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..errors import ConfigError
from ..privacy.sampling import DEPTH
from .inputs import Meter, Probe
from .report import Witness

TOLERANCE = 1e-9
_NEVER = -1e300  # replaces −∞, so that two of them differ by 0


def aligned_outputs(probes: Sequence[Probe]) -> tuple[np.ndarray, Sequence[str]]:
    """Return log-probabilities over the union of the candidates, float64 (n, outputs), and the candidates."""
    first = probes[0].d.candidates
    if all(p.d.candidates is first or p.d.candidates == first for p in probes):
        return np.stack([p.d.log_probs for p in probes]), first
    at: dict[str, int] = {}
    for p in probes:
        for word in p.d.candidates:
            at.setdefault(word, len(at))
    out = np.full((len(probes), len(at)), -np.inf)
    for row, p in zip(out, probes, strict=True):
        where = np.fromiter((at[w] for w in p.d.candidates), np.int64, len(p.d.candidates))
        np.logaddexp.at(row, where, p.d.log_probs)
    return out, list(at)


def largest_loss(probes: Sequence[Probe], distances: np.ndarray, meter: Meter) -> tuple[float, Witness | None]:
    """Return the largest loss per unit over all compared pairs, and its location."""
    groups = _cliques(distances)
    best, witness = -1.0, None
    for k, group in enumerate(groups if groups is not None else [np.flatnonzero(np.isfinite(distances).any(axis=1))]):
        meter.at(0.4 + 0.4 * k / (len(groups) if groups is not None else 1))
        if len(group) < 2:
            continue
        members = [probes[i] for i in group]
        log_p, outputs = aligned_outputs(members)
        if np.isnan(log_p).any():
            raise ConfigError("The mechanism states a probability that is not a number. Correct its distribution.")
        if groups is not None:
            value, a, b, y = _spread(log_p)
        else:
            value, a, b, y = _pairwise(log_p, distances[np.ix_(group, group)], meter)
        if value > best:
            apart = float(distances[group[a], group[b]])
            best = value
            witness = witness_of(members[a], members[b], (outputs[y],), log_p[a, y], log_p[b, y], apart)
    meter.at(0.8)
    return max(best, 0.0), witness


def loss_beyond(probes: Sequence[Probe], delta: float, meter: Meter) -> tuple[float, Witness | None]:
    """Return the least ε at which no two of the inputs differ by more than ``delta``, and the pair that needs it."""
    log_p, outputs = aligned_outputs(probes)
    p = np.exp(log_p)

    def excess(pairs: np.ndarray, epsilon: float) -> np.ndarray:
        """Return the hockey-stick divergence of pairs of rows (n, 2), float64 (n,)."""
        factor = math.exp(min(epsilon, 700.0))
        return np.concatenate([np.maximum(p[a] - factor * p[b], 0.0).sum(axis=1) for a, b in _blocks(pairs)])

    n = len(p)
    active = np.argwhere(~np.eye(n, dtype=bool))
    low, high = 0.0, 700.0
    over = excess(active, low) > delta * (1 + TOLERANCE)
    if not over.any():
        return 0.0, None
    active = active[over]
    if (beyond := excess(active, high) > delta * (1 + TOLERANCE)).any():
        active, low, high = active[beyond], math.inf, math.inf
    while high - low > 1e-9 * max(1.0, high):
        meter.at(0.4 + 0.4 * (1 - (high - low) / 700.0))
        middle = (low + high) / 2
        over = excess(active, middle) > delta * (1 + TOLERANCE)
        # Pairs within δ at the middle are also within it above, where the answer is if other pairs are not.
        low, high, active = (middle, high, active[over]) if over.any() else (low, middle, active)
    a, b = (int(i) for i in active[0])
    y = int(np.argmax(p[a] - math.exp(min(low, 700.0)) * p[b]))
    return high, witness_of(probes[a], probes[b], (outputs[y],), log_p[a, y], log_p[b, y], 1.0)


def _blocks(pairs: np.ndarray, size: int = 64) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for start in range(0, len(pairs), size):
        part = pairs[start : start + size]
        yield part[:, 0], part[:, 1]


def _cliques(distances: np.ndarray) -> list[np.ndarray] | None:
    """Return groups of inputs with distance 1 if there are no other distances; else None."""
    finite = np.isfinite(distances)
    if (distances[finite] != 1.0).any():
        return None
    joined = finite | np.eye(len(finite), dtype=bool)
    # If equal rows are the groups, the relation is transitive.
    _, label = np.unique(np.packbits(joined, axis=1), axis=0, return_inverse=True)
    label = label.ravel()
    if not np.array_equal(joined, label[:, None] == label[None]):
        return None
    order = np.argsort(label, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)


def _spread(log_p: np.ndarray) -> tuple[float, int, int, int]:
    """Return the largest difference in any column, with its rows and column, if all rows are compared."""
    high, low = log_p.max(axis=0), log_p.min(axis=0)
    with np.errstate(invalid="ignore"):
        gap = np.where(high > -np.inf, high - low, 0.0)
    value = float(gap.max())
    y = int(np.argmax(np.where(gap == value, high, -np.inf)))
    return value, int(np.argmax(log_p[:, y])), int(np.argmin(log_p[:, y])), y


def _pairwise(log_p: np.ndarray, distances: np.ndarray, meter: Meter) -> tuple[float, int, int, int]:
    """Return the largest |log-ratio| / distance over all pairs with a distance, with its rows and column."""
    from scipy.spatial.distance import squareform

    n = len(log_p)
    clean = np.maximum(log_p, _NEVER, out=log_p)  # in float64, a difference to it equals _NEVER
    apart = np.array([0.0]) if n < 2 else squareform(np.where(np.eye(n, dtype=bool), 0.0, distances), checks=False)
    loss = _chebyshev(clean, meter)
    loss[loss > -_NEVER / 2] = np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        per = np.where(loss <= TOLERANCE, 0.0, loss / apart)
    per[~np.isfinite(apart)] = -1.0
    rows, columns = np.triu_indices(n, 1)

    def where(k: int) -> tuple[float, int, int, int]:
        """Return the log-probability of the more likely output, its row, the other row, its column."""
        a, b = int(rows[k]), int(columns[k])
        gap = np.abs(clean[a] - clean[b])
        # Among outputs that are impossible under one of the two, the most likely one.
        y = int(np.argmax(np.where(gap == gap.max(), np.maximum(clean[a], clean[b]), _NEVER)))
        return (clean[a, y], a, b, y) if clean[a, y] > clean[b, y] else (clean[b, y], b, a, y)

    best = float(per.max())
    _, a, b, y = max(where(int(k)) for k in np.flatnonzero(per == best)[:300])
    return best, a, b, y


def _chebyshev(x: np.ndarray, meter: Meter, width: int = 256) -> np.ndarray:
    """Return max_y |x_a(y) − x_b(y)| for all pairs of rows, condensed; computed in blocks of columns that fit the
    cache."""
    from scipy.spatial.distance import pdist

    starts = range(0, x.shape[1], width)
    threads = min(2, os.cpu_count() or 1, len(starts))
    out = np.zeros(len(x) * (len(x) - 1) // 2)

    def work(mine: Sequence[int]) -> np.ndarray:
        best = np.zeros_like(out)
        for start in mine:
            meter.task.check()
            block = np.ascontiguousarray(x[:, start : start + width])
            np.maximum(best, pdist(block, "chebyshev"), out=best)
        return best

    with ThreadPoolExecutor(threads) as pool:
        for part in pool.map(work, [starts[t::threads] for t in range(threads)]):
            np.maximum(out, part, out=out)
    return out


def witness_of(a: Probe, b: Probe, outputs: tuple[str, ...], log_a: float, log_b: float, apart: float) -> Witness:
    log_a, log_b = (-math.inf if x <= _NEVER / 2 else float(x) for x in (log_a, log_b))
    return Witness(a.text, b.text, outputs, log_a, log_b, apart, a.at, b.at)


def too_deep(probes: Sequence[Probe]) -> Witness | None:
    """Return a stated possible output beyond the depth of the sampler or of float64."""
    for p in probes:
        if p.d.draws is not None:
            continue
        finite = np.flatnonzero(np.isfinite(p.d.log_probs))
        y = int(finite[np.argmin(p.d.log_probs[finite])])
        least = float(p.d.log_probs[y])
        if least < -p.d.depth or (p.d.depth <= DEPTH and not p.d.probs[y] > 0):
            message = (
                f"“{p.d.candidates[y]}” is stated to have a probability of e^{least:.0f} under “{p.word}”, but the "
                f"sampler only reaches e^−{p.d.depth:.0f}. The word is never released for this input, although it is "
                "for others."
            )
            return Witness(p.text, p.text, (p.d.candidates[y],), least, -math.inf, 0.0, p.at, p.at, "release", message)
    return None
