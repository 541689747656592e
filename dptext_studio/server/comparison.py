"""Several settings side by side on one text: the request and its results."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import dptext_core as dpt
from dptext_core.measure.ledger import Ledger
from dptext_core.mechanisms import recommended
from dptext_core.mechanisms.setting import SettingFields
from dptext_core.support.private import Private

from ..figures import side_by_side
from .rewrite_cache import Draw, RewriteCache, ViewedRewrite
from .runs import Run

#: A search ends this close to the requested N_w: closer than anyone can see.
NEAR = 0.002


@dataclass(frozen=True)
class Column(SettingFields):
    """One setting on the page, without ε if the shared target determines it."""

    id: int
    setting: dpt.Setting

    @property
    def title(self) -> str:
        return recommended.label(self.setting)


@dataclass(frozen=True)
class ComparisonRequest(Private):
    """The settings to compare. target: what is equal for all, and its value. draw: the number of redraws."""

    text: str
    columns: tuple[Column, ...]
    target: tuple[str, float] | None
    draw: int

    _shown: ClassVar[tuple[str, ...]] = ("columns", "target")


@dataclass(frozen=True)
class ColumnOutcome(Private):
    """The result of a column. figures: over the words that all columns sample. error: why there is no rewrite, if so.
    """

    epsilon: float | None = None
    viewed_rewrite: ViewedRewrite | None = None
    figures: side_by_side.Figures | None = None
    error: str = ""

    _shown: ClassVar[tuple[str, ...]] = ("epsilon", "error")


def rewrites(
    asked: ComparisonRequest, kept: RewriteCache, run: Run | None, ledger: Ledger, edited: str | None, task: dpt.Task
) -> list[ColumnOutcome]:
    """Return the result of each column.

    It reuses kept draws and those of Explore's run. edited: the previous version of an edited text, whose noise is kept
    unless the ledger records it as released.
    """
    of = len(asked.columns)
    begun, known = time.monotonic(), any(text == asked.text for text, *_ in kept.draws)
    ready = all(map(_ready, asked.columns))
    draws: list[Draw | str] = []
    for c in asked.columns:
        try:
            draws.append(kept.draw(asked.text, c.setting, run, task, ledger=ledger, edited=edited))
        except dpt.Cancelled:
            raise
        except dpt.DPTextError as error:
            draws.append(str(error))
        task.report(len(draws), 3 * of)
    epsilons = _epsilons(asked, draws, task.child(1, 2, 3))
    found: list[ColumnOutcome] = []
    for draw, epsilon in zip(draws, epsilons, strict=True):
        found.append(_outcome(kept, draw, epsilon, task))
        task.report(2 * of + len(found), 3 * of)
    common = side_by_side.drawn_by_all([o.viewed_rewrite.result for o in found if o.viewed_rewrite is not None])
    found = [
        dataclasses.replace(o, figures=side_by_side.figures(o.viewed_rewrite.result, common)) if o.viewed_rewrite else o
        for o in found
    ]
    if not known:
        kept.seconds = time.monotonic() - begun if ready else None  # a model is loaded once
    return found


def _ready(column: Column) -> bool:
    """Return True if it needs no model to be loaded."""
    try:
        return column.setting.make().model_ready
    except dpt.DPTextError:  # shown in place of its rewrite
        return True


def _outcome(kept: RewriteCache, draw: Draw | str, epsilon: float | str, task: dpt.Task) -> ColumnOutcome:
    if isinstance(draw, str) or isinstance(epsilon, str):
        return ColumnOutcome(error=draw if isinstance(draw, str) else str(epsilon))
    try:
        return ColumnOutcome(epsilon, kept.look(draw, epsilon, task))
    except dpt.Cancelled:
        raise
    except dpt.DPTextError as error:
        return ColumnOutcome(epsilon, error=str(error))


def _epsilons(asked: ComparisonRequest, draws: Sequence[Draw | str], task: dpt.Task) -> list[float | str]:
    """Return the ε of each column, or why it has none."""
    if asked.target is None:
        return [c.epsilon or 1.0 for c in asked.columns]
    kind, value = asked.target
    if kind == "epsilon":
        return [value] * len(draws)
    able = [d for d in draws if not isinstance(d, str)]
    if not able:
        return [""] * len(draws)
    try:
        points = dpt.equal_privacy(
            [d.mechanism for d in able],
            {kind: value},
            text=[d.prepared for d in able],
            tolerance=NEAR,
            task=task,
        )
    except dpt.Cancelled:
        raise
    except dpt.DPTextError as error:  # for example if they share no sampled word
        return [str(error)] * len(draws)
    of: list[float | str] = [c.reason if c.epsilon is None else c.epsilon for c in points]
    return ["" if isinstance(d, str) else of.pop(0) for d in draws]
