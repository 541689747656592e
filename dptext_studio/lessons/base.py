"""What a lesson is: a few sentences, one thing to move, a question, and what the mechanisms answer to it.

No answer stands in a lesson: which one is right is worked out when it is asked for, from the same chances and promises
that a rewrite has. What a lesson shows is plain data (the parts below); ``figures.lessons`` draws them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np

from dptext_core.errors import InputError
from dptext_core.explain import same_word
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.distribution import TokenDistribution
from dptext_core.privacy.numbers import percent

#: Longest word that can be typed into a lesson.
LONGEST_WORD = 40


@dataclass(frozen=True)
class Row:
    """A bar. said: its value as it is printed. mark: "original", "released", or nothing."""

    label: str
    value: float
    said: str
    mark: str = ""


@dataclass(frozen=True)
class Bars:
    """Values side by side. top: the value of a full bar; the largest one without it."""

    title: str
    rows: tuple[Row, ...]
    top: float | None = None


@dataclass(frozen=True)
class Curves:
    """Values over ε, or over what x_title names, on a logarithmic axis.

    at: ε where a line is drawn, with what it says. dots: single points by their label, the first kind filled and the
    others hollow. With several lines or with dots a legend names them.
    """

    title: str
    y_title: str
    lines: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]
    top: float = 1.0
    at: tuple[float, str] | None = None
    dots: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = field(default_factory=dict)
    x_title: str = "ε"


@dataclass(frozen=True)
class Marked:
    """A text in pieces, each with a mark: "" (what stands between words), "kept", "same", "changed" or "secret" (the
    word to guess)."""

    title: str
    pieces: tuple[tuple[str, str], ...]
    legend: Mapping[str, str]


@dataclass(frozen=True)
class Facts:
    """Rows of a small table. head: what its columns are called."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Part: TypeAlias = Bars | Curves | Marked | Facts


@dataclass(frozen=True)
class Control:
    """The one thing that is moved. values: what it can be at; none where a word is typed. start: where it begins.
    said: a value for reading."""

    label: str
    values: tuple[Any, ...]
    start: Any
    said: Callable[[Any], str] = str
    help: str = ""


@dataclass(frozen=True)
class Question:
    """What is asked before the reveal, with two to four answers."""

    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Reveal:
    """What is found. right: the number of the right answer. found: what was measured, in sentences; because: what that
    means. replies: for each answer, what somebody who chose it by mistake misses."""

    right: int
    found: tuple[str, ...]
    because: tuple[str, ...]
    parts: tuple[Part, ...] = ()
    replies: tuple[str, ...] = ()


class Lesson(ABC):
    """One lesson. goal: what one learns, for a list. minutes: how long it takes. said: two or three short sentences.
    beside: how many of the last ones belong beside what is shown. task: what to move and to watch; left out where
    nothing moves. take_home: the sentence to remember. door: what Explore opens with. across: whether its
    figures are too high for one column of a slide. Then type is smaller, and those of the answer stand side by side
    below what is said."""

    name: ClassVar[str]
    title: ClassVar[str]
    goal: ClassVar[str]
    minutes: ClassVar[int] = 2
    beside: ClassVar[int] = 0
    across: ClassVar[bool] = False
    said: ClassVar[tuple[str, ...]]
    task: ClassVar[str]
    take_home: ClassVar[str]
    control: ClassVar[Control]
    door: ClassVar[Setting]

    @abstractmethod
    def show(self, value: Any) -> tuple[Part, ...]:
        """Return what stands there before the question, with the control at ``value``. Raise InputError for a typed
        one."""

    @abstractmethod
    def ask(self, value: Any) -> Question:
        """Return the question, with the control at ``value``."""

    @abstractmethod
    def reveal(self, value: Any) -> Reveal:
        """Return the answer, worked out."""

    def setting(self, value: Any) -> Setting:
        """Return what Explore opens with, with the control at ``value``."""
        return self.door

    def checked(self, value: Any) -> Any:
        """Return a value of the control. Raise InputError for one that it does not have."""
        if self.control.values:
            if value not in self.control.values:
                raise InputError(
                    f"{self.control.label} must be one of {', '.join(map(self.control.said, self.control.values))}."
                )
            return value
        word = str(value).strip()
        if not word or len(word) > LONGEST_WORD or any(c.isspace() for c in word):
            raise InputError("Type one English word.")
        return word.lower()


def likely(d: TokenDistribution, n: int = 8, released: str = "") -> tuple[Row, ...]:
    """Return the likeliest words as bars, the original among them in any case, and all the others as one."""
    top = [(w, p) for w, p in d.top(n) if p > 0]
    if d.source and not any(same_word(w, d.source) for w, _ in top) and d.p_keep() > 0:
        top[-1] = (d.source, d.p_keep())
    rows = [
        Row(w, p, percent(p), "original" if same_word(w, d.source or "") else "released" if w == released else "")
        for w, p in top
    ]
    rest = max(0.0, 1.0 - sum(p for _, p in top))
    if others := int(np.count_nonzero(d.probs)) - len(rows):
        rows.append(Row(f"{others:,} others", rest, percent(rest)))
    return tuple(rows)


def bin_of(value: float, edges: Sequence[float]) -> int:
    """Return between which of the ascending edges a value lies: 0 below the first."""
    return int(np.searchsorted(np.asarray(edges), value, side="right"))


def epsilon_text(epsilon: float) -> str:
    return f"ε = {epsilon:g}"
