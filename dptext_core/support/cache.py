"""Results cached for the lifetime of their subject, and a lock for the objects that cache them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

P = ParamSpec("P")
T = TypeVar("T")
_NONE = object()


def weak_cache(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Cache as ``lru_cache(most)`` per first argument, without keeping that argument alive.

    For results from a vocabulary: a blocklist makes one of 40 to 75 MB. A process-wide cache would keep it long after
    the last session that used it.
    """

    def wrap(work: Callable[P, T]) -> Callable[P, T]:
        known: WeakKeyDictionary[Any, dict[tuple, Any]] = WeakKeyDictionary()

        @wraps(work)
        def answer(first: Any, *more: Any) -> Any:
            cached = known.setdefault(first, {})
            value = cached.pop(more, _NONE)
            if value is _NONE:
                value = work(first, *more)  # type: ignore[call-arg]
            cached[more] = value  # the newest are last
            for old in list(cached)[:-most]:
                cached.pop(old, None)
            return value

        return answer  # type: ignore[return-value]

    return wrap


_kept: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


def cache_with(owner: Any, key: Any, make: Callable[[], T]) -> T:
    """Return the cached value for ``owner`` and this key, else make it; it is deleted with the owner.

    The value must not refer to the owner.
    """
    values = _kept.setdefault(owner, {})
    if key not in values:
        values[key] = make()
    return values[key]


class OwnLock:
    """A lock of one object: a copy, in this process or another, gets its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[OwnLock], tuple[()]]:
        return OwnLock, ()
