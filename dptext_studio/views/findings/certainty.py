"""Findings at one certainty of the optimal reader: which mechanism preserves the most."""

from __future__ import annotations

import streamlit as st

from dptext_core.measure.metrics import measure
from dptext_core.text.cells import to_csv
from dptext_lab.results import belief, leaderboard, leaderboard_text
from dptext_lab.results.curves import title
from dptext_lab.results.data_titles import title as title_of_data

from ... import figures
from ...components import download
from ...components.charts import chart, dark
from ...components.sticky_widgets import stay
from ...components.text import literal
from .conclusions import answer

MEANING = "cosine"


def certainty_question() -> None:
    """Show which mechanism preserves the most when the optimal reader is as certain, on each data set."""
    rows = leaderboard.at_equal_belief()
    sets = rows.data_sets()
    if not sets:
        return
    st.markdown("### Which mechanism preserves the most when a reader is 50% certain?")
    place = st.container()
    data, judge, at = _choice(rows, sets)
    ranking = leaderboard.board(rows, data, judge, belief.METRIC, at, None)
    with place:
        sentence, doubt = leaderboard_text.answer(ranking, title_of_data(data))
        answer(sentence, doubt)
        others = [leaderboard.board(rows, d, judge, belief.METRIC, at, None) for d in sets if d != data]
        others = [board for board in others if board.entries]
        st.markdown("\n".join(f"- {literal(leaderboard_text.answer(o, title_of_data(o.data))[0])}" for o in others))
        if ranking.entries:
            figure = figures.leaderboard(ranking, dark=dark())
            chart(figure, key="certainty_board", alt=f"{sentence} The table below has all numbers.")
        st.caption(
            literal(
                " ".join(
                    filter(
                        None,
                        (
                            "The reader knows every word but one, the mechanism and ε, and chooses among 8 words: "
                            "guessing is right 12.5% of the time.",
                            "Bars: 95% intervals, including the error of the certainty.",
                            leaderboard_text.unknown_words_text(ranking),
                            belief.outside(belief.bundled(), data, at),
                        ),
                    )
                )
            )
        )
    with st.expander("The tables, and mechanisms without a certainty value"):
        for board in (ranking, *others):
            st.markdown(f"**{literal(title_of_data(board.data))}**")
            st.dataframe(leaderboard_text.display_rows(board), hide_index=True)
        download.button(
            "CSV",
            to_csv(leaderboard_text.table(ranking)),
            "certainty.csv",
            "text/csv",
            on_click="ignore",
            key="certainty_csv",
            icon=":material/download:",
            holds="nothing",
        )
        for name, reason in belief.refusals().items():
            st.markdown(f"- **{literal(title(name))}**: {literal(reason)}")


def _choice(rows: leaderboard.Rows, sets: list[str]) -> tuple[str, str, float]:
    """Return the data set, the judge and the certainty."""
    with st.container(horizontal=True):
        data = st.segmented_control(
            "Data set", sets, default=sets[0], required=True, format_func=title_of_data, key=stay("certainty_data")
        )
        judges = sorted(rows.judges(data or sets[0]), key=lambda m: m != MEANING)
        judge = st.segmented_control(
            "Preserved",
            judges,
            default=judges[0],
            required=True,
            format_func=lambda m: measure(m).title,
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
