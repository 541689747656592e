"""Result of delegated work: a value, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import DPTextError
from .private import Private


@dataclass(frozen=True, eq=False)
class WorkOutcome(Private):
    """The result of delegated work.

    value: the requested value; refused: an error that every retry would repeat; lost: why a retry is worthwhile,
    without a word of the rows.
    """

    value: Any = None
    refused: DPTextError | None = None
    lost: str = ""

    _shown: ClassVar[tuple[str, ...]] = ("lost",)
