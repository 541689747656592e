"""Benchmarks at a total ε: what a whole text's budget buys."""

from __future__ import annotations

import streamlit as st

import dptext_core as dpt
from dptext_core.privacy.sentences import NOTIONS
from dptext_core.support.checks import pluralize
from dptext_lab.results import data_titles, total_budget

from ...components.charts import chart, dark
from ...components.sticky_widgets import stay
from ...figures import total_budget as budget_chart

state = st.session_state

#: What is measured at a total ε, as the controls call it, and what it says.
BOUGHT = {
    "cosine": ("Meaning", "How near a rewrite comes to its text, by a model of sentences."),
    "task": ("Task", "How often a classifier that learnt from original texts still tells the label from a rewrite."),
    "author": ("Who wrote it", "How often an attacker who learnt from original texts tells who wrote one."),
    "linked": ("Which text", "How often an attacker who has all these texts tells which of them a rewrite is of."),
    "named": ("Which words", "The share of a text's words, without stop words, that the best attacker names."),
    "perplexity": ("Fluency", "The surprise of a language model at each word: less reads better."),
}


def total_budget_note() -> None:
    """Show what a total ε of a text buys, where it is bundled."""
    rows = total_budget.bundled()
    if not rows:
        return
    st.markdown("### What a total budget buys")
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
        f"{BOUGHT[measure][1]} Over the ε that a whole text spends, the same for every text, spread evenly over its "
        f"draws ({of}). Bands: 95% intervals over the texts. Dotted: what each releases without looking at the text. "
        "The promises are not the same: see the table."
    )
    chart(
        budget_chart(rows, measure, dark=dark(), width=450),  # as a phone has room for
        key="bench_budget",
        alt=f"{total_budget.MEASURES[measure]} over the total ε of a text, for each system",
    )
    draws = {r.system: r.value for r in rows if r.measure == "draws"}
    st.dataframe(
        [
            {
                "system": r.system,
                "draws": draws.get(r.system),
                "nothing of the text": r.value,
                "promise": NOTIONS[dpt.mechanism_class(r.mechanism).notion],
                "everyone can see": total_budget.NOT_PROTECTED[r.mechanism],
            }
            for r in shown
            if not r.total
        ],
        column_config={
            "draws": st.column_config.NumberColumn(format="%.1f", help="This is the mean number of draws of a text."),
            "nothing of the text": st.column_config.NumberColumn(
                format="%.2f", help="The same figure at a total near 0: of what is released without the text."
            ),
        },
        hide_index=True,
    )
