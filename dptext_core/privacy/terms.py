"""The typed values in a guarantee: unit, adjacency, metric, group, reason, and entries that are not protected.

Each value is a string in the wording of ``sentences``, so that it can be printed, joined and stored. Code reads
``kind`` and ``parameters`` instead. A plain string, as plugins write it, becomes a value of the kind CUSTOM.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from ..errors import ConfigError
from . import sentences
from .kinds import ConditionKind, GroupKind, MetricKind, NotProtectedKind, ReasonKind, UnitKind


class _Frozen(str):
    """A string whose attributes are set once."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name} of {type(self).__name__} cannot be changed. Create a new object.")

    def _put(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


#: Values without parameters, some of which every guarantee has.
_known: dict[tuple[type, str], Term] = {}


class Term(_Frozen):
    """A kind with its parameters.

    Parameters
    ----------
    kind : StrEnum or str
        A member of ``kinds``, or its value.
    **parameters
        The parameters of the kind, such as a count. For CUSTOM: ``text``.
    """

    __slots__ = ("kind", "parameters")
    kinds: ClassVar[type[StrEnum]]
    kind: StrEnum
    parameters: Mapping[str, Any]

    def __new__(cls, kind: str, **parameters: Any) -> Self:
        try:
            member = cls.kinds(kind)
        except ValueError:
            raise ConfigError(f"{cls.__name__} has no kind {kind!r}. Choose one of: {', '.join(cls.kinds)}.") from None
        if not parameters and (known := _known.get((cls, member))) is not None:
            return known  # type: ignore[return-value]
        try:
            self = super().__new__(cls, sentences.term(member, parameters))
        except (KeyError, ValueError) as why:
            raise ConfigError(f"{cls.__name__} of the kind {str(member)!r} needs other parameters: {why}.") from None
        self._put(kind=member, parameters=MappingProxyType(parameters))
        if not parameters:
            _known[cls, member] = self
        return self

    @classmethod
    def of(cls, value: str) -> Self:
        """Return a typed value unchanged, and a plain string as one of the kind CUSTOM."""
        return value if isinstance(value, cls) else cls("custom", text=str(value))

    @property
    def is_custom(self) -> bool:
        """Return True if a plugin worded it, so that nothing else is known about it."""
        return self.kind == "custom"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Term):
            return (type(self), self.kind, self.parameters) == (type(other), other.kind, other.parameters)
        return str.__eq__(self, other) if isinstance(other, str) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_term, (type(self), str(self.kind), dict(self.parameters))


def _restore_term(cls: type[Term], kind: str, parameters: dict[str, Any]) -> Term:
    return cls(kind, **parameters)


class ProtectedUnit(Term):
    """The unit that one draw protects; reads as a noun.

    The noun of a custom unit is ``text``.
    """

    __slots__ = ()
    kinds = UnitKind

    @classmethod
    def of(cls, value: str) -> Self:
        """Return a unit unchanged; a plain string is the noun of a known unit, or of a custom one."""
        if not isinstance(value, cls) and (known := sentences.UNITS_BY_NOUN.get(value)):
            return cls(known)
        return super().of(value)

    @property
    def is_word(self) -> bool:
        """Return True if it is one word of the text."""
        return self.kind in (UnitKind.RELEASED_WORD, UnitKind.DISTINCT_WORD)

    @property
    def counts_distinct_words(self) -> bool:
        """Return True if equal words share one draw and are counted once."""
        return self.kind is UnitKind.DISTINCT_WORD

    @property
    def noun(self) -> str:
        """Return the noun without "released" or "distinct": "word", "token", "text"."""
        return sentences.noun(self.kind, self.parameters)


class Condition(Term):
    """A property that two texts must share."""

    __slots__ = ()
    kinds = ConditionKind


class Conditions(_Frozen):
    """The properties that two texts must share, as one phrase.

    custom: the phrase as a plugin words it.
    """

    __slots__ = ("conditions", "custom")
    conditions: tuple[Condition, ...]
    custom: str

    def __new__(cls, *conditions: str, custom: str = "") -> Self:
        typed = tuple(map(Condition.of, conditions))
        self = super().__new__(cls, custom or cls._phrase(typed))
        self._put(conditions=typed, custom=custom)
        return self

    @staticmethod
    def _phrase(conditions: tuple[Condition, ...]) -> str:
        raise NotImplementedError

    @classmethod
    def of(cls, value: str) -> Self:
        """Return a typed value unchanged, and a plain string as a custom one."""
        return value if isinstance(value, cls) else cls(custom=str(value))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Conditions):
            return (type(self), self.conditions, self.custom) == (type(other), other.conditions, other.custom)
        return str.__eq__(self, other) if isinstance(other, str) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_conditions, (type(self), self.conditions, self.custom)


def _restore_conditions(cls: type[Conditions], conditions: tuple[Condition, ...], custom: str) -> Conditions:
    return cls(*conditions, custom=custom)


class Adjacency(Conditions):
    """The pairs of texts that a guarantee compares: any two that meet every condition."""

    __slots__ = ()

    @staticmethod
    def _phrase(conditions: tuple[Condition, ...]) -> str:
        return sentences.adjacency(conditions)

    @classmethod
    def of(cls, value: str) -> Self:
        """Return an adjacency unchanged; a plain string is ANY_TEXTS, ignoring case, or a custom one."""
        if not isinstance(value, cls) and value.casefold().strip(" .") == sentences.ANY_TEXTS:
            return cls()
        return super().of(value)

    @property
    def is_any_texts(self) -> bool:
        """Return True if it compares any two texts."""
        return not self.conditions and not self.custom

    def where(self, *conditions: str) -> Adjacency:
        """Return it with more conditions."""
        typed = tuple(map(Condition.of, conditions))
        worded = sentences.adjacency(typed, self.custom) if self.custom else ""
        return Adjacency(*self.conditions, *typed, custom=worded)

    def __add__(self, more: str) -> Adjacency:
        """Return it with a plugin's phrase at the end; its conditions are still known."""
        return Adjacency(*self.conditions, custom=f"{self}{more}")


class ComparisonScope(Conditions):
    """What a text must share with the private one for a single draw to be compared; empty: nothing."""

    __slots__ = ()

    @staticmethod
    def _phrase(conditions: tuple[Condition, ...]) -> str:
        return sentences.comparison_phrase(conditions)


class NotProtected(Term):
    """An entry that a release reveals and its guarantee does not cover."""

    __slots__ = ()
    kinds = NotProtectedKind


class Reason(Term):
    """Why there is no guarantee; a clause that ends with a full stop."""

    __slots__ = ()
    kinds = ReasonKind


class Metric(Term):
    """The distance that ε refers to. ``limit`` is γ if the distance is truncated there."""

    __slots__ = ()
    kinds = MetricKind

    @property
    def is_limited(self) -> bool:
        """Return True if the distance is truncated at γ."""
        return self.parameters.get("limit") is not None

    def at_most(self, limit: float, **parameters: Any) -> Metric:
        """Return the distance truncated at a limit, γ."""
        return Metric(self.kind, **self.parameters, limit=limit, **parameters)


class Group(Term):
    """The words that a word is hidden among.

    ``size`` is the size of a custom group.
    """

    __slots__ = ()
    kinds = GroupKind

    @property
    def size(self) -> int | None:
        """Return the number of words in a group, or its limit, if stated; else None."""
        return self.parameters.get("size")


ANY_TEXTS = Adjacency()

T = TypeVar("T")


class ConvertedField(Generic[T]):
    """A dataclass field that accepts plain strings and stores typed values.

    default: None if a value is required.
    """

    def __init__(self, convert: Callable[[Any], T], default: Any = None) -> None:
        self.convert, self.default = convert, default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Any: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is not None:
            return instance.__dict__[self.name]
        if self.default is None:
            raise AttributeError(self.name)  # dataclasses read this as: no default
        return self.default

    def __set__(self, instance: object, value: Any) -> None:
        instance.__dict__[self.name] = self.convert(value)
