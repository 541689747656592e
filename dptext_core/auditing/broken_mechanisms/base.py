"""What a planted fault is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...mechanisms.base import Mechanism


@dataclass(frozen=True)
class Fault:
    """A planted fault. broken, sound: the mechanism with and without it. options: what both are made with.

    inputs: words or texts at which it shows, where the default ones of an audit do not show it in reasonable time; None
    for those.
    """

    name: str
    title: str
    explanation: str
    broken: type[Mechanism]
    sound: type[Mechanism]
    options: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] | None = None
