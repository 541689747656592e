"""Findings at equal success of an attacker: which mechanism preserves the most, with all rows."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dptext_core.measure.metrics import measure
from dptext_core.text.cells import to_csv
from dptext_lab.results import data_titles, leaderboard, leaderboard_text

from ... import figures
from ...components import download
from ...components.charts import chart, dark
from ...components.sticky_widgets import stay
from ...components.tables import table
from ...components.text import literal
from ...figures.metric_titles import metric_title
from .conclusions import answer


def question(rows: leaderboard.Rows) -> None:
    """Show which mechanism preserves the most at equal privacy: a sentence, its uncertainty, and the leaderboard."""
    sets = rows.data_sets()
    if not sets:
        return
    st.markdown("### Which mechanism preserves the most at equal success of an attacker?")
    place = st.container()
    with st.expander("Data set, measure and level", key="found_choice"):
        data, judge, privacy, at, every, stop_words = choice(rows, sets)
    ranking = leaderboard.board(rows, data, judge, privacy, at, stop_words, every)
    with place:
        sentence, doubt = leaderboard_text.answer(ranking, data_titles.in_sentence(data))
        sure = leaderboard_text.significance_text(ranking) or doubt, leaderboard_text.agreement(rows, ranking)
        answer(sentence, " ".join(filter(None, sure)))
        if ranking.entries:
            figure = figures.leaderboard(ranking, dark=dark())
            chart(figure, key="found_board", alt=f"{sentence} “Rows” has all numbers.")
            notes = leaderboard_text.power_text(ranking), leaderboard_text.seeds_text(ranking), legend(ranking)
            st.caption(literal(" ".join(filter(None, notes))))
    with st.expander("Rows", key="found_rows", on_change="rerun") as opened:
        if opened.open:
            all_rows(rows, ranking)


def all_rows(rows: leaderboard.Rows, ranking: leaderboard.Board) -> None:
    """Show the rows of a board, its ranks by other judges, and the rows at equal privacy by other measures."""
    table(leaderboard_text.display_rows(ranking))
    name = data_titles.in_sentence(ranking.data)
    files("board", to_csv(leaderboard_text.table(ranking)), leaderboard_text.to_latex(ranking, name))
    if conditions := conditions_text(ranking):
        st.caption(literal(conditions))
    if first := leaderboard_text.first_by_judge(rows, ranking):
        st.markdown(f"**Ranks by other measures of utility.** {literal(first)}")
        places, alike = leaderboard_text.rankings(rows, ranking)
        table(places)
        gaps = "–: this measure has no measured point. " * any(None in p.values() for p in places)
        if note := gaps + leaderboard_text.correlation_text(ranking, alike):
            st.caption(literal(note))
    for sentence, other in leaderboard_text.elsewhere(rows, ranking):
        st.markdown(f"**At equal privacy by another measure.** {literal(sentence)}")
        table(leaderboard_text.display_rows(other))
    st.caption("To add your own mechanism, see docs/development/contributed_results.md in the repository.")


def choice(rows: leaderboard.Rows, sets: Sequence[str]) -> tuple[str, str, str, float, bool, bool]:
    """Return data set, judge, measure of privacy, its level, whether all settings are shown, and whether stop words are
    kept.
    """
    left, middle, right = st.columns(3)
    data = left.selectbox("Data set", sets, format_func=data_titles.title, key=stay("found_data"))
    judge = middle.selectbox(
        "Utility",
        rows.judges(data),
        format_func=metric_title,
        key=stay(f"found_judge_{data}"),
        help="The utility measure and the model that judges it.",
    )
    measures = rows.measures(data)
    default = leaderboard.first_privacy(rows, data, rows.judges(data)[0])
    privacy = right.selectbox(
        "Equal privacy",
        measures,
        index=measures.index(default),
        format_func=metric_title,
        key=stay(f"found_privacy_{data}", default),
        help="What is equal for all mechanisms: how often a word is unchanged, or how often an attacker succeeds.",
    )
    levels = rows.levels(data, privacy)
    first = leaderboard.first_level(rows, data, judge, privacy)
    key = stay(f"found_level_{data}_{privacy}", first)
    at = st.segmented_control(
        "Level",
        levels,
        default=first,
        required=True,
        format_func=lambda x: leaderboard_text.level_text(privacy, x),
        key=key,
    )
    left, right = st.columns(2)
    every = left.toggle("All settings of each mechanism", key=stay("found_every", False))
    drawn = right.toggle(
        "Stop words are replaced too",
        key=stay("found_stop_words", False),
        help="Only settings that replace the same words are compared.",
    )
    return data, judge, privacy, at, every, not drawn


def legend(found: leaderboard.Board) -> str:
    """Return the legend of the figure's marks."""
    marks = ["Bars: 95% intervals."]
    if any(e.is_significant for e in found.entries):
        marks.append("Grey: significantly less than the first, corrected for the number of comparisons.")
    if gaps := [abs(e.privacy - found.at) for e in found.entries if not e.between]:
        marks.append(f"Filled: measured{_near(max(gaps), found.privacy)}.")
    if any(e.between for e in found.entries):
        marks.append("Hollow: interpolated between two measured points.")
    if found.whole is not None:
        marks.append("Dotted: original text.")
    return " ".join(marks)


def _near(gap: float, privacy: str) -> str:
    """Return how far from the level a measured point may be."""
    if gap < 0.0005:
        return " at the level"
    away = f"{100 * gap:.1f} points" if measure(privacy).high <= 1 else f"{gap:.1f}"
    return f" at most {away} from the level"


def conditions_text(found: leaderboard.Board) -> str:
    """Return the judge, and which settings differ or are missing."""
    notes = []
    if judge := measure(found.judge).judge:
        notes.append(f"The judge is {judge}.")
    if once := [e.label for e in found.entries if e.seeds == 1]:
        notes.append(f"One seed only: {leaderboard_text.join_names(once)}.")
    tested = [e for e in found.entries[1:] if e.p is not None]
    if tested and len(tested) < len(found.entries) - 1:
        notes.append("Not tested: the error of this value is unknown.")
    notes += [leaderboard_text.unknown_words_text(found), leaderboard_text.refused_text(found)]
    if found.omitted_names:
        notes.append(f"No measured point nearby: {leaderboard_text.join_names(found.omitted_names)}.")
    return " ".join(filter(None, notes))


def files(name: str, csv: str, latex: str) -> None:
    with st.container(horizontal=True):
        for label, text, ending, kind in (("CSV", csv, "csv", "text/csv"), ("LaTeX", latex, "tex", "text/x-tex")):
            download.button(
                label,
                text,
                f"{name}.{ending}",
                kind,
                on_click="ignore",
                key=f"found_{name}_{ending}",
                icon=":material/download:",
                holds="nothing",
            )
