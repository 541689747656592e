"""A base for objects that hold a user's words, and must not show them by accident."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, ClassVar


class Private:
    """Base of objects with words of a user's text: the repr shows no word, so that no log or traceback quotes one.

    ``_shown``: the attributes in the repr, numbers and public names unchanged, everything else by its length.
    Subclasses, including dataclasses, have this repr too, unless they define their own.
    """

    __slots__ = ()
    _shown: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in cls.__dict__:  # a dataclass would define one that shows every field
            cls.__repr__ = Private.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(_shape(name, getattr(self, name)) for name in self._shown)})"


def _shape(name: str, value: Any) -> str:
    if isinstance(value, Sized) and not isinstance(value, str):
        return f"{len(value):,} {name}"
    return f"{name}={value!r}"
