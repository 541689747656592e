"""Beat the optimal reader with a class: the host's slides, and the screens of the class's phones.

Phones follow the host's slides. Votes are hidden until the host continues to the answer, which also ends the vote.
Nobody has a name: the scoreboard has the class, the optimal reader, and blind guessing.
"""

from __future__ import annotations

import dataclasses
import secrets

import streamlit as st

from ...components.drawing import drawing
from ...components.style import add_style
from ...components.text import literal
from ...lessons import beat_reader, reader_game
from ...lessons.reader_game import Round, Score
from ...server.votes import VOTES
from . import game
from .learning import FOLLOW, Learning, Stage, learning, sentences, state
from .lesson_parts import take_home

CLASS = "The class"


def slide(mine: Learning) -> None:
    """Show one step of the game on a slide."""
    add_style(__file__, "game.css")
    stage = _staged(mine)
    if stage is None or stage.game is None:
        return
    rounds = stage.game.rounds
    if mine.step == 0:
        st.markdown(f"# {literal(mine.lesson.title)}")
        sentences(mine.lesson.sentences)
        return
    if mine.step == 1 + 2 * len(rounds):
        _end(mine, stage)
        return
    one, votes_open = rounds[stage.number], mine.step % 2
    if not votes_open:  # before the points, so that they count this round
        VOTES.reveal(mine.room, mine.host, stage.topic(stage.number))
    line = game.score_line(scores(mine.room, stage), CLASS) if mine.room else ""
    game.header(stage.number, len(rounds), one.epsilon, line)
    if votes_open:
        st.html("<span class='wall-vote'></span>")
        _vote_slide(mine, stage, one)
    else:
        _answer_slide(mine, stage, one)


def _staged(mine: Learning) -> Stage | None:
    """Return the game at the slides' step, and show it to the class; None while the game is drawn."""
    assert mine.at is not None
    if mine.class_stage is None:
        drawn = game.draw_game("class", 1)
        if drawn is None:
            return None
        mine.class_stage = Stage(mine.at, secrets.token_hex(8), drawn, example=mine.own)
    mine.class_stage = dataclasses.replace(mine.class_stage, number=(mine.step - 1) // 2)
    VOTES.show(mine.room, mine.host, mine.class_stage)
    return mine.class_stage


def scores(room: str, stage: Stage) -> list[tuple[float, Score]]:
    """Return ε and score of the rounds whose votes the class can see."""
    assert stage.game is not None
    out = []
    for number, (one, expected) in enumerate(zip(stage.game.rounds, stage.game.expected, strict=True)):
        votes = VOTES.counts(room, stage.topic(number), number, len(one.line_up.facts))
        if votes is not None:
            out.append((one.epsilon, reader_game.score_round(one, expected, votes)))
    return out


def _vote_slide(mine: Learning, stage: Stage, one: Round) -> None:
    left, right = st.columns((3, 2), gap="large")
    with left:
        drawing(beat_reader.line_up_parts(one), key="game_line_up")
    with right:
        st.markdown(f"### {literal(one.line_up.question)}")
        for i, fact in enumerate(one.line_up.facts):
            st.markdown(f"**{i + 1}.** {literal(fact)}")
        if mine.room:
            st.fragment(_answered, run_every=FOLLOW)(stage)


def _answered(stage: Stage) -> None:
    n = VOTES.answered(learning().room, stage.topic(stage.number), stage.number)
    st.caption(f"{n} answered.")


def _answer_slide(mine: Learning, stage: Stage, one: Round) -> None:
    votes = VOTES.counts(mine.room, stage.topic(stage.number), stage.number, len(one.line_up.facts)) or ()
    left, right = st.columns((3, 2), gap="large")
    with left:
        drawing(beat_reader.line_up_parts(one), key="game_line_up")
        sentences(beat_reader.reader_sentences(one))
    with right:
        drawing(beat_reader.belief_parts(one, votes), key="game_belief")


def _end(mine: Learning, stage: Stage) -> None:
    assert stage.game is not None
    played = scores(mine.room, stage)
    left, right = st.columns((2, 3), gap="large")
    with left:
        game.show_score(played, CLASS)
        st.button("Play again", key="game_again", icon=":material/refresh:", on_click=_again, args=(mine,))
    with right:
        game.end_figure(played, CLASS, stage.game.rules)


def _again(mine: Learning) -> None:
    mine.class_stage, mine.step = None, 0
    state.session.at("learn: game").request = None


def phone(stage: Stage) -> None:
    """Show the question of the host's slide, with buttons."""
    add_style(__file__, "game.css")
    assert stage.game is not None
    mine, rounds = learning(), stage.game.rounds
    if stage.number < 0:
        st.info("Your class plays this game together. The first round appears here.")
        return
    with st.container(key="game"):
        if stage.number >= len(rounds):
            played = scores(mine.room, stage)
            game.show_score(played, CLASS)
            game.end_figure(played, CLASS, stage.game.rules)
            take_home(mine.lesson)
            return
        one, topic = rounds[stage.number], stage.topic(stage.number)
        line = game.score_line(scores(mine.room, stage), CLASS)
        game.header(stage.number, len(rounds), one.epsilon, line)
        drawing(beat_reader.line_up_parts(one), key="game_line_up")
        guess = mine.answers.get(topic)
        if VOTES.is_revealed(mine.room, topic):
            game.verdict(one, guess)
            votes = VOTES.counts(mine.room, topic, stage.number, len(one.line_up.facts)) or ()
            drawing(beat_reader.belief_parts(one, votes), key="game_belief")
            sentences(beat_reader.reader_sentences(one))
            return
        st.markdown(f"**{literal(one.line_up.question)}**")
        game.choice_buttons(one, lambda i: _vote(mine, stage, i), chosen=guess)
        st.caption(
            "Your answer is counted without your name. You can change it until your teacher continues."
            if guess is not None
            else "Your answer will be counted without your name."
        )


def _vote(mine: Learning, stage: Stage, i: int) -> None:
    topic = stage.topic(stage.number)
    if VOTES.cast(mine.room, topic, stage.number, mine.voter, i):
        mine.answers[topic] = i
