"""Benchmarks with the certainty of the optimal reader: all anonymisers, and mechanisms over that certainty."""

from __future__ import annotations

import streamlit as st

from dptext_core.support.checks import pluralize
from dptext_lab.results import anonymisers, belief
from dptext_lab.results.data_titles import title as title_of_data

from ...components.charts import chart, dark
from ...components.sticky_widgets import stay
from ...components.text import literal
from ...figures import certainty
from ...figures.metric_titles import metric_title
from ..compare.anonymisers import anonymisers_plot

METRICS = ("cosine", "label_kept")


def anonymisers_note() -> None:
    """Show all anonymisers on one plot, if these results are bundled."""
    if anonymisers.bundled():
        st.markdown("### Why not just remove the names?")
        anonymisers_plot("bench_anonymisers")


def certainty_note() -> None:
    """Show what each mechanism preserves over the certainty of the optimal reader, if these results are bundled."""
    rows = belief.bundled()
    sets = list(dict.fromkeys(r.data for r in rows))
    if not sets:
        return
    st.markdown("### What a reader can still infer")
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        key = stay("bench_certainty_data", sets[0])
        data = st.segmented_control("Texts", sets, required=True, format_func=title_of_data, key=key) or sets[0]
        key = stay("bench_certainty_metric", METRICS[0])
        metric = (
            st.segmented_control("Utility", METRICS, required=True, format_func=metric_title, key=key)
            or METRICS[0]
        )
    shown = [r for r in rows if r.data == data]
    few, most = min(r.texts for r in shown), max(r.texts for r in shown)
    texts = pluralize(most, "text") if few == most else f"{few} to {most} texts"
    st.caption(
        literal(
            "A reader knows the mechanism, ε and every word except the rarest, and chooses among 8 public words. Up "
            f"and to the left is better. Bars: 95% intervals over {texts}. Dotted: guessing, 12.5%."
        )
    )
    chart(
        certainty(shown, metric, dark=dark()),
        key="bench_certainty",
        alt=f"{metric_title(metric)} over the certainty of the optimal reader; Findings has the numbers at 50%",
    )
    if refused := belief.refusals():
        with st.expander(f"{pluralize(len(refused), 'mechanism')} without a certainty value"):
            for reason in dict.fromkeys(refused.values()):
                st.markdown(f"- {literal(reason)}")
