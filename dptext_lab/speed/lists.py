"""The speed of building a 1-D word list, as a ratio to a plain loop in the same run.

The plain loop is a naive Algorithm 1: at each step, it computes the distances to all words by ``numpy.linalg.norm(V -
x, axis=1)``, sets those of used words to infinity, and takes the smallest. It takes minutes, so only evenly spaced
steps are timed, and the time is scaled to all. Ratios are comparable between machines, but seconds are not.

Run::

    python -m dptext_core bench lists [--space minilm] [--words N] [--steps 100]
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..runner.options import parser

if TYPE_CHECKING:
    from numpy.typing import NDArray


def plain_step(vectors: NDArray, taken: NDArray[np.bool_], row: int) -> int:
    """Return the nearest unused row to ``row``, by the distances to all rows."""
    distances = np.linalg.norm(vectors - vectors[row], axis=1)
    distances[taken] = np.inf
    return int(distances.argmin())


def measure(n: int | None = None, space: str = "minilm", steps: int = 100) -> dict[str, float]:
    """Build one list of the ``n`` most frequent words of a space (default: all) and time it against the plain loop.

    The result has words, dimensions and ratio. seconds: ours. plain_seconds: the plain loop's, scaled from ``steps``
    steps. same: how many of these steps agree with our list. searches: how many of our steps search all remaining
    words. peak_mib: peak memory of NumPy and Python for our list without the vectors (tracemalloc, in a second, untimed
    build).
    """
    from dptext_core.words.lists import build
    from dptext_core.words.space_loading import word_space

    vectors = word_space(space).vectors[:n]
    start = int(np.random.default_rng(0).integers(len(vectors)))
    began = time.perf_counter()
    order, searches = build(vectors, start)
    ours = time.perf_counter() - began

    places = np.unique(np.linspace(0, len(order) - 2, steps).astype(int))
    plain, same = 0.0, 0
    taken = np.zeros(len(order), dtype=bool)
    for place in places:
        taken[order[: place + 1]] = True
        began = time.perf_counter()
        next_row = plain_step(vectors, taken, int(order[place]))
        plain += time.perf_counter() - began
        same += next_row == order[place + 1]
    plain *= (len(order) - 1) / len(places)

    tracemalloc.start()
    try:
        build(vectors, start)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return {
        "words": len(order),
        "dimensions": vectors.shape[1],
        "seconds": ours,
        "plain_seconds": plain,
        "steps": len(places),
        "ratio": plain / ours,
        "same": same,
        "searches": searches,
        "peak_mib": peak / 2**20,
    }


def line(timing: dict[str, float]) -> str:
    """Return the result of ``measure`` as one line."""
    return (
        f"1-D list of {timing['words']} words × {timing['dimensions']}: {timing['ratio']:.0f}x  "
        f"(plain loop {timing['plain_seconds']:.0f} s, ours {timing['seconds']:.1f} s). The plain loop is scaled from "
        f"{timing['steps']} of its {timing['words'] - 1} steps, evenly spaced; {timing['same']} have the same next "
        "word. "
        f"Ours searches all remaining words at {timing['searches']} steps, and uses at most "
        f"{timing['peak_mib']:.0f} MiB (tracemalloc)."
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Time both and print the ratio."""
    takes = parser("lists", __doc__)
    takes.add_argument("--space", default="minilm", help="name or path of a word space")
    takes.add_argument("--words", type=int, help="number of most frequent words (default: all)")
    takes.add_argument("--steps", type=int, default=100, help="number of timed steps of the plain loop")
    args = takes.parse_args(argv)
    if args.steps < 1 or (args.words is not None and args.words < 2):
        takes.error("--steps must be at least 1, --words at least 2")
    print(line(measure(args.words, args.space, args.steps)))
    return 0
