"""The description of a broken mechanism, and the decorator that registers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from dptext_core.mechanisms.base import Mechanism

_Broken = TypeVar("_Broken", bound=type[Mechanism])


@dataclass(frozen=True)
class Fault:
    """A deliberate fault. broken: the broken mechanism, whose first base is the sound one. options: of both mechanisms.
    inputs: words or texts that reveal the fault, if the audit's default inputs would take too long; else None.
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
    """Register a class as the broken version of its first base."""

    def register(broken: _Broken) -> _Broken:
        _REGISTERED.append(Fault(name, title, explanation, broken, options or {}, inputs))
        return broken

    return register


def faults_of(module: str) -> tuple[Fault, ...]:
    """Return the faults that a module defines, in its order."""
    return tuple(f for f in _REGISTERED if f.broken.__module__ == module)
