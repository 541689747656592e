"""Memory that 1,000 words take while they are rewritten: Table 5 of the 1-Diffractor paper, for every word mechanism.

The most that is held at one time beyond what is held before, by Python's tracemalloc, which sees NumPy's arrays. The
tables of a mechanism (vectors, lists, groups) are loaded before, as in the paper, and do not count. The words are drawn
from the vocabulary and stand in texts of 20. The paper has memory-profiler, which sees the whole process.

    python -m dptext_core bench memory --out assets/benchmarks/memory.json
"""

from __future__ import annotations

import argparse
import gc
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..._internal import assets
from ..._internal.version import __version__
from ...measure.metrics.registry import measure as measure_of
from ...mechanisms.registry import mechanism_class
from ...mechanisms.words.word_level import word_mechanism
from ..deniability import configurations
from ..files import read_rows, write_rows
from ..rows import Row, listed

WORDS, TEXT = 1000, 20
MIB = 2**20


def measure(name: str, options: dict[str, Any], words: int = WORDS) -> tuple[float, float]:
    """ε, and MiB of rewriting so many words at it."""
    epsilon = mechanism_class(name).epsilon_range(options)[2]
    mechanism = word_mechanism(name, epsilon=epsilon, keep_stopwords=False, **options)
    vocabulary = mechanism.vocabulary.words
    chosen = [vocabulary[i] for i in np.random.default_rng(1).permutation(len(vocabulary))[:words]]
    texts = [" ".join(chosen[i : i + TEXT]) for i in range(0, len(chosen), TEXT)]
    mechanism.rewrite(texts[0])
    gc.collect()
    tracemalloc.start()
    try:
        mechanism.rewrite(texts)
        return epsilon, tracemalloc.get_traced_memory()[1] / MIB
    finally:
        tracemalloc.stop()


def bundled() -> tuple[Row, ...]:
    """The bundled rows (data "vocabulary"); none where the file is missing."""
    return assets.bundled("benchmarks/memory.json", read_rows, ())


def _row(name: str, options: dict[str, Any], epsilon: float, mib: float) -> Row:
    metric = measure_of("mib_per_1000_words")
    return Row(
        name, listed(options), epsilon, "vocabulary", metric.task, metric.name, round(mib, 3), None, None, WORDS, 1, ""
    )


def main(argv: Sequence[str] = ()) -> int:
    """The command ``bench memory``."""
    parser = argparse.ArgumentParser(prog="python -m dptext_core bench memory", description=__doc__.split("\n")[0])
    parser.add_argument("--space", default="minilm", metavar="NAME", help="the word space (default minilm)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the rows to this JSON file")
    args = parser.parse_args(argv)
    rows: list[dict[str, Any]] = []
    for name, options in configurations([args.space]):
        epsilon, taken = measure(name, options)
        label = ", ".join("+".join(v) if isinstance(v, tuple) else str(v) for v in options.values() if v is not None)
        print(f"{name:13s} {label:15s} ε {epsilon:<6g} {taken:8.1f} MiB for {WORDS:,} words")
        rows.append(_row(name, options, epsilon, taken).to_dict())
    if args.out:
        about = {"command": "python -m dptext_core bench memory", "version": __version__, "words": WORDS}
        write_rows(args.out, {"about": about, "rows": rows}, "mechanism")
    return 0
