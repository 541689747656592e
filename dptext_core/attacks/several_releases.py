"""The optimal reader's belief after several releases of one text, and the limit that the guarantee sets for anyone.

Releases of one text with fresh noise are independent given the text, so the likelihoods of each alternative multiply,
and the losses that the guarantee allows add up.

:func:`certified_ceiling` needs no attack. For k alternatives with equal prior probabilities, a guess G of any reader of
an (ε, δ)-DP release has P(G = i | i) ≤ e^ε·P(G = i | j) + δ for every pair. Summed over i and j, it is right at most
(1 + δ·(k − 1)·e^−ε) / (1 + (k − 1)·e^−ε) of the time. Optimal composition gives an ε for every δ, and the least of
these bounds counts.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError
from ..mechanisms.likelihood import require_likelihood
from ..privacy.composition import optimal_epsilon
from ..privacy.guarantee import Guarantee
from ..privacy.kinds import Notion
from ..privacy.numbers import percent
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult
from ..support.checks import check_whole_number, pluralize
from ..support.private import Private
from ..support.task import UNWATCHED, Task
from .base import as_rewrites
from .belief import BeliefQuestion
from .expected_belief import DRAWS, ExpectedSuccess, success_by_releases

#: Default numbers of releases that a reader sees.
RELEASES = (1, 2, 4, 8)
#: Number of texts for the expected success if every likelihood needs a model pass.
DRAWS_SLOW = 12
#: Values of δ at which the guarantee is stated as (ε, δ)-DP; the best one counts.
_DELTAS = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7)


@dataclass(frozen=True, eq=False)
class SeveralReleases(Private):
    """The optimal reader's belief about one fact after 1, 2 or more releases of the same text.

    Attributes
    ----------
    alternatives : tuple of str
        The k possible values of the fact, the original first.
    prior : ndarray
        float64 (k,), the reader's belief before reading.
    releases : tuple of int
        How many releases the reader sees, one row for each.
    posterior : ndarray
        float64 (rows, k).
    ceiling : ndarray
        float64 (rows, k): the largest posterior of each alternative that the guarantee allows.
    is_covered : ndarray
        bool (k,): whether the guarantee compares the alternative with the original.
    expected_success : tuple of ExpectedSuccess
        How often the reader is right before anything is released, one for each row; empty if not requested.
    success_bounds : tuple of float
        For each row, how often any reader can be right about any fact with k alternatives, by the total guarantee.
    """

    alternatives: tuple[str, ...]
    prior: np.ndarray
    releases: tuple[int, ...]
    posterior: np.ndarray
    ceiling: np.ndarray
    is_covered: np.ndarray
    expected_success: tuple[ExpectedSuccess, ...]
    success_bounds: tuple[float, ...]

    _shown: ClassVar[tuple[str, ...]] = ("alternatives", "releases")

    def sentence(self) -> str:
        """Return in plain words how often the reader is right; empty if not requested."""
        if not self.expected_success:
            return ""
        shares = [f"{percent(e.value)} after {n:,}" for n, e in zip(self.releases, self.expected_success, strict=True)]
        before = percent(float(self.prior.max()))
        return f"The optimal reader is right {before} of the time without a release, {', '.join(shares)}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON. It contains the private fact, so it is for the owner alone."""
        return {
            "alternatives": list(self.alternatives),
            "prior": self.prior.tolist(),
            "releases": list(self.releases),
            "posterior": self.posterior.tolist(),
            "ceiling": self.ceiling.tolist(),
            "covered": self.is_covered.tolist(),
            "expected": [dataclasses.asdict(e) for e in self.expected_success],
            "certified": list(self.success_bounds),
        }


def several_releases(
    question: BeliefQuestion,
    seen: Sequence[RewriteResult],
    releases: Sequence[int] = RELEASES,
    *,
    draws: int | None = None,
    stream: NoiseStream | None = None,
    task: Task | None = None,
) -> SeveralReleases:
    """Return the optimal reader's belief after the first 1, 2 or more of several releases of one text.

    Parameters
    ----------
    question : BeliefQuestion
        The fact and its alternatives.
    seen : sequence of RewriteResult
        Releases of the text with independent noise, all at one ε.
    releases : sequence of int, optional
        How many of them the reader sees; at most as many as there are.
    draws : int, optional
        Number of texts for the expected success if it is not enumerated. Default: 64, or 12 if every likelihood needs a
        model pass. 0: no expected success.
    stream : NoiseStream, optional
        The noise of the estimate; by default, fresh noise.
    task : Task, optional
        Reports progress, and may cancel.

    Raises
    ------
    InputError
        There are too few releases, or some share their noise.
    """
    task = task or UNWATCHED
    rows, given = sorted({check_whole_number("a number of releases", r, least=1) for r in releases}), as_rewrites(seen)
    if not rows or len(given) < rows[-1]:
        raise InputError(f"Got only {pluralize(len(given), 'release')}. Give as many as the attacker sees.")
    if len({r.noise_id for r in given}) < len(given):
        raise InputError("Some of these releases share their noise. Give releases with fresh noise.")
    m, chances = question.mechanism, require_likelihood(question.mechanism)
    beliefs = [question.answer(given[:r], task=task.quiet) for r in rows]
    slow = chances.in_turn or chances.states_pieces
    n = (DRAWS_SLOW if slow else DRAWS) if draws is None else check_whole_number("draws", draws, least=0)
    expected = success_by_releases(m, question, rows, n, stream or NoiseStream(), task) if n else ()
    largest = max((m.guarantee(p) for p in question.prepared), key=_spending)
    return SeveralReleases(
        question.alternatives,
        question.prior,
        tuple(rows),
        np.array([b.posterior for b in beliefs]),
        np.array([b.ceiling for b in beliefs]),
        beliefs[0].is_covered,
        expected,
        tuple(certified_ceiling(largest, len(question.alternatives), r) for r in rows),
    )


def certified_ceiling(guarantee: Guarantee, k: int, releases: int = 1) -> float:
    """Return how often anyone can be right about any fact with k alternatives, by the total guarantee alone.

    It holds between texts that the guarantee compares, for alternatives with equal prior probabilities. A metric
    guarantee counts the largest distance of two words at every place. Returns 1 without such a distance, or without a
    guarantee.

    Parameters
    ----------
    guarantee : Guarantee
        Of one release.
    k : int
        The number of alternatives, including the original.
    releases : int
        The number of releases of the text, each with fresh noise.
    """
    k, releases = check_whole_number("k", k, least=1), check_whole_number("releases", releases, least=1)
    if guarantee.notion is Notion.NONE:
        return 1.0
    total = releases * guarantee.total
    if guarantee.notion is Notion.METRIC:
        return 1.0 if guarantee.largest is None else _bound(total * guarantee.largest, 0.0, k)
    bounds = [_bound(total, min(1.0, releases * guarantee.total_delta), k)]
    if guarantee.notion is Notion.PURE and bounds[0] < 1 and guarantee.draws:
        counts = Counter(guarantee.spent or {guarantee.epsilon: guarantee.draws})
        every = {e: n * releases for e, n in counts.items()}
        bounds += [_bound(optimal_epsilon(every, d, guarantee.bounded_range), d, k) for d in _DELTAS]
    return min(bounds)


def _spending(g: Guarantee) -> tuple[bool, float]:
    return g.notion is Notion.NONE, g.total


def _bound(epsilon: float, delta: float, k: int) -> float:
    others = (k - 1) * math.exp(-epsilon)
    return min(1.0, (1 + delta * others) / (1 + others))
