"""The game against the optimal reader on its page: alone, and with a class that votes."""

from __future__ import annotations

import pytest
from pages.test_learn_page import page, settle, shown
from pages.test_votes import VOTES, buttons, turn, wall_at, words

from dptext_core.privacy.numbers import number as decimal
from dptext_core.privacy.sampling import NoiseStream
from dptext_studio import lessons
from dptext_studio.lessons import beat_reader, reader_game
from dptext_studio.views.learn import game as game_module
from dptext_studio.views.learn import learning as learning_module

NUMBER = str([one.name for one in lessons.LESSONS].index(learning_module.GAME) + 1)


def press(at, key: str) -> None:
    at.button(key=key).click()
    settle(at)


def test_a_player_plays_all_rounds_sees_the_reader_and_plays_again():
    at = page("learn", lesson=NUMBER)
    play = at.session_state["learning"].play
    rounds = play.game.rounds
    for number, one in enumerate(rounds):
        assert at.get("progress")[0].proto.text == f"Round {number + 1} of {len(rounds)} · ε = {one.epsilon:g}"
        before = shown(at)
        assert one.word in before and "What the optimal reader believes" not in before, "nothing is given away"
        guess = one.secret if number % 2 else (one.secret + 1) % 4
        press(at, f"game_choice_{guess}")
        assert (len(at.success), len(at.warning)) == ((1, 0) if number % 2 else (0, 1))
        assert one.line_up.facts[one.secret] in (*at.success, *at.warning)[0].value
        assert not buttons(at, "game_choice") and "What the optimal reader believes" in shown(at)
        for line in beat_reader.reader_sentences(one):
            assert line in words(at)
        press(at, "game_next")
    assert f"Right guesses in {len(rounds)} rounds" in shown(at)
    board = beat_reader.scoreboard(game_module.scores(play), "You").rows
    assert {row.label: row.value for row in board}["You"] == 0.5
    dots = 2 * len(play.game.rules.epsilons)
    assert shown(at).count("<circle") == dots + 2, "two for each level, and two in the legend"
    press(at, "game_again")
    again = at.session_state["learning"].play
    assert again.game is not play.game and not again.guesses and len(again.past) == len(rounds)
    assert [r.line_up for r in again.game.rounds] != [r.line_up for r in rounds] or again.game.rounds != rounds


def test_the_game_goes_on_where_the_player_left_it():
    at = page("learn", lesson=NUMBER)
    press(at, "game_choice_0")
    press(at, "game_next")
    press(at, "learn_back")
    press(at, "learn_next")
    assert at.get("progress")[0].proto.text.startswith("Round 2 of")


def test_a_class_votes_unseen_and_its_dots_are_the_shares():
    room, key = VOTES.open()
    wall = wall_at(0, lesson=NUMBER, room=room, host=key)
    pupils = [page("learn", lesson=NUMBER, room=room) for _ in range(3)]
    stage = wall.session_state["learning"].class_stage
    rounds = stage.game.rounds
    assert [r.epsilon for r in rounds] == list(reader_game.rules().epsilons), "one round for each level"
    assert not buttons(pupils[0], "game_choice"), "the game has not begun"
    for number, one in enumerate(rounds):
        turn(wall)
        right, wrong = one.secret, (one.secret + 1) % 4
        for pupil, to in zip(pupils, (right, right, wrong), strict=True):
            settle(pupil)
            assert one.word in shown(pupil)
            press(pupil, f"game_choice_{wrong}")
            press(pupil, f"game_choice_{to}")
        assert any(c.value == "3 answered." for c in settle(wall).caption)
        for at in (wall, *pupils):
            assert "What the class chose" not in shown(at) and "What the optimal reader believes" not in shown(at)
        assert VOTES.counts(room, stage.topic(number), number, 4) is None
        turn(wall)
        assert VOTES.counts(room, stage.topic(number), number, 4)[right] == 2
        assert "2 of 3" in shown(wall)
        assert f"Blind guessing **{decimal((number + 1) / 4)}**" in words(wall), "this round counts at once"
        assert settle(pupils[0]).success and settle(pupils[2]).warning and "2 of 3" in shown(pupils[2])
        assert not buttons(pupils[0], "game_choice")
    turn(wall)
    for at in (wall, settle(pupils[1])):
        assert '<span class="label">The class</span>' in shown(at) and '<span class="said">67%</span>' in shown(at)
        assert shown(at).count("<circle") == 2 * len(rounds) + 2
    press(wall, "game_again")
    assert wall.session_state["learning"].class_stage.name != stage.name, "new topics: the old votes do not count"
    assert wall.session_state["learning"].step == 0


def test_a_wall_without_a_class_shows_the_rounds_and_their_answers():
    wall = wall_at(2, lesson=NUMBER)
    assert "What the optimal reader believes" in shown(wall) and not any("answered" in c.value for c in wall.caption)
    for _ in range(2 * len(reader_game.rules().epsilons) - 1):
        turn(wall)
    assert "<polyline" in shown(wall) and "Nobody guessed" in words(wall)
    assert wall.button(key="wall_next").disabled, "the game is the end of the course"


@pytest.mark.parametrize("epsilon", reader_game.rules().epsilons)
def test_the_round_on_paper_is_a_round_of_the_game(epsilon):
    one, lesson = beat_reader.example_round(epsilon), lessons.lesson(learning_module.GAME)
    assert lesson.reveal(epsilon).right == one.secret and lesson.ask(epsilon).answers == one.line_up.facts
    rows = beat_reader.belief_parts(one)[0].rows
    assert [r.value for r in rows] == pytest.approx(one.posterior.tolist())


def test_the_end_curve_has_the_ceiling_the_reader_and_the_levels_played():
    rules = reader_game.rules()
    game = reader_game.Game.draw(rules, NoiseStream(4))
    votes = reader_game.one_vote(0, rules.k)
    played = [
        (r.epsilon, reader_game.score_round(r, e, votes)) for r, e in zip(game.rounds, game.expected, strict=True)
    ]
    curve = beat_reader.end_curve(played, "Your guesses")
    (xs, ceiling), (at, reader), (_, blind) = curve.lines.values()
    assert ceiling == pytest.approx([reader_game.ceiling(x, rules.k) for x in xs]) and set(blind) == {0.25}
    assert all(r <= reader_game.ceiling(e, rules.k) for e, r in zip(at, reader, strict=True))
    (where, hits), (_, deserved) = curve.dots.values()
    levels = reader_game.levels(played)
    assert where == tuple(one.epsilon for one in levels) == tuple(sorted(rules.epsilons))
    assert hits == tuple(one.players for one in levels)
    assert all(d <= reader_game.ceiling(e, rules.k) for e, d in zip(where, deserved, strict=True))
    assert not beat_reader.end_curve((), "x").dots
