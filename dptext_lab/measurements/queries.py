"""How many answers reveal a word: CusText's query attack on the bundled word space.

It uses sets of K words at the same probability p₀ that the word is unchanged (the paper's Table 7).

Bisection in the closed form finds the ε for p₀. With K words, p₀ is at least 1/K at any ε, and at 1/K no number of
answers is enough. So a p₀ below 1/K is not reached.

    python -m dptext_core bench queries --out assets/benchmarks/queries.json
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from dptext_core.attacks.query import CONFIDENCE, REPEATS, query_number
from dptext_core.mechanisms.capabilities import by_word
from dptext_core.mechanisms.registry import get_mechanism
from dptext_core.privacy.distribution import Channel

from ..results.queries import MEASUREMENT, WORDS, QueryRow
from ..runner.options import parser
from .equal_privacy import epsilon_where

KS = (5, 10, 50, 500, 1000, 2000)
CHANCES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SEED = 1


def _unchanged_probability(channel: Channel, epsilon: float) -> float:
    return channel.at(epsilon).p_keep()


def queries_at_equal_probability(
    space: str,
    words: Sequence[str] = WORDS,
    ks: Sequence[int] = KS,
    chances: Sequence[float] = CHANCES,
    repeats: int = REPEATS,
) -> Iterator[QueryRow]:
    """Yield each word with K and the ε of each probability that it is unchanged, if there is one."""
    for k in ks:
        mechanism = by_word(
            get_mechanism("custext", epsilon=1.0, space=space, k=k, mapping="balanced", keep_stopwords=False)
        )
        known = {word: i for i, word in enumerate(mechanism.vocabulary.words)}
        for word in words:
            if word not in known:
                continue
            (channel,) = mechanism.channels(np.array([known[word]]))
            for chance in chances:
                epsilon = epsilon_where(partial(_unchanged_probability, channel), chance)
                if epsilon is not None:
                    number = query_number(channel.at(epsilon), repeats=repeats, seed=SEED)
                    n = None if math.isinf(number.n) else int(number.n)
                    yield QueryRow(word, k, epsilon, float(f"{number.p_original:.4g}"), n)


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench queries``."""
    takes = parser("queries", __doc__, "space", "out")
    takes.add_argument("--word", action="append", metavar="WORD", help=f"default: {', '.join(WORDS)}")
    takes.add_argument("--repeats", type=int, default=REPEATS, help=f"repetitions of each guess (default {REPEATS})")
    args = takes.parse_args(argv)
    rows = []
    for row in queries_at_equal_probability(args.space, args.word or WORDS, repeats=args.repeats):
        number = "no number" if row.n is None else f"{row.n:,}"
        print(f"{row.word:6s} K {row.k:4d}, ε {row.epsilon:g}: p₀ {row.p:.3f}, {number}", flush=True)
        rows.append(row)
    about = MEASUREMENT.about(space=args.space, repeats=args.repeats, confidence=CONFIDENCE, seed=SEED)
    MEASUREMENT.write(args.out, rows, about)
    return 0
