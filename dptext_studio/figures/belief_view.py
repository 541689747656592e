"""An optimal reader's belief about one fact at every ε, as plain JSON for the browser.

The posterior is exact at the points of ε and at the slider's resting ε; between two points the browser interpolates the
log-odds. The data contain the private fact, so they are for the author's screen only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import numpy as np

from dptext_core.attacks.belief import Belief, BeliefQuestion
from dptext_core.errors import NoDistribution
from dptext_core.mechanisms.base import Mechanism, Prepared
from dptext_core.mechanisms.likelihood import require_likelihood
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support.task import UNWATCHED, Task

#: The number of points of ε; the second value applies if each release takes long to score, as for whole sentences.
POINTS, POINTS_SLOW = 28, 14
#: ln of an impossible event: JSON has no −inf.
FLOOR = -1e4


class BeliefAt(TypedDict):
    """The belief at one ε.

    ``eps``: that ε. ``log``: ln of the posterior of each word. ``ceiling``: the largest posterior that the guarantee
    allows each.
    """

    eps: float
    log: list[float]
    ceiling: list[float]


class BeliefView(TypedDict):
    """A reader's belief about one fact.

    ``fact``: the fact, "" if none is chosen. ``tokens``: the tokens of this fact. ``why``: why there is no belief about
    it. ``words``: the alternatives, the original first; missing until they are known. ``prior``: of each word.
    ``points``: at ascending ε. ``covered``: whether the guarantee compares each word with the original; without a
    guarantee, no word is covered.

    ``now``: the belief at the slider's resting ε. ``draws``: how many draws the guarantee counts together, 0 if it
    counts each word separately. ``first``: set if only that many of the alternatives are used.
    """

    fact: str
    tokens: list[int]
    why: NotRequired[str]
    words: NotRequired[list[str]]
    prior: NotRequired[list[float]]
    points: NotRequired[list[BeliefAt]]
    covered: NotRequired[list[bool]]
    now: NotRequired[BeliefAt]
    draws: NotRequired[int]
    first: NotRequired[int]


class Exactness(TypedDict):
    """The result of asking whether a mechanism has beliefs. ``why``: why it has none; "" if it has."""

    why: str


def exactness(mechanism: Mechanism) -> Exactness:
    """Return whether a mechanism states the probabilities of complete rewrites, and why it does not."""
    try:
        require_likelihood(mechanism)
    except NoDistribution as error:
        return {"why": str(error)}
    return {"why": ""}


def points(question: BeliefQuestion, low: float, high: float) -> np.ndarray:
    """Return the ε at which a belief is computed, ascending from ``low`` to ``high``."""
    chances = question.mechanism.likelihood
    slow = chances is not None and chances.states_pieces
    return np.geomspace(low, high, POINTS_SLOW if slow else POINTS)


def belief_curve(
    question: BeliefQuestion, text: Prepared, stream: NoiseStream, epsilons: Sequence[float], task: Task = UNWATCHED
) -> dict[float, Belief]:
    """Return the belief after the release of a text at each ε, all with the noise of one stream."""
    beliefs: dict[float, Belief] = {}
    for k, epsilon in enumerate(epsilons):
        task.report(k, len(epsilons))
        release = question.mechanism.replace(epsilon=epsilon).rewrite(text, stream=stream, task=task.quiet)
        beliefs[epsilon] = question.answer(release, task=task.quiet)
    return beliefs


def belief_view(
    question: BeliefQuestion, curve: Mapping[float, Belief], tokens: Sequence[int], now: tuple[float, Belief]
) -> BeliefView:
    """Return the browser's data of a belief.

    Parameters
    ----------
    question, curve
        The question, and the belief at each point of ε.
    tokens
        The tokens that are the fact.
    now
        The ε where the slider rests, and the belief about the release on the page.
    """
    rows = dict(sorted(curve.items()))
    covered = np.all([b.is_covered for b in rows.values()], axis=0)
    release = now[1].releases[0][0]
    return {
        "fact": question.alternatives[0],
        "tokens": list(tokens),
        "words": list(question.alternatives),
        "prior": [round(float(p), 6) for p in question.prior],
        "points": [_at(epsilon, belief) for epsilon, belief in rows.items()],
        "covered": covered.tolist(),
        "now": _at(*now),
        "draws": 0 if question.mechanism.by_word is not None else sum(u.is_sampled for u in release.units),
    }


def _at(epsilon: float, belief: Belief) -> BeliefAt:
    with np.errstate(divide="ignore"):
        log = np.maximum(np.log(belief.posterior), FLOOR)
    return {"eps": float(epsilon), "log": log.round(6).tolist(), "ceiling": belief.ceiling.round(6).tolist()}
