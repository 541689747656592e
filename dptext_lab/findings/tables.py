"""Tables of the findings as CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dptext_core.text.cells import to_csv

from ..results.equal_privacy import command
from ..results.latex import tabular
from ..results.rows import Row
from .base import ClaimOutcome
from .verdicts import ClaimFinding

COLUMNS = (
    "paper",
    "place",
    "quote",
    "claim",
    "test",
    "expected",
    "smallest effect",
    "verdict",
    "effect",
    "numbers",
    "contradiction",
    "what would change it",
    "what would measure it",
)


def as_csv(findings: Sequence[ClaimFinding]) -> str:
    """Return every claim with its test, numbers and verdict, one per line."""
    rows = [
        (
            f.of.paper,
            f.of.place,
            f.of.quote,
            f.of.claim,
            f.of.test.quantity,
            f.of.test.direction,
            f.of.test.least,
            f.verdict,
            f.effect,
            " ".join(f.numbers),
            f.itself,
            f.of.turns,
            f.missing,
        )
        for f in findings
    ]
    return to_csv([dict(zip(COLUMNS, row, strict=True)) for row in rows])


def as_latex(findings: Sequence[ClaimFinding]) -> str:
    """Return paper, claim, verdict and effect as a LaTeX table."""
    columns = (("Paper", "l"), ("Claim", "p{0.5\\linewidth}"), ("Verdict", "l"), ("Effect", "p{0.2\\linewidth}"))
    rows = [(f.of.paper, f.of.claim, f.verdict, f.effect) for f in findings]
    caption = "Claims, decided by tests written before the results. Comparisons are corrected by Holm's method."
    return tabular(columns, rows, caption, "tab:claims")


def listing(outcome: ClaimOutcome) -> list[dict[str, Any]]:
    """Return the values behind an outcome: its rows with the command that measures each again, and its records.

    Columns that are empty in all rows are left out.
    """
    rows = [*map(_values, outcome.rows), *map(dict, outcome.records)]
    filled = {name for row in rows for name, value in row.items() if value not in ("", None)}
    return [{name: value for name, value in row.items() if name in filled} for row in rows]


def _values(row: Row) -> dict[str, Any]:
    return {
        "mechanism": row.mechanism,
        "options": row.setting.described(),
        "ε": row.epsilon,
        "data": row.data,
        "metric": row.metric,
        "value": row.value,
        "low": row.low,
        "high": row.high,
        "n": row.n,
        "seeds": row.seeds,
        "point": row.point,
        "again": command(row),
    }
