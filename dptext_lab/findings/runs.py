"""Look up our rows by their settings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dptext_core.mechanisms.setting import Setting

from ..results import equal_privacy
from ..results.conditions import PAPER_POLICY
from ..results.curves import title
from ..results.differences import LEAST, PAIRED, Difference, Paired, full_options, half, value_text
from ..results.papers import PaperRow, paper_rows
from ..results.rows import BASELINE, Gate, Row


class Runs:
    """Our rows, by mechanism, data set, metric and options (any value for omitted options).

    paired: compares two rows text by text, if they store outcomes of texts. Between two rows with one seed each, the
    seeds' spread of other rows of that metric counts. policy: for unknown words. If a data set
    has rows with this policy, its other rows are excluded. Claims of papers are about the papers' variant.
    """

    def __init__(
        self,
        rows: Iterable[Row],
        gates: Iterable[Gate] = (),
        paired: Paired | None = None,
        policy: str = PAPER_POLICY,
    ):
        self.gates = list(gates)
        self._paired = PAIRED if paired is None else paired
        self._rows: dict[tuple[str, str], list[tuple[Row, dict[str, Any]]]] = {}
        self._points: dict[tuple, Row] = {}
        #: Variances over seeds by metric and data set, computed on first use.
        self._spreads: dict[str, dict[str, list[float]]] = {}
        every = [(row, full_options(row)) for row in rows if row.value is not None]
        chosen = {row.data for row, full in every if full.get("oov") == policy}
        for row, full in sorted(every, key=lambda pair: pair[0].epsilon or 0.0):
            if full.get("oov") in (None, policy) or row.data not in chosen:
                self._rows.setdefault((row.data, row.metric), []).append((row, full))
                self._points[row.metric, *_point(row)] = row

    def compare(self, more: Row | None, less: Row | None, least: float | None = None) -> Difference | None:
        """Return the difference of two rows, ``more`` minus ``less``, or None if one is missing."""
        if more is None or less is None:
            return None
        smallest = LEAST.get(more.metric, 0.0) if least is None else least
        known = self._paired(more, less, self._seed_spread(more))
        if known is not None:
            wide = max(known.high - known.difference, known.difference - known.low)
            return Difference(known.difference, wide, known.p, smallest, more.metric, more.n or 0)
        wide = math.hypot(half(more), half(less))
        return Difference(more.value - less.value, wide, None, smallest, more.metric, min(more.n or 0, less.n or 0))

    def _seed_spread(self, row: Row) -> float:
        """Return the standard deviation of a metric over seeds, pooled over rows with several seeds.

        They are rows of the same data set, or of all data sets if it has none, and 0 if no row has several seeds.
        """
        if row.metric not in self._spreads:
            variances: dict[str, list[float]] = {}
            for (data, metric), rows in self._rows.items():
                if metric == row.metric:
                    variances[data] = [float(np.var(r.runs, ddof=1)) for r, _ in rows if len(r.runs) > 1]
            self._spreads[row.metric] = variances
        by_data = self._spreads[row.metric]
        pooled = by_data.get(row.data) or [v for values in by_data.values() for v in values]
        return math.sqrt(sum(pooled) / len(pooled)) if pooled else 0.0

    def share_lost(self, base: Row, row: Row, guess: float) -> tuple[float, float]:
        """Return the share lost of the score of unprotected text above guessing, and half of its 95% interval."""
        above = base.value - guess
        share = share_lost(row.value, base.value, guess)
        if (known := self._paired(base, row, self._seed_spread(row))) is not None:
            return share, math.hypot((known.high - known.low) / 2, share * half(base)) / above
        # Error propagation for (w − s)/(w − g), through both scores.
        return share, math.hypot(half(row), half(base) * (row.value - guess) / above) / above

    def find(self, data: str, metric: str, mechanism: str | None = None, **options: Any) -> list[Row]:
        """Return rows in the order of ε. Defaults are filled in before options are compared."""
        return [
            row
            for row, filled in self._rows.get((data, metric), [])
            if mechanism in (None, row.mechanism) and all(filled.get(k) == v for k, v in options.items())
        ]

    def one(self, data: str, metric: str, mechanism: str, epsilon: float | None = None, **options: Any) -> Row | None:
        """Return the only such row at this ε, or None if there is none or more than one."""
        rows = [row for row in self.find(data, metric, mechanism, **options) if row.epsilon == epsilon]
        return rows[0] if len(rows) == 1 else None

    def lines(self, data: str, metric: str, mechanism: str | None = None) -> list[list[Row]]:
        """Return groups of at least two rows that differ in ε only, in the order of ε."""
        groups: dict[str, list[Row]] = {}
        for row in self.find(data, metric, mechanism):
            if row.epsilon is not None:
                groups.setdefault(row.setting.key(), []).append(row)
        return [line for line in groups.values() if len(line) > 1]

    def at_same_point(self, row: Row, metric: str) -> Row | None:
        """Return the row of another metric at the same point."""
        return self._points.get((metric, *_point(row)))

    def at_same_points(self, rows: Iterable[Row], *metrics: str) -> list[Row]:
        """Return the rows of other metrics at the points of these rows."""
        found = (self.at_same_point(row, metric) for row in rows for metric in metrics)
        return [row for row in found if row is not None]

    def near_n_w(self, data: str, metric: str, n_w: float, within: float) -> list[Row]:
        """Return, for each setting, the row with the measured N_w nearest to ``n_w``, if it is within ``within``."""
        best: dict[Setting, tuple[float, Row]] = {}
        for row in self.find(data, metric):
            n_w_row = self.at_same_point(row, "n_w")
            if row.mechanism != BASELINE and n_w_row is not None and (off := abs(n_w_row.value - n_w)) <= within:
                which = row.setting.at(None)
                best[which] = min(best.get(which, (off, row)), (off, row), key=lambda pair: pair[0])
        return [row for _, row in best.values()]


def bundled_runs(what: str, policy: str = PAPER_POLICY) -> Runs:
    """Return the bundled rows of points at equal privacy ("equal") or of single lists ("lists"), if any."""
    points = equal_privacy.bundled(what)
    return Runs(()) if points is None else Runs(points.rows, points.gates, policy=policy)


def _point(row: Row) -> tuple:
    return row.data, row.setting


def per_epsilon(rows: Sequence[Row]) -> str:
    return ", ".join(f"ε {row.epsilon:g}: {value_text(row)}" for row in rows)


def title_with_noise(row: Row | PaperRow) -> str:
    """Return the noise's title, with TEM's window if it is not the paper's."""
    noise, gamma = row.options.get("noise"), row.options.get("gamma")
    parts = [title(row.mechanism), *([noise] if noise else []), *([] if gamma is None else [f"γ = {gamma:g}"])]
    return ", ".join(parts)


def paper_values(
    paper: str, table: str, data: str, mechanism: str | None, metric: str, **options: Any
) -> list[tuple[float, PaperRow]]:
    """Return (value on our scale, row) of one table of a paper, in its order."""
    return [
        (row.value * row.scale, row)
        for row in paper_rows(data, mechanism, metric)
        if (row.paper, row.table) == (paper, table)
        and row.value is not None
        and all(row.options.get(k) == v for k, v in options.items())
    ]


def paper_records(
    paper: str, table: str, data: str, mechanism: str | None, metric: str, **options: Any
) -> tuple[dict[str, Any], ...]:
    """Return the numbers of ``paper_values`` with the same arguments, for the rows of a claim."""
    return tuple(
        {
            "mechanism": row.mechanism,
            "options": row.setting.described(),
            "ε": row.epsilon,
            "data": row.data,
            "metric": row.metric,
            "value": value,
            "source": f"{paper}, {table}",
        }
        for value, row in paper_values(paper, table, data, mechanism, metric, **options)
    )


def trend(places: Sequence[float], rows: Sequence[Row], least: float) -> Difference:
    """Return the weighted least-squares slope of values over places. Shared texts only narrow its interval."""
    x, y = np.array(places, float), np.array([row.value for row in rows])
    weight = 1 / np.maximum([half(row) for row in rows], 1e-9) ** 2
    off = x - (weight * x).sum() / weight.sum()
    spread = float((weight * off**2).sum())
    return Difference(float((weight * off * y).sum()) / spread, 1 / math.sqrt(spread), None, least, rows[0].metric)


def share_lost(score: float, whole: float, guess: float) -> float:
    """Return the share lost of the score of unprotected text above guessing (0: nothing, 1: all)."""
    return (whole - score) / (whole - guess)
