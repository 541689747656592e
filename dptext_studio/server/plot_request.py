"""The request behind the points of a trade-off plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import dptext_core as dpt
from dptext_core.support.private import Private


@dataclass(frozen=True)
class PlotRequest(Private):
    """A request for points. draw: the number of redraws. fact: the word that a reader guesses, empty for the rarest
    content word. alternatives: other possible words; None: public ones.
    """

    text: str
    settings: tuple[dpt.Setting, ...]
    points: int
    draws: int
    draw: int
    fact: str = ""
    alternatives: tuple[str, ...] | None = None

    _shown: ClassVar[tuple[str, ...]] = ("settings", "points", "draws")

    def mechanisms(self) -> list[dpt.Mechanism]:
        return [setting.make() for setting in self.settings]
