"""Rows of `bench deniability`: N_w and S_w over ε for a set of words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.mechanisms.setting import Setting, SettingFields
from dptext_core.privacy.distribution import Channel

from .measurement import Measurement


@dataclass(frozen=True)
class DeniabilityCurve:
    """Means over words at every ε. n_w_interval, s_w_interval: 95% intervals of the mean, (m, 2)."""

    epsilons: np.ndarray
    n_w: np.ndarray
    n_w_interval: np.ndarray
    s_w: np.ndarray
    s_w_interval: np.ndarray
    words: int
    draws: int | None


@dataclass(frozen=True)
class MeasuredCurve(SettingFields):
    """The curve of a mechanism with its options."""

    setting: Setting
    curve: DeniabilityCurve

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Self:
        """Read from JSON."""
        curves = {name: np.array(row[name]) for name in _CURVES}
        curve = DeniabilityCurve(np.array(row["epsilon"]), **curves, words=row["words"], draws=row["draws"])
        return cls(Setting(row["mechanism"], row["options"]), curve)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object: ε to four digits, probabilities to four decimals, numbers of words to two."""
        c = self.curve
        curves = {name: getattr(c, name).round(4 if "n_w" in name else 2).tolist() for name in _CURVES}
        epsilons = [float(f"{e:.4g}") for e in c.epsilons]
        return {**self.setting.to_dict(), "epsilon": epsilons, **curves, "words": c.words, "draws": c.draws}


_CURVES = ("n_w", "n_w_interval", "s_w", "s_w_interval")
MEASUREMENT = Measurement("deniability", MeasuredCurve, "deniability.json", rows="curves")
bundled_curves = MEASUREMENT.bundled


def channel_curve(channel: Channel, epsilons: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return N_w and S_w of one word at every ε."""
    both = np.array([channel.deniability(float(e)) for e in epsilons])
    return both[:, 0], both[:, 1]


def bundled_curve(mechanism: Mechanism) -> DeniabilityCurve | None:
    """Return the bundled curve of a mechanism at its default options, or None.

    Space, noise and lists may differ. The mechanism may also use the blocklist, without which the curve was
    measured."""
    config = mechanism.config
    for measured in bundled_curves():
        if measured.mechanism == mechanism.name:
            plain = measured.setting.make().config
            described = {f.name: option_meta(f) for f in fields(plain)}
            compared = [
                name
                for name, meta in described.items()
                if meta.kind != "epsilon" and not (meta.keeps_distribution or meta.is_public_filter)
            ]
            if all(getattr(config, name) == getattr(plain, name) for name in compared):
                return measured.curve
    return None
