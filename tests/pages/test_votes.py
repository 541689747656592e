"""The answers of a class: counted once each, within limits, and forgotten."""

from __future__ import annotations

import pytest
from pages.test_learn_page import page, query, settle

from dptext_core.show import lessons
from pages.ui import votes
from pages.ui.votes import VOTES, Votes


@pytest.fixture
def clock(monkeypatch):
    for name, most in (("ROOMS", 2), ("VOTERS", 3), ("QUESTIONS", 2)):
        monkeypatch.setattr(votes, name, most)
    return [0.0]


def test_each_voter_counts_once_and_may_think_again(clock):
    mine = Votes(lambda: clock[0])
    room = mine.open()
    assert votes.named(room) == room and mine.is_open(room)
    for voter, answer in (("a", 0), ("b", 1), ("a", 2)):
        assert mine.cast(room, "q", voter, answer)
    assert mine.counts(room, "q", 3) == [0, 1, 1] and mine.counts(room, "other", 2) == [0, 0]


def test_a_room_holds_so_many_and_no_more(clock):
    mine = Votes(lambda: clock[0])
    room = mine.open()
    assert [mine.cast(room, "q", v, 0) for v in "abcda"] == [True, True, True, False, True]
    assert [mine.cast(room, q, "a", 0) for q in ("r", "s", "q")] == [True, False, True]
    assert mine.counts(room, "s", 1) == [0]
    clock[0] = 1.0
    second, third = mine.open(), mine.open()
    assert [mine.is_open(r) for r in (room, second, third)] == [False, True, True], "the one that was idle longest goes"
    assert not mine.cast(room, "q", "a", 0)


def test_a_room_is_forgotten_after_its_last_answer(clock):
    mine = Votes(lambda: clock[0])
    room = mine.open()
    clock[0] = votes.KEPT - 1
    assert mine.cast(room, "q", "a", 0)
    clock[0] = 2 * votes.KEPT - 2
    assert mine.is_open(room)
    clock[0] = 2 * votes.KEPT
    assert not mine.is_open(room) and mine.counts(room, "q", 1) == [0]


@pytest.mark.parametrize("text", ["", "abc", "ABCDE", "abcdef", "ab<de", "abc\n2", "a" * 5000])
def test_what_is_no_name_of_a_room_opens_none(text):
    assert votes.named(text) == ""


def test_a_class_answers_and_the_wall_counts():
    room = VOTES.open()
    first = lessons.LESSONS[0]
    pupils = [page("learn", lesson="1", room=room) for _ in range(2)]
    for pupil, answer in zip(pupils, (0, 1), strict=True):
        pupil.radio(key=f"learn_answer_{first.name}").set_value(answer)
        settle(pupil)
        assert any("Counted for your class" in c.value for c in pupil.caption)
        assert query(pupil)["room"] == room, "an address that is copied leads to the same room"
    pupils[1].radio(key=f"learn_answer_{first.name}").set_value(0)
    settle(pupils[1])
    values = first.control.values
    assert VOTES.counts(room, (first.name, values.index(first.control.start)), 2) == [2, 0]
    pupils[0].button(key=f"learn_reveal_{first.name}").click()
    settle(pupils[0])
    assert any("2 answered" in c.value for c in pupils[0].caption)
    wall = page("learn", lesson="1", room=room, present="1")
    for _ in range(2):
        wall.button(key="wall_next").click()
        settle(wall)
    assert any("2 answered" in c.value for c in wall.caption)


def test_a_room_that_is_closed_says_so_and_a_word_of_ones_own_is_not_counted():
    first = lessons.LESSONS[0]
    pupil = page("learn", lesson="1", room="aaaaa")
    pupil.radio(key=f"learn_answer_{first.name}").set_value(0)
    settle(pupil)
    assert any("room of this address is closed" in c.value for c in pupil.caption)
    typed = next(k for k, one in enumerate(lessons.LESSONS) if not one.control.values)
    room = VOTES.open()
    pupil = page("learn", lesson=str(typed + 1), room=room)
    name = lessons.LESSONS[typed].name
    pupil.text_input(key=f"learn_value_{name}").set_value("sister")
    settle(pupil)
    pupil.radio(key=f"learn_answer_{name}").set_value(0)
    settle(pupil)
    assert not any("Counted" in c.value for c in pupil.caption) and VOTES.counts(room, (name, 0), 4) == [0] * 4
