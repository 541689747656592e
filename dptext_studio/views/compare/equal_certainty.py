"""Which setting preserves the most meaning at an equal certainty of the reader: the answer above the rewrites."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.measure.equal_certainty import LEVEL, EqualCertainty, equal_certainty
from dptext_core.mechanisms.recommended import label
from dptext_core.privacy.numbers import number, percent, with_minus

from ...components.sticky_widgets import stay
from ...components.text import literal
from ...server.comparison import Column
from ...server.session import session
from ...server.streamlit_patches import DeltaGenerator
from .certainty import chosen_fact

PLACE = "compare equal certainty"
LEVEL_KEY = "compare_level"
#: Columns of the table.
COLUMNS = ("setting", "meaning preserved (cosine, 95% interval)", "reader’s certainty", "ε")


def level_slider() -> tuple[DeltaGenerator, int]:
    """Show the slider of the certainty that all settings share. Return a container for the answer above it, and the
    certainty.
    """
    with st.container(key="compare_answer"):  # a container with nothing in it would have no height
        place = st.empty()
    level = st.columns([1, 1])[0].slider(
        "Reader’s certainty that all settings share",
        15,
        95,
        round(100 * LEVEL),
        step=5,
        format="%d%%",
        key=stay(LEVEL_KEY, round(100 * LEVEL)),
        help="Each setting gets the largest ε at which the optimal reader's certainty about the fact below does "
             "not exceed this value.",
    )
    return place, level


def equal_certainty_answer(place: DeltaGenerator, level: int, text: str, columns: Sequence[Column]) -> None:
    """Measure the settings on the text in a thread, and show the answer with its table."""
    fact = chosen_fact(text)
    wanted = text, tuple(c.setting.at(None) for c in columns), level, fact
    work = session().at(PLACE)
    if work.request != wanted:
        start(wanted, partial(_measure, text, wanted[1], level / 100, fact.word, fact.alternatives))
    with place.container():
        running = work.is_running(0.2)
        if not running and isinstance(work.result, EqualCertainty):
            show(work.result)
            return
        pending(level, [label(setting) for setting in wanted[1]])
        if running:
            work.show_progress("compare_level_stop")
        elif said := work.failure_text("Stopped. Move the slider to start again."):
            st.caption(literal(said))


def start(wanted: Any, measure: Callable[[dpt.Task], EqualCertainty]) -> None:
    """Start measuring, replace a running measurement, and let other tasks go first."""
    session().at(PLACE).start(wanted, measure, "Measuring meaning at equal certainty", last=True)


def _measure(
    text: str,
    settings: Sequence[dpt.Setting],
    level: float,
    word: str,
    alternatives: Sequence[str] | None,
    task: dpt.Task,
) -> EqualCertainty:
    mechanisms = [setting.at(1.0).make() for setting in settings]
    return equal_certainty(mechanisms, text, level, word, alternatives, task=task)


def pending(level: int, titles: Sequence[str]) -> None:
    """Show the question, and the table without results."""
    st.markdown(f"**Which setting preserves more meaning at {level}% certainty?** :small[The answer appears here.]")
    st.dataframe(
        dict(zip(COLUMNS, (titles, *[["…"] * len(titles)] * 3), strict=True)), hide_index=True, key="compare_level_none"
    )


def show(found: EqualCertainty) -> None:
    """Show the answer, the table, and a button for the rewrites at these ε."""
    st.markdown(f"**{literal(found.sentence())}**")
    st.dataframe(table(found), hide_index=True, key="compare_level_table")
    for reason in dict.fromkeys(row.reason for row in found.rows if row.reason):
        st.caption(literal(reason))
    if not any(row.reason for row in found.rows) and st.button(
        "Use these ε", icon=":material/sync_alt:", key="compare_level_use", help="Rewrite with each setting at its ε."
    ):
        session().compare([row.mechanism.setting for row in found.rows])
        st.rerun()


def table(found: EqualCertainty) -> dict[str, list[str]]:
    """Return a row for each setting: the ε, the certainty there, and the meaning preserved."""
    rows = found.rows
    meaning = [
        ""
        if row.meaning is None
        else with_minus("{:.2f} ({:.2f} to {:.2f})".format(row.meaning.value, *row.meaning.interval))
        for row in rows
    ]
    certainty = ["not reached" if row.reason else percent(row.certainty) for row in rows]
    epsilon = ["" if row.epsilon is None else number(row.epsilon) for row in rows]
    return dict(zip(COLUMNS, ([row.title for row in rows], meaning, certainty, epsilon), strict=True))
