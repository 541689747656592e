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
from ..privacy.numbers import percent
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult
from ..support.checks import check_whole_number, pluralize
from ..support.statistics import NORMAL, standard_error
from ..support.task import Task

if TYPE_CHECKING:
    from .belief import BeliefQuestion

#: Releases that estimate the expected success where it cannot be enumerated.
DRAWS = 64
#: Outcomes of several releases that are enumerated at most.
OUTCOMES = 1 << 18


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
            return f"Over all releases, such a reader is right {percent(self.value)} of the time."
        low, high = map(percent, self.interval)
        return (
            f"Over all releases, such a reader is right {percent(self.value)} of the time "
            f"(95% CI {low} to {high}, {pluralize(self.draws, 'release')})."
        )


def _log_likelihood(m: Mechanism, question: BeliefQuestion, seen: Sequence[RewriteResult], task: Task) -> np.ndarray:
    return require_likelihood(m).relative(question.prepared, seen, frames=question.frames, task=task.quiet)


def _posterior(log_likelihood: np.ndarray, weights: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        joint = log_likelihood + np.log(weights)
    if not np.isfinite(joint).any():
        raise InputError("None of these alternatives could have produced the release. Give the rewrite of this text.")
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
        tables = [_deciding_place(v, question) for v in variants]
        exact = [None if t is None else enumerate_success(t, question.prior, (1,))[1] for t in tables]
        found = tuple(e for e in exact if e is not None)
        if len(found) == len(exact):
            return found
        if many or require_likelihood(variants[0]).in_turn or require_likelihood(variants[0]).states_pieces:
            return None
    return tuple(
        _estimate_success(v, question, (1,), draws or DRAWS, stream, task.child(i, i + 1, len(variants)))[0]
        for i, v in enumerate(variants)
    )


def _deciding_place(m: Mechanism, question: BeliefQuestion) -> np.ndarray | None:
    """Return P(word | x_j), float64 (words, k), where all texts have one frame and at most one place decides."""
    frames, lengths = question.frames, {len(p.document.words) for p in question.prepared}
    decisive = require_likelihood(m).deciding_places(question.prepared)
    if decisive is None or not frames or len(lengths) > 1 or any(f.skeleton != frames[0].skeleton for f in frames):
        return None
    places = tuple(decisive[lengths.pop()])
    if not places:
        return np.ones((1, len(frames)))
    # At more than one place, places may share the draw.
    if len(places) > 1 or any(f.steps[places[0]].action != "replace" for f in frames):
        return None
    tables = [m.distribution(p, places[0]) for p in question.prepared]
    if any(t.draws is not None for t in tables):
        return None
    if all(t.candidates is tables[0].candidates for t in tables):
        return np.stack([t.probs for t in tables], axis=1)
    index: dict[str, int] = {}
    at = [[index.setdefault(word, len(index)) for word in t.candidates] for t in tables]
    found = np.zeros((len(index), len(tables)))
    for j, (where, t) in enumerate(zip(at, tables, strict=True)):
        np.add.at(found[:, j], where, t.probs)
    return found


def enumerate_success(
    table: np.ndarray, prior: np.ndarray, releases: Sequence[int], most: int = OUTCOMES
) -> dict[int, ExpectedSuccess]:
    """Return Σ_z max_j π_j·Π P(z_r | x_j) over all outcomes z of so many independent releases.

    Parameters
    ----------
    table : ndarray
        float64 (outcomes, k): the probability of each outcome of one release under each alternative.
    prior : ndarray
        float64 (k,).
    releases : sequence of int
        Numbers of releases, from 1. Those with too many outcomes are left out.
    most : int
        Outcomes at most. Outcomes with the same posterior count as one.
    """
    one = _merge(table)
    rows, found = one, {}
    for r in range(1, max(releases) + 1):
        if r > 1:
            if len(rows) * len(one) > most:
                break
            rows = _merge((rows[:, None, :] * one[None]).reshape(-1, len(prior)))
        if r in releases:
            found[r] = ExpectedSuccess(math.fsum((rows * prior).max(axis=1)), 0.0, 0)
    return found


def _merge(rows: np.ndarray) -> np.ndarray:
    """Add up rows that are multiples of each other, which lead to the same posterior whatever is released next."""
    rows = rows[rows.sum(axis=1) > 0]
    totals = rows.sum(axis=1)
    directions, at = np.unique(np.round(rows / totals[:, None], 12), axis=0, return_inverse=True)
    return directions * np.bincount(at.ravel(), totals)[:, None]


def success_by_releases(
    m: Mechanism,
    question: BeliefQuestion,
    releases: Sequence[int],
    draws: int,
    stream: NoiseStream,
    task: Task,
) -> tuple[ExpectedSuccess, ...]:
    """Return how often a reader of several independent releases is right, for each number of them.

    Enumerated where one sampled place decides and there are few outcomes, else estimated from ``draws`` texts, each
    rewritten as often as the largest of ``releases`` says.
    """
    table = _deciding_place(m, question)
    exact = {} if table is None else enumerate_success(table, question.prior, releases)
    missing = [r for r in releases if r not in exact]
    if missing:
        exact |= zip(missing, _estimate_success(m, question, missing, draws, stream, task), strict=True)
    return tuple(exact[r] for r in releases)


def _estimate_success(
    m: Mechanism, question: BeliefQuestion, releases: Sequence[int], draws: int, stream: NoiseStream, task: Task
) -> list[ExpectedSuccess]:
    """Estimate the same: alternatives in proportion to the prior, max_j q_j after so many releases averaged."""
    weights, most = question.prior, max(releases)
    uniforms = stream.at("belief").words(draws) / 2.0**64
    places = np.minimum(np.searchsorted(np.cumsum(weights), uniforms, side="right"), np.flatnonzero(weights)[-1])
    chosen = np.bincount(places, minlength=len(weights))
    seen: list[RewriteResult] = []
    for j, n in enumerate(chosen.tolist()):
        if n:
            seen += m.rewrites(question.prepared[j], n * most, stream=stream.at("belief", j), task=task.quiet)
    # All releases in one call: what the mechanism states of a text is worked out once.
    log = _log_likelihood(m, question, seen, task).reshape(len(weights), draws, most).cumsum(axis=2)
    values = [[float(_posterior(log[:, b, r - 1], weights).max()) for b in range(draws)] for r in releases]
    task.report(1, 1)
    return [ExpectedSuccess(float(np.mean(own)), standard_error(own) or 0.0, draws) for own in values]
