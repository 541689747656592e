"""Test triples of draws of a text, and of texts of one call, for a dependence that no pair shows.

A draw has a uniform quantile u in its distribution (its candidate's interval, and a random position within it). For
three independent draws, each product below has mean 0: cos 2π(±u ± v ± w), which shows sums modulo 1, and the signs of
the first bits of u, v and w, which show their XOR. The mean of n such products, which are in [−1, 1], is farther than t
from 0 with probability at most 2·e^(−n·t²/2) (Hoeffding 1963; Azuma 1967 if a draw depends on earlier ones).
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from ..mechanisms.base import Mechanism, Prepared
from ..result import RewriteResult
from .checks import Subject
from .release_statistics import (
    LEVEL,
    ReleaseReader,
    drawn_words,
    has_alignment,
    is_cheap,
    new_instance,
    noise_of,
    public_words,
    with_small_epsilon,
)
from .report import Check, Witness
from .rules import flat

NAME = "three draws together"
#: Number of words per text, of texts per call, and of rewrites of each.
PLACES, TEXTS, TIMES, CALLS = 6, 4, 300, 150
#: Number of first bits of three numbers that are compared at the same place.
BITS = 3
#: Minimum number of rewrites for this test.
ENOUGH = 100


def three_together(subject: Subject) -> Check | None:
    """Test each three draws of a text, and of the texts of one call."""
    m = with_small_epsilon(subject.m)
    if not is_cheap(m) or "distribution" not in m.can or m.shares_draws:
        return None
    stream, meter = subject.stream.at(NAME), subject.meter
    given = [p.word for p in subject.probes]
    words = (
        drawn_words(m, given, PLACES, stream.at("words"), meter)
        if has_alignment(m)
        else public_words(m, PLACES, stream.at("words"))
    )
    if not words:
        return None
    text = " ".join(words)
    stated = new_instance(m)
    if m.by_word is not None and stated.distribution(words[0], 0).draws is not None:
        return None
    reader = ReleaseReader(stated, meter)
    prepared_text = stated.prepare(text, task=meter.task)
    results = subject.rewriter.fresh(m, m.prepare(text, task=meter.task), TIMES, noise_of(stream, 0))
    tables = {"draws of a text": _draw_positions(reader, prepared_text, results, stream.at("jitter"))}
    if m.by_word is not None:
        one = stated.prepare(words[0], task=meter.task)
        rows = []
        for k in range(CALLS):
            listed = subject.rewriter.listed(m, [words[0]] * TEXTS, noise_of(stream, 1 + k))
            rows.append(_draw_positions(reader, one, listed, stream.at("jitter", k))[:, 0])
        tables["texts of one call"] = np.stack(rows)
    return _judge(m, text, tables)


def _draw_positions(reader: ReleaseReader, prepared: Prepared, results: list[RewriteResult], stream) -> np.ndarray:
    """Return the quantile of each draw, float64 (results, places); NaN if unknown."""
    positions = [{s.place: s for s in reader.read(prepared, r)} for r in results]
    places = sorted({p for one in positions for p in one})[: 2 * PLACES] or [0]
    jitter = stream.uniforms(len(results) * len(places)).reshape(len(results), -1)
    out = np.full(jitter.shape, np.nan)
    below: dict[int, tuple[np.ndarray, object]] = {}
    for a, one in enumerate(positions):
        for b, place in enumerate(places):
            s = one.get(place)
            if s is None or s.at is None or s.d.draws is not None:
                continue
            if id(s.d) not in below:
                below[id(s.d)] = np.cumsum(s.d.probs) - s.d.probs, s.d
            out[a, b] = below[id(s.d)][0][s.at] + jitter[a, b] * s.d.probs[s.at]
    return out


def products(u: np.ndarray, v: np.ndarray, w: np.ndarray) -> dict[str, np.ndarray]:
    """Return the products of three numbers each, by name, float64 (n,)."""
    out = {}
    for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        out[f"{a:+d}{b:+d}"] = np.cos(2 * math.pi * (u + a * v + b * w))
    for bit in range(BITS):
        signs = [1.0 - 2.0 * (np.floor(x * 2.0 ** (bit + 1)) % 2) for x in (u, v, w)]
        out[f"bit {bit}"] = signs[0] * signs[1] * signs[2]
    return out


def chance_of(mean: float, n: int) -> float:
    """Return a bound of the chance that n products of independent draws have a mean this far from 0."""
    return min(1.0, 2 * math.exp(-n * mean * mean / 2))


def least_mean(n: int, tests: int) -> float:
    """Return the smallest mean that n products refute among so many tests."""
    return math.sqrt(2 * math.log(2 * tests / LEVEL) / n)


def _judge(m: Mechanism, text: str, tables: dict[str, np.ndarray]) -> Check | None:
    tests = sum((4 + BITS) * math.comb(t.shape[1], 3) for t in tables.values())
    compared, least = 0, 0.0
    epsilon = float(m.config.epsilon)
    for what, lies in tables.items():
        for i, j, k in combinations(range(lies.shape[1]), 3):
            three = lies[:, [i, j, k]]
            three = three[np.isfinite(three).all(axis=1)]
            if (n := len(three)) < ENOUGH:
                continue
            compared, least = compared + 1, max(least, least_mean(n, tests))
            means = {name: float(x.mean()) for name, x in products(*three.T).items()}
            name = max(means, key=lambda one: abs(means[one]))
            if (p := chance_of(means[name], n)) * tests < LEVEL:
                message = (
                    f"For the {what} (“{flat(text)}”, ε = {epsilon:.3g}), draws {i + 1}, {j + 1} and {k + 1} depend on "
                    f"each other. Over {n} rewrites, the mean product of their quantiles is {means[name]:.2f} "
                    f"(p = {p:.1g} for independent draws)."
                )
                reason = "three draws depend on each other, so their stated losses do not simply add up."
                return Check(NAME, "refuted", "", reason, Witness.of_rule(message, text), draws=lies.size)
    if not compared:
        return None
    draws = sum(t.size for t in tables.values())
    looked = (
        f"{compared} triples of draws, each in at least {min(CALLS, TIMES)} rewrites, at ε = {epsilon:.3g}: sums and "
        "XORs of their quantiles."
    )
    blind = f"a dependence of three draws below {least:.2f} (maximum: 1), or one that neither sums nor XORs show"
    return Check(NAME, "tested", looked, blind=blind, draws=draws)
