"""Rows of `bench memory`."""

from __future__ import annotations

from .measurement import Measurement
from .rows import Row

MEASUREMENT = Measurement("memory", Row, "memory.json")
bundled = MEASUREMENT.bundled
