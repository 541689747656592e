"""One column: its rewrite, and the distribution of the chosen word."""

from __future__ import annotations

from functools import partial

import streamlit as st

import dptext_core as dpt
from dptext_core.privacy.numbers import number, percent

from ... import figures
from ...components import download, links
from ...components.rewrite_view import payload, rewrite_view, word_of
from ...components.text import literal
from ...figures import side_by_side
from ...server.comparison import Column, ColumnOutcome
from ...server.session import session
from .card_settings import PAGE

state = st.session_state


def choose_word(key: str) -> None:
    session().word = word_of(state.get(key))


def show_rewrite(column: Column, outcome: ColumnOutcome, word: int | None, below: str) -> None:
    """Show the rewrite of one column with a line of Markdown below it."""
    if outcome.viewed_rewrite is None:
        st.info(literal(outcome.error or "No rewrite."))
        return
    result = outcome.viewed_rewrite.result
    if column.epsilon is None and outcome.epsilon is not None:
        st.markdown(f"**ε = {number(outcome.epsilon)}**")
    key = f"compare{column.id}_view"
    stand, total = outcome.figures.remaining_identifiers if outcome.figures is not None else (0, 0)
    data = payload(
        side_by_side.pieces(result),
        chosen=word,
        copies=outcome.viewed_rewrite.number,
        name=f"Rewrite by {column.title}",
        note=f"{stand:,} of {total:,} identifying words still visible, " if total else "",
    )
    for copy in rewrite_view(data, key=key, on_word=partial(choose_word, key)):
        if (left := session().rewrite_cache.shown.get(copy)) is not None:  # exactly the displayed rewrite
            mine = session().ledger
            mine.record(left, released=True)
            mine.take(PAGE, "copied text", "rewrite")
    st.markdown(below)
    if result.guarantee.notion == "none":
        st.warning(literal(result.guarantee.sentence()))
    with st.container(horizontal=True):
        download.button(
            "Download",
            result.text,
            "rewrite.txt",
            "text/plain",
            icon=":material/download:",
            holds="rewrite",
            release=lambda book: book.record(result, released=True),
            key=f"compare{column.id}_download",
            help="What you download or copy counts as released in the ledger.",
        )
        if st.button(
            "Explore",
            icon=":material/edit_note:",
            key=f"compare{column.id}_open",
            help="Open in Explore",
        ):
            links.open_explore(column.setting.at(outcome.epsilon))


def show_word(column: Column, which: int, word: side_by_side.WordComparison, result: dpt.RewriteResult | None) -> None:
    """Show the distribution of the chosen word in one column."""
    found = word.each[which]
    st.markdown(
        f"“{literal(word.word)}” → “**{literal(found.released_word)}**”" if found.released_word else literal(word.word)
    )
    if found.reason:
        st.caption(literal(found.reason))
        return
    if result is not None and not found.known:
        uncovered = dpt.mechanism_class(column.mechanism).of_config(result.config).reading.uncovered()
        absent = f"“{word.word}” is not in the mechanism's vocabulary."
        st.caption(literal(f"{absent} What happens to such words: {uncovered}"))
    stays = "the original is not a candidate"
    if found.known:
        stays = f"the original is unchanged with probability {percent(found.keep)}"
    figure = figures.word_bars(word, which, dark=st.context.theme.type == "dark")
    st.plotly_chart(
        figure,
        theme=None,
        config={"displayModeBar": False},
        key=f"compare{column.id}_bars",
        alt=f"Probabilities of the words under {column.title}; {stays}",
    )
