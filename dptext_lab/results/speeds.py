"""Rows of `bench words --out`: tokens a second of each mechanism."""

from __future__ import annotations

from .measurement import Measurement
from .rows import Row

#: The file of what :func:`rates` measures.
MEASUREMENT = Measurement("words", Row, "words.json")
bundled = MEASUREMENT.bundled
