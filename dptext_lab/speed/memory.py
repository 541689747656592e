"""Peak memory of rewriting words: Table 5 and Figure 7 of the 1-Diffractor paper, for every word-level mechanism.

Python's tracemalloc, which includes NumPy arrays, measures the peak. The words are sampled from the vocabulary and form
texts of 20. For Table 5, the tables of a mechanism (vectors, lists, groups) are loaded first and do not count. For
Figure 7, they count: a fresh process loads them and rewrites 10 to 10,000 words. The paper uses memory-profiler, which
measures the whole process, and extrapolates Figure 7 from Table 5.

    python -m dptext_core bench memory --out assets/benchmarks/memory.json
"""

from __future__ import annotations

import gc
import multiprocessing
import tracemalloc
from collections.abc import Sequence

import numpy as np

from dptext_core.measure.metrics.registry import measure as measure_of
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.capabilities import by_word
from dptext_core.mechanisms.registry import get_mechanism, mechanism_class
from dptext_core.mechanisms.setting import Setting

from ..measurements.deniability import configurations
from ..results.memory import MEASUREMENT, TABLE_5, WITH_TABLES
from ..results.rows import Row
from ..runner.options import parser

WORDS, TEXT = 1000, 20
#: Numbers of words with tables.
COUNTS = (10, 100, 1_000, 10_000)
MIB = 2**20


def _default_epsilon(setting: Setting) -> float:
    return mechanism_class(setting.mechanism).epsilon_range(setting.options)[2]


def _mechanism(setting: Setting) -> Mechanism:
    epsilon = _default_epsilon(setting)
    return get_mechanism(setting.mechanism, epsilon=epsilon, keep_stopwords=False, **setting.options)


def _texts(mechanism: Mechanism, words: int) -> list[str]:
    """Return texts of words from the vocabulary, all different if it has as many."""
    vocabulary = by_word(mechanism).vocabulary.words
    order = np.resize(np.random.default_rng(1).permutation(len(vocabulary)), words)
    chosen = [vocabulary[i] for i in order]
    return [" ".join(chosen[i : i + TEXT]) for i in range(0, len(chosen), TEXT)]


def measure(setting: Setting, words: int = WORDS) -> tuple[float, float]:
    """Return ε, and the peak MiB of rewriting these words at it, without tables."""
    mechanism = _mechanism(setting)
    texts = _texts(mechanism, words)
    mechanism.rewrite(texts[0])
    gc.collect()
    tracemalloc.start()
    try:
        mechanism.rewrite(texts)
        return _default_epsilon(setting), tracemalloc.get_traced_memory()[1] / MIB
    finally:
        tracemalloc.stop()


def measure_with_tables(setting: Setting, words: int) -> float:
    """Return the peak MiB of rewriting these words, with the tables that are loaded before.

    Other mechanisms and earlier rewrites of the process may share tables and caches, so only a fresh process counts
    everything. Memory that is released after loading, and files that are mapped into memory, do not count.
    """
    gc.collect()
    tracemalloc.start()
    try:
        mechanism = _mechanism(setting)
        texts = _texts(mechanism, words)
        mechanism.rewrite(texts[0].split()[0])
        gc.collect()
        tracemalloc.reset_peak()
        mechanism.rewrite(texts)
        return tracemalloc.get_traced_memory()[1] / MIB
    finally:
        tracemalloc.stop()


def _rows(setting: Setting) -> list[Row]:
    """Return the rows of one setting, and print them."""
    epsilon, mib = measure(setting)
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as fresh:
        peaks = [fresh.apply(measure_with_tables, (setting, count)) for count in COUNTS]
    values = [v for v in setting.options.values() if v is not None]
    label = ", ".join("+".join(v) if isinstance(v, tuple) else str(v) for v in values)
    with_tables = ", ".join(f"{peak:.1f} for {count:,}" for count, peak in zip(COUNTS, peaks, strict=True))
    measured = f"{mib:8.1f} MiB for {WORDS:,} words; with tables: {with_tables}"
    print(f"{setting.mechanism:13s} {label:15s} ε {epsilon:<6g} {measured}")
    setting = setting.at(epsilon)
    return [_row(setting, TABLE_5, WORDS, mib)] + [
        _row(setting, WITH_TABLES, count, peak) for count, peak in zip(COUNTS, peaks, strict=True)
    ]


def _row(setting: Setting, metric: str, words: int, mib: float) -> Row:
    task = measure_of(metric).task
    return Row(setting, "vocabulary", task, metric, round(mib, 3), None, None, words, 1, "")


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench memory``."""
    args = parser("memory", __doc__, "space", "out").parse_args(argv)
    rows = [row for setting in configurations([args.space]) for row in _rows(setting)]
    MEASUREMENT.write(args.out, rows, MEASUREMENT.about(words=WORDS))
    return 0
