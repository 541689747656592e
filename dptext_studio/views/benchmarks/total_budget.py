"""Benchmarks at a total ε of a whole text."""

from __future__ import annotations

import streamlit as st

import dptext_core as dpt
from dptext_core.privacy.sentences import NOTIONS
from dptext_core.support.checks import pluralize
from dptext_lab.results import data_titles, total_budget

from ...components.charts import chart, dark
from ...components.sticky_widgets import stay
from ...components.tables import table
from ...figures import total_budget as budget_chart

state = st.session_state

#: Measures at a total ε: the label in controls, and a definition.
BOUGHT = {
    "cosine": ("Meaning preserved", "How similar a rewrite is to its text, according to a sentence encoder."),
    "task": ("Task accuracy", "How often a classifier trained on original texts predicts the label of a rewrite."),
    "author": ("Authors recognised", "How often an attacker trained on originals identifies the author of a rewrite."),
    "linked": ("Originals identified", "How often an attacker with all texts identifies the original of a rewrite."),
    "named": ("Words recovered", "The share of words that the strongest attacker recovers, stop words excluded."),
    "perplexity": ("Fluency", "Perplexity of a language model: lower values read better."),
}


def total_budget_note() -> None:
    """Show what a total ε of a text preserves and reveals, if these results are bundled."""
    rows = total_budget.bundled()
    if not rows:
        return
    st.markdown("### What one ε for a whole text preserves")
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        sets = list(dict.fromkeys(r.data for r in rows))
        key = stay("bench_bought_data", sets[0])
        data = st.segmented_control("Texts", sets, required=True, format_func=data_titles.title, key=key) or sets[0]
        rows = tuple(r for r in rows if r.data == data)
        there = [m for m in BOUGHT if any(r.measure == m for r in rows)]
        key = stay("bench_bought", there[0])
        if state[key] not in there:  # chosen for other texts
            state[key] = there[0]
        what, named = "What is measured", lambda m: BOUGHT[m][0]
        measure = st.segmented_control(what, there, required=True, format_func=named, key=key) or there[0]
    shown = [r for r in rows if r.measure == measure]
    sizes = sorted({r.texts for r in shown})
    of = f"{' or '.join(map(str, sizes))} texts, {pluralize(shown[0].seeds, 'rewrite')} of each"
    st.caption(
        f"{BOUGHT[measure][1]} Every text has the same total ε, divided evenly over its draws. Bands: 95% "
        f"intervals over {of}. Dotted: output that does not depend on the text. The table shows each guarantee."
    )
    chart(
        budget_chart(rows, measure, dark=dark(), width=450),  # fits on a phone
        key="bench_budget",
        alt=f"{total_budget.MEASURES[measure]} over the total ε of a text, for each mechanism",
    )
    draws = {r.system: r.value for r in rows if r.measure == "draws"}
    table(
        [
            {
                "system": r.system,
                "draws": draws.get(r.system),
                "text-independent baseline": r.value,
                "guarantee": NOTIONS[dpt.mechanism_class(r.mechanism).notion],
                "public part": total_budget.NOT_PROTECTED[r.mechanism],
            }
            for r in shown
            if not r.total
        ],
        column_config={
            "draws": st.column_config.NumberColumn(format="%.1f", help="The mean number of draws of a text."),
            "text-independent baseline": st.column_config.NumberColumn(
                format="%.2f", help="The same measure at a total ε near 0, where the output does not depend on the "
                                    "text."
            ),
        },
    )
