"""A text of the visitor's own in lessons, and of a class in its session and game."""

from __future__ import annotations

import pytest
from pages.test_game_page import NUMBER
from pages.test_learn_page import number, page, query, settle, shown
from pages.test_votes import VOTES, buttons, turn, words

from dptext_studio import lessons
from dptext_studio.lessons import reader_game

TEXT = "The plumber repaired our kitchen on Friday. My sister Wilhelmina paid the bill."


def use(at, kind: str, place: str = "page", **fields: str) -> None:
    for field, value in fields.items():
        (at.text_area if field != "word" else at.text_input)(key=f"learn_{field}_{place}").set_value(value)
    at.button(key=f"learn_{kind}_use_{place}").click()
    settle(at)


def test_your_text_replaces_the_example_until_you_reset_it():
    at = page("learn", lesson=str(number("one-word")))
    assert "heart" in shown(at)
    use(at, "text", text=TEXT)
    first = lessons.lesson("one-word").on(at.session_state["learning"].own)
    assert "heart" not in shown(at) and "repaired" in shown(at)
    at.radio(key="learn_answer_one-word").set_value(first.reveal(20.0).right)
    settle(at)
    at.button(key="learn_reveal_one-word").click()
    assert settle(at).success and first.reveal(20.0).measurements[0] in words(at)
    at.pills(key="learn_lesson").set_value(number("leaks") - 1)
    assert "Halvorsen" not in shown(settle(at)) and " our " in shown(at)
    at.pills(key="learn_lesson").set_value(number("redaction") - 1)
    assert "heart" in shown(settle(at)) and any("use your text" in c.value for c in at.caption)
    assert query(at) == {"lesson": str(number("redaction"))}, "no address contains the text"
    assert "heart" in shown(page("learn", lesson=str(number("one-word")))), "another session has the example"
    at.pills(key="learn_lesson").set_value(number("one-word") - 1)
    settle(at)
    at.button(key="learn_text_reset_page").click()
    assert "heart" in shown(settle(at)) and not at.success, "the old answer belonged to the other question"
    assert at.text_area(key="learn_text_page").value == ""


@pytest.mark.parametrize(("text", "says"), [("x" * 601, "601 characters"), ("?!", "no words")])
def test_an_unsuitable_text_says_what_to_do_and_changes_nothing(text, says):
    at = page("learn", lesson=str(number("one-word")))
    use(at, "text", text=text)
    assert says in at.error[0].value and "heart" in shown(at) and at.session_state["learning"].own is None


def test_a_class_has_the_text_of_its_host_until_the_session_ends():
    room, key = VOTES.open()
    name, here = "one-word", str(number("one-word"))
    host = page("learn", lesson=here, room=room, host=key)
    use(host, "text", text=TEXT)
    host.button(key="learn_present").click()
    turn(settle(host))
    pupil = page("learn", lesson=here, room=room)
    assert "repaired" in shown(host) and "repaired" in shown(pupil)
    assert not buttons(pupil, "learn_text"), "only the host chooses the text"
    pupil.radio(key=f"learn_answer_{name}_1").set_value(1)
    settle(pupil)
    turn(host)
    question = lessons.lesson(name).on(host.session_state["learning"].own).ask(20.0)
    assert VOTES.answered(room, name, question) == 1
    VOTES.close(room, key)
    assert "heart" in shown(settle(pupil)) and VOTES.stage(room) is None


def test_a_class_plays_the_game_with_its_own_text():
    room, key = VOTES.open()
    host = page("learn", lesson=NUMBER, room=room, host=key)
    host.session_state["learn_for_class"] = True
    settle(host)
    use(host, "game", "panel", game="My cousin called the plumber on Monday.", word="monday")
    facts = host.session_state["learning"].rules.line_ups[0].facts
    assert facts[0] == "Monday" and f"My cousin called the plumber on {facts[1]}." in words(host)
    host.button(key="learn_present").click()
    turn(settle(host))
    stage = host.session_state["learning"].class_stage
    assert {one.line_up.facts for one in stage.game.rounds} == {facts}
    pupil = page("learn", lesson=NUMBER, room=room)
    assert "My cousin called the plumber on" in shown(pupil)
    assert [b.label for b in pupil.button if b.key.startswith("game_choice")] == list(facts)
    turn(host)
    assert "What the optimal reader believes" in shown(host)
    alone = page("learn", lesson=NUMBER)
    assert "My cousin" not in shown(alone) and alone.session_state["learning"].rules is reader_game.rules()
    use(alone, "game", game="My cousin called.", word="the")
    assert "exactly once" in alone.error[0].value
