"""The strongest attacker's success as rows of results, from the bundled measurements, for boards and curves.

There are two measures, which must not be mixed:

* ``attack_best``: the strongest of all attackers on single words, including the contextual one, on the same rewrites
  (``bench reader``);
* ``attack_best_few``: the strongest of the attackers at every point of the grid: same word (N_w), Bayes-optimal guess
  if it has a formula, and language model. It has a separate name, because the contextual attacker may recover more.

Systems without aligned words have neither. For them, ``attack_two_texts`` is how often a rewrite is distinguished from
one of another text.

``attacks.best`` decides which attacker is strongest, and the intervals are widened for this choice as there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np

from dptext_core.attacks import best
from dptext_core.attacks.two_texts import DISTANCES, success
from dptext_core.mechanisms.setting import Setting
from dptext_core.support.statistics import NORMAL

from . import reader, two_texts
from .papers import PaperRow
from .rows import BASELINE, Row, six_digits
from .summary import Results

#: Metrics of the grid's attackers by name.
GRID_ATTACKERS = {"same-word": "n_w", "best-guess": "attack_bayes", "language-model": "attack_mask"}
BEST, BEST_FEW, TWO_TEXTS = "attack_best", "attack_best_few", "attack_two_texts"


def of_reader(reader_rows: Iterable[reader.ReaderRow] | None = None) -> Results:
    """Return rows of ``attack_reader`` and ``attack_best``. reader_rows: the bundled ones by default."""
    rows = []
    for f in reader.bundled() if reader_rows is None else reader_rows:
        setting = Setting(f.mechanism, f.options, f.epsilon).ordered()
        value = six_digits(getattr(f, reader.COLUMNS[f.best]))
        low, high = min(six_digits(f.best_low), value), max(six_digits(f.best_high), value)
        rows.append(Row(setting, f.data, "deniability", BEST, value, low, high, f.words, 1, ""))
        rows.append(
            Row(setting, f.data, "deniability", "attack_reader", six_digits(f.reader), None, None, f.words, 1, "")
        )
    version = reader.MEASUREMENT.whole().get("about", {}).get("version") if reader_rows is None else None
    return Results({} if version is None else {"version": version}, (), tuple(rows))


@lru_cache(maxsize=8)
def with_attackers(results: Results) -> Results:
    """Return the results with rows of ``attack_best_few`` and ``attack_two_texts`` for the measured settings."""
    few = (row for row, _ in _strongest_of_grid(results).values())
    return Results(results.about, results.gates, (*results.rows, *few, *of_two_texts(results)))


def of_two_texts(results: Results, pairs: Iterable[two_texts.TwoTextsRow] | None = None) -> list[Row]:
    """Return rows of ``attack_two_texts`` for every data set of a setting.

    They all come from the bundled pair of texts that differ in one word. pairs: the bundled ones by default."""
    measured = two_texts.bundled() if pairs is None else pairs
    of = {(t.mechanism, t.epsilon): t for t in measured if t.distance == DISTANCES[0]}
    out: dict[tuple[Setting, str], Row] = {}
    for row in results.rows:
        t = of.get((row.mechanism, row.epsilon or 0.0))
        if t is None or (row.setting, row.data) in out or row.setting.full() != Setting(t.mechanism).full():
            continue
        value, low, high = (six_digits(success(x)) for x in (t.advantage, t.low, t.high))
        at = row.setting, row.data
        out[at] = Row(*at, "deniability", TWO_TEXTS, value, min(low, value), max(high, value), t.draws, 1, row.point)
    return list(out.values())


@lru_cache(maxsize=8)
def _strongest_of_grid(results: Results) -> Mapping[tuple[Setting, str], tuple[Row, str]]:
    """Return the strongest attacker and its row, by setting and data set."""
    from scipy.special import ndtri

    together: dict[tuple[Setting, str], dict[str, Row]] = {}
    names = {metric: name for name, metric in GRID_ATTACKERS.items()}
    for row in results.rows:
        if row.metric in names and row.mechanism != BASELINE:
            together.setdefault((row.setting, row.data), {})[names[row.metric]] = row
    out = {}
    for at, rows in together.items():
        if "language-model" not in rows or "same-word" not in rows:
            continue
        name = best.strongest({n: rows[n].value for n in GRID_ATTACKERS if n in rows})
        wider = float(ndtri(1 - (1 - best.CONFIDENCE) / 2 / len(rows))) / NORMAL
        ends = np.array(
            [
                (r.value - wider * (r.value - r.low), r.value + wider * (r.high - r.value))
                for r in rows.values()
                if r.low is not None and r.high is not None
            ]
        )
        top = rows[name]
        low: float | None = None
        high: float | None = None
        if len(ends) == len(rows):
            of_all = np.clip(ends.max(axis=0), 0, 1).tolist()
            low, high = min(six_digits(of_all[0]), top.value), max(six_digits(of_all[1]), top.value)
        row = Row(top.setting, top.data, "deniability", BEST_FEW, top.value, low, high, top.n, 1, top.point)
        out[at] = row, name
    return out


def strongest_at(results: Results, row: Row | PaperRow) -> str:
    """Return the title of the strongest attacker of ``FEW`` at the setting of a row, or "" if not measured."""
    strongest = _strongest_of_grid(results).get((row.setting, row.data))
    return "" if strongest is None else best.title(strongest[1])


def strongest_attacker(mechanism: str, epsilon: float, data: str) -> str:
    """Return the title of the strongest attacker of a bundled setting, or "" if not measured."""
    wanted = (data, mechanism, epsilon)
    return next((best.title(f.best) for f in reader.bundled() if (f.data, f.mechanism, f.epsilon) == wanted), "")
