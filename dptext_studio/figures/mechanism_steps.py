"""How each piece of a rewrite was drawn, in a few steps with its own numbers: what the token view shows beside it.

The steps are sentences of the mechanism (``Mechanism.steps``); the numbers in them, and the scores before they are cut
to a range, come from the rewrite. They tell of the original words: for the author's screen only.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict, cast

import numpy as np

from dptext_core.mechanisms.base import Mechanism, Prepared
from dptext_core.result import RewriteResult
from dptext_core.support.cache import cache_with

#: Bars of the picture of all scores of one word.
BARS = 40
#: The ends of scores s for which exp(ε·s) is ε-DP.
SCORES = (0.0, 0.5)


class ScoreSummary(TypedDict):
    """Of one piece: ``bars``: how many candidates have a score in each of :data:`BARS` equal parts of the axis.
    ``tied``: how many scores are at the upper end of the range or above it."""

    bars: list[int]
    tied: int


class MechanismSteps(TypedDict):
    """``steps``: sentences with places for numbers. ``low``, ``high``: the range that scores are cut to. ``axis``: the
    ends of the axis of scores before they are cut. ``scale``: how much of that axis noise of size 1 is. ``unit``: the
    same where the cut scores are all that ``s`` of the tokens comes from; its end is ``high`` at ``s`` 0. ``scored``:
    for each token; None where nothing was scored. ``range``: the ends of all scores whose noise has size 1/ε, where
    the guarantee bounds them and they are no clipped scores of a model."""

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
    # No score depends on what was drawn.
    key = "steps", low, high, tuple(u.drawn for u in result.units)
    made |= cache_with(prepared, key, lambda: _scores(result, low, high))
    if "scored" in made:
        made["unit"] = made["scale"]
    return made


def _scores(result: RewriteResult, low: float, high: float) -> MechanismSteps:
    """Return what the steps hold of the scores of a rewrite, {} where there are none."""
    logits = {k: x for k, u in enumerate(result.units) if u.drawn and (x := result.logits(k)) is not None}
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
