"""What mechanisms share that clip a model's scores to a public range: which range holds, and what each would cost."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import ConfigError
from .base import ClipCost, Mechanism


class Clipped(Mechanism):
    """Base of mechanisms with the options ``clip``, ``clip_min``, ``clip_max`` and ``model``."""

    #: The function that finds a range for a model of which none is known.
    estimator: ClassVar[str]

    @classmethod
    def clip_ends(cls, config: Any) -> dict[str, Any]:
        """The name and the ends of the range that holds. Raises ConfigError where there is none."""
        known = cls.clips({"model": config.model})
        # The config names the range that holds, also where a model has one only.
        name = config.clip if config.clip in known else next(iter(known), config.clip)
        low, high = config.clip_min, config.clip_max
        if name in known:
            low = known[name].low if low is None else low
            high = known[name].high if high is None else high
        if low is None or high is None:
            raise ConfigError(
                f"No clipping range is known for {config.model!r}. Give clip_min and clip_max; "
                f"dptext_core.models.{cls.estimator} finds them from public texts of yours."
            )
        if not low < high:
            raise ConfigError(f"clip_min must be below clip_max; they are {low:g} and {high:g}.")
        return {"clip": name, "clip_min": float(low), "clip_max": float(high)}

    def with_(self, **options: Any) -> Self:
        if options.keys() & {"clip", "model"}:
            # Ends that came with the old name or model follow the new one; those that were given stay.
            old = self.clips({"model": self.config.model}).get(self.config.clip)
            ends = {} if old is None else {"clip_min": old.low, "clip_max": old.high}
            options = {k: None for k, end in ends.items() if getattr(self.config, k) == end} | options
        return super().with_(**options)

    def clip_costs(self, logits: np.ndarray, source: str | None, epsilon: float) -> tuple[ClipCost, ...]:
        """The ranges that are known of the model, and the one in use, at one draw with raw logits float32 (V,)."""
        mine = (self.config.clip_min, self.config.clip_max)
        ranges = {name: (c.low, c.high) for name, c in self.clips({"model": self.config.model}).items()}
        used = self.config.clip if ranges.get(self.config.clip) == mine else "your own"
        ranges.setdefault(used, mine)
        out = []
        for name, (low, high) in ranges.items():
            keep = self.with_(clip_min=low, clip_max=high).kept(logits, source, epsilon)
            out.append(ClipCost(name, low, high, name == used, int((logits >= high).sum()), keep))
        return tuple(out)

    @abstractmethod
    def kept(self, logits: np.ndarray, source: str | None, epsilon: float) -> float:
        """The chance that the word stays; of the one that the model finds best where there is none to stay."""
