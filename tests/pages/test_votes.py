"""The answers of a class: counted once each, within limits, and forgotten."""

from __future__ import annotations

import pytest
from pages.test_learn_page import page, query, settle, shown, svgs

from dptext_studio import lessons
from dptext_studio.server import votes
from dptext_studio.server.votes import VOTES, Votes
from dptext_studio.views.learn import classroom, host_key


@pytest.fixture
def clock(monkeypatch):
    for name, most in (("ROOMS", 2), ("VOTERS", 3), ("QUESTIONS", 2)):
        monkeypatch.setattr(votes, name, most)
    return [0.0]


def test_each_voter_counts_once_and_may_think_again(clock):
    mine = Votes(lambda: clock[0])
    room, key = mine.open()
    assert votes.room_name(room) == room and votes.host_key(key) == key and mine.is_open(room)
    for voter, answer in (("a", 0), ("b", 1), ("a", 2)):
        assert mine.cast(room, "t", "q", voter, answer)
    assert mine.answered(room, "t", "q") == 2 and mine.answered(room, "t", "other") == 0
    mine.reveal(room, key, "t")
    assert mine.counts(room, "t", "q", 3) == [0, 1, 1] and mine.counts(room, "t", "other", 2) == [0, 0]


def test_votes_are_hidden_until_the_host_reveals_them_and_then_nobody_votes(clock):
    mine = Votes(lambda: clock[0])
    room, key = mine.open()
    other, other_key = mine.open()
    mine.cast(room, "t", "q", "a", 1)
    for wrong in ("", "a", other_key, key.upper()):
        mine.reveal(room, wrong, "t")
        mine.show(room, wrong, "slide")
        assert not mine.is_host(room, wrong)
        assert mine.counts(room, "t", "q", 2) is None and not mine.is_revealed(room, "t") and mine.stage(room) is None
    mine.reveal(room, key, "t")
    mine.show(room, key, "slide")
    assert mine.is_host(room, key) and mine.is_revealed(room, "t") and mine.stage(room) == "slide"
    assert not mine.cast(room, "t", "q", "a", 0) and mine.counts(room, "t", "q", 2) == [0, 1]
    assert mine.cast(room, "other", "q", "a", 0) and mine.counts(room, "other", "q", 2) is None
    assert not mine.is_revealed(other, "t") and mine.counts("none", "t", "q", 2) is None


def test_a_vote_ends_before_its_answer_is_shown_and_can_be_started_again(clock):
    mine = Votes(lambda: clock[0])
    room, key = mine.open()
    mine.cast(room, "t", "q", "a", 1)
    mine.end(room, "a", "t")
    assert not mine.has_ended(room, "t")
    mine.end(room, key, "t")
    assert mine.has_ended(room, "t") and not mine.is_revealed(room, "t")
    assert mine.counts(room, "t", "q", 2) == [0, 1] and not mine.cast(room, "t", "q", "b", 1)
    mine.restart(room, "a", "t")
    assert mine.has_ended(room, "t") and mine.ballot(room, "t") == 0
    mine.restart(room, key, "t")
    assert not mine.has_ended(room, "t") and mine.ballot(room, "t") == 1 and mine.answered(room, "t", "q") == 0
    assert mine.cast(room, "t", "q", "a", 0) and mine.counts(room, "t", "q", 2) is None
    mine.reveal(room, key, "t")
    assert mine.has_ended(room, "t") and mine.is_revealed(room, "t") and mine.counts(room, "t", "q", 2) == [1, 0]


def test_a_room_holds_so_many_and_no_more(clock):
    mine = Votes(lambda: clock[0])
    room, _ = mine.open()
    assert [mine.cast(room, "t", "q", v, 0) for v in "abcda"] == [True, True, True, False, True]
    assert [mine.cast(room, "t", q, "a", 0) for q in ("r", "s", "q")] == [True, False, True]
    assert mine.answered(room, "t", "s") == 0
    clock[0] = 1.0
    (second, _), (third, key) = mine.open(), mine.open()
    assert [mine.is_open(r) for r in (room, second, third)] == [True, False, True], "one without answers makes place"
    mine.cast(third, "t", "q", "a", 0)
    fourth, _ = mine.open()
    assert [mine.is_open(r) for r in (room, third, fourth)] == [False, True, True], "then the one that was idle longest"
    mine.close(third, "")
    assert mine.is_open(third), "an address without the key closes nothing"
    mine.close(third, key)
    mine.close("none", key)
    assert not mine.is_open(third) and not mine.cast(third, "t", "q", "a", 0)


def test_a_room_is_forgotten_after_its_last_use(clock):
    mine = Votes(lambda: clock[0])
    room, key = mine.open()
    clock[0] = votes.KEPT - 1
    assert mine.cast(room, "t", "q", "a", 0)
    clock[0] = 2 * votes.KEPT - 2
    assert mine.answered(room, "t", "q") == 1, "who looks does not keep it"
    mine.show(room, key, "slide")
    clock[0] = 3 * votes.KEPT - 3
    assert mine.answered(room, "t", "q") == 1, "a host who goes on does"
    clock[0] = 3 * votes.KEPT
    assert mine.answered(room, "t", "q") == 0 and not mine._rooms


@pytest.mark.parametrize("text", ["", "abc", "ABCDE", "abcdef", "ab<de", "abc\n2", "a" * 5000])
def test_what_is_no_name_of_a_room_opens_none(text):
    assert votes.room_name(text) == votes.host_key(text) == ""


def answer(pupil, name: str, to: int) -> None:
    pupil.radio(key=f"learn_answer_{name}").set_value(to)
    settle(pupil)


def says(at, text: str) -> bool:
    return any(text in c.value for c in at.caption)


def wall_at(step: int, **query: str):
    """The presenter view of a host, after so many steps."""
    wall = page("learn", present="1", **query)
    for _ in range(step):
        turn(wall)
    return wall


def turn(wall) -> None:
    wall.button(key="wall_next").click()
    settle(wall)


def words(at) -> str:
    return " ".join(m.value for m in at.markdown).replace("\\", "")


def bars(at) -> list[str]:
    return [p.proto.text for p in at.get("progress")]


def test_a_class_answers_unseen_until_the_wall_shows_the_answer():
    (room, key), first = VOTES.open(), lessons.lesson("one-word")
    here = str(lessons.LESSONS.index(first) + 1)
    pupils = [page("learn", lesson=here, room=room) for _ in range(3)]
    moved = pupils[2].select_slider(key=f"learn_value_{first.name}")
    moved.set_value(first.control.values[-1])
    settle(pupils[2])
    for pupil, to in zip(pupils, (0, 1, 0), strict=True):
        assert not says(pupil, "Your answer is counted")
        answer(pupil, first.name, to)
        assert says(pupil, "Your answer is counted without your name")
        assert query(pupil) == {"lesson": here, "room": room}, "an address that is copied leads to the same room"
        assert not buttons(pupil, "learn_reveal"), "only the teacher shows the answer"
    answer(pupils[1], first.name, 0)
    question = first.ask(first.control.start)
    wall = wall_at(2, lesson=here, room=room, host=key)
    assert says(wall, "3 answered") and not bars(wall), "how many, and not what"
    assert VOTES.counts(room, first.name, question, 2) is None
    settle(pupils[0])
    assert not pupils[0].success and not pupils[0].warning and not bars(pupils[0])
    turn(wall)
    assert VOTES.counts(room, first.name, question, 2) == [3, 0], "the same question, wherever the slider stands"
    assert bars(settle(pupils[0]))[0].endswith("· **3**") and (pupils[0].success or pupils[0].warning)
    assert says(wall, "A: **3** · B: **0**") and wall.info
    assert first.take_home in words(pupils[0])
    assert pupils[0].radio(key=f"learn_answer_{first.name}").disabled, "nobody changes the answer afterwards"


def buttons(at, key: str) -> list[str]:
    return [b.key for b in at.button if (b.key or "").startswith(key)]


def test_a_class_votes_discusses_and_votes_again():
    (room, key), first = VOTES.open(), lessons.lesson("coin")
    here = str(lessons.LESSONS.index(first) + 1)
    pupil, wall = page("learn", lesson=here, room=room), wall_at(2, lesson=here, room=room, host=key)
    answer(pupil, first.name, 0)
    wall.button(key="learn_vote").click()
    settle(wall)
    assert bars(wall)[0].endswith("· **1**") and not VOTES.is_revealed(room, first.name), "the votes, and no answer"
    assert settle(pupil).radio(key=f"learn_answer_{first.name}").disabled and not pupil.warning and not pupil.success
    wall.button(key="learn_vote").click()
    settle(wall)
    assert not bars(wall) and says(wall, "0 answered")
    again = settle(pupil).radio(key=f"learn_answer_{first.name}_1")
    assert again.value is None and not again.disabled and says(pupil, "will be counted")
    again.set_value(0)
    assert says(settle(pupil), "Your answer is counted"), "the same answer counts again"
    assert says(settle(wall), "1 answered")
    stranger = page("learn", lesson=here, room=room, present="1")
    assert not buttons(stranger, "learn_vote") and not buttons(stranger, "wall_next")


def test_phones_follow_the_slides_of_the_host_and_of_nobody_else():
    room, key = VOTES.open()
    pupil = page("learn", room=room)
    assert not pupil.pills, "the list of lessons"
    page("learn", lesson="3", room=room, present="1")
    assert not settle(pupil).pills
    wall = wall_at(0, lesson="2", room=room, host=key)
    assert settle(pupil).pills(key="learn_lesson").value == 1
    assert key not in str(query(wall)), "a projector shows the address"
    pupil.pills(key="learn_lesson").set_value(4)
    assert settle(pupil).pills(key="learn_lesson").value == 4, "until the next lesson they may look elsewhere"


def test_a_phone_shows_neither_slides_nor_what_is_for_teachers():
    room, key = VOTES.open()
    for query_ in ({}, {"lesson": "1"}, {"lesson": "1", "present": "1"}):
        pupil = page("learn", room=room, **query_)
        assert not buttons(pupil, "learn_present") and not buttons(pupil, "wall_") and not pupil.toggle
        assert not [e for e in pupil.expander if "teachers" in e.label]
        assert not pupil.session_state["learning"].present
    host = page("learn", lesson="1", room=room, host=key)
    assert buttons(host, "learn_present") and [e for e in host.expander if "teachers" in e.label]


def test_a_reloaded_host_gets_the_slides_back_and_a_wrong_key_does_not():
    room, key = VOTES.open()
    at = len(lessons.LESSONS)
    wall = wall_at(2, lesson=str(at), room=room, host=key)
    before = wall.session_state["learning"].class_stage
    loaded = page("learn", lesson=str(at), room=room, present="1")
    mine = loaded.session_state["learning"]
    assert not mine.present and query(loaded)["present"] == "1", "a class until its key is known"
    host_key.accept(mine, key[::-1])
    assert not mine.is_host and not mine.present
    host_key.accept(mine, key)
    assert mine.is_host and mine.present and (mine.class_stage, mine.step) == (before, 2)
    assert buttons(settle(loaded), "wall_next") and "What the optimal reader believes" in shown(loaded)


def test_a_question_that_nobody_answered_is_not_counted():
    at, one = next((k, one) for k, one in enumerate(lessons.LESSONS) if one.name == "equal")
    room, _ = VOTES.open()
    pupil = page("learn", lesson=str(at + 1), room=room)
    answer(pupil, one.name, 0)
    asked = [one.ask(v) for v in one.control.values]
    assert len(set(asked)) > 1
    for value in one.control.values:
        control = next(w for w in (*pupil.radio, *pupil.select_slider) if w.key == f"learn_value_{one.name}")
        control.set_value(value)
        settle(pupil)
    assert sum(VOTES.answered(room, one.name, q) for q in set(asked)) == 1


def test_a_teacher_opens_a_room_and_closes_it(monkeypatch):
    monkeypatch.setattr(classroom, "base", lambda: "http://room-12.local:8501/")
    teacher = page("learn", lesson="1")
    teacher.session_state["learn_for_class"] = True
    settle(teacher)
    teacher.toggle(key="learn_counts").set_value(True)
    settle(teacher)
    room, key = query(teacher)["room"], teacher.session_state["learning"].host
    assert VOTES.is_host(room, key)
    (given,) = [c.value for c in teacher.code]
    assert f"room={room}" in given and key not in given, "the class gets no key"
    teacher.button(key="learn_present").click()
    settle(teacher)
    assert svgs(teacher) and f"room={room}" in words(teacher) and key not in words(teacher), "the code is on the slide"
    teacher.button(key="wall_end").click()
    settle(teacher)
    assert says(page("learn", lesson="1", room=room), "will be counted")
    again = page("learn", lesson="1", room=room, host=key)
    again.button(key="learn_reveal_" + lessons.LESSONS[0].name).click()
    settle(again)
    assert VOTES.is_revealed(room, lessons.LESSONS[0].name), "the key that the tab remembers works after a reload"
    teacher.session_state["learn_for_class"] = True
    settle(teacher)
    teacher.toggle(key="learn_counts").set_value(False)
    settle(teacher)
    assert query(teacher) == {"lesson": "1"} and not VOTES.is_open(room)
    late = page("learn", lesson="1", room=room)
    answer(late, lessons.LESSONS[0].name, 0)
    assert says(late, "This vote is closed: answers are no longer counted") and not says(late, "Your answer is counted")


def test_a_word_of_ones_own_is_not_counted():
    typed = next(k for k, one in enumerate(lessons.LESSONS) if not one.control.values)
    (room, key), one = VOTES.open(), lessons.LESSONS[typed]
    pupil = page("learn", lesson=str(typed + 1), room=room)
    pupil.text_input(key=f"learn_value_{one.name}").set_value("sister")
    settle(pupil)
    answer(pupil, one.name, 0)
    assert not says(pupil, "Your answer is counted") and not VOTES._rooms[room].answers
    wall = wall_at(1, lesson=str(typed + 1), room=room, host=key)
    wall.text_input(key=f"learn_value_{one.name}").set_value("sister")
    settle(wall)
    turn(wall)
    assert any(m.value.startswith("**A.**") for m in wall.markdown), "the answers stand there, without numbers"
