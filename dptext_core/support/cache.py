"""Answers that are kept as long as what they are about, and the lock of what keeps them."""

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
    """As ``lru_cache(most)`` for each first argument, which it does not keep alive: its answers go when it goes.

    For what is worked out of a vocabulary: a list of words that are never released makes one of 40 to 75 MB, and a
    cache of the process would hold it long after the last session that used it.
    """

    def wrap(work: Callable[P, T]) -> Callable[P, T]:
        known: WeakKeyDictionary[Any, dict[tuple, Any]] = WeakKeyDictionary()

        @wraps(work)
        def answer(first: Any, *more: Any) -> Any:
            kept = known.setdefault(first, {})
            found = kept.pop(more, _NONE)
            if found is _NONE:
                found = work(first, *more)  # type: ignore[call-arg]
            kept[more] = found  # the newest stand last
            for old in list(kept)[:-most]:
                kept.pop(old, None)
            return found

        return answer  # type: ignore[return-value]

    return wrap


_kept: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


def kept_with(owner: Any, key: Any, make: Callable[[], T]) -> T:
    """Return what was made for ``owner`` under this key before, else make it. It goes when the owner goes.

    The answer must not refer to the owner.
    """
    held = _kept.setdefault(owner, {})
    if key not in held:
        held[key] = make()
    return held[key]


class OwnLock:
    """A lock of one value: a copy, in this process or another, gets one of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[OwnLock], tuple[()]]:
        return OwnLock, ()
