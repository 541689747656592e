"""Which cases of a test every run has, and which CI's alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow_but(quick: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """The values as parameters, those slow that are not among the quick ones."""
    quick = list(quick)
    assert quick
    found = [pytest.param(v, marks=() if v in quick else pytest.mark.slow) for v in values]
    assert sum(not p.marks for p in found) == len(quick), "each of the quick ones is among the values"
    return found
