"""Result of delegated work: a value, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import DPTextError
from .private import Private


@dataclass(frozen=True, eq=False)
class WorkOutcome(Private):
    """What became of a piece of work. value: what was asked for; refused: an error that every try would end with;
    lost: why another try is worth it, without a word of the rows."""

    value: Any = None
    refused: DPTextError | None = None
    lost: str = ""

    _shown: ClassVar[tuple[str, ...]] = ("lost",)
