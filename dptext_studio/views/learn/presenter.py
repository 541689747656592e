"""The lessons as slides: one idea at a time, in large type."""

from __future__ import annotations

import streamlit as st

from ...components.drawing import drawing
from ...components.presenter_keys import keys
from ...components.style import add_style
from ...components.text import literal
from ...lessons import LESSONS
from ...server.votes import VOTES
from . import class_game, classroom
from .learning import GAME, STEPS, Learning, Stage, learning, sentences
from .lesson_parts import answers, control, part_view, reveal_of, take_home, verdict, vote_button, vote_line

#: Column widths on a slide: text and figure; the answer and its explanation, above the figure; text and QR code.
BESIDE, ABOVE, CODE = (2, 3), (2, 3), (3, 2)


def start_presenting() -> None:
    mine = learning()
    if mine.at is None:
        mine.go(0)
    mine.present, mine.step = True, 0


def presenter_view() -> None:
    """Show one slide."""
    mine = learning()
    add_style(__file__, "presenter.css")
    keys(mine.turn)
    st.caption(f"{(mine.at or 0) + 1} of {len(LESSONS)} · {literal(mine.lesson.title)}")
    if mine.room and mine.step == 0:
        left, right = st.columns(CODE, gap="large")
        with right:
            classroom.slide_code(mine)
        with left:
            _slide(mine)
    else:
        _slide(mine)
    _turn_buttons(mine)


def _slide(mine: Learning) -> None:
    if mine.lesson.name == GAME:
        if mine.step == 0:
            st.html("<span class='wall-words'></span>")
        class_game.slide(mine)
    else:
        VOTES.show(mine.room, mine.host, Stage(mine.at or 0, example=mine.own))
        _lesson_slide(mine, STEPS[mine.step])


def _lesson_slide(mine: Learning, step: str) -> None:
    lesson = mine.lesson
    if step not in ("shown", "found"):
        st.html("<span class='wall-words'></span>")
    elif lesson.across:
        st.html("<span class='wall-across'></span>")
    value = mine.values.get(lesson.name, lesson.control.start)
    if step == "said":
        st.markdown(f"# {literal(lesson.title)}")
        sentences(lesson.sentences[: len(lesson.sentences) - lesson.num_beside_figure])
    elif step == "shown":
        left, right = st.columns(BESIDE, gap="large")
        with left:
            sentences((*lesson.sentences[len(lesson.sentences) - lesson.num_beside_figure :], lesson.task))
            value = control(lesson)
        with right:
            if value is not None:
                part_view(lesson, value)
    elif (question := part_view(lesson, value, draw=False)) is not None:
        if step == "asked":
            st.markdown(f"### {literal(question.text)}")
            answers(lesson, value, question, follow=True)
            return
        VOTES.reveal(mine.room, mine.host, lesson.name)
        if (reveal := reveal_of(lesson, value)) is None:
            return
        if step == "meant":
            sentences(reveal.explanation)
            take_home(lesson)
            return
        if lesson.across:
            (first, then), right = st.columns(ABOVE, gap="large"), st.container()
        else:
            first, right = st.columns(BESIDE, gap="large")
            then = first
        with first:
            verdict(lesson, question, reveal)
            vote_line(lesson, value, question)
        with then:
            sentences(reveal.measurements)
        with right:
            drawing(reveal.parts, key=f"learn_found_{lesson.name}", across=lesson.across)


def _turn_buttons(mine: Learning) -> None:
    at = mine.at or 0
    start, end = at == mine.step == 0, (at, mine.step) == (len(LESSONS) - 1, mine.steps - 1)
    with st.container(horizontal=True, key="wall_turn"):
        if mine.lesson.name != GAME and STEPS[mine.step] == "asked":
            vote_button(mine.lesson)
        for label, icon, by, off in (("Back", "arrow_back", -1, start), ("Next", "arrow_forward", 1, end)):
            st.button(
                label,
                icon=f":material/{icon}:",
                key=f"wall_{label.lower()}",
                on_click=mine.turn,
                args=(by,),
                disabled=off,
            )
        st.button("End", icon=":material/close:", key="wall_end", on_click=mine.turn, args=(0,), type="tertiary")
