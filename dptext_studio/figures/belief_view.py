"""What the browser needs to show an optimal reader's belief about one fact at every ε, as plain JSON.

The posterior is exact at the points of ε and at the ε where the slider rests; between two points the browser
interpolates the log-odds. It states the private fact: for the author's screen only.
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

#: Points of ε; where each release takes long to score, of which a mechanism of whole sentences is an example.
POINTS, POINTS_SLOW = 28, 14
#: ln of what is impossible: JSON has no −inf.
FLOOR = -1e4


class BeliefAt(TypedDict):
    """The belief at one ε.

    ``eps``: that ε. ``log``: ln of the posterior of each word. ``ceiling``: what the guarantee allows for each.
    """

    eps: float
    log: list[float]
    ceiling: list[float]


class BeliefView(TypedDict):
    """What a reader believes about one fact.

    ``fact``: the fact, "" where none is chosen. ``tokens``: the tokens that are this fact. ``why``: why there is no
    belief about it. ``words``: the alternatives, the original first; missing as long as they are worked out. ``prior``:
    of each word. ``points``: at ascending ε. ``covered``: whether the guarantee compares each word with the original;
    without a guarantee, no word is covered.
    ``now``: the belief at the ε where the slider rests. ``draws``: how many draws the guarantee counts together, 0
    where it counts each word alone. ``first``: only so many of the alternatives that were named are used.
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
    """Whether a mechanism has beliefs. ``why``: why it has none; "" where it has."""

    why: str


def exactness(mechanism: Mechanism) -> Exactness:
    """Return whether a mechanism states how likely whole rewrites are, and why it does not."""
    try:
        require_likelihood(mechanism)
    except NoDistribution as error:
        return {"why": str(error)}
    return {"why": ""}


def points(question: BeliefQuestion, low: float, high: float) -> np.ndarray:
    """Return the values of ε at which a belief is worked out, ascending, from ``low`` to ``high``."""
    chances = question.mechanism.likelihood
    slow = chances is not None and chances.states_pieces
    return np.geomspace(low, high, POINTS_SLOW if slow else POINTS)


def belief_curve(
    question: BeliefQuestion, text: Prepared, stream: NoiseStream, epsilons: Sequence[float], task: Task = UNWATCHED
) -> dict[float, Belief]:
    """Return the belief after the release of a text at each ε, all of them with the noise of one stream."""
    found: dict[float, Belief] = {}
    for k, epsilon in enumerate(epsilons):
        task.report(k, len(epsilons))
        release = question.mechanism.replace(epsilon=epsilon).rewrite(text, stream=stream, task=task.quiet)
        found[epsilon] = question.answer(release, task=task.quiet)
    return found


def belief_view(
    question: BeliefQuestion, curve: Mapping[float, Belief], tokens: Sequence[int], now: tuple[float, Belief]
) -> BeliefView:
    """Return what the browser shows of a belief.

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
    covered = np.all([b.covered for b in rows.values()], axis=0)
    release = now[1].releases[0][0]
    return {
        "fact": question.alternatives[0],
        "tokens": list(tokens),
        "words": list(question.alternatives),
        "prior": [round(float(p), 6) for p in question.prior],
        "points": [_at(epsilon, belief) for epsilon, belief in rows.items()],
        "covered": covered.tolist(),
        "now": _at(*now),
        "draws": 0 if question.mechanism.by_word is not None else sum(u.drawn for u in release.units),
    }


def _at(epsilon: float, belief: Belief) -> BeliefAt:
    with np.errstate(divide="ignore"):
        log = np.maximum(np.log(belief.posterior), FLOOR)
    return {"eps": float(epsilon), "log": log.round(6).tolist(), "ceiling": belief.ceiling.round(6).tolist()}
