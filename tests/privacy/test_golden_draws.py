"""Figures and draws of what all promises rest on, function by function, where bits run out and at both sides of each
threshold: what is expected lies in ``tests/golden/draws.json`` (``GOLDEN=write`` writes it anew)."""

from __future__ import annotations

import math
from decimal import localcontext
from fractions import Fraction

import numpy as np
import pytest
from golden_files import compare_case, plain

from dptext_core.privacy import distribution, gaussian, guarantee, numbers, sampling
from dptext_core.privacy.distribution import ScoreTable
from dptext_core.privacy.sampling import NoiseStream, Sampler

S = NoiseStream(11)
WORDS = np.array([0, 1, 5, (1 << 20) + 3, (1 << 43) + 7, (1 << 44) - 1, 1 << 44, 1 << 63, (1 << 64) - 1], np.uint64)
SCORES = np.array([0.0, -0.5, -0.5, -1.25, -0.1, -3.0, -math.inf])
BASE = np.log(np.array([0.3, 0.05, 0.2, 0.1, 0.15, 0.1, 0.1]))
TABLES = (
    ScoreTable(tuple("abcdefg"), SCORES, "a"),
    ScoreTable(tuple("abcdefg"), np.where(np.isfinite(SCORES), SCORES, -2.0), "b", None, BASE),
    ScoreTable(tuple("aBAcdef"), SCORES, "A"),
    ScoreTable(tuple("ab"), np.zeros(2), None, None, BASE[:2]),
    ScoreTable([f"w{i}" for i in range(300)], -np.arange(300) / 7.0, "w3"),
)
EPSILONS = np.array([0.05, 0.7, 3.0, 40.0])
LOGS = np.log(np.array([0.5, 0.25, 0.125, 0.0625, 0.0625]))
#: On both sides of where a number is written otherwise.
ODD = (
    0.0,
    1e-9,
    1.04e-5,
    0.000999,
    0.001,
    0.00101,
    0.0994,
    0.0995,
    0.0996,
    0.12345678,
    0.3,
    1.0,
    2.5,
    9.999,
    99.95,
    999.4,
    999.5,
    999.6,
    1234.49,
    12000.0,
    1e15,
    1e16,
)

FIGURES = {
    "streams": lambda: [
        S.at(1, "a").noise_id,
        S.numbered([4, 7]).at(1).noise_id,
        S.at(7).noise_id,
        S.numbered([4, 7]).number(1),
        S.number(1),
        S.skip(3).words(4),
        S.words(10)[6:],
    ],
    "bits": lambda: [S.prefixes(4, 3), S.extensions(np.array([0, 3, 300]), np.array([0, 1, 2]), 1), S.uniform()],
    "uniforms": lambda: [S.uniforms(5), S.log_uniforms(5), S.normals(6), S.gumbel(5)],
    "deep": lambda: [np.log(S.full_range(WORDS)), S.log_full_range(WORDS), S.skip(2)._deep(5, 3), S._deep(0, 1)],
    "deep in places": lambda: np.log(S.skip(1).full_range(WORDS, 4)),
    "extended": lambda: [
        sampling._extend_uniform(S, np.array([3]), b, d, most)
        for b in (0, 1, (1 << 63) - 1, 1 << 63)
        for d, most in ((0, 1184), (7, 300))
    ],
    "resolved": lambda: [math.log(sampling._resolve(S, np.array([2]), b, 1)) for b in (0, 1, 1 << 63, 1 << 150)],
    "full uniforms": lambda: np.log(
        sampling._full_uniform(S, np.array([0, 0, 1, 2**32 - 1], np.uint32), np.array([0, 1, 2, 3]), 5)
    ),
    "geometric": lambda: [
        [str(x) for x in sampling.geometric(S, 12, Fraction(*r))] for r in ((1, 1), (1, 1000), (7, 2), (1, 10**19))
    ],
    "exactly": lambda: [
        str(sampling._exponential_exact(S, j, w, Fraction(*r)))
        for j in (0, 3)
        for w in (0, 1, 1 << 40, 1 << 63)
        for r in ((1, 3), (1, 10**12))
    ],
    "laplace": lambda: [sampling.discrete_laplace(S, 12, Fraction(1, 20))],
    "draws": lambda: [sampling.draw(LOGS, S.at(k), n) for k, n in ((0, 1), (1, 1), (2, 40), (3, 7))],
    "draws among holes": lambda: [
        sampling.draw(np.array([-math.inf, 0.0, -1.0, -math.inf, -9.0]), S.at(k), n) for k in range(9) for n in (1, 5)
    ],
    "looked at": lambda: [Sampler(x)._limit for x in (LOGS, np.zeros(3), np.array([0.0, -30.0, -math.inf]))],
    "all": lambda: [Sampler(x)._all(S, S.prefixes(5)[0], k) for x in (LOGS, LOGS - 3 * np.arange(5)) for k in range(9)],
    "delta": lambda: [
        gaussian.gaussian_delta(e, mu) for e in (0.0, 0.1, 1.0, 9.0) for mu in (-1.0, 0, 0.01, 0.5, 2.0, 30)
    ],
    "mu": lambda: [
        (gaussian.gaussian_mu(e, d), gaussian.gaussian_sigma(e, d, 3.0))
        for e in (0.1, 1, 20)
        for d in (1e-9, 0.01, 0.5)
    ],
    "epsilon": lambda: [gaussian.gaussian_epsilon(d, mu) for d in (1e-9, 0.01, 0.3) for mu in (0.01, 0.5, 4.0)],
    "advantage": lambda: (
        [gaussian.gaussian_advantage(x) for x in (0.0, 0.3, 2.0)]
        + [
            gaussian.laplace_advantage(np.array(x), r)
            for x in ([0, 3], [1, -2, 40])
            for r in (0.0, 1e-3, 0.3, 699, 701)
        ]
    ),
    "rounded": lambda: [gaussian.rounded_gaussian(S.at(k), 9, s) for k, s in enumerate((0.3, 1.0, 77.7, 2.0**40))],
    "rounded exactly": lambda: [
        gaussian._solve_exactly(S, j, w, Fraction(3, 2), 0, 200)
        for j in (0, 5)
        for w in (0, 1, 1 << 30, 1 << 63, 3 << 62)
    ],
    "rounded by bits": lambda: [
        gaussian._round_exact(b, n, Fraction(5, 2), 0, 60)
        for b, n in ((1, 64), (1 << 63, 64), (3, 2), (1, 900), (0, 64))
    ],
    "inside": lambda: [str(gaussian._inside(Fraction(*t)))[:26] for t in ((0, 1), (1, 2), (3, 1), (12, 1))],
    "pi": lambda: [str(gaussian._pi(n)) for n in (3, 20, 50)],
    "zcdp": lambda: [
        (guarantee.zcdp_rho(e), guarantee.zcdp_rho(e, True), guarantee.zcdp_epsilon(guarantee.zcdp_rho(e), d))
        for e in (0.0, 0.1, 1.0, 9.0)
        for d in (1e-6, 0.1)
    ],
    "numbers": lambda: [
        [f(x) for f in (numbers.scientific, numbers.number, numbers.bound, numbers.at_least, numbers.percent)]
        for x in ODD
    ],
    "infinite": lambda: [
        numbers.number(math.inf),
        numbers.bound(math.inf),
        numbers.round_directed(-math.inf, 3, True),
    ],
    "rounding": lambda: [
        numbers.round_directed(x, n, up)
        for x in (0.1 + 0.2, 1.2345, -1.2345, 123456.7, 1e-7, 9.9996)
        for n in (1, 3)
        for up in (True, False)
    ],
    "odds": lambda: [
        numbers.odds_text(e) for e in (0.0, 1.0, 9.2, math.log(1e4), 9.2104, 20.0, 23.0, 49.9, 230.2585, 720.0)
    ],
    "distributions": lambda: [t.at(e).log_probs for t in TABLES[:4] for e in EPSILONS.tolist()],
    "normalisers": lambda: [t.log_z(EPSILONS) for t in TABLES] + [TABLES[4].log_z(np.array([-1.0, 0.0]))],
    "deniability": lambda: [t.deniability(e) for t in TABLES for e in EPSILONS.tolist()],
    "shown": lambda: [t.shown(n, 0.1, 9.0) for t in TABLES for n in (1, 3, 50)],
    "flips": lambda: [t.epsilon_breakpoints(S.at(k), 0.05, 60.0) for t in TABLES for k in range(3)],
    "chances": lambda: [t.log_p(EPSILONS, np.array([1, 0])) for t in TABLES],
    "drawn": lambda: [
        (t.draw(e, S), t.drawer(e)(S), *t.at(e).sample_indices(9, S)) for t in TABLES for e in (0.05, 9.0)
    ],
    "own word": lambda: [t.source_index for t in TABLES],
    "seen": lambda: (
        distribution.seen_at_least_once(np.array([0.0, 1e-9, 0.01, 0.5, 1.0, 1.1]), 100)
        + distribution.seen_at_least_once(np.array([0.0, 1e-9, 0.01, 0.5, 1.0, 1.1]), 1)
    ),
    "rarefied": lambda: [
        distribution.expected_distinct_of(np.array(c), n)
        for c in ([5], [1, 1, 1], [90, 9, 1], [300, 5])
        for n in (1, 2, 100)
    ],
    "without each": lambda: distribution.without_each(np.array([1, 2, 2, 5, 1, 2, 2, 3, 1, 1]), 2, 3),
    "searched": lambda: distribution.search_flips(lambda some: (some > 0.5) + (some > 3.0).astype(int), 0.1, 9.0, 12),
    "found": lambda: [distribution.find_word(("a", "B", "b", "c"), w) for w in ("b", "A", "x")],
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_stays(name):
    with localcontext() as context:
        context.prec = 28  # what is decimal has as many digits as its context
        found = FIGURES[name]()
    compare_case("draws", name, {"found": plain(found)})
