"""The fact of a text that a visitor chose: Explore and Compare share it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dptext_core.support.private import Private


@dataclass(frozen=True)
class ChosenFact(Private):
    """A word of a text and its alternatives. word: empty for the rarest content word. alternatives: None for those of
    the public lists."""

    word: str = ""
    alternatives: tuple[str, ...] | None = None

    _shown: ClassVar[tuple[str, ...]] = ()
