"""Learn: short lessons, each with a question before its answer, a presenter view, and links for a class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from ...components import hidden_controls
from ...components.drawing import drawing
from ...components.shell import enter_app, last_page
from ...components.style import add_style
from ...components.text import literal
from ...lessons import COURSE, LESSONS, Lesson
from ...server import votes
from . import case_study, class_game, game, host_key, own_text
from .learning import GAME, Stage, follow_class, follow_link, learning, sentences, write_address
from .lesson_parts import answers, ask, control, door, is_answer_shown, part_view, reveal_of, take_home, verdict
from .presenter import presenter_view
from .teacher import present_button, teacher_panel

state = st.session_state
#: Lesson → the panel below it, with the control at a value.
BELOW: dict[str, Callable[[Any], None]] = {"memory": case_study.panel}
#: A new lesson is shown from its top. Numbered, because the same script in one place would run only once.
BEGIN = """<script>/* {} */ document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);</script>"""


def scroll_to_top() -> None:
    """Scroll to the top of an opened lesson."""
    mine = learning()
    if mine.scrolled_lesson != mine.at:
        mine.scrolled_lesson = mine.at
        st.html(BEGIN.format(mine.at), unsafe_allow_javascript=True)


def course_view() -> None:
    """Show all lessons in their parts, with their goals."""
    add_style(__file__, "course.css")
    top, wall = st.columns([5, 1], vertical_alignment="bottom")
    top.markdown("## Lessons")
    with wall:
        present_button()
    minutes = sum(one.minutes for one in LESSONS)
    st.markdown(f"{len(LESSONS)} lessons, about {minutes} minutes. Start anywhere: each lesson is independent.")
    teacher_panel(LESSONS[0], None)
    for pair in (COURSE[:2], COURSE[2:]):
        for place, part in zip(st.columns(2, gap="large"), pair, strict=True):
            with place, st.container(gap="xsmall"):
                st.markdown(f"#### {literal(part.title)}")
                for lesson in part.lessons:
                    _course_entry(lesson)


def _course_entry(lesson: Lesson) -> None:
    """Show a lesson in the list: its title opens it."""
    at = LESSONS.index(lesson)
    with st.container(gap=None):
        st.button(
            f"**{at + 1}. {literal(lesson.title)}**",
            key=f"learn_open_{lesson.name}",
            type="tertiary",
            on_click=learning().go,
            args=(at,),
        )
        st.caption(f"{lesson.minutes} min · {literal(lesson.goal)}")


def lesson_view() -> None:
    """Show the lesson as one page."""
    mine = learning()
    top, wall = st.columns([5, 1], vertical_alignment="bottom")
    with top, st.container(key="learn_lessons", horizontal=True, vertical_alignment="center"):
        st.button("All lessons", icon=":material/list:", key="learn_list", on_click=mine.list_lessons, type="tertiary")
        own_text.text_button(mine)
        state.learn_lesson = mine.at
        st.pills(
            "Lesson",
            range(len(LESSONS)),
            format_func=lambda i: f"{i + 1}",
            key="learn_lesson",
            required=True,
            on_change=lambda: mine.go(state.learn_lesson),
            label_visibility="collapsed",
        )
    with wall:
        present_button()
    lesson = mine.lesson
    st.markdown(f"### {(mine.at or 0) + 1}. {literal(lesson.title)}")
    value = _game_view(lesson) if lesson.name == GAME else _lesson_body(lesson)
    _navigation(lesson, value)
    teacher_panel(lesson, value)


def _lesson_body(lesson: Lesson) -> Any:
    """Show the text, control, question and answer. Return the value of the control."""
    mine = learning()
    sentences((*lesson.sentences, lesson.task))
    own_text.other_lessons_note(mine)
    value = control(lesson)
    question = None if value is None else part_view(lesson, value)
    if question is not None:
        ask(lesson, question, value)
        if is_answer_shown(lesson) and (reveal := reveal_of(lesson, value)) is not None:
            if mine.room:
                answers(lesson, value, question, follow=False)
            verdict(lesson, question, reveal)
            sentences(reveal.measurements)
            drawing(reveal.parts, key=f"learn_found_{lesson.name}")
            sentences(reveal.explanation)
            take_home(lesson)
    if value is not None and lesson.name in BELOW:
        BELOW[lesson.name](value)
    return value


def _game_view(lesson: Lesson) -> Any:
    """Show the game: with the class while its host shows it, otherwise alone. Return the initial setting of Explore."""
    stage = votes.VOTES.stage(learning().room) if learning().in_class else None
    if isinstance(stage, Stage) and stage.game is not None:
        class_game.phone(stage)
    else:
        game.play_alone(lesson)
    return lesson.control.start


def _navigation(lesson: Lesson, value: Any) -> None:
    """Show links to the previous lesson, to the next one and to Explore."""
    mine = learning()
    at = mine.at or 0
    with st.container(horizontal=True):
        if at:
            st.button("Back", icon=":material/arrow_back:", key="learn_back", on_click=mine.go, args=(at - 1,))
        if at + 1 < len(LESSONS):
            st.button(
                f"Next: {LESSONS[at + 1].title}",
                icon=":material/arrow_forward:",
                key="learn_next",
                type="primary" if is_answer_shown(lesson) else "secondary",
                on_click=mine.go,
                args=(at + 1,),
            )
        if value is not None:
            door(lesson, value)


def render() -> None:
    """Draw the page."""
    hidden_controls.read_address()
    follow_link()
    came = last_page() != "learn"
    enter_app("learn")
    mine = learning()
    if mine.present:
        presenter_view()
    else:
        # First, because it may go to another lesson.
        follow_class()
        with st.container(key="learn_page"):
            if mine.at is None:
                course_view()
            else:
                lesson_view()
        scroll_to_top()
    host_key.remember()
    # Elements that come and go are below everything else, so that nothing moves.
    write_address(came)
