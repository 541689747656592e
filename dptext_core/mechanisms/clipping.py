"""Clipping of a model's scores to a public range: the active range, and the cost of each known one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import ConfigError
from ..models.registry import ClipRange
from .base import Mechanism


@dataclass(frozen=True)
class ClipCost:
    """The effect of a clipping range on one draw.

    tied: number of words at its upper end or above; keep: the probability that the word is unchanged, or without such a
    word, that of the model's best word.
    """

    name: str
    low: float
    high: float
    is_used: bool
    tied: int
    keep: float


class Clipping:
    """The public range that scores are clipped to: the known ranges of a class, and the costs for a mechanism.

    ``cls.clipping`` and ``m.clipping`` are this facet, bound to the class or mechanism; None if nothing is clipped.
    """

    #: The options of the range: the name of a known range, its lower and its upper end.
    name, low, high = "clip", "clip_min", "clip_max"

    def __init__(self, cls: Any = None, mechanism: Any = None):
        self._cls, self._mechanism = cls, mechanism

    def __get__(self, mechanism: Mechanism | None, cls: type[Mechanism]) -> Clipping:
        return type(self)(cls, mechanism)

    def ranges(self, options: Mapping[str, Any]) -> Mapping[str, ClipRange]:
        """Return the known ranges for these options, by name, the default first.

        Raises the errors of :meth:`Mechanism.resolve` for a missing model.
        """
        return self._cls.known_ranges(options.get("model", "bundled"))

    def costs(self, logits: np.ndarray, source: str | None, epsilon: float) -> tuple[ClipCost, ...]:
        """Return the costs of the known ranges and of the active one at one draw, from raw logits float32 (V,).

        () if they are not the only scores of the draw.
        """
        m = self._mechanism
        if not m.clips_alone:
            return ()
        mine = (m.config.clip_min, m.config.clip_max)
        ranges = {name: (c.low, c.high) for name, c in m.known_ranges(m.config.model).items()}
        used = m.config.clip if ranges.get(m.config.clip) == mine else "your own"
        ranges.setdefault(used, mine)
        out = []
        for name, (low, high) in ranges.items():
            keep = m.replace(clip_min=low, clip_max=high).keep_probability(logits, source, epsilon)
            out.append(ClipCost(name, low, high, name == used, int((logits >= high).sum()), keep))
        return tuple(out)


class ClippedMechanism(Mechanism):
    """Base of mechanisms with the options ``clip``, ``clip_min``, ``clip_max`` and ``model``."""

    clipping = Clipping()
    #: The function that estimates a range for a model without a known one.
    estimator: ClassVar[str]

    @classmethod
    @abstractmethod
    def known_ranges(cls, model: str) -> Mapping[str, ClipRange]:
        """Return the known clipping ranges of a model, by name, the default first."""

    @classmethod
    def clip_ends(cls, config: Any) -> dict[str, Any]:
        """Return the name and the ends of the active range. Raises ConfigError if there is none."""
        known = cls.known_ranges(config.model)
        # The config names the active range, even if a model has only one.
        name = config.clip if config.clip in known else next(iter(known), config.clip)
        low, high = config.clip_min, config.clip_max
        if name in known:
            low = known[name].low if low is None else low
            high = known[name].high if high is None else high
        if low is None or high is None:
            raise ConfigError(
                f"No clipping range is known for {config.model!r}. Give clip_min and clip_max; "
                f"dptext_core.models.{cls.estimator} estimates them from your public texts."
            )
        if not low < high:
            raise ConfigError(f"clip_min must be below clip_max; they are {low:g} and {high:g}.")
        return {"clip": name, "clip_min": float(low), "clip_max": float(high)}

    def replace(self, **options: Any) -> Self:
        if options.keys() & {"clip", "model"}:
            # Ends that came from the old name or model follow the new one; explicit ends are unchanged.
            old = self.known_ranges(self.config.model).get(self.config.clip)
            ends = {} if old is None else {"clip_min": old.low, "clip_max": old.high}
            options = {k: None for k, end in ends.items() if getattr(self.config, k) == end} | options
        return super().replace(**options)

    @property
    def clips_alone(self) -> bool:
        """Return True if a word is sampled by the clipped scores alone."""
        return True

    @abstractmethod
    def keep_probability(self, logits: np.ndarray, source: str | None, epsilon: float) -> float:
        """Return the probability that the word is unchanged, or without such a word, that of the model's best word."""
