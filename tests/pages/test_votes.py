"""The answers of a class: counted once each, within limits, and forgotten."""

from __future__ import annotations

import pytest
from pages.test_learn_page import page, query, settle

from dptext_studio import lessons
from dptext_studio.server import votes
from dptext_studio.server.votes import VOTES, Votes


@pytest.fixture
def clock(monkeypatch):
    for name, most in (("ROOMS", 2), ("VOTERS", 3), ("QUESTIONS", 2)):
        monkeypatch.setattr(votes, name, most)
    return [0.0]


def test_each_voter_counts_once_and_may_think_again(clock):
    mine = Votes(lambda: clock[0])
    room = mine.open("teacher")
    assert votes.voter_name(room) == room and mine.is_open(room)
    for voter, answer in (("a", 0), ("b", 1), ("a", 2)):
        assert mine.cast(room, "q", voter, answer)
    assert mine.counts(room, "q", 3) == [0, 1, 1] and mine.counts(room, "other", 2) == [0, 0]


def test_a_room_holds_so_many_and_no_more(clock):
    mine = Votes(lambda: clock[0])
    room = mine.open("teacher")
    assert [mine.cast(room, "q", v, 0) for v in "abcda"] == [True, True, True, False, True]
    assert [mine.cast(room, q, "a", 0) for q in ("r", "s", "q")] == [True, False, True]
    assert mine.counts(room, "s", 1) == [0]
    clock[0] = 1.0
    second, third = mine.open("teacher"), mine.open("teacher")
    assert [mine.is_open(r) for r in (room, second, third)] == [True, False, True], "one without answers makes place"
    mine.cast(third, "q", "a", 0)
    fourth = mine.open("teacher")
    assert [mine.is_open(r) for r in (room, third, fourth)] == [False, True, True], "then the one that was idle longest"
    mine.close(third, "pupil")
    assert mine.is_open(third), "who only has the address closes nothing"
    mine.close(third, "teacher")
    mine.close("none", "teacher")
    assert not mine.is_open(third) and not mine.cast(third, "q", "a", 0)


def test_a_room_is_forgotten_after_its_last_answer(clock):
    mine = Votes(lambda: clock[0])
    room = mine.open("teacher")
    clock[0] = votes.KEPT - 1
    assert mine.cast(room, "q", "a", 0)
    clock[0] = 2 * votes.KEPT - 2
    assert mine.counts(room, "q", 1) == [1], "who looks does not keep it"
    clock[0] = 2 * votes.KEPT
    assert mine.counts(room, "q", 1) == [0] and not mine._rooms


@pytest.mark.parametrize("text", ["", "abc", "ABCDE", "abcdef", "ab<de", "abc\n2", "a" * 5000])
def test_what_is_no_name_of_a_room_opens_none(text):
    assert votes.voter_name(text) == ""


def answer(pupil, name: str, to: int) -> None:
    pupil.radio(key=f"learn_answer_{name}").set_value(to)
    settle(pupil)


def says(at, text: str) -> bool:
    return any(text in c.value for c in at.caption)


def test_a_class_answers_and_the_wall_counts():
    room, first = VOTES.open("teacher"), lessons.LESSONS[0]
    pupils = [page("learn", lesson="1", room=room) for _ in range(3)]
    moved = pupils[2].select_slider(key=f"learn_value_{first.name}")
    moved.set_value(first.control.values[-1])
    settle(pupils[2])
    for pupil, to in zip(pupils, (0, 1, 0), strict=True):
        assert not says(pupil, "Counted")
        answer(pupil, first.name, to)
        assert says(pupil, "Counted for your class")
        assert query(pupil)["room"] == room, "an address that is copied leads to the same room"
    answer(pupils[1], first.name, 0)
    question = first.ask(first.control.start)
    assert VOTES.counts(room, (first.name, question), 2) == [3, 0], "the same question, wherever the slider stands"
    pupils[0].button(key=f"learn_reveal_{first.name}").click()
    settle(pupils[0])
    assert says(pupils[0], "3 answered")
    wall = page("learn", lesson="1", room=room, present="1")
    for _ in range(2):
        wall.button(key="wall_next").click()
        settle(wall)
    assert says(wall, "3 answered")


def test_a_question_that_nobody_answered_is_not_counted():
    at, one = next((k, one) for k, one in enumerate(lessons.LESSONS) if one.name == "equal")
    room = VOTES.open("teacher")
    pupil = page("learn", lesson=str(at + 1), room=room)
    answer(pupil, one.name, 0)
    asked = [one.ask(v) for v in one.control.values]
    assert len(set(asked)) > 1
    for value in one.control.values:
        control = next(w for w in (*pupil.radio, *pupil.select_slider) if w.key == f"learn_value_{one.name}")
        control.set_value(value)
        settle(pupil)
    assert sum(sum(VOTES.counts(room, (one.name, q), 4)) for q in set(asked)) == 1


def test_a_teacher_opens_a_room_and_closes_it():
    teacher = page("learn", lesson="1")
    teacher.session_state["learn_for_class"] = True
    settle(teacher)
    teacher.toggle(key="learn_counts").set_value(True)
    settle(teacher)
    room = query(teacher)["room"]
    assert VOTES.is_open(room) and any(f"room={room}" in c.value for c in teacher.code)
    pupil = page("learn", lesson="1", room=room)
    pupil.session_state["learn_for_class"] = True
    settle(pupil)
    assert says(pupil, "will be counted")
    pupil.toggle(key="learn_counts").set_value(False)
    settle(pupil)
    assert "room" not in query(pupil) and VOTES.is_open(room), "a pupil only leaves it"
    teacher.toggle(key="learn_counts").set_value(False)
    settle(teacher)
    assert "room" not in query(teacher) and not VOTES.is_open(room)
    late = page("learn", lesson="1", room=room)
    answer(late, lessons.LESSONS[0].name, 0)
    assert says(late, "room of this address is closed") and not says(late, "Counted")


def test_a_word_of_ones_own_is_not_counted():
    typed = next(k for k, one in enumerate(lessons.LESSONS) if not one.control.values)
    room, one = VOTES.open("teacher"), lessons.LESSONS[typed]
    pupil = page("learn", lesson=str(typed + 1), room=room)
    pupil.text_input(key=f"learn_value_{one.name}").set_value("sister")
    settle(pupil)
    answer(pupil, one.name, 0)
    assert not says(pupil, "Counted") and not VOTES._rooms[room].answers
    wall = page("learn", lesson=str(typed + 1), room=room, present="1")
    wall.button(key="wall_next").click()
    settle(wall)
    wall.text_input(key=f"learn_value_{one.name}").set_value("sister")
    settle(wall)
    wall.button(key="wall_next").click()
    settle(wall)
    assert any(m.value.startswith("**A.**") for m in wall.markdown), "the answers stand there, without numbers"
