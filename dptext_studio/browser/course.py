"""The course as data for the browser edition: every lesson with its figures and answers at each value of its control.

Figures are drawn by :mod:`dptext_studio.figures.lessons`, as in the app, so the page needs no mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from dptext_core.errors import DPTextError

from ..figures import lessons as figures
from ..lessons import COURSE, Lesson, Reveal
from ..lessons.beat_reader import BeatReader


def course_data(mechanisms: Collection[str], say: Callable[[str], None] = lambda line: None) -> list[dict[str, Any]]:
    """Return the parts of the course with their lessons, as plain JSON.

    mechanisms: those that a lesson can link to. say: receives the name of each lesson that this machine cannot show.
    """
    parts = []
    for part in COURSE:
        lessons = []
        for lesson in part.lessons:
            try:
                lessons.append(_lesson(lesson, mechanisms))
            except DPTextError as error:
                say(f"{lesson.name}: left out. {error}")
        parts.append({"title": part.title, "lessons": lessons})
    return parts


def _lesson(lesson: Lesson, mechanisms: Collection[str]) -> dict[str, Any]:
    """Return one lesson.

    states: for each value of the control, the figure, the question and the answers. reveals: the answers that states
    refer to, as most do not depend on the value.
    """
    values = lesson.control.values or (lesson.control.start,)
    reveals: list[dict[str, Any]] = []
    states = []
    for value in values:
        answer = _reveal(lesson.reveal(value))
        if answer not in reveals:
            reveals.append(answer)
        question = lesson.ask(value)
        states.append(
            {
                "value": lesson.control.format_value(value),
                "shown": figures.fragment(lesson.show(value)),
                "question": question.text,
                "answers": question.answers,
                "reveal": reveals.index(answer),
            }
        )
    door = lesson.door.mechanism
    return {
        "name": lesson.name,
        "title": lesson.title,
        "goal": lesson.goal,
        "minutes": lesson.minutes,
        "said": lesson.sentences,
        "task": lesson.task if lesson.control.values else "",
        "take_home": lesson.take_home,
        "control": lesson.control.label,
        "start": values.index(lesson.control.start),
        "states": states,
        "reveals": reveals,
        "mechanism": door if door in mechanisms else "",
        "game": isinstance(lesson, BeatReader),
    }


def _reveal(answer: Reveal) -> dict[str, Any]:
    return {
        "right": answer.right,
        "found": answer.measurements,
        "because": answer.explanation,
        "figures": figures.fragment(answer.parts),
        "replies": answer.replies,
    }
