"""Tests and bounds from draws.

For noise without a closed form, independent rewrites bound the loss. One half of them chooses the pairs and, for each,
the set of outputs that distinguishes the two best. The other half gives Clopper-Pearson bounds of the two
probabilities, simultaneous over the pairs by Bonferroni.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..mechanisms.base import Mechanism
from ..privacy.sampling import NoiseStream
from ..support.statistics import lower_limit, smaller_tail, upper_limit
from .inputs import Meter, Probe
from .release_statistics import noise_of
from .report import AuditReport, Witness
from .rewriting import Rewriter

#: Number of ordered pairs whose loss is estimated on the second half of the draws.
TESTED = 8


def misfit(counts: np.ndarray, log_p: np.ndarray) -> tuple[float, int]:
    """Return the p-value of counts (V,) under these log-probabilities, and the output that fits worst.

    It is twice the smaller of two p-values: chi-square, with rare outputs merged to an expectation of at least 50; and
    the exact binomial tail of the worst output, times the number of outputs. 0 if an impossible output was sampled.
    """
    from scipy.stats import chisquare

    n = int(counts.sum())
    impossible = np.flatnonzero((counts > 0) & ~np.isfinite(log_p))
    if len(impossible):
        return 0.0, int(impossible[0])
    p = np.exp(log_p)
    p /= p.sum()
    # Only outputs that were sampled, or should have been, can fit badly.
    some = np.flatnonzero((counts > 0) | (n * p > 1))
    tail = smaller_tail(counts[some], n, p[some])
    worst = int(some[np.argmin(tail)])
    single = min(1.0, 2 * float(tail.min()) * len(p))
    order = np.argsort(p, kind="stable")
    cell = np.floor(np.cumsum(p[order]) * n / 50 * (1 - 1e-12)).astype(np.int64)
    _, cell = np.unique(cell, return_inverse=True)
    expected, observed = np.bincount(cell, n * p[order]), np.bincount(cell, counts[order])
    while len(expected) > 1 and expected[-1] < 50:
        expected[-2] += expected[-1]
        observed[-2] += observed[-1]
        expected, observed = expected[:-1], observed[:-1]
    if len(expected) < 2:
        return single, worst
    if expected[0] < 50:
        expected[1] += expected[0]
        observed[1] += observed[0]
        expected, observed = expected[1:], observed[1:]
    if len(expected) < 2:
        return single, worst
    return min(1.0, 2 * min(single, float(chisquare(observed, expected).pvalue))), worst


def two_samples(a: np.ndarray, b: np.ndarray) -> tuple[float, int]:
    """Return the chi-square p-value that two vectors of counts (V,) have one distribution, and the output that differs
    most. Rare outputs are merged."""
    from scipy.stats import chi2_contingency

    total = a + b
    some = np.flatnonzero(total)
    worst = int(some[np.argmax(np.abs(a[some] / a.sum() - b[some] / b.sum()))])
    order = some[np.argsort(total[some], kind="stable")]
    _, cell = np.unique(np.floor(np.cumsum(total[order]) / 100).astype(int), return_inverse=True)
    table = np.stack([np.bincount(cell, a[order]), np.bincount(cell, b[order])])
    return (float(chi2_contingency(table, correction=False).pvalue) if table.shape[1] > 1 else 1.0), worst


def count_samples(
    m: Mechanism,
    probes: Sequence[Probe],
    n: int,
    stream: NoiseStream,
    meter: Meter,
    share: tuple[float, float],
    rewriter: Rewriter,
) -> list[dict[str, int]]:
    """Return the counts of the released words, ignoring case, for each probed word in n rewrites of its text."""
    out: list[dict[str, int]] = [{} for _ in probes]
    texts: dict[int, list[int]] = {}
    for k, probe in enumerate(probes):
        texts.setdefault(id(probe.prepared), []).append(k)
    for t, members in enumerate(texts.values()):
        at = {probes[k].index: out[k] for k in members}
        for start in range(0, n, 500):
            meter.at(share[0] + (share[1] - share[0]) * (t + start / n) / len(texts))
            noise = noise_of(stream, t, start)
            for result in rewriter.fresh(m, probes[members[0]].prepared, min(500, n - start), noise):
                for step in result.steps:
                    if step.index in at and step.action == "replace":
                        word = step.replacement.casefold()
                        at[step.index][word] = at[step.index].get(word, 0) + 1
    return out


def estimate(
    report: AuditReport,
    m: Mechanism,
    probes: Sequence[Probe],
    distances: np.ndarray,
    count: int,
    stream: NoiseStream,
    meter: Meter,
    rewriter: Rewriter,
) -> AuditReport:
    """Return a lower bound on the loss per unit, from ``count`` rewrites: one half chooses, the other tests."""
    half = count // 2
    halves = [
        count_samples(m, probes, half, stream.at("chosen"), meter, (0.3, 0.5), rewriter),
        count_samples(m, probes, half, stream.at("tested"), meter, (0.5, 0.7), rewriter),
    ]
    report = replace(report, draws=2 * half * len(probes))
    outputs = {w: i for i, w in enumerate(dict.fromkeys(w for both in halves for sample in both for w in sample))}
    choose, test = (np.zeros((len(probes), len(outputs)), np.int64) for _ in range(2))
    for table, counts in ((choose, halves[0]), (test, halves[1])):
        for row, sample in zip(table, counts, strict=True):
            row[[outputs[w] for w in sample]] = list(sample.values())
    apart = np.where(distances > 0, distances, np.nan)
    pairs = [(int(a), int(b)) for a, b in zip(*np.nonzero(np.isfinite(apart)), strict=True)]
    if not pairs:
        return replace(report, detectable=0.0)
    alpha = (1 - report.confidence) / (2 * min(TESTED, len(pairs)))
    ranked = []
    for k, (a, b) in enumerate(pairs):
        if k % 200 == 0:
            meter.at(0.7 + 0.1 * k / len(pairs))
        bound, outcome = event(choose[a], choose[b], half, alpha, report.delta)
        ranked.append((bound / apart[a, b], a, b, outcome))
    ranked.sort(key=lambda r: -r[0])
    names = list(outputs)
    best, witness = 0.0, None
    limit = could_show(half, alpha, report.delta) / float(np.nanmin(apart))
    for _, a, b, outcome in ranked[:TESTED]:
        low = lower_limit(test[a, outcome].sum(), half, alpha)
        high = upper_limit(test[b, outcome].sum(), half, alpha)
        value = float((np.log(low - report.delta) - np.log(high)) / apart[a, b]) if low > report.delta else -math.inf
        if witness is None or value > best:
            best = max(best, value)
            likely = outcome[np.argsort(-test[a, outcome], kind="stable")]
            witness = Witness(
                first=probes[a].text,
                second=probes[b].text,
                outputs=tuple(names[y] for y in likely),
                log_p_first=float(np.log(low)) if low > 0 else -math.inf,
                log_p_second=float(np.log(high)),
                distance=float(apart[a, b]),
                first_at=probes[a].at,
                second_at=probes[b].at,
            )
    return replace(report, measured=max(best, 0.0), detectable=limit, witness=witness)


def could_show(n: int, alpha: float, delta: float = 0.0) -> float:
    """Return the loss beyond δ that n draws at each of two inputs show if an event contains all of one and none of the
    other; 0 if δ is too large."""
    low = float(lower_limit(n, n, alpha)) - delta
    return float(np.log(low) - np.log(upper_limit(0, n, alpha))) if low > 0 else 0.0


def event(a: np.ndarray, b: np.ndarray, n: int, alpha: float, delta: float = 0.0) -> tuple[float, np.ndarray]:
    """Return the set of outputs with the highest bound of ln (P_a − δ)/P_b on these counts, among sets of highest
    ratios."""
    outputs = np.flatnonzero(a)
    order = outputs[np.argsort(-(a[outputs] + 0.5) / (b[outputs] + 0.5), kind="stable")]
    ends = np.unique(np.geomspace(1, len(order), 24).astype(int)) - 1
    hits, others = np.cumsum(a[order])[ends], np.cumsum(b[order])[ends]
    value = np.log(np.maximum(lower_limit(hits, n, alpha) - delta, 1e-300)) - np.log(upper_limit(others, n, alpha))
    k = int(np.argmax(value))
    return float(value[k]), order[: ends[k] + 1]
