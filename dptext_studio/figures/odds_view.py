"""A guarantee in odds at every ε, as plain JSON for the browser."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from dptext_core.mechanisms.base import Mechanism, Prepared
from dptext_core.privacy.guarantee import Guarantee
from dptext_core.privacy.kinds import Notion


class OddsView(TypedDict):
    """A guarantee in odds.

    ``notion``: of the guarantee; "" for a demonstration, and if odds cannot be stated at every ε. ``unit``: what one
    draw protects. ``draws``: their number. ``loss``: the log-ratio of one draw at ε = 1, per unit of distance for
    metric privacy.
    """

    notion: str
    unit: NotRequired[str]
    draws: NotRequired[int]
    loss: NotRequired[float]


def odds_view(mechanism: Mechanism, prepared: Prepared, guarantee: Guarantee, low: float, high: float) -> OddsView:
    """Return how to state the guarantee of a rewrite in odds, for ε from ``low`` to ``high``."""
    if guarantee.seeded:
        return {"notion": ""}
    epsilon = mechanism.config.epsilon
    if guarantee.notion not in (Notion.PURE, Notion.GROUP, Notion.METRIC):
        return {"notion": str(guarantee.notion)}
    if isinstance(epsilon, tuple) or not guarantee.draws:
        return {"notion": ""}
    losses = [mechanism.replace(epsilon=e).guarantee(prepared).epsilon / e for e in (low, high)]
    loss = guarantee.epsilon / epsilon
    if any(abs(x - loss) > 1e-9 * loss for x in losses):
        return {"notion": ""}
    return {"notion": str(guarantee.notion), "unit": guarantee.unit.noun, "draws": guarantee.draws, "loss": loss}
