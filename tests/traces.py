"""Traces for results that tests make by hand."""

from __future__ import annotations

from collections.abc import Callable

import dptext_core as dpt


class Stated(dpt.Trace):
    """Steps with a distribution each, and with a channel and a noise each where ``locked`` is given."""

    def __init__(self, distribution: Callable[[int], dpt.TokenDistribution], locked: Callable | None = None):
        self._distribution, self._locked = distribution, locked
        self.can = frozenset({"distribution", "alignment"} | ({"sweep"} if locked else set()))

    def distribution(self, i, unit):
        return self._distribution(i)

    def locked(self, i, unit):
        return super().locked(i, unit) if self._locked is None else self._locked(i)
