"""Lessons as pages to print: one file that holds everything it shows, with the answers on the last page.

No script, no address that a browser would load, and everything that is not markup of this file is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from dptext_core.support.version import __version__

from ..lessons import LESSONS, Lesson
from .lessons import STYLE, colours, fragment

_PAGE = (Path(__file__).parent / "handout.css").read_text(encoding="utf-8")


def handout(lessons: Sequence[Lesson] = LESSONS, *, address: str = "", code: str = "") -> str:
    """Return the lessons as one HTML document, each with its control where it begins. May take seconds.

    address: where the lessons can be opened, printed as text. code: an SVG of it that this program made (a QR code);
    it stands there as it is.
    """
    style = "; ".join(f"{name}: {value}" for name, value in colours().items())
    numbered = list(enumerate(lessons, 1))
    where = ""
    if address:
        picture = f'<div class="code">{code}</div>' if code else ""
        where = f"<p>To open the lessons: <strong>{escape(address)}</strong></p>{picture}"
    message = "".join(_lesson(k, lesson) for k, lesson in numbered)
    answers = "".join(_answer(k, lesson) for k, lesson in numbered)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        "<title>Text rewriting under differential privacy: lessons</title>\n"
        f"<style>:root {{ {style} }}\n{_PAGE}{STYLE}</style>\n</head>\n<body>\n"
        "<header><h1>Text rewriting under differential privacy</h1>"
        f'<p class="soft">{len(numbered)} lessons of a few minutes. Read, look, choose an answer; the answers are on '
        f"the last pages. Made with DP-Text Studio {escape(__version__)}; every figure was worked out when this was "
        f"printed.</p>{where}</header>\n{message}\n"
        f'<div class="answers"><h1>Answers</h1>{answers}</div>\n</body>\n</html>\n'
    )


def _lesson(k: int, lesson: Lesson) -> str:
    start = lesson.control.start
    question = lesson.ask(start)
    message = "".join(f"<p>{escape(line)}</p>" for line in lesson.said)
    answers = "".join(f"<li>{escape(answer)}</li>" for answer in question.answers)
    at = f'<p class="soft">{escape(lesson.control.label)}: {escape(lesson.control.said(start))}</p>'
    return (
        f'<section class="lesson"><h2>{k}. {escape(lesson.title)}</h2>{message}{at}{fragment(lesson.show(start))}'
        f'<div class="question"><strong>{escape(question.text)}</strong><ol>{answers}</ol></div></section>'
    )


def _answer(k: int, lesson: Lesson) -> str:
    start = lesson.control.start
    found, question = lesson.reveal(start), lesson.ask(start)
    right = f"{chr(ord('A') + found.right)}. {question.answers[found.right]}"
    lines = "".join(f"<p>{escape(line)}</p>" for line in (*found.found, *found.because, lesson.take_home))
    return (
        f'<section><h2>{k}. {escape(lesson.title)}</h2><p class="right">{escape(right)}</p>{lines}'
        f"{fragment(found.parts)}</section>"
    )
