"""What mechanisms share that clip a model's scores to a public range: which range holds, and what each would cost."""

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
    """A clipping range at one draw. tied: words at its upper end or above; keep: the chance that the word stays, or,
    where there is none that it could stay, of the one that the model finds best."""

    name: str
    low: float
    high: float
    used: bool
    tied: int
    keep: float


class Clipping:
    """The public range that scores are clipped to: of a class, which ranges there are; of a mechanism, what each costs.

    ``cls.clipping`` and ``m.clipping`` are this facet, bound to what it is asked of; None where nothing is clipped.
    """

    #: The options that hold it: the name of a known range, its lower and its upper end.
    name, low, high = "clip", "clip_min", "clip_max"

    def __init__(self, cls: Any = None, mechanism: Any = None):
        self._cls, self._mechanism = cls, mechanism

    def __get__(self, mechanism: Mechanism | None, cls: type[Mechanism]) -> Clipping:
        return type(self)(cls, mechanism)

    def ranges(self, options: Mapping[str, Any]) -> Mapping[str, ClipRange]:
        """Return the ranges that are known for these options, by name, the default first. Raises what
        :meth:`Mechanism.resolve` would of a model that is not there."""
        return self._cls.known_ranges(options.get("model", "bundled"))

    def costs(self, logits: np.ndarray, source: str | None, epsilon: float) -> tuple[ClipCost, ...]:
        """Return what the ranges that are known of the model, and the one in use, cost at one draw with raw logits
        float32 (V,); () where they are not all that a word is drawn by."""
        m = self._mechanism
        if not m.clips_alone:
            return ()
        mine = (m.config.clip_min, m.config.clip_max)
        ranges = {name: (c.low, c.high) for name, c in m.known_ranges(m.config.model).items()}
        used = m.config.clip if ranges.get(m.config.clip) == mine else "your own"
        ranges.setdefault(used, mine)
        out = []
        for name, (low, high) in ranges.items():
            keep = m.replace(clip_min=low, clip_max=high).kept(logits, source, epsilon)
            out.append(ClipCost(name, low, high, name == used, int((logits >= high).sum()), keep))
        return tuple(out)


class ClippedMechanism(Mechanism):
    """Base of mechanisms with the options ``clip``, ``clip_min``, ``clip_max`` and ``model``."""

    clipping = Clipping()
    #: The function that finds a range for a model of which none is known.
    estimator: ClassVar[str]

    @classmethod
    @abstractmethod
    def known_ranges(cls, model: str) -> Mapping[str, ClipRange]:
        """Return the clipping ranges that are known of a model, by name, the default first."""

    @classmethod
    def clip_ends(cls, config: Any) -> dict[str, Any]:
        """Return the name and the ends of the range that holds. Raises ConfigError where there is none."""
        known = cls.known_ranges(config.model)
        # The config names the range that holds, also where a model has one only.
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
            # Ends that came with the old name or model follow the new one; those that were given stay.
            old = self.known_ranges(self.config.model).get(self.config.clip)
            ends = {} if old is None else {"clip_min": old.low, "clip_max": old.high}
            options = {k: None for k, end in ends.items() if getattr(self.config, k) == end} | options
        return super().replace(**options)

    @property
    def clips_alone(self) -> bool:
        """Whether the clipped scores are all that a word is drawn by."""
        return True

    @abstractmethod
    def kept(self, logits: np.ndarray, source: str | None, epsilon: float) -> float:
        """Return the chance that the word stays; of the one that the model finds best where there is none to stay."""
