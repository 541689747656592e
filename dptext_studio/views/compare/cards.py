"""Two to four mechanisms or settings side by side on one text, at separate ε or at an equal measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.support.checks import pluralize

from ...components import address, hidden_controls, ledger, links, live_text
from ...components.sticky_widgets import stay
from ...components.text import literal
from ...figures import side_by_side
from ...server.comparison import Column, ColumnOutcome, ComparisonRequest, rewrites
from ...server.runs import is_edit
from ...server.session import COLUMNS, session
from ...server.streamlit_patches import DeltaGenerator
from ..explore import share
from . import distinguishability
from .attack_table import attack_table
from .card_settings import MODES, add_column, query_of, sync_settings
from .certainty import certainty_line, fact_controls, fact_note, known_beliefs
from .column_controls import column_controls, target_controls
from .equal_certainty import equal_certainty_answer, level_slider
from .measures import MEASURES_HELP, known_similarities, measures_table, table_download, warn_of_differences
from .rewrite_column import show_rewrite, show_word

#: The prefix of the keys of containers with rewrites, including previous ones while new ones arrive.
BEFORE = "compare_before"
MODES_HELP = (
    "Set ε for each mechanism, or make equal: ε, total ε, the strongest attacker's success, or the probability that a "
    "word is unchanged (N_w). Equal ε is not equal privacy, because mechanisms have different units."
)


def start_rewrites(asked: ComparisonRequest) -> None:
    """Rewrite in a thread, and reuse kept results."""
    mine = session()
    before, edited = mine.compared_texts
    if before != asked.text:
        edited = before if is_edit(before, asked.text) else None
    work = partial(rewrites, asked, mine.rewrite_cache, mine.run, mine.ledger, edited)
    mine.at("compare").start(asked, work, "Rewriting")


@st.fragment
def columns_view(text: str) -> None:
    """Show settings and rewrites. Moving a slider reruns only this."""
    sync_settings()
    mine = session()
    answer, level = level_slider()
    top, again = st.columns([4, 1], vertical_alignment="bottom")
    mode = top.segmented_control(
        "How ε is set",
        list(MODES),
        format_func=MODES.__getitem__,
        required=True,
        key=stay("compare_mode", "own"),
        help=MODES_HELP,
    )
    mode = mode or "own"
    redraw = again.button(
        "Rewrite again",
        icon=":material/casino:",
        key="compare_again",
        width="stretch",
        help="Uses fresh noise for all settings. Each rewrite that you release spends its budget.",
    )
    one_slider, slot = st.container(), st.empty()
    places = st.columns(len(mine.columns), gap="medium", border=True)
    columns = []
    for (id_, setting), place in zip(mine.columns, places, strict=True):
        with place:
            columns.append(column_controls(id_, setting, mode, len(mine.columns) > 2))
    mine.columns = [
        (c.id, c.setting.at(before.epsilon if c.epsilon is None else c.epsilon))
        for c, (_, before) in zip(columns, mine.columns, strict=True)
    ]
    equal_certainty_answer(answer, level, text, columns)
    with one_slider:
        target = target_controls(mode, [c.setting for c in columns], text)
    query = query_of(mode, target)
    address.show_query(query | hidden_controls.to_query())
    with st.container(horizontal=True):
        if len(columns) < COLUMNS:
            st.button("Add a mechanism", icon=":material/add:", key="compare_add", on_click=add_column)
        with st.popover("Link", icon=":material/link:", key="compare_link"):
            share.link(query, links.omitted_options([s for _, s in mine.columns]), "this comparison")
    fact_controls(text)
    _rewrites(text, tuple(columns), target, redraw, slot, dict(zip((c.id for c in columns), places, strict=True)))


def _rewrites(
    text: str,
    columns: tuple[Column, ...],
    target: tuple[str, float] | None,
    redraw: bool,
    slot: DeltaGenerator,
    places: Mapping[int, Any],
) -> None:
    """Show the rewrites in their ``places``, or the previous ones until new ones arrive."""
    mine = session()
    work = mine.at("compare")
    before = work.request.draw if work.request is not None else 0
    asked = ComparisonRequest(text, columns, target, before + redraw)
    if redraw:
        mine.rewrite_cache.forget_draws(text)
    if asked != work.request or (work.job is None and work.result is None and work.error is None):
        start_rewrites(asked)
    if work.is_running():
        with slot.container():
            work.show_progress("compare_stop")
            if mine.comparison is not None:
                dim_outdated(mine.comparison[0], asked)
        if mine.comparison is not None:
            draw_columns(*mine.comparison, places)
        return
    if said := work.failure_text("Stopped. Change a setting or press “Rewrite again” to restart."):
        slot.error(literal(said))
        return
    mine.comparison = asked, work.result
    show_new(asked, work.result, places)


def dim_outdated(shown: ComparisonRequest, asked: ComparisonRequest) -> None:
    """Dim outdated rewrites until newer ones arrive, and say so."""
    if shown.text == asked.text:
        live_text.dim(BEFORE)
    else:
        live_text.dim_other_text(BEFORE, "are the rewrites")


def show_new(asked: ComparisonRequest, outcomes: list[ColumnOutcome], places: Mapping[int, Any]) -> None:
    """Show new rewrites and record them as draws. places: the container of each column."""
    mine = session()
    results = [o.viewed_rewrite.result if o.viewed_rewrite is not None else None for o in outcomes]
    before, edited = mine.compared_texts
    if before != asked.text:
        edited = before if is_edit(before, asked.text) else None
        mine.compared_texts = asked.text, edited
    for result in results:
        if result is not None and not mine.ledger.knows(result.noise_id, asked.text):
            mine.ledger.record(result, edited=edited)  # a viewed draw, which its other ε share
    draw_columns(asked, outcomes, places)
    if any(r is not None and mine.ledger.spent(r.noise_id, asked.text) for r in results):
        # A copy of the previous text was reported after an edit: use separate noise for this text.
        mine.at("compare").request = None
        st.rerun()


def draw_columns(asked: ComparisonRequest, outcomes: list[ColumnOutcome], places: Mapping[int, Any]) -> None:
    """Show the rewrites, the distributions of one word, and the measures, for columns that still exist."""
    both = [(c, o) for c, o in zip(asked.columns, outcomes, strict=True) if c.id in places]
    results = [o.viewed_rewrite.result if o.viewed_rewrite is not None else None for _, o in both]
    at = session().word
    if at is None or not any(r is not None and any(s.span[0] == at for s in r.steps) for r in results):
        at = side_by_side.first_drawn(results)
    word = None if at is None else side_by_side.one_word(results, at)
    beliefs = known_beliefs(asked, both)
    for column, outcome in both:
        with places[column.id].container(key=f"{BEFORE}_{column.id}"):
            show_rewrite(column, outcome, at, certainty_line(None if beliefs is None else beliefs.get(column.id)))
    with st.container(key=BEFORE):
        fact_note(beliefs)
        below_columns(asked, both, results, word)


def below_columns(
    asked: ComparisonRequest,
    both: Sequence[tuple[Column, ColumnOutcome]],
    results: Sequence[dpt.RewriteResult | None],
    word: side_by_side.WordComparison | None,
) -> None:
    """Show the parts below the columns. results: of each, if it has any. word: the chosen one."""
    mine = session()
    warn_of_differences(asked)
    if word is not None:
        st.subheader("Candidates for one word")
        st.caption("Click a word above to choose it. All charts show the same words in the same order; your word is "
                   "striped.")
        for k, (place, (column, _)) in enumerate(zip(st.columns(len(both), gap="medium"), both, strict=True)):
            with place:
                st.markdown(f"**{literal(column.title)}**")
                show_word(column, k, word, results[k])
    st.subheader("Measured")
    config = {k: st.column_config.Column(help=v) for k, v in MEASURES_HELP.items()}
    like = known_similarities(asked, both)
    st.dataframe(
        measures_table(asked, both, like),
        hide_index=True,
        column_config=config,
        key="compare_table",
    )
    counted = [(c, o.figures) for c, o in both if o.figures is not None]
    if words := max((f.words for _, f in counted), default=0):
        over = "for the one word" if words == 1 else f"mean over the {pluralize(words, 'word')}"
        st.caption(f"N_w and S_w: {over} that all settings replace. ≈: estimated from draws.")
    reasons = dict.fromkeys(f"{c.title}: {f.reason}" for c, f in counted if f.reason)
    if said := mine.at("compare likeness").failure_text(""):
        reasons |= {f"Meaning preserved: {said}": None}
    for reason in reasons:
        st.caption(literal(reason))
    table_download(asked, both, like)
    attack_table(asked, both)
    with st.expander("Distinguish two texts"):
        distinguishability.panel([_subject(c, o) for c, o in both], "compare_two")
    spoilt = mine.ledger.account(asked.text).void
    if spoilt:
        st.error(literal(f"Your releases of this text have no guarantee: {spoilt}."), icon=":material/warning:")
    with st.expander("Ledger: draws and releases"):
        ledger.panel(mine.ledger, [r for r in results if r is not None])
    st.caption(
        "Viewing costs no privacy budget. Downloads and copies count as released. Rewrites of one draw share noise."
    )


def _subject(column: Column, outcome: ColumnOutcome) -> distinguishability.Subject:
    setting = column.setting.at(outcome.epsilon)
    return distinguishability.Subject(column.title, setting, setting.make)
