"""Rows of `bench words --out`: tokens per second of each mechanism."""

from __future__ import annotations

from .measurement import Measurement
from .rows import Row

#: The file of tokens per second.
MEASUREMENT = Measurement("words", Row, "words.json")
bundled = MEASUREMENT.bundled
