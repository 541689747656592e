"""Learn: lessons of two minutes, each with a question before its answer; a view for a wall, and links for a class."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.mechanisms import recommended

from ...components import address, hidden_controls, links
from ...components.drawing import drawing
from ...components.presenter_keys import keys
from ...components.shell import enter_app, last_page, limit_width
from ...components.style import add_style
from ...components.text import literal
from ...lessons import LESSONS, Lesson, Question, Reveal
from ...server import votes
from ...server.session import session
from . import case_study, classroom

state = st.session_state
#: What the presenter view shows one after the other.
STEPS = ("said", "shown", "asked", "found", "meant")
CLOSED = "The room of this address is closed: answers are not counted any more."
#: Lesson → what stands below it, with the control at a value.
BELOW: dict[str, Callable[[Any], None]] = {"memory": case_study.panel}


#: Another lesson begins at its beginning. Numbered: the same script twice in one place would run once.
BEGIN = """<script>/* {} */ document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);</script>"""


@dataclass(eq=False)
class Learning:
    """Where a visitor is. at: the lesson, from 0; step: of STEPS, in the presenter view. answers: the chosen one, by
    the name of the lesson; revealed: the lessons whose answer was asked for. values: where controls stand. address: as
    it was last read or written. room: where the answers of a class are counted, "" for nowhere; voter: who answers, a
    random name of this session; counted: the room and the question of the last answer. begun: the lesson at whose
    beginning the page was put last."""

    at: int = 0
    step: int = 0
    present: bool = False
    answers: dict[str, int] = field(default_factory=dict)
    revealed: set[str] = field(default_factory=set)
    values: dict[str, Any] = field(default_factory=dict)
    address: dict[str, str] | None = None
    room: str = ""
    voter: str = field(default_factory=lambda: secrets.token_hex(8))
    counted: tuple[str, tuple[str, Question] | None] | None = None
    begun: int | None = None

    @property
    def lesson(self) -> Lesson:
        return LESSONS[self.at]

    def go(self, to: int) -> None:
        self.at, self.step = max(0, min(len(LESSONS) - 1, to)), 0

    def turn(self, by: int) -> None:
        """Go one step of the presenter view on or back, over the ends of lessons."""
        if by == 0:
            self.present = False
        elif 0 <= self.step + by < len(STEPS):
            self.step += by
        elif 0 <= self.at + by < len(LESSONS):
            self.go(self.at + by)
            self.step = 0 if by > 0 else len(STEPS) - 1

    def query(self) -> dict[str, str]:
        query = {"lesson": str(self.at + 1)} | ({votes.PARAMETER: self.room} if self.room else {})
        return query | ({"present": "1"} if self.present else {})


def learning() -> Learning:
    if "learning" not in state:
        state.learning = Learning()
    return state.learning


def follow_link() -> None:
    """Go where the address says, unless this page has written it."""
    mine, params = learning(), hidden_controls.without_hidden(st.query_params.to_dict())
    if params == mine.address or not params:
        return
    number = params.get("lesson", "")
    if number.isascii() and number.isdigit() and 1 <= int(number) <= len(LESSONS):
        mine.go(int(number) - 1)
    mine.present = params.get("present") == "1"
    mine.room = votes.voter_name(params.get(votes.PARAMETER, ""))


def write_address(came: bool) -> None:
    """Write the lesson into the address. came: from another page, whose entry in the browser's history would be
    doubled."""
    mine = learning()
    mine.address = mine.query()
    if hidden_controls.without_hidden(st.query_params.to_dict()) == mine.address:
        return
    if came:
        address.write_query(mine.address)
    else:
        st.query_params.from_dict(mine.address)


def lesson_work(place: str, asked: Any, work: Callable[[], Any]) -> Any:
    """Return what ``work`` gives for ``asked``; None while it is under way or where it was refused, which is said."""
    there = session().at(f"learn: {place}")
    if there.asked != asked:
        there.start(asked, lambda task: work(), "Working it out")
    if there.is_running():
        there.show_progress(f"learn_stop_{place}")
        return None
    if said := there.failure_text("Stopped. Choose another value to start again."):
        st.error(literal(said))
        return None
    return there.result


def control(lesson: Lesson) -> Any:
    """Show the one thing that is moved, and where it stands; None where what was typed is no word of the lesson."""
    mine, made = learning(), lesson.control
    start = mine.values.get(lesson.name, made.start)
    with st.container(key="learn_control"):
        if all(isinstance(v, str) for v in made.values) and made.values:
            value = st.radio(
                made.label,
                made.values,
                made.values.index(start),
                format_func=made.said,
                help=made.help or None,
                key=f"learn_value_{lesson.name}",
            )
        elif made.values:
            value = st.select_slider(
                made.label,
                made.values,
                start,
                format_func=made.said,
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
    """Show what comes before the question, and return the question."""
    found = lesson_work("shown", (lesson.name, value), lambda: (lesson.show(value), lesson.ask(value)))
    if found is None:
        return None
    parts, question = found
    if draw:
        drawing(parts, key=f"learn_shown_{lesson.name}")
    return question


def reveal_of(lesson: Lesson, value: Any) -> Reveal | None:
    return lesson_work("found", (lesson.name, value), lambda: lesson.reveal(value))


def verdict(lesson: Lesson, question: Question, reveal: Reveal) -> None:
    """Say whether the chosen answer is right, and which one is."""
    right = question.answers[reveal.right]
    chosen = learning().answers.get(lesson.name)
    if chosen is None:
        st.info(f"**{literal(right)}**", icon=":material/lightbulb:")
    elif chosen == reveal.right:
        st.success(f"Right: **{literal(right)}**", icon=":material/check_circle:")
    else:
        st.warning(f"Not this one. It is: **{literal(right)}**", icon=":material/lightbulb:")


def sentences(lines: tuple[str, ...]) -> None:
    for line in lines:
        st.markdown(literal(line))


def class_question(lesson: Lesson, value: Any, question: Question) -> tuple[str, Question] | None:
    """Return the question as it is counted, at all values of the control at which the same is asked. None without a
    class, and for one about a word of somebody's own: nothing typed is kept."""
    own = not lesson.control.values and value != lesson.control.start
    return (lesson.name, question) if learning().room and not own else None


def record_answer(lesson: Lesson, asked: tuple[str, Question] | None) -> None:
    """Note what was chosen, and count it where there is a class."""
    mine, chosen = learning(), state[f"learn_answer_{lesson.name}"]
    if chosen is None:
        return
    mine.answers[lesson.name] = chosen
    counted = asked is not None and votes.VOTES.cast(mine.room, asked, mine.voter, chosen)
    mine.counted = (mine.room, asked) if counted else None


def answers(lesson: Lesson, value: Any, question: Question, *, follow: bool) -> None:
    """Show what can be answered; with a class, how many of it chose each. follow: as they come in."""
    if (asked := class_question(lesson, value, question)) is not None:
        st.fragment(_tally, run_every=2.0 if follow else None)(learning().room, asked, question)
        return
    for i, answer in enumerate(question.answers):
        st.markdown(answer_text(i, answer))


def answer_text(i: int, answer: str) -> str:
    return f"**{chr(ord('A') + i)}.** {literal(answer)}"


def _tally(room: str, asked: tuple[str, Question], question: Question) -> None:
    counts = votes.VOTES.counts(room, asked, len(question.answers))
    for i, (answer, n) in enumerate(zip(question.answers, counts, strict=True)):
        st.progress(n / max(1, sum(counts)), f"{answer_text(i, answer)} · **{n}**")
    st.caption(f"{sum(counts)} answered." if votes.VOTES.is_open(room) else CLOSED)


def ask(lesson: Lesson, question: Question, value: Any) -> None:
    """Show the question with its answers, and the button that shows which is right."""
    mine = learning()
    asked = class_question(lesson, value, question)
    with st.container(border=True):
        st.markdown(f"**{literal(question.text)}**")
        chosen = st.radio(
            "Your answer",
            range(len(question.answers)),
            index=mine.answers.get(lesson.name),
            format_func=lambda i: literal(question.answers[i]),
            key=f"learn_answer_{lesson.name}",
            label_visibility="collapsed",
            on_change=record_answer,
            args=(lesson, asked),
        )
        if asked is not None:
            if not votes.VOTES.is_open(mine.room):
                st.caption(CLOSED)
            elif mine.counted == (mine.room, asked):
                st.caption("Counted for your class: which answer, and not whose.")
            else:
                st.caption("It will be counted for your class: which answer, and not whose.")
        with st.container(key="learn_check"):
            st.button(
                "Show the answer",
                type="primary",
                key=f"learn_reveal_{lesson.name}",
                disabled=chosen is None,
                on_click=mine.revealed.add,
                args=(lesson.name,),
            )


def door(lesson: Lesson, value: Any) -> None:
    with st.container(key="learn_door"):
        if st.button("Try it in Explore", icon=":material/open_in_new:", key=f"learn_door_{lesson.name}"):
            query = links.to_query(recommended.with_recommended(lesson.setting(value)))
            st.switch_page("pages/explore.py", query_params=query)


def scroll_to_top() -> None:
    """Show the top of a lesson that was opened."""
    mine = learning()
    if mine.begun != mine.at:
        mine.begun = mine.at
        st.html(BEGIN.format(mine.at), unsafe_allow_javascript=True)


def lesson_view() -> None:
    """Show the lesson as one page."""
    mine = learning()
    st.markdown("## Lessons")
    top, wall = st.columns([5, 1], vertical_alignment="bottom")
    with top:
        state.learn_lesson = mine.at
        st.pills(
            "Lesson",
            range(len(LESSONS)),
            format_func=lambda i: f"{i + 1}",
            key="learn_lesson",
            required=True,
            on_change=lambda: mine.go(state.learn_lesson if state.learn_lesson is not None else mine.at),
            label_visibility="collapsed",
        )
    wall.button(
        "Present",
        icon=":material/slideshow:",
        key="learn_present",
        width="stretch",
        on_click=start_presenting,
        help="One thing at a time, in large type. Turn with the arrow keys or a clicker; Escape ends it.",
    )
    lesson = mine.lesson
    st.markdown(f"### {mine.at + 1}. {literal(lesson.title)}")
    sentences(lesson.said)
    value = control(lesson)
    question = None if value is None else part_view(lesson, value)
    if question is not None:
        ask(lesson, question, value)
        if lesson.name in mine.revealed and (reveal := reveal_of(lesson, value)) is not None:
            if mine.room:
                answers(lesson, value, question, follow=False)
            verdict(lesson, question, reveal)
            sentences(reveal.found)
            drawing(reveal.parts, key=f"learn_found_{lesson.name}")
            sentences(reveal.because)
    if value is not None and lesson.name in BELOW:
        BELOW[lesson.name](value)
    _navigation(lesson, value)
    _teacher_panel(lesson, value)


def _navigation(lesson: Lesson, value: Any) -> None:
    """Show the ways to the lesson before, to the next one and to Explore."""
    mine = learning()
    with st.container(horizontal=True):
        if mine.at:
            st.button("Back", icon=":material/arrow_back:", key="learn_back", on_click=mine.go, args=(mine.at - 1,))
        if mine.at + 1 < len(LESSONS):
            st.button(
                f"Next: {LESSONS[mine.at + 1].title}",
                icon=":material/arrow_forward:",
                key="learn_next",
                type="primary" if lesson.name in mine.revealed else "secondary",
                on_click=mine.go,
                args=(mine.at + 1,),
            )
        if value is not None:
            door(lesson, value)


def _teacher_panel(lesson: Lesson, value: Any) -> None:
    """Show what a class needs, worked out when it is opened."""
    mine = learning()
    with (
        st.container(key="learn_teacher"),
        st.expander(
            "For teachers: an address, a QR code, pages to print",
            icon=":material/school:",
            key="learn_for_class",
            on_change="rerun",
        ) as opened,
    ):
        if opened.open:
            state.learn_counts = bool(mine.room)
            st.toggle(
                "Count the answers of my class",
                key="learn_counts",
                on_change=start_counting,
                help="The address below gets a room. Every answer given there is counted, and the presenter view shows "
                "the numbers as they come in. No names and no texts are kept, and the room is forgotten after some "
                "hours, or when you switch this off. Whoever else switches it off only leaves the room.",
            )
            if mine.room and not votes.VOTES.is_open(mine.room):
                st.warning(f"{CLOSED} Switch counting off and on for a new address.")
            classroom.panel(mine.at + 1, lesson, lesson.control.start if value is None else value, mine.room)


def start_counting() -> None:
    mine = learning()
    votes.VOTES.close(mine.room, mine.voter)
    mine.room = votes.VOTES.open(mine.voter) if state.learn_counts else ""


def start_presenting() -> None:
    mine = learning()
    mine.present, mine.step = True, 0


#: Widths on a slide of what is said and of what is drawn; of the answer and what is said of it, above what is drawn.
BESIDE, ABOVE = (2, 3), (1, 3)


def presenter_view() -> None:
    """Show one thing at a time."""
    mine = learning()
    lesson, step = mine.lesson, STEPS[mine.step]
    add_style(__file__, "presenter.css")
    if step not in ("shown", "found"):
        st.html("<span class='wall-words'></span>")
    elif step == "found" and lesson.across:
        st.html("<span class='wall-across'></span>")
    keys(mine.turn)
    st.caption(f"{mine.at + 1} of {len(LESSONS)} · {literal(lesson.title)}")
    value = mine.values.get(lesson.name, lesson.control.start)
    if step == "said":
        st.markdown(f"# {literal(lesson.title)}")
        sentences(lesson.said[: -lesson.beside])
    elif step == "shown":
        left, right = st.columns(BESIDE, gap="large")
        with left:
            sentences(lesson.said[-lesson.beside :])
            value = control(lesson)
        with right:
            if value is not None:
                part_view(lesson, value)
    elif (question := part_view(lesson, value, draw=False)) is not None:
        if step == "asked":
            st.markdown(f"### {literal(question.text)}")
            answers(lesson, value, question, follow=True)
        elif (reveal := reveal_of(lesson, value)) is not None:
            if step == "found":
                if lesson.across:
                    (first, then), right = st.columns(ABOVE, gap="large"), st.container()
                else:
                    first, right = st.columns(BESIDE, gap="large")
                    then = first
                with first:
                    verdict(lesson, question, reveal)
                with then:
                    sentences(reveal.found)
                with right:
                    drawing(reveal.parts, key=f"learn_found_{lesson.name}", across=lesson.across)
            else:
                sentences(reveal.because)
    start, end = mine.at == mine.step == 0, (mine.at, mine.step) == (len(LESSONS) - 1, len(STEPS) - 1)
    with st.container(horizontal=True, key="wall_turn"):
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


def render() -> None:
    """Draw the page."""
    hidden_controls.read_address()
    follow_link()
    came = last_page() != "learn"
    enter_app("learn")
    if learning().present:
        presenter_view()
    else:
        limit_width("56rem")
        lesson_view()
        scroll_to_top()
    # What is there in one run and gone in the next stands below all else: so nothing moves.
    write_address(came)
