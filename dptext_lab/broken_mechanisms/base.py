"""A planted fault, and the decorator that registers one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from dptext_core.mechanisms.base import Mechanism

_Broken = TypeVar("_Broken", bound=type[Mechanism])


@dataclass(frozen=True)
class Fault:
    """A planted fault. broken: the mechanism with it, whose first base is the sound one. options: what both are made
    with.

    inputs: words or texts at which it shows, where the default ones of an audit do not show it in reasonable time; None
    for those.
    """

    name: str
    title: str
    explanation: str
    broken: type[Mechanism]
    options: Mapping[str, Any]
    inputs: tuple[str, ...] | None

    @property
    def sound(self) -> type[Mechanism]:
        return self.broken.__bases__[0]


_REGISTERED: list[Fault] = []


def fault(
    name: str,
    title: str,
    explanation: str,
    *,
    options: Mapping[str, Any] | None = None,
    inputs: tuple[str, ...] | None = None,
) -> Callable[[_Broken], _Broken]:
    """Register the class below as its first base with a planted fault."""

    def register(broken: _Broken) -> _Broken:
        _REGISTERED.append(Fault(name, title, explanation, broken, options or {}, inputs))
        return broken

    return register


def faults_of(module: str) -> tuple[Fault, ...]:
    """Return the faults that a module plants, in its order."""
    return tuple(f for f in _REGISTERED if f.broken.__module__ == module)
