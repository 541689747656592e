"""Lessons as pages to print: a hand-out for the class, and solutions for its teacher.

The files have no script and load nothing, and everything except the markup of this module is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from dptext_core.privacy.numbers import percent
from dptext_core.support.version import __version__

from ..lessons import LESSONS, Lesson, reader_game
from ..lessons.base import Facts, epsilon_text
from ..lessons.beat_reader import limit_text
from .lessons import STYLE, colours, draw, fragment

#: The exercise for a class in two halves: one rewrites, one attacks.
GROUP_EXERCISE = (
    "Divide the class into writers and readers. Everybody reads the four texts of a round of the game.",
    "The writers secretly choose one of the four texts and type it into Explore, with CusText and the ε of the round.",
    "They write only the release on the board.",
    "Each reader writes down a guess anonymously. Collect the guesses, and count the right ones below.",
    "Swap roles and use the next ε. At the end, compare the right guesses with the largest certainty allowed.",
)
_PAGE = (Path(__file__).parent / "handout.css").read_text(encoding="utf-8")


def handout(lessons: Sequence[Lesson] = LESSONS, *, address: str = "", code: str = "") -> str:
    """Return the lessons for a class as one HTML document, without answers. This may take seconds.

    Each lesson has its control at its initial value. address: the address of the lessons, printed as text. code: an SVG
    of it that this program made (a QR code), which is inserted unchanged.
    """
    where = ""
    if address:
        picture = f'<div class="code">{code}</div>' if code else ""
        where = f"<p>To open the lessons: <strong>{escape(address)}</strong></p>{picture}"
    return _document(
        "lessons",
        f"{len(lessons)} short lessons. Read, look, and choose an answer.",
        where,
        "".join(_lesson(k, lesson) for k, lesson in enumerate(lessons, 1)),
    )


def solutions(lessons: Sequence[Lesson] = LESSONS) -> str:
    """Return the answers to :func:`handout` for the teacher, and the group exercise. This may take seconds."""
    answers = "".join(_answer(k, lesson) for k, lesson in enumerate(lessons, 1))
    exercise = "".join(f"<li>{escape(step)}</li>" for step in GROUP_EXERCISE)
    return _document(
        "solutions",
        "For teachers: the answers to the hand-out, at the initial setting of each lesson.",
        "",
        f'<section><h2>Group exercise</h2><ol class="steps">{exercise}</ol>{_score_sheet()}</section>'
        f'<div class="answers"><h1>Answers</h1>{answers}</div>',
    )


def _document(kind: str, lead: str, where: str, body: str) -> str:
    style = "; ".join(f"{name}: {value}" for name, value in colours().items())
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>Text rewriting under differential privacy: {kind}</title>\n"
        f"<style>:root {{ {style} }}\n{_PAGE}{STYLE}</style>\n</head>\n<body>\n"
        "<header><h1>Text rewriting under differential privacy</h1>"
        f'<p class="soft">{lead} Made with DP-Text Studio {escape(__version__)}. Every figure was computed when this '
        f"file was made.</p>{where}</header>\n{body}\n</body>\n</html>\n"
    )


def _score_sheet() -> str:
    """Return an empty table for the rounds of the exercise, by ε and without names, with the ceiling of each."""
    rules = reader_game.rules()
    rows = tuple(
        (epsilon_text(e), "", "", limit_text(reader_game.ceiling(e, rules.k)), percent(1 / rules.k))
        for e in rules.epsilons
    )
    return draw(Facts(("ε", "releases", "right guesses", "largest certainty allowed", "blind guessing"), rows))


def _lesson(k: int, lesson: Lesson) -> str:
    start = lesson.control.start
    question = lesson.ask(start)
    message = "".join(f"<p>{escape(line)}</p>" for line in lesson.sentences)
    answers = "".join(f"<li>{escape(answer)}</li>" for answer in question.answers)
    at = f'<p class="soft">{escape(lesson.control.label)}: {escape(lesson.control.format_value(start))}</p>'
    return (
        f'<section class="lesson"><h2>{k}. {escape(lesson.title)}</h2>{message}{at}{fragment(lesson.show(start))}'
        f'<div class="question"><strong>{escape(question.text)}</strong><ol>{answers}</ol></div></section>'
    )


def _answer(k: int, lesson: Lesson) -> str:
    start = lesson.control.start
    answer, question = lesson.reveal(start), lesson.ask(start)
    right = f"{chr(ord('A') + answer.right)}. {question.answers[answer.right]}"
    lines = "".join(f"<p>{escape(line)}</p>" for line in (*answer.measurements, *answer.explanation, lesson.take_home))
    return (
        f'<section><h2>{k}. {escape(lesson.title)}</h2><p class="right">{escape(right)}</p>{lines}'
        f"{fragment(answer.parts)}</section>"
    )
