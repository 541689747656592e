"""Rows of `bench audit`: each shipped configuration, claimed against measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dptext_core.mechanisms.setting import Setting

from .measurement import Measurement

#: What the table says of itself.
MEASUREMENT = Measurement("audit", dict, "audit.json")


def bundled_rows() -> list[dict[str, Any]]:
    """Return the bundled table; [] where there is none."""
    return list(MEASUREMENT.bundled())


def setting_of(row: Mapping[str, Any]) -> Setting:
    """Return what a row of the table is about."""
    return Setting(row["mechanism"], row["options"], row["epsilon"])
