"""Findings at one certainty of the optimal reader: which mechanism preserves the most."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dptext_core.text.cells import to_csv
from dptext_lab.results import belief, data_titles, leaderboard, leaderboard_text
from dptext_lab.results.curves import title

from ... import figures
from ...components import download
from ...components.charts import chart, dark
from ...components.sticky_widgets import stay
from ...components.tables import table
from ...components.text import literal
from ...figures.metric_titles import metric_title
from .conclusions import answer

MEANING = "cosine"
#: Levels of certainty at which the first mechanism is named.
LEVELS = (0.3, 0.4, 0.5, 0.6, 0.7)


def certainty_question() -> None:
    """Show which mechanism preserves the most at an equal certainty of the optimal reader, on each data set."""
    rows = leaderboard.at_equal_belief()
    sets = rows.data_sets()
    if not sets:
        return
    place = st.container()
    data, judge, at = _choice(rows, sets)
    place.markdown(f"### Which mechanism preserves the most when a reader is {at:.0%} certain?")
    ranking = leaderboard.board(rows, data, judge, belief.METRIC, at, None)
    others = [leaderboard.board(rows, d, judge, belief.METRIC, at, None) for d in sets if d != data]
    others = [board for board in others if board.entries]
    with place:
        sentence, doubt = leaderboard_text.answer(ranking, data_titles.in_sentence(data))
        doubt = leaderboard_text.significance_text(ranking) or doubt
        levels = [leaderboard.board(rows, data, judge, belief.METRIC, x, None) for x in LEVELS if x != at]
        notes = _agreement(ranking, others), _at_other_levels(ranking, levels)
        judges = leaderboard_text.agreement(rows, ranking)
        answer(sentence, " ".join(filter(None, (doubt, *notes, judges))))
        if ranking.entries:
            figure = figures.leaderboard(ranking, dark=dark())
            chart(figure, key="certainty_board", alt=f"{sentence} “Rows” has all numbers.")
        if power := leaderboard_text.power_text(ranking):
            st.caption(literal(power))
        st.caption(
            "The reader knows the mechanism, ε and every word but one. Guessing among 8 words is right 12.5% of the "
            "time. Bars: 95% intervals, including the error of the estimated certainty."
        )
    with st.expander("Rows", key="certainty_rows", on_change="rerun") as opened:
        if opened.open:
            _all_rows([ranking, *others])


def _agreement(ranking: leaderboard.Board, others: Sequence[leaderboard.Board]) -> str:
    """Return a sentence on the data sets on which another mechanism is first, or ""."""
    first = ranking.first
    if first is None or not others:
        return ""
    apart = [o for o in others if o.first is not None and o.first.mechanism != first.mechanism]
    if not apart:
        return "It is also first on the other data sets."
    named = (f"{o.first.label} is first on {data_titles.in_sentence(o.data)}" for o in apart if o.first is not None)
    return f"{', and '.join(named)}."


def _at_other_levels(ranking: leaderboard.Board, levels: Sequence[leaderboard.Board]) -> str:
    """Return a sentence on the levels at which another mechanism is first, or ""."""
    firsts: dict[str, list[str]] = {}
    for board in levels:
        if board.first is not None and ranking.first is not None and board.first.mechanism != ranking.first.mechanism:
            firsts.setdefault(board.first.label, []).append(f"{board.at:.0%}")
    if not firsts:
        return ""
    named = [f"at {' and '.join(at)} {label}" for label, at in firsts.items()]
    return f"Another mechanism is first at other levels: {', '.join(named)}."


def _all_rows(boards: Sequence[leaderboard.Board]) -> None:
    """Show the rows of each data set, and which mechanisms have none."""
    for board in boards:
        name = data_titles.in_sentence(board.data)
        st.markdown(f"**{literal(leaderboard_text.answer(board, name)[0])}**")
        table(leaderboard_text.display_rows(board))
        outside = belief.outside(belief.bundled(), board.data, board.at)
        if note := " ".join(filter(None, (leaderboard_text.unknown_words_text(board), outside))):
            st.caption(literal(note))
    download.button(
        "CSV",
        to_csv([row for board in boards for row in leaderboard_text.table(board)]),
        "certainty.csv",
        "text/csv",
        on_click="ignore",
        key="certainty_csv",
        icon=":material/download:",
        holds="nothing",
    )
    st.markdown("**Mechanisms without a certainty value**")
    st.markdown("\n".join(f"- {literal(title(name))}: {literal(why)}" for name, why in belief.refusals().items()))


def _choice(rows: leaderboard.Rows, sets: list[str]) -> tuple[str, str, float]:
    """Return the data set, the judge and the certainty."""
    with st.container(horizontal=True):
        data = st.segmented_control(
            "Data set", sets, default=sets[0], required=True, format_func=data_titles.title, key=stay("certainty_data")
        )
        judges = sorted(rows.judges(data or sets[0]), key=lambda m: m != MEANING)
        judge = st.segmented_control(
            "Utility",
            judges,
            default=judges[0],
            required=True,
            format_func=metric_title,
            key=stay("certainty_judge"),
        )
        at = st.segmented_control(
            "Certainty of the optimal reader",
            belief.LEVELS,
            default=belief.LEVEL,
            required=True,
            format_func="{:.0%}".format,
            key=stay("certainty_level"),
        )
    return data or sets[0], judge or judges[0], at or belief.LEVEL
