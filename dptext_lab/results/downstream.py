"""Scores of the mode `downstream`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

METRICS = ("macro_f1", "accuracy")


def mean_and_deviation(score: Mapping[str, Any]) -> str:
    """Return a short text of mean and standard deviation."""
    spread = score.get("deviation")
    return f"{score['mean']:.3f}" + ("" if spread is None or not math.isfinite(spread) else f" ({spread:.3f})")
