"""A teacher's preparations: a plan, slides, a session that phones join, and pages to print."""

from __future__ import annotations

from typing import Any

import streamlit as st

from ...components.drawing import drawing
from ...lessons import COURSE, Facts, Lesson
from ...server.votes import KEPT, VOTES
from . import classroom, own_text
from .learning import CLOSED, Learning, learning
from .presenter import start_presenting

state = st.session_state


def present_button(label: str = "Present", key: str = "learn_present", width: Any = "stretch") -> None:
    """Offer the slides, except to a class, which follows those of its host."""
    if learning().in_class:
        return
    st.button(
        label,
        icon=":material/slideshow:",
        key=key,
        width=width,
        on_click=start_presenting,
        help="One idea at a time, in large type. Use the arrow keys or a clicker; Escape ends the presentation.",
    )


def teacher_panel(lesson: Lesson, value: Any) -> None:
    """Show what a teacher needs, and nothing to a class. It is computed when it is opened."""
    mine = learning()
    if mine.in_class:
        return
    with (
        st.container(key="learn_teacher"),
        st.expander(
            "**For teachers:** 90-minute plan, slides, class session, solutions",
            icon=":material/school:",
            key="learn_for_class",
            on_change="rerun",
        ) as opened,
    ):
        if opened.open:
            plan, slides, session, pages = st.tabs(
                ["90-minute plan", "Slides", "Class session", "Hand-out and solutions"]
            )
            with plan:
                _plan()
            with slides:
                _slides((mine.at or 0) + 1)
            with session:
                _session(lesson, value, mine)
            with pages:
                classroom.pages_to_print()


def plan() -> Facts:
    """Return the plan: what a class does, and when."""
    rows, start, first = [], 0, 1
    for part in COURSE:
        end, last = start + part.class_minutes, first + len(part.lessons) - 1
        minutes = sum(one.minutes for one in part.lessons)
        rows.append(
            (
                f"{start}–{end}",
                f"{part.title}: lessons {first}–{last} take {minutes} minutes. "
                f"Then {part.class_minutes - minutes} minutes together: {part.exercise}",
            )
        )
        start, first = end, last + 1
    return Facts(("Minutes", "What the class does"), tuple(rows))


def _plan() -> None:
    st.markdown("Before the class, start a class session and open its address on a phone.")
    drawing((plan(),), key="learn_plan")


def _slides(number: int) -> None:
    st.markdown(
        "Each lesson except the game has five slides: introduction, figure, question, answer, and what it means."
    )
    st.markdown("In a class session, phones follow your slides, vote, and vote again after a discussion.")
    present_button(f"Present lesson {number}", "learn_present_here", "content")


def _session(lesson: Lesson, value: Any, mine: Learning) -> None:
    state.learn_counts = bool(mine.room)
    st.toggle(
        "Start a class session",
        key="learn_counts",
        on_change=start_counting,
        help="Opens an address for your class and counts answers without names. Counts are hidden until you show "
        f"them, and deleted after {KEPT / 3600:.0f} hours without use or when you switch this off.",
    )
    if mine.room and not VOTES.is_open(mine.room):
        st.warning(f"{CLOSED} Switch the class session off and on for a new address.")
    classroom.panel((mine.at or 0) + 1, lesson, lesson.control.start if value is None else value, mine)
    _class_texts()


def _class_texts() -> None:
    """Show the fields for a text of the class in the lessons, and in the game and the exercise."""
    st.markdown("**A text of your class**")
    st.caption("Slides show it to your class. The server deletes it with the class session.")
    lessons_field, game_field = st.columns(2, gap="large")
    with lessons_field:
        own_text.text_form(own_text.PANEL)
    with game_field:
        own_text.game_form(own_text.PANEL)


def start_counting() -> None:
    """Open a room for the answers of a class, or close it."""
    mine = learning()
    VOTES.close(mine.room, mine.host)
    mine.room, mine.host = VOTES.open() if state.learn_counts else ("", "")
