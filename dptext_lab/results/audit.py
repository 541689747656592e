"""Rows of `bench audit`: the claimed and the measured loss of each shipped configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dptext_core.mechanisms.setting import Setting

from .measurement import Measurement

#: The file of the table.
MEASUREMENT = Measurement("audit", dict, "audit.json")


def bundled_rows() -> list[dict[str, Any]]:
    """Return the bundled table, or [] if there is none."""
    return list(MEASUREMENT.bundled())


def setting_of(row: Mapping[str, Any]) -> Setting:
    """Return the setting of a row."""
    return Setting(row["mechanism"], row["options"], row["epsilon"])
