"""The parts of a lesson on a page and on a slide: the control, the question with its votes, and the verdict."""

from __future__ import annotations

from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.mechanisms import recommended

from ...components import links
from ...components.drawing import drawing
from ...components.text import literal
from ...lessons import Lesson, Question, Reveal
from ...server import votes
from .learning import CLOSED, FOLLOW, learning, lesson_work

state = st.session_state


def control(lesson: Lesson) -> Any:
    """Show the control and return its value; None if the typed text is not a word of the lesson."""
    mine, made = learning(), lesson.control
    start = mine.values.get(lesson.name, made.start)
    with st.container(key="learn_control"):
        if all(isinstance(v, str) for v in made.values) and made.values:
            value = st.radio(
                made.label,
                made.values,
                made.values.index(start),
                format_func=made.format_value,
                help=made.help or None,
                key=f"learn_value_{lesson.name}",
            )
        elif made.values:
            value = st.select_slider(
                made.label,
                made.values,
                start,
                format_func=made.format_value,
                help=made.help or None,
                key=f"learn_value_{lesson.name}",
            )
        else:
            value = st.text_input(
                made.label, start, max_chars=40, help=made.help or None, key=f"learn_value_{lesson.name}"
            )
    try:
        mine.values[lesson.name] = lesson.checked(value)
    except dpt.InputError as error:
        st.info(literal(str(error)))
        return None
    return mine.values[lesson.name]


def part_view(lesson: Lesson, value: Any, *, draw: bool = True) -> Question | None:
    """Show the parts before the question, and return the question."""
    shown = lesson_work("shown", (lesson, value), lambda: (lesson.show(value), lesson.ask(value)))
    if shown is None:
        return None
    parts, question = shown
    if draw:
        drawing(parts, key=f"learn_shown_{lesson.name}")
    return question


def reveal_of(lesson: Lesson, value: Any) -> Reveal | None:
    return lesson_work("found", (lesson, value), lambda: lesson.reveal(value))


def verdict(lesson: Lesson, question: Question, reveal: Reveal) -> None:
    """Show whether the chosen answer is right, the right answer, and what a wrong choice missed."""
    right = question.answers[reveal.right]
    chosen = learning().answers.get(lesson.name)
    if chosen is None:
        st.info(f"The answer: **{literal(right)}**", icon=":material/lightbulb:")
    elif chosen == reveal.right:
        st.success(f"Right: **{literal(right)}**", icon=":material/check_circle:")
    else:
        reply = f" {literal(reveal.replies[chosen])}" if reveal.replies else ""
        st.warning(f"Not this one.{reply} The answer: **{literal(right)}**", icon=":material/lightbulb:")


def class_question(lesson: Lesson, value: Any, question: Question) -> Question | None:
    """Return the question for counting votes, for all values of the control with the same question.

    None without a class, and for a question about a visitor's own word: nothing typed is stored.
    """
    is_own_word = not lesson.control.values and value != lesson.control.start
    return question if learning().room and not is_own_word else None


def answer_key(lesson: Lesson, ballot: int) -> str:
    return f"learn_answer_{lesson.name}" + (f"_{ballot}" if ballot else "")


def record_answer(lesson: Lesson, asked: Question | None) -> None:
    """Record the chosen answer, and count it if there is a class."""
    mine = learning()
    ballot = votes.VOTES.ballot(mine.room, lesson.name)
    chosen = state[answer_key(lesson, ballot)]
    if chosen is None:
        return
    mine.answers[lesson.name], mine.ballots[lesson.name] = chosen, ballot
    counted = asked is not None and votes.VOTES.cast(mine.room, lesson.name, asked, mine.voter, chosen)
    mine.last_ballot = (mine.room, lesson.name, asked) if counted else None


def answers(lesson: Lesson, value: Any, question: Question, *, follow: bool) -> None:
    """Show the possible answers; with a class, the number of votes, and after the reveal those of each answer.

    follow: whether to update the counts as they arrive.
    """
    if (asked := class_question(lesson, value, question)) is not None:
        st.fragment(tally, run_every=FOLLOW if follow else None)(lesson.name, asked, question.answers)
        return
    for i, answer in enumerate(question.answers):
        st.markdown(answer_text(i, answer))


def answer_text(i: int, answer: str) -> str:
    return f"**{chr(ord('A') + i)}.** {literal(answer)}"


def tally(topic: str, asked: Any, choices: tuple[str, ...]) -> None:
    """Show the votes of a class: only their number until the host shows them."""
    room = learning().room
    counts = votes.VOTES.counts(room, topic, asked, len(choices))
    for i, answer in enumerate(choices):
        if counts is None:
            st.markdown(answer_text(i, answer))
        else:
            st.progress(counts[i] / max(1, sum(counts)), f"{answer_text(i, answer)} · **{counts[i]}**")
    answered = votes.VOTES.answered(room, topic, asked)
    st.caption(f"{answered} answered." if votes.VOTES.is_open(room) else CLOSED)


def vote_line(lesson: Lesson, value: Any, question: Question) -> None:
    """Show the votes of a class in one line."""
    asked = class_question(lesson, value, question)
    counts = asked and votes.VOTES.counts(learning().room, lesson.name, asked, len(question.answers))
    if counts:
        st.caption(" · ".join(f"{chr(ord('A') + i)}: **{n}**" for i, n in enumerate(counts)))


def ask(lesson: Lesson, question: Question, value: Any) -> None:
    """Show the question with its answers, and the button that reveals the right one: in a class, only to its host."""
    mine = learning()
    asked = class_question(lesson, value, question)
    open_ = asked is not None and votes.VOTES.is_open(mine.room)
    ended = open_ and votes.VOTES.has_ended(mine.room, lesson.name)
    ballot = votes.VOTES.ballot(mine.room, lesson.name)
    voted = mine.ballots.get(lesson.name, 0) == ballot
    with st.container(border=True):
        st.markdown(f"**{literal(question.text)}**")
        chosen = st.radio(
            "Your answer",
            range(len(question.answers)),
            index=mine.answers.get(lesson.name) if voted else None,
            format_func=lambda i: literal(question.answers[i]),
            key=answer_key(lesson, ballot),
            label_visibility="collapsed",
            on_change=record_answer,
            args=(lesson, asked),
            disabled=ended and mine.in_class,
        )
        if asked is not None and not ended:
            if not open_:
                st.caption(CLOSED)
            elif voted and mine.last_ballot == (mine.room, lesson.name, asked):
                st.caption("Your answer is counted without your name.")
            else:
                st.caption("Your answer will be counted without your name.")
        if mine.in_class:
            if not votes.VOTES.is_revealed(mine.room, lesson.name):
                st.caption(("The vote has ended. " if ended else "") + "Your teacher will show the answer.")
            return
        with st.container(key="learn_check"):
            st.button(
                "Show the class" if mine.is_host else "Show the answer",
                type="primary",
                key=f"learn_reveal_{lesson.name}",
                disabled=chosen is None and not mine.is_host,
                on_click=reveal_answer,
                args=(lesson,),
            )


def vote_button(lesson: Lesson) -> None:
    """Show the host a button that ends the vote, and one that repeats it after a discussion."""
    mine = learning()
    if not mine.is_host:
        return
    if votes.VOTES.has_ended(mine.room, lesson.name):
        label, icon, act = "Vote again", "refresh", votes.VOTES.restart
    else:
        label, icon, act = "Show votes", "bar_chart", votes.VOTES.end
    st.button(
        label,
        icon=f":material/{icon}:",
        key="learn_vote",
        on_click=act,
        args=(mine.room, mine.host, lesson.name),
    )


def reveal_answer(lesson: Lesson) -> None:
    """Show the answer here and, if this visitor is the host, to the class."""
    mine = learning()
    mine.revealed.add(lesson.name)
    votes.VOTES.reveal(mine.room, mine.host, lesson.name)


def is_answer_shown(lesson: Lesson) -> bool:
    """Return True if the answer of the lesson is on the page: in a class, once its host shows it."""
    mine = learning()
    if mine.in_class:
        return votes.VOTES.is_revealed(mine.room, lesson.name)
    return lesson.name in mine.revealed


def take_home(lesson: Lesson) -> None:
    """Show the take-home sentence."""
    with st.container(border=True, key="learn_take_home"):
        st.markdown(f"**Takeaway.** {literal(lesson.take_home)}")


def door(lesson: Lesson, value: Any) -> None:
    with st.container(key="learn_door"):
        if st.button("Try in Explore", icon=":material/open_in_new:", key=f"learn_door_{lesson.name}"):
            query = links.to_query(recommended.with_recommended(lesson.setting(value)))
            st.switch_page("pages/explore.py", query_params=query)
