"""Estimate what a release will tell an attacker, before there is one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..mechanisms.base import Mechanism
from ..mechanisms.likelihood import require_likelihood
from ..privacy.distribution import logsumexp
from ..privacy.guarantee import percent
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult
from ..support.checks import check_whole_number
from ..support.statistics import NORMAL, standard_error
from ..support.task import Task

if TYPE_CHECKING:
    from .belief import BeliefQuestion

#: Releases that estimate the expected success where it cannot be enumerated.
DRAWS = 64


@dataclass(frozen=True)
class ExpectedSuccess:
    """How often the optimal reader is right before anything is released, on average over releases.

    value: Σ_z max_j π_j·P(z | x_j), or its estimate. standard_error: 0 where it was enumerated. draws: 0 likewise.
    """

    value: float
    standard_error: float
    draws: int

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the value (normal approximation)."""
        half = NORMAL * self.standard_error
        return max(0.0, self.value - half), min(1.0, self.value + half)

    def sentence(self) -> str:
        """Return the success in plain words, with its interval."""
        if not self.draws:
            return f"Over all releases such a reader is right {percent(self.value)} of the time."
        low, high = map(percent, self.interval)
        return (
            f"Over all releases such a reader is right {percent(self.value)} of the time "
            f"(95% CI {low} to {high}, {self.draws:,} releases)."
        )


def _log_likelihood(m: Mechanism, question: BeliefQuestion, seen: Sequence[RewriteResult], task: Task) -> np.ndarray:
    return require_likelihood(m).relative(question.prepared, seen, frames=question.frames, task=task.quiet)


def _posterior(log_likelihood: np.ndarray, weights: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        joint = log_likelihood + np.log(weights)
    if not np.isfinite(joint).any():
        raise InputError("None of these alternatives can have produced the release. Give the rewrite of this text.")
    return np.exp(joint - logsumexp(joint))


def expected_success(
    variants: Sequence[Mechanism],
    question: BeliefQuestion,
    draws: int | None,
    many: bool,
    stream: NoiseStream,
    task: Task,
) -> tuple[ExpectedSuccess, ...] | None:
    """Return the optimal reader's expected success under each variant: enumerated, or estimated from releases.

    Parameters
    ----------
    variants : sequence of Mechanism
        The question's mechanism at the ε that are wanted.
    question : BeliefQuestion
    draws : int or None
        Releases of each estimate. None: enumerate where possible, else estimate if that takes no model pass. 0: none.
    many : bool
        Whether an estimate is too slow because there are many variants.
    stream : NoiseStream
    task : Task

    Returns
    -------
    tuple of ExpectedSuccess or None
        None where nothing was asked for, or where an estimate would be too slow.
    """
    if draws is not None:
        draws = check_whole_number("draws", draws, least=0)
    if draws == 0:
        return None
    if draws is None:
        exact = [_enumerate_releases(v, question) for v in variants]
        found = tuple(e for e in exact if e is not None)
        if len(found) == len(exact):
            return found
        if many or require_likelihood(variants[0]).in_turn or require_likelihood(variants[0]).states_pieces:
            return None
    return tuple(
        _estimate_success(v, question, draws or DRAWS, stream, task.child(i, i + 1, len(variants)))
        for i, v in enumerate(variants)
    )


def _enumerate_releases(m: Mechanism, question: BeliefQuestion) -> ExpectedSuccess | None:
    """Return Σ_z max_j π_j·P(z | x_j) where all texts have one frame and one place decides; else None."""
    frames = question.frames
    if m.by_word is None or not frames or any(f.skeleton != frames[0].skeleton for f in frames):
        return None
    rows = [[w.casefold() for w in p.document.words] for p in question.prepared]
    places = [i for i, column in enumerate(zip(*rows, strict=True)) if len(set(column)) > 1]
    if len(places) != 1 or any(f.steps[places[0]].action != "replace" for f in frames):
        return None
    words = {row[places[0]] for row in rows}
    if any(w in words for row in rows for i, w in enumerate(row) if i != places[0]):
        return None  # another place may share the draw
    tables = [m.distribution(p, places[0]) for p in question.prepared]
    if any(t.draws is not None for t in tables):
        return None
    if all(t.candidates is tables[0].candidates for t in tables):
        joint = question.prior[:, None] * np.stack([t.probs for t in tables])
        return ExpectedSuccess(math.fsum(joint.max(axis=0).tolist()), 0.0, 0)
    best: dict[str, float] = {}
    for table, weight in zip(tables, question.prior, strict=True):
        for word, p in zip(table.candidates, table.probs.tolist(), strict=True):
            best[word] = max(best.get(word, 0.0), float(weight) * p)
    return ExpectedSuccess(math.fsum(best.values()), 0.0, 0)


def _estimate_success(
    m: Mechanism, question: BeliefQuestion, draws: int, stream: NoiseStream, task: Task
) -> ExpectedSuccess:
    """Estimate the same from releases: alternatives in proportion to the prior, each release's max_j q_j averaged."""
    weights = question.prior
    uniforms = stream.at("belief").words(draws) / 2.0**64
    places = np.minimum(np.searchsorted(np.cumsum(weights), uniforms, side="right"), np.flatnonzero(weights)[-1])
    chosen = np.bincount(places, minlength=len(weights))
    seen: list[RewriteResult] = []
    for j, n in enumerate(chosen.tolist()):
        if n:
            seen += m.rewrites(question.prepared[j], n, stream=stream.at("belief", j), task=task.quiet)
    # All releases in one call: what the mechanism states of a text is worked out once.
    log = _log_likelihood(m, question, seen, task)
    values = [float(_posterior(log[:, b], weights).max()) for b in range(draws)]
    task.report(1, 1)
    return ExpectedSuccess(float(np.mean(values)), standard_error(values) or 0.0, draws)
