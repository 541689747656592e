"""How each token of a rewrite was sampled, in a few steps with its own numbers, for the token view.

The steps are sentences of the mechanism (``Mechanism.steps``). Their numbers, and the scores before clipping, come from
the rewrite. They reveal the original words, so they are for the author's screen only.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict, cast

import numpy as np

from dptext_core.mechanisms.base import Mechanism, Prepared
from dptext_core.result import RewriteResult
from dptext_core.support.cache import cache_with

#: The number of bars in the figure of all scores of one word.
BARS = 40
#: The ends of scores s for which exp(ε·s) is ε-DP.
SCORES = (0.0, 0.5)


class ScoreSummary(TypedDict):
    """Scores of one token.

    ``bars``: how many candidates have a score in each of :data:`BARS` equal parts of the axis. ``tied``: how many
    scores are at or above the upper end of the range.
    """

    bars: list[int]
    tied: int


class MechanismSteps(TypedDict):
    """The steps of a rewrite.

    ``steps``: sentences with places for numbers. ``low``, ``high``: the clipping range of scores. ``axis``: the ends of
    the axis of scores before clipping. ``scale``: the length of noise of size 1 as a share of that axis. ``unit``: the
    same if the clipped scores alone determine ``s`` of the tokens; its end is ``high`` at ``s`` 0. ``scored``: for each
    token, None if nothing was scored. ``range``: the ends of all scores whose noise has size 1/ε, if the guarantee
    bounds them and they are not clipped model scores.
    """

    steps: list[str]
    low: NotRequired[float]
    high: NotRequired[float]
    axis: NotRequired[tuple[float, float]]
    scale: NotRequired[float]
    unit: NotRequired[float]
    scored: NotRequired[list[ScoreSummary | None]]
    range: NotRequired[tuple[float, float]]


def mechanism_steps(mechanism: Mechanism, prepared: Prepared, result: RewriteResult) -> MechanismSteps:
    """Return the steps of a rewrite of a prepared text by this mechanism."""
    made: MechanismSteps = {"steps": list(mechanism.steps)}
    clipping: Any = mechanism.clipping
    if clipping is None and result.guarantee.bounded_range:
        made["range"] = SCORES
    if clipping is None or not mechanism.clips_alone:  # type: ignore[attr-defined]
        return made
    low, high = (float(getattr(mechanism.config, end)) for end in (clipping.low, clipping.high))
    made["scale"] = 2 * (high - low)
    if "sweep" not in result.can:
        return made | _scores(result, low, high)
    # No score depends on the sampled words.
    key = "steps", low, high, tuple(u.is_sampled for u in result.units)
    made |= cache_with(prepared, key, lambda: _scores(result, low, high))
    if "scored" in made:
        made["unit"] = made["scale"]
    return made


def _scores(result: RewriteResult, low: float, high: float) -> MechanismSteps:
    """Return the steps' data on the scores of a rewrite; {} if there are none."""
    logits = {k: x for k, u in enumerate(result.units) if u.is_sampled and (x := result.logits(k)) is not None}
    if not logits:
        return cast(MechanismSteps, {})
    first = min(low, *(float(x.min()) for x in logits.values()))
    last = max(high, *(float(x.max()) for x in logits.values()))
    scored: list[ScoreSummary | None] = [None] * len(result.units)
    for k, x in logits.items():
        bars = ((x - first) * (BARS / max(last - first, 1e-9))).astype(np.intp)  # half as long as np.histogram
        counts = np.bincount(np.minimum(bars, BARS - 1), minlength=BARS)
        scored[k] = {"bars": [int(n) for n in counts], "tied": int((x >= high).sum())}
    return cast(MechanismSteps, {"low": low, "high": high, "axis": (first, last), "scored": scored})
