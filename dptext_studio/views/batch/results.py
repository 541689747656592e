"""Results of a job: its guarantee, identifiers that remain, and what has changed."""

from __future__ import annotations

import streamlit as st

from dptext_core.measure.metrics.registry import measure
from dptext_core.support.checks import pluralize
from dptext_studio.server import batch as core

from ...components import identifier_table
from ...components.text import literal
from ...server.session import session
from .downloads import download_boxes
from .rows import number_list, row_browser

#: Explanations of measures that benchmarks compute over a whole set, and this page as a mean over rows.
OF_ROWS = {
    "bleu": "Word sequences in common, 0 to 100: the mean over {rows}. A change of capital letters lowers the score."
}


def results_view(batch: core.Batch, found: core.BatchSummary, done: bool) -> None:
    wrong = found.promise["errors"]
    if done:
        st.success(f"Done: {found.promise['counted']}")
    else:
        st.caption(f"So far: {found.promise['counted']}")
    if n := found.promise["untouched"]:
        rows = f"row{'s' * (n > 1)} {number_list(found.untouched, n)}"
        st.warning(
            f"Not protected, because no word was sampled: {rows}. Flagged words and words outside the vocabulary may "
            "still be replaced there."
        )
    remaining_identifiers(found)
    left, right = st.columns([1.4, 1], gap="large")
    with left:
        st.subheader("Guarantee")
        (st.warning if "none" in found.promise["notions"] else st.info)(literal(found.promise["sentence"]))
        if found.polish:
            st.caption(literal(found.polish))
        for line in batch.meaning():
            st.markdown("- " + literal(line))
        if plain := batch.first_promise():
            with st.expander("What that means, for the first row"):
                st.markdown(literal(plain))
        if batch.strategies:
            with st.expander("How other strategies differ"):
                for name, line in batch.strategies.items():
                    st.markdown(f"- **{name.capitalize()}.** {literal(line)}")
        if found.promise["exposed"]:
            with st.expander("Not protected"):
                st.caption("This list is for the first row. The other rows have the same limits.")
                for line in found.promise["exposed"]:
                    st.markdown("- " + literal(line))
    with right:
        st.subheader("Changes")
        measures_view(batch, found)
    download_boxes(batch, found, done)
    if found.errors:
        st.subheader(f"Rows with an error: {wrong:,}")
        more = f" The first {len(found.errors):,} are shown." if wrong > len(found.errors) else ""
        st.caption(f"The release contains nothing of these texts: their cells are empty.{more}")
        st.dataframe(
            [{"row": row, "why": why} for row, why in found.errors],
            hide_index=True,
            key="batch_errors",
            height=min(320, 36 * (1 + len(found.errors)) + 2),
        )
    st.subheader("Rows")
    row_browser(batch, found.rows)


def remaining_identifiers(found: core.BatchSummary) -> None:
    """Show names, numbers, dates and places that are still visible, by row, and a way to inspect a row."""
    left = found.remaining_identifiers
    if not left.num_searched:
        return
    of = (
        pluralize(left.num_searched, "row")
        if left.num_searched + found.promise["errors"] == found.rows
        else pluralize(left.num_searched, "evenly spaced row")
    )
    rules = "Simple rules find these; they miss some words and flag harmless ones."
    if not left.rows:
        st.caption(f"No name, number, date or place from the originals was found in {of}. {rules}")
        return
    with st.expander(f"Still visible: names, numbers, dates or places in {left.rows:,} of {of}", key="batch_left"):
        st.caption(f"{rules} Words that a mechanism never samples are visible at every ε.")
        identifier_table.identifier_table(left.first, key="batch_standing")
        if left.rows > len(left.first):
            st.caption(f"The first {len(left.first):,} of these rows.")


def measures_view(batch: core.Batch, found: core.BatchSummary) -> None:
    """Show shares of unchanged words, and similarity measures on request, because they are slow."""
    work = session().at("batch_measure")
    if work.request is not batch:
        work.stop()
        work.request, work.result, work.error = batch, None, None
    busy = work.is_running()
    known = {**found.measures, **(work.result or {})}
    for name, value in known.items():
        about = measure(name)
        rows = pluralize(value["n"], "row")
        explanation = OF_ROWS[name].format(rows=rows) if name in OF_ROWS else f"{about.about} The mean over {rows}."
        st.metric(about.title, format(value["mean"], about.digits), help=explanation)
    if found.rows > core.MEASURED:
        st.caption(f"Measured on about {core.MEASURED:,} evenly spaced rows.")
    if busy:
        work.show_progress("batch_measure_stop")
    elif work.result is None:
        if said := work.failure_text("Stopped."):
            st.error(literal(said))
        if st.button("Measure similarity", key="batch_measure"):
            work.start(batch, lambda task: batch.measure(("cosine", "bleu"), task), "Measuring")
            st.rerun()
