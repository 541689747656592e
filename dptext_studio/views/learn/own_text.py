"""A text of the visitor's own in the lessons, and a text of a class in the game.

Both are in this session only. In a class session, its slides show them to the class, and they are deleted with it.
"""

from __future__ import annotations

import streamlit as st

import dptext_core as dpt

from ...components.text import literal
from ...lessons import LESSONS, TextLesson, reader_game
from ...lessons.example_text import LONGEST
from .learning import GAME, Learning, learning

state = st.session_state
#: Where the forms are: above a lesson, and in the teacher's panel.
PAGE, PANEL = "page", "panel"
#: The numbers of the lessons that use the text.
_NUMBERS = [str(i) for i, one in enumerate(LESSONS, 1) if isinstance(one, TextLesson)]
WHERE = f"Lessons {', '.join(_NUMBERS[:-1])} and {_NUMBERS[-1]}"


def text_button(mine: Learning) -> None:
    """Offer the form of the current lesson, except to a class, which follows its host."""
    lesson = mine.lesson
    if mine.in_class or not (isinstance(lesson, TextLesson) or lesson.name == GAME):
        return
    with st.popover("Your text", icon=":material/edit_note:", type="tertiary"):
        (game_form if lesson.name == GAME else text_form)(PAGE)


def other_lessons_note(mine: Learning) -> None:
    """Say that this lesson does not use the visitor's text."""
    if mine.example is not None and not isinstance(mine.lesson, TextLesson) and mine.lesson.name != GAME:
        st.caption(f"This lesson's question depends on its own example. {WHERE} use your text.")


def text_form(place: str) -> None:
    """Show the field for the text of the lessons."""
    mine = learning()
    with st.form(f"learn_text_form_{place}", border=False):
        st.text_area(
            "Your text",
            mine.own.text if mine.own else "",
            key=f"learn_text_{place}",
            height=120,
            placeholder=f"One to five sentences, up to {LONGEST} characters",
            help=f"{WHERE} use it instead of the example. It is kept in this session only.",
        )
        _buttons(place, "text", mine.own is not None)
    if mine.text_problem:
        st.error(literal(mine.text_problem))
    elif mine.own:
        st.caption(f"{WHERE} use your text.")


def game_form(place: str) -> None:
    """Show the fields for the text of the game, and the four texts that follow from them."""
    mine = learning()
    line_up = mine.rules.line_ups[0] if mine.has_own_game else None
    with st.form(f"learn_game_form_{place}", border=False):
        st.text_area(
            "Text of the game",
            line_up.text(0) if line_up else "",
            key=f"learn_game_{place}",
            height=90,
            help="The game and the group exercise use it instead of their texts.",
        )
        st.text_input(
            "Secret word",
            line_up.facts[0] if line_up else "",
            key=f"learn_word_{place}",
            help="A word of this text. The other three texts have words of its CusText group instead.",
        )
        _buttons(place, "game", line_up is not None)
    if mine.game_problem:
        st.error(literal(mine.game_problem))
    elif line_up:
        texts = map(line_up.text, range(len(line_up.facts)))
        st.markdown("The four texts:\n" + "".join(f"\n1. {literal(text)}" for text in texts))


def _buttons(place: str, kind: str, is_own: bool) -> None:
    with st.container(horizontal=True):
        st.form_submit_button(
            "Use this text", type="primary", key=f"learn_{kind}_use_{place}", on_click=_USE[kind], args=(place,)
        )
        st.form_submit_button(
            "Use the example",
            key=f"learn_{kind}_reset_{place}",
            disabled=not is_own,
            on_click=_RESET[kind],
        )


def _use_text(place: str) -> None:
    mine, text = learning(), state[f"learn_text_{place}"]
    try:
        mine.use_text(text)
    except dpt.InputError as error:
        mine.text_problem = str(error)
    else:
        _fill("text", text)


def _use_game(place: str) -> None:
    mine, text, word = learning(), state[f"learn_game_{place}"], state[f"learn_word_{place}"]
    try:
        mine.use_rules(reader_game.rules().with_text(text, word))
    except dpt.DPTextError as error:
        mine.game_problem = str(error)
    else:
        _fill("game", text)
        _fill("word", word)


def _reset_text() -> None:
    learning().use_text(None)
    _fill("text", "")


def _reset_game() -> None:
    learning().use_rules(reader_game.rules())
    _fill("game", "")
    _fill("word", "")


def _fill(field: str, value: str) -> None:
    """Write a value into the field at both places."""
    for place in (PAGE, PANEL):
        if (key := f"learn_{field}_{place}") in state:
            state[key] = value


_USE = {"text": _use_text, "game": _use_game}
_RESET = {"text": _reset_text, "game": _reset_game}
