"""A sequence that is created on first access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Lazy(Sequence[T]):
    """The n items of ``make(*given)``, created on first access, so that readers of other parts need not wait.

    The arguments are stored here, and not in a partial, whose repr would show them.
    """

    __slots__ = ("_args", "_items", "_make", "_n")

    def __init__(self, n: int, make: Callable[..., Sequence[T]], *given: Any):
        self._n, self._make, self._args = n, make, given
        self._items: tuple[T, ...] | None = None

    def _load(self) -> tuple[T, ...]:
        if self._items is None:
            self._items = tuple(self._make(*self._args))
        return self._items

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, i):
        return self._load()[i]

    def __iter__(self) -> Iterator[T]:
        return iter(self._load())

    def __eq__(self, other: object) -> bool:
        return self._load() == (other._load() if isinstance(other, Lazy) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._n:,} items)"
