"""A sequence that is created on first access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Lazy(Sequence[T]):
    """The n items of ``make(*given)``, created on first access, so that readers of other parts need not wait.

    The arguments are stored here, and not in a partial, whose repr would show them.
    """

    __slots__ = ("_given", "_made", "_make", "_n")

    def __init__(self, n: int, make: Callable[..., Sequence[T]], *given: Any):
        self._n, self._make, self._given = n, make, given
        self._made: tuple[T, ...] | None = None

    def _all(self) -> tuple[T, ...]:
        if self._made is None:
            self._made = tuple(self._make(*self._given))
        return self._made

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, i):
        return self._all()[i]

    def __iter__(self) -> Iterator[T]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        return self._all() == (other._all() if isinstance(other, Lazy) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._n:,} items)"
