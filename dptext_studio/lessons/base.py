"""The structure of a lesson: a few sentences, one control, a question, and the mechanisms' answer.

No lesson stores an answer: the right one is computed on request, from the same probabilities and guarantees that a
rewrite has. Figures are plain data (the parts below), which ``figures.lessons`` draws.
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

#: The longest word that a user can type into a lesson.
LONGEST_WORD = 40


@dataclass(frozen=True)
class Row:
    """A bar. value_text: its value as text. mark: "original", "released", or ""."""

    label: str
    value: float
    value_text: str
    mark: str = ""


@dataclass(frozen=True)
class Bars:
    """Values as bars. top: the value of a full bar; by default the largest value."""

    title: str
    rows: tuple[Row, ...]
    top: float | None = None


@dataclass(frozen=True)
class Curves:
    """Values over ε, or over the quantity named by x_title, on a logarithmic axis.

    at: ε at which a line is drawn, with its label. dots: single points by label, the first kind filled and the others
    hollow. With several lines or with dots, a legend names them.
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
    """A text in parts, each with a mark: "" (between words), "kept", "same", "changed" or "secret" (the word to guess).
    """

    title: str
    pieces: tuple[tuple[str, str], ...]
    legend: Mapping[str, str]


@dataclass(frozen=True)
class Facts:
    """Rows of a small table. head: the titles of its columns."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Part: TypeAlias = Bars | Curves | Marked | Facts


@dataclass(frozen=True)
class Control:
    """The one control of a lesson. values: the possible values; empty if a word is typed. start: the initial value.
    format_value: a function that writes a value for people.
    """

    label: str
    values: tuple[Any, ...]
    start: Any
    format_value: Callable[[Any], str] = str
    help: str = ""


@dataclass(frozen=True)
class Question:
    """The question before the reveal, with two to four answers."""

    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Reveal:
    """The answer. right: the number of the right answer. measurements: measurements in sentences; explanation: their
    meaning. replies: for each answer, what a person who wrongly chose it missed.
    """

    right: int
    measurements: tuple[str, ...]
    explanation: tuple[str, ...]
    parts: tuple[Part, ...] = ()
    replies: tuple[str, ...] = ()


class Lesson(ABC):
    """One lesson.

    goal: the learning goal, for a list. minutes: its duration. sentences: two or three short sentences.
    num_beside_figure: how many of the last ones belong next to the figure. task: what to move and to watch; empty if
    nothing moves. take_home: the sentence to remember. door: the initial setting of Explore. across: whether its
    figures are too tall for one column of a slide. Then the type is smaller, and the answer's figures are side by side
    below the text.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    goal: ClassVar[str]
    minutes: ClassVar[int] = 2
    num_beside_figure: ClassVar[int] = 0
    across: ClassVar[bool] = False
    sentences: ClassVar[tuple[str, ...]]
    task: ClassVar[str]
    take_home: ClassVar[str]
    control: ClassVar[Control]
    door: ClassVar[Setting]

    @abstractmethod
    def show(self, value: Any) -> tuple[Part, ...]:
        """Return the parts before the question, with the control at ``value``. Raise InputError for an invalid typed
        one.
        """

    @abstractmethod
    def ask(self, value: Any) -> Question:
        """Return the question, with the control at ``value``."""

    @abstractmethod
    def reveal(self, value: Any) -> Reveal:
        """Compute and return the answer."""

    def setting(self, value: Any) -> Setting:
        """Return the initial setting of Explore, with the control at ``value``."""
        return self.door

    def checked(self, value: Any) -> Any:
        """Return a valid value of the control. Raise InputError for any other."""
        if self.control.values:
            if value not in self.control.values:
                allowed = ", ".join(map(self.control.format_value, self.control.values))
                raise InputError(f"{self.control.label} must be one of {allowed}.")
            return value
        word = str(value).strip()
        if not word or len(word) > LONGEST_WORD or any(c.isspace() for c in word):
            raise InputError("This is not one English word. Type one.")
        return word.lower()


def likely(d: TokenDistribution, n: int = 8, released: str = "") -> tuple[Row, ...]:
    """Return the most likely words as bars, always including the original, and all others as one bar."""
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
    """Return the index of the interval between ascending edges that contains a value: 0 below the first edge."""
    return int(np.searchsorted(np.asarray(edges), value, side="right"))


def epsilon_text(epsilon: float) -> str:
    return f"ε = {epsilon:g}"
