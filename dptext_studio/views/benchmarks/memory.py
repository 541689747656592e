"""Benchmarks: memory over the number of rewritten words."""

from __future__ import annotations

import streamlit as st

from dptext_lab.results import memory

from ...components.charts import chart, dark
from ...components.tables import table
from ...figures import memory_over_words


def memory_note() -> None:
    """Show memory over the number of words, and where 1-Diffractor starts to take less, if these rows are bundled."""
    rows = [r for r in memory.bundled_with_tables() if r.options.get("noise") in (None, "geometric")]
    if not rows:
        return
    st.markdown("### Memory over the number of words")
    st.caption(
        "Peak memory, including tables, of a fresh process that rewrites this number of words. 1-Diffractor loads "
        "lists once and takes little memory per word."
    )
    chart(
        memory_over_words(rows, dark=dark()),
        key="bench_memory",
        alt="Peak memory over the number of words for each mechanism; the table below has the crossovers",
    )
    st.caption("Number of words from which 1-Diffractor takes less memory than the mechanism in the row:")
    table(
        [
            {"mechanism": label} | {ours: _from(words) for ours, words in row.items()}
            for label, row in memory.crossovers(rows).items()
        ],
        height="content",
    )


def _from(words: float | None) -> str:
    """Return the number of words from which one mechanism takes less memory, in words."""
    if words is None:
        return "not up to 10,000"
    return f"{words:,.0f}" if words else "always"
