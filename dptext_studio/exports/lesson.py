"""A lesson as a static page: its text, figures, question, and a hidden answer.

All text and figures are the lesson's own, computed when the page is made. The page needs no script to show its parts.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from pathlib import Path

from dptext_core.support.task import UNWATCHED, Task
from dptext_core.support.version import __version__

from ..figures import lessons as drawn
from ..lessons import Lesson
from . import html

#: The style file that the pages of all lessons share.
STYLE = "lesson.css"
NOTE = "Figures were computed when this page was made. Texts are fictitious."

_PAGE = (Path(__file__).parent / "lesson.css").read_text(encoding="utf-8")


def style() -> str:
    """Return the style of the pages: that of all files, and lesson figures in light and dark colours."""
    light, dark = drawn.colours(), drawn.colours(dark=True)
    named = "; ".join(f"{name}: light-dark({light[name]}, {dark[name]})" for name in light)
    return html.style(live=False) + _PAGE + f".p-lesson {{ {named} }}\n" + drawn.STYLE


def file_of(lesson: Lesson) -> str:
    return f"lesson-{lesson.name}.html"


def source_hash(lesson: Lesson, drawn_by: str) -> str:
    """Return a hash of the sources of a lesson's page."""
    facts = [__version__, *(inspect.getsource(part) for part in (sys.modules[__name__], drawn, type(lesson))), drawn_by]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def lesson_page(lesson: Lesson, index: str, task: Task = UNWATCHED) -> str:
    """Return the page of a lesson, which links back to ``index``. This may take seconds."""
    at = lesson.control.start
    shown, question, answer = lesson.show(at), lesson.ask(at), lesson.reveal(at)
    others = []
    for value in lesson.control.values:
        task.check()
        if value != at:
            figures = drawn.fragment(lesson.show(value))
            others.append(f"<details><summary>{_at(lesson, value)}</summary>{figures}</details>")
    choices = "".join(f"<li>{html.escape(one)}</li>" for one in question.answers)
    body = f"""<nav class="p-eyebrow"><a href="{index}">All lessons and examples</a></nav>
<h1>{html.escape(lesson.title)}</h1>
{_lines(lesson.sentences)}
<p class="p-small">{_at(lesson, at)}</p>
<div class="p-lesson">{drawn.fragment(shown)}{"".join(others)}</div>
<div class="p-question"><strong>{html.escape(question.text)}</strong><ol>{choices}</ol></div>
<div class="p-lesson"><details><summary>Show the answer</summary>
<p class="p-right">{"ABCD"[answer.right]}. {html.escape(question.answers[answer.right])}</p>
{_lines(answer.measurements)}{drawn.fragment(answer.parts)}{_lines(answer.explanation)}
<p><strong>Takeaway.</strong> {html.escape(lesson.take_home)}</p></details></div>
<footer>{NOTE} Made by DP-Text Studio {html.escape(__version__)}.</footer>"""
    return html.page(lesson.title, body, shared=True, private=False, wide=False, sheet=STYLE)


def _at(lesson: Lesson, value: object) -> str:
    return html.escape(f"{lesson.control.label}: {lesson.control.format_value(value)}")


def _lines(said: tuple[str, ...]) -> str:
    return "".join(f"<p>{html.escape(line)}</p>" for line in said)
