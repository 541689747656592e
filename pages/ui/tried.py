"""What the points of a trade-off are measured for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import dptext_core as dpt
from dptext_core._internal.private import Private
from pages.ui.kept import Options


@dataclass(frozen=True)
class Tried(Private):
    """What the points are measured for. draw: how often it was drawn again."""

    text: str
    settings: tuple[tuple[str, Options], ...]
    points: int
    draws: int
    draw: int

    _shown: ClassVar[tuple[str, ...]] = ("settings", "points", "draws")

    def mechanisms(self) -> list[dpt.Mechanism]:
        return [dpt.get_mechanism(name, **dict(options)) for name, options in self.settings]
