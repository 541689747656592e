"""Beat the optimal reader, played alone: rounds, the reader's answer, and at the end the ceiling with the player's
dots.

Rounds look the same in a class (``class_game``).
"""

from __future__ import annotations

import streamlit as st

from dptext_core.privacy.numbers import number
from dptext_core.privacy.sampling import NoiseStream

from ...components.drawing import drawing
from ...components.style import add_style
from ...components.text import literal
from ...lessons import Lesson, beat_reader, reader_game
from ...lessons.reader_game import Game, Round, Rules, Score
from .learning import Learning, Play, learning, lesson_work, sentences
from .lesson_parts import take_home

ALONE = "Your guesses"


def play_alone(lesson: Lesson) -> None:
    """Show the player's current step of the game. lesson: provides the rules before the first guess, and the take-home
    sentence.
    """
    mine = learning()
    add_style(__file__, "game.css")
    play = _play(mine)
    if play is None:
        return
    with st.container(key="game"):
        if len(play.guesses) == len(play.game.rounds) and not play.answered:
            _end(mine, play)
            take_home(lesson)
        elif play.answered:
            _answer(play)
        else:
            if not play.guesses and not play.past:
                sentences(lesson.sentences)
            _question(play)


def _play(mine: Learning) -> Play | None:
    """Return the current game, or start one; None while it is drawn."""
    if mine.play is None:
        game = draw_game("alone", None)
        if game is None:
            return None
        mine.play = Play(game)
    return mine.play


def draw_game(name: str, rounds_each: int | None) -> Game | None:
    """Draw a new game; None while this is running. name: a new one for each game."""

    rules = learning().rules

    def work() -> Game:
        game = Game.draw(rules, NoiseStream(), rounds_each=rounds_each)
        assert game.expected  # computed here, not while the page is drawn
        beat_reader.end_curve((), "", rules)
        return game

    return lesson_work("game", (name, rules), work)


def scores(play: Play) -> list[tuple[float, Score]]:
    """Return ε and score of each round played in this game."""
    rounds = zip(play.game.rounds, play.game.expected, play.guesses, strict=False)
    k = play.game.rules.k
    return [(r.epsilon, reader_game.score_round(r, e, reader_game.one_vote(g, k))) for r, e, g in rounds]


def score_line(played: list[tuple[float, Score]], who: str) -> str:
    """Return the points so far; nothing before the first ones."""
    score = reader_game.total([s for _, s in played])
    if not score.rounds:
        return ""
    return (
        f"Points: {who} **{number(score.players)}** · Optimal reader **{score.reader}** · "
        f"Blind guessing **{number(score.chance)}**"
    )


def header(at: int, rounds: int, epsilon: float, line: str) -> None:
    """Show the number of the round, and the points."""
    st.progress(at / rounds, f"Round {at + 1} of {rounds} · ε = {epsilon:g}")
    if line:
        st.markdown(line)


def _question(play: Play) -> None:
    at = len(play.guesses)
    one = play.game.rounds[at]
    header(at, len(play.game.rounds), one.epsilon, score_line(scores(play), "You"))
    drawing(beat_reader.line_up_parts(one), key="game_line_up")
    st.markdown(f"**{literal(one.line_up.question)}**")
    choice_buttons(one, lambda i: _guess(play, i))


def choice_buttons(one: Round, choose, *, chosen: int | None = None, disabled: bool = False) -> None:
    """Show a button for each fact, which the keys 1 to 4 press too."""
    with st.container(key="game_choices"):
        for i, (place, fact) in enumerate(zip(st.columns(len(one.line_up.facts)), one.line_up.facts, strict=True)):
            place.button(
                literal(fact),
                key=f"game_choice_{i}",
                shortcut=str(i + 1),
                width="stretch",
                type="primary" if i == chosen else "secondary",
                disabled=disabled,
                on_click=choose,
                args=(i,),
            )


def _guess(play: Play, i: int) -> None:
    play.guesses.append(i)
    play.answered = True


def _answer(play: Play) -> None:
    at = len(play.guesses) - 1
    one, guess = play.game.rounds[at], play.guesses[at]
    header(at, len(play.game.rounds), one.epsilon, score_line(scores(play), "You"))
    drawing(beat_reader.line_up_parts(one), key="game_line_up")
    verdict(one, guess)
    drawing(beat_reader.belief_parts(one), key="game_belief")
    sentences(beat_reader.reader_sentences(one))
    last = at + 1 == len(play.game.rounds)
    st.button(
        "See the result" if last else "Next round",
        key="game_next",
        type="primary",
        icon=":material/arrow_forward:",
        shortcut="Enter",
        on_click=_go_on,
        args=(play,),
    )


def verdict(one: Round, guess: int | None) -> None:
    """Show which text it was, and whether the guess is right. guess: None for no guess."""
    facts = one.line_up.facts
    if guess is None:
        st.info(f"It was **{literal(facts[one.secret])}**.", icon=":material/lightbulb:")
    elif one.is_right(guess):
        st.success(f"Right: it was **{literal(facts[one.secret])}**.", icon=":material/check_circle:")
    else:
        st.warning(
            f"Your answer: {literal(facts[guess])}. It was "
            f"**{literal(facts[one.secret])}**.", icon=":material/lightbulb:"
        )


def _go_on(play: Play) -> None:
    play.answered = False


def _end(mine: Learning, play: Play) -> None:
    played = scores(play)
    show_score(played, "You")
    end_figure([*play.past, *played], ALONE, play.game.rules)
    if play.past:
        rounds = len(play.past) + len(played)
        st.caption(f"The dots count all {rounds} rounds of your games since you opened this page.")
    st.button("Play again", key="game_again", icon=":material/refresh:", type="primary", on_click=_again, args=(mine,))


def show_score(played: list[tuple[float, Score]], who: str) -> None:
    """Show the scores and their meaning."""
    if reader_game.levels(played):
        drawing((beat_reader.scoreboard(played, who),), key="game_scoreboard")
    sentences(beat_reader.end_sentences(played, who))


def end_figure(played: list[tuple[float, Score]], who: str, rules: Rules) -> None:
    """Show the ceiling over ε with the player's dots."""
    drawing((beat_reader.end_curve(played, who, rules),), key="game_curve")


def _again(mine: Learning) -> None:
    play = mine.play
    assert play is not None
    mine.play = Play(Game.draw(play.game.rules, NoiseStream()), past=[*play.past, *scores(play)])
