"""What holds a user's words, and does not show them by accident."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, ClassVar


class Private:
    """Base of what holds words of a user's text: its repr shows no word, so that no log or traceback quotes one.

    ``_compare_rewrites``: the attributes that a repr may show (numbers and public names as they are, all else by its
    length). Subclasses have this repr too, dataclasses included, unless they write one of their own.
    """

    __slots__ = ()
    _shown: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in cls.__dict__:  # a dataclass would write one that shows every field
            cls.__repr__ = Private.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(_shape(name, getattr(self, name)) for name in self._shown)})"


def _shape(name: str, value: Any) -> str:
    if isinstance(value, Sized) and not isinstance(value, str):
        return f"{len(value):,} {name}"
    return f"{name}={value!r}"
