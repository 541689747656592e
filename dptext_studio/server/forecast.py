"""The guarantee of a data set before its rewrite: from its texts and a setting, without sampling."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dptext_core.data.records import FATAL, DatasetGuarantee, shared_draws, texts_of
from dptext_core.mechanisms.base import BATCH, Mechanism
from dptext_core.privacy.guarantee import Guarantee, Notion
from dptext_core.support.private import Private
from dptext_core.support.task import UNWATCHED, Task

#: The largest number of rows that are listed by number.
NAMED = 20


@dataclass(eq=False)
class DatasetForecast(Private):
    """The guarantee of a rewrite of a data set.

    guarantee: of the rows in which a draw spends ε. uncovered: the number of rows without such a draw, in which the
    guarantee protects nothing; named: the numbers from 1 of the first of these. failing: the number of rows that cannot
    be rewritten.
    """

    guarantee: DatasetGuarantee
    uncovered: int = 0
    named: list[int] = field(default_factory=list)
    failing: int = 0

    _shown = ("uncovered", "failing")

    def add(self, number: int, g: Guarantee | None) -> None:
        """Count the row with this number from 1; a row without a guarantee cannot be rewritten."""
        if g is None:
            self.failing += 1
        elif g.draws == 0 and g.notion is not Notion.NONE:
            self.uncovered += 1
            self.named += [number] * (len(self.named) < NAMED)
        else:
            self.guarantee.add(g)


def forecast(rows: Iterable[Any], m: Mechanism, column: str = "text", task: Task = UNWATCHED) -> DatasetForecast | None:
    """Return the guarantee of a rewrite of these rows; None if only the run can determine it.

    Raises ConfigError, ModelUnavailable, Cancelled.
    """
    draws = None
    if m.shares_draws:
        if m.in_parts is None:
            return None
        rows = list(rows)
        draws = len(shared_draws(rows, m, column, task) or ())
    summary, given, at = DatasetForecast(DatasetGuarantee(m.shares_draws)), iter(rows), 1
    while block := list(itertools.islice(given, BATCH)):
        task.check()
        texts, _, _ = texts_of(block, column)
        for i in range(len(block)):
            g = _guarantee(m, texts[i]) if i in texts else None
            if g is not None and g.draws and draws is not None and m.in_parts is not None:
                g = m.in_parts.with_draws(g, draws)
            summary.add(at + i, g)
        at += len(block)
    return summary


def _guarantee(m: Mechanism, text: str) -> Guarantee | None:
    """Return the guarantee of a text; None if it cannot be rewritten."""
    try:
        return m.guarantee(text)
    except FATAL:
        raise
    except Exception:  # as in a run, where the row becomes an error
        return None
