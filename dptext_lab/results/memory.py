"""Rows of `bench memory`: for 1,000 words without tables, and over the number of words with tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dptext_core.mechanisms.registry import title
from dptext_core.mechanisms.setting import Setting

from .measurement import Measurement
from .rows import Row

#: The mechanism whose memory Figure 7 compares with that of the others.
ONE_DIMENSIONAL = "diffractor"
TABLE_5, WITH_TABLES = "mib_per_1000_words", "mib_with_tables"
MEASUREMENT = Measurement("memory", Row, "memory.json")


def bundled() -> tuple[Row, ...]:
    """Return the bundled rows without tables, as in Table 5 of the 1-Diffractor paper."""
    return tuple(r for r in MEASUREMENT.bundled() if r.metric == TABLE_5)


def bundled_with_tables() -> tuple[Row, ...]:
    """Return the bundled rows with tables, as in Figure 7 of the 1-Diffractor paper; ``n`` is the number of words."""
    return tuple(r for r in MEASUREMENT.bundled() if r.metric == WITH_TABLES)


def labels(rows: Iterable[Row]) -> dict[Setting, str]:
    """Return a label for each setting: its mechanism, and the lists of 1-Diffractor."""
    return {
        r.setting: ", ".join([title(r.mechanism), *r.options.get("lists", ())]) for r in rows
    }


def num_words(row: Row) -> int:
    """Return the number of rewritten words of a row."""
    return row.n or 0


def crossover(rows: Iterable[Row], one: Setting, other: Setting) -> float | None:
    """Return the number of words from which ``one`` takes less memory than ``other``, or None if it never does.

    Memory is linear between two measured numbers of words. 0 means that ``one`` takes less from the first measured
    number of words.
    """
    by_setting = {s: {num_words(r): r.value for r in rows if r.setting == s} for s in (one, other)}
    counts = sorted(by_setting[one].keys() & by_setting[other].keys())
    gaps = [by_setting[other][n] - by_setting[one][n] for n in counts]
    if not counts or gaps[-1] <= 0:
        return None
    if min(gaps) > 0:
        return 0.0
    i = max(j for j, gap in enumerate(gaps) if gap <= 0)
    share = -gaps[i] / (gaps[i + 1] - gaps[i])
    return counts[i] + share * (counts[i + 1] - counts[i])


def crossovers(rows: Sequence[Row]) -> dict[str, dict[str, float | None]]:
    """Return, for each other mechanism and each setting of 1-Diffractor, their ``crossover``, all by label."""
    names = labels(rows)
    ours = {setting: label for setting, label in names.items() if setting.mechanism == ONE_DIMENSIONAL}
    return {
        label: {our_label: crossover(rows, setting, other) for setting, our_label in ours.items()}
        for other, label in names.items()
        if other not in ours
    }
