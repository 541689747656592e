"""Peak memory of rewriting 1,000 words: Table 5 of the 1-Diffractor paper, for every word-level mechanism.

Python's tracemalloc, which includes NumPy arrays, measures the peak above the memory before the rewrite. The tables of
a mechanism (vectors, lists, groups) are loaded first, as in the paper, and do not count. The words are sampled from the
vocabulary and form texts of 20. The paper uses memory-profiler, which measures the whole process.

    python -m dptext_core bench memory --out assets/benchmarks/memory.json
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Sequence

import numpy as np

from dptext_core.measure.metrics.registry import measure as measure_of
from dptext_core.mechanisms.capabilities import by_word
from dptext_core.mechanisms.registry import get_mechanism, mechanism_class
from dptext_core.mechanisms.setting import Setting

from ..measurements.deniability import configurations
from ..results.memory import MEASUREMENT
from ..results.rows import Row
from ..runner.options import parser

WORDS, TEXT = 1000, 20
MIB = 2**20


def measure(setting: Setting, words: int = WORDS) -> tuple[float, float]:
    """Return ε, and the peak MiB of rewriting these words at it."""
    epsilon = mechanism_class(setting.mechanism).epsilon_range(setting.options)[2]
    mechanism = get_mechanism(setting.mechanism, epsilon=epsilon, keep_stopwords=False, **setting.options)
    vocabulary = by_word(mechanism).vocabulary.words
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


def _row(setting: Setting, mib: float) -> Row:
    metric = measure_of("mib_per_1000_words")
    return Row(setting, "vocabulary", metric.task, metric.name, round(mib, 3), None, None, WORDS, 1, "")


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench memory``."""
    args = parser("memory", __doc__, "space", "out").parse_args(argv)
    rows = []
    for setting in configurations([args.space]):
        epsilon, taken = measure(setting)
        values = [v for v in setting.options.values() if v is not None]
        label = ", ".join("+".join(v) if isinstance(v, tuple) else str(v) for v in values)
        print(f"{setting.mechanism:13s} {label:15s} ε {epsilon:<6g} {taken:8.1f} MiB for {WORDS:,} words")
        rows.append(_row(setting.at(epsilon), taken))
    MEASUREMENT.write(args.out, rows, MEASUREMENT.about(words=WORDS))
    return 0
