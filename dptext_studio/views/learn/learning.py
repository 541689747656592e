"""A visitor's position in the lessons, and helpers of all lesson views."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from ...components import address, hidden_controls
from ...components.text import literal
from ...lessons import LESSONS, Lesson, Question, TextLesson, reader_game
from ...lessons.example_text import Example
from ...lessons.reader_game import Game, Rules, Score
from ...server import votes
from ...server.session import session

state = st.session_state
#: The steps of the presenter view.
STEPS = ("said", "shown", "asked", "found", "meant")
#: The lesson with the game. Its slides: the rules, for each round the vote and the answer, and the end.
GAME = "reader"
GAME_STEPS = 2 + 2 * len(reader_game.rules().epsilons)
CLOSED = "This vote is closed: answers are no longer counted."
#: Seconds between two checks of the class.
FOLLOW = 2.0


@dataclass(eq=False)
class Play:
    """A game of one player. guesses: one for each round played. past: ε and score of earlier games' rounds."""

    game: Game
    guesses: list[int] = field(default_factory=list)
    #: Whether the answer of the last guess is still on the page.
    answered: bool = False
    past: list[tuple[float, Score]] = field(default_factory=list)


@dataclass(frozen=True)
class Stage:
    """What the host shows to the class. at: the lesson. number: the round of a game, from 0; -1 before it begins.
    example: the text of the class; None for the bundled one.
    """

    at: int
    name: str = ""
    game: Game | None = None
    number: int = -1
    example: Example | None = None

    def topic(self, number: int) -> str:
        """Return the name of a round's vote."""
        return f"{GAME} {self.name} {number}"


@dataclass(eq=False)
class Learning:
    """A visitor's position and answers.

    at: the lesson, from 0; None in the list of lessons. step: of the presenter view. answers: the chosen one, by the
    name of the lesson; ballots: the vote of a class in which it was chosen; revealed: the lessons whose answer was
    requested. values: of the controls. address: as last read or written. room: of a class that counts answers, "" for
    none; host: the key of its host, "" for the class; slides_asked: whether the address asks for slides, which need
    that key; voter: a random name of this session; last_ballot: the room and the question of the last answer.

    last_stage: what the host showed at the last run. scrolled_lesson: the lesson whose beginning was last scrolled to.
    play: the game of one player. class_stage: the game of a class, in the session of its host.

    own: the visitor's own text. rules: of the game, with the visitor's own text or the bundled ones. text_problem,
    game_problem: why the last typed one was rejected.
    """

    at: int | None = None
    step: int = 0
    present: bool = False
    answers: dict[str, int] = field(default_factory=dict)
    ballots: dict[str, int] = field(default_factory=dict)
    revealed: set[str] = field(default_factory=set)
    values: dict[str, Any] = field(default_factory=dict)
    address: dict[str, str] | None = None
    room: str = ""
    host: str = ""
    slides_asked: bool = False
    voter: str = field(default_factory=lambda: secrets.token_hex(8))
    last_ballot: tuple[str, str, Question | None] | None = None
    last_stage: Any = None
    scrolled_lesson: int | None = None
    play: Play | None = None
    class_stage: Stage | None = None
    own: Example | None = None
    rules: Rules = field(default_factory=reader_game.rules)
    text_problem: str = ""
    game_problem: str = ""

    @property
    def lesson(self) -> Lesson:
        """The lesson, with the visitor's own text or that of the class if it can use one."""
        lesson = LESSONS[self.at or 0]
        return lesson.on(self.example) if isinstance(lesson, TextLesson) else lesson

    @property
    def example(self) -> Example | None:
        """The text that replaces the bundled example: in a class, that of its host."""
        if not self.in_class:
            return self.own
        stage = votes.VOTES.stage(self.room)
        return stage.example if isinstance(stage, Stage) else None

    @property
    def has_own_game(self) -> bool:
        return self.rules is not reader_game.rules()

    def use_text(self, text: str | None) -> None:
        """Use this text in the lessons that can, or the example for None. Raise InputError for an unsuitable text.

        Their answers and votes are deleted, because the questions change.
        """
        self.own, self.text_problem = None if text is None else Example.of_visitor(text), ""
        for lesson in LESSONS:
            if isinstance(lesson, TextLesson):
                self.answers.pop(lesson.name, None)
                self.ballots.pop(lesson.name, None)
                self.revealed.discard(lesson.name)
                votes.VOTES.restart(self.room, self.host, lesson.name)

    def use_rules(self, rules: Rules) -> None:
        """Start the game again with these rules."""
        self.rules, self.game_problem = rules, ""
        self.play = self.class_stage = None

    @property
    def steps(self) -> int:
        """Return the number of slides of the lesson."""
        return GAME_STEPS if self.lesson.name == GAME else len(STEPS)

    @property
    def in_class(self) -> bool:
        """Return True if somebody else decides when answers are shown."""
        return bool(self.room) and votes.VOTES.is_open(self.room) and not self.is_host

    @property
    def is_host(self) -> bool:
        return bool(self.host) and votes.VOTES.is_host(self.room, self.host)

    def go(self, to: int) -> None:
        self.at, self.step = max(0, min(len(LESSONS) - 1, to)), 0

    def list_lessons(self) -> None:
        self.at, self.step = None, 0

    def turn(self, by: int) -> None:
        """Go one step of the presenter view forward or back, across lessons."""
        at = self.at or 0
        if by == 0:
            self.present = False
        elif 0 <= self.step + by < self.steps:
            self.step += by
        elif 0 <= at + by < len(LESSONS):
            self.go(at + by)
            self.step = 0 if by > 0 else self.steps - 1

    def query(self) -> dict[str, str]:
        query = {} if self.at is None else {"lesson": str(self.at + 1)}
        if self.room:
            query[votes.PARAMETER] = self.room
        return query | ({"present": "1"} if self.present or self.slides_asked else {})


def learning() -> Learning:
    if "learning" not in state:
        state.learning = Learning()
    return state.learning


def follow_link() -> None:
    """Go to the lesson of the address, unless this page has written it."""
    mine, params = learning(), hidden_controls.without_hidden(st.query_params.to_dict())
    if params == mine.address or not params:
        return
    number = params.get("lesson", "")
    if number.isascii() and number.isdigit() and 1 <= int(number) <= len(LESSONS):
        mine.go(int(number) - 1)
    room = votes.room_name(params.get(votes.PARAMETER, ""))
    mine.room, mine.host = room, mine.host if room == mine.room else ""
    # The slides of a class belong to its host.
    slides = params.get("present") == "1"
    mine.present, mine.slides_asked = slides and not mine.in_class, slides and mine.in_class
    if mine.present and mine.at is None:
        mine.go(0)


def write_address(came: bool) -> None:
    """Write the lesson into the address. came: from another page, whose entry in the browser's history would be
    duplicated.
    """
    mine = learning()
    mine.address = mine.query()
    if hidden_controls.without_hidden(st.query_params.to_dict()) == mine.address:
        return
    if came:
        address.write_query(mine.address)
    else:
        st.query_params.from_dict(mine.address)


def lesson_work(place: str, asked: Any, work: Callable[[], Any]) -> Any:
    """Return the result of ``work`` for ``asked``; None while it is running or if it was refused, which is shown."""
    there = session().at(f"learn: {place}")
    if there.request != asked:
        there.start(asked, lambda task: work(), "Computing")
    if there.is_running():
        there.show_progress(f"learn_stop_{place}")
        return None
    if said := there.failure_text("Stopped. Choose another value to start again."):
        st.error(literal(said))
        return None
    return there.result


def sentences(lines: Iterable[str]) -> None:
    for line in lines:
        st.markdown(literal(line))


def class_state() -> tuple[Any, bool, bool, int]:
    """Return what the host shows, whether the current vote has ended, whether its answer is shown, and how often it was
    restarted.
    """
    mine = learning()
    stage = votes.VOTES.stage(mine.room)
    topic = mine.lesson.name
    if isinstance(stage, Stage) and stage.game is not None:
        topic = stage.topic(stage.number)
    room = mine.room, topic
    return stage, votes.VOTES.has_ended(*room), votes.VOTES.is_revealed(*room), votes.VOTES.ballot(*room)


def follow_class() -> None:
    """Go to the lesson that the host shows, when that changes, and rerun the page then."""
    mine = learning()
    if not mine.in_class:
        return
    now = class_state()
    stage = now[0]
    if isinstance(stage, Stage) and (mine.last_stage is None or mine.last_stage[0] != stage) and mine.at != stage.at:
        mine.go(stage.at)
        now = class_state()
    mine.last_stage = now
    st.fragment(_look_again, run_every=FOLLOW)()


def _look_again() -> None:
    if learning().last_stage is not None and class_state() != learning().last_stage:
        st.rerun()
