"""Short lessons, each with a question whose answer the mechanisms compute.

    from dptext_studio import lessons

    lesson = lessons.lesson("one-word")
    lesson.ask(20.0).text, lesson.reveal(20.0).right

A lesson is data and small functions, one lesson in each file; ``base`` defines its structure. ``figures.lessons`` draws
its parts, and ``figures.handout`` makes pages to print.
"""

from __future__ import annotations

from dataclasses import dataclass

from dptext_core.errors import InputError

from .base import Bars, Control, Curves, Facts, Lesson, Marked, Part, Question, Reveal, Row
from .beat_reader import BeatReader
from .broken_audit import BrokenAudit
from .coin import Coin
from .equal_epsilon import EqualEpsilon
from .example_text import TextLesson
from .group import Group
from .many_texts import ManyTexts
from .memorisation import Memorisation
from .odds import Odds
from .paper_claim import PaperClaim
from .polish import Polish
from .redaction import Redaction
from .remaining_leaks import RemainingLeaks
from .repeated_answers import RepeatedAnswers
from .sentence_bank import SentenceBank
from .single_word import SingleWord
from .temperature import Temperature
from .vectors import Vectors


@dataclass(frozen=True)
class CoursePart:
    """A group of lessons that answer one question.

    class_minutes: their share of a class of 90 minutes. exercise: what the class does together in that time.
    """

    title: str
    lessons: tuple[Lesson, ...]
    class_minutes: int
    exercise: str


#: The course, in teaching order.
COURSE: tuple[CoursePart, ...] = (
    CoursePart(
        "Why",
        (Redaction(), Coin(), Odds()),
        25,
        "Run the survey with real dice, and estimate the share of “yes”. Then vote on the odds.",
    ),
    CoursePart(
        "How it works",
        (SingleWord(), Temperature(), Group(), Vectors(), SentenceBank()),
        20,
        "Each group takes one lesson, and explains one rewrite to the others.",
    ),
    CoursePart(
        "What can go wrong",
        (RepeatedAnswers(), ManyTexts(), RemainingLeaks(), Polish(), Memorisation()),
        20,
        "Half of the groups rewrite a note. The others list what they can still read.",
    ),
    CoursePart(
        "Judge for yourself",
        (EqualEpsilon(), BrokenAudit(), PaperClaim(), BeatReader()),
        25,
        "Play the game together, and compare the dots of the class with the ceiling.",
    ),
)
LESSONS: tuple[Lesson, ...] = tuple(lesson for part in COURSE for lesson in part.lessons)

__all__ = [
    "COURSE",
    "LESSONS",
    "Bars",
    "Control",
    "CoursePart",
    "Curves",
    "Facts",
    "Lesson",
    "Marked",
    "Part",
    "Question",
    "Reveal",
    "Row",
    "TextLesson",
    "lesson",
]


def lesson(name: str) -> Lesson:
    """Return the lesson with this name. Raise InputError if there is none."""
    match = next((one for one in LESSONS if one.name == name), None)
    if match is None:
        raise InputError(f"There is no such lesson. Choose one of: {', '.join(one.name for one in LESSONS)}.")
    return match
