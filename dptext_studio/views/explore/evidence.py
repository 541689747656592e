"""The user's own setting on the benchmark's curves."""

from __future__ import annotations

import numpy as np
import streamlit as st

import dptext_core as dpt
from dptext_core.measure.metrics import measure, score
from dptext_lab.results import curves
from dptext_lab.results import summary as results

from ...components.charts import chart, dark
from ...components.text import literal
from ...figures import benchmarks as benchmark_figures
from ...server import runs

#: For a long text, N_w is the mean over this many of its sampled words.
WORDS = 100


def panel(run: runs.Run, result: dpt.RewriteResult, epsilon: float) -> None:
    """Show the curves of the most similar measured configuration with the user's ε and, if it is fast, the user's text.
    """
    try:
        bundled = results.bundled()
    except dpt.DPTextError as error:
        st.error(literal(str(error)))
        return
    name = run.inputs.mechanism
    mine = [] if bundled is None else [r for r in bundled.rows if r.mechanism == name]
    if bundled is None or not mine:
        st.info(
            "There are no benchmark results for this mechanism. `python -m dptext_core bench run --grid full --data "
            "DIR --out FILE` measures the grid; `--merge FILE --summary assets/benchmarks/results.json` adds it here."
        )
        return
    left, right = st.columns(2)
    sets, titles = list(dict.fromkeys(r.data for r in mine)), curves.data_sets(bundled)
    data = left.selectbox("Data set", sets, format_func=titles.__getitem__, key="play_bench_data")
    measured = {r.metric for r in mine if r.data == data}
    there = [m for m in curves.metrics_of(bundled, data) if m in measured]
    metric = right.selectbox("Metric", there, format_func=lambda m: measure(m).title, key=f"play_bench_{data}")
    shown = curves.nearest_series(bundled, run.inputs.setting, data, metric)
    printed = curves.paper_series(data, metric, [name], shown)
    whole = curves.baseline(bundled, data, metric)
    figure = benchmark_figures.curves(
        shown,
        curves.main_series(printed),
        metric,
        baseline=whole.value if whole else None,
        majority=curves.majority(bundled, data, metric),
        yours=None if run.spread else epsilon,
        your_text=None if run.spread else of_text(result, metric),
        dark=dark(),
        width=450,
    )
    chart(
        figure,
        key="play_bench_figure",
        alt=f"{measure(metric).title} over ε; the Benchmarks page has the numbers",
    )
    if isinstance(run.mechanism.config.epsilon, tuple):
        st.caption("Each word has a separate ε (see Budget), so your setting has no single position on this axis.")
    for series in shown:
        other = curves.differences(series, run.inputs.setting)
        setting = curves.describe(series.options, series.mechanism) or "the default options"
        message = f"Measured with {setting}." + (
            f" These differ from yours: {'; '.join(other)}." if other else " You use the same settings."
        )
        stop_words = bundled.about.get("stopwords", "the default stop words")
        st.caption(literal(f"{message} The measurement used {stop_words}."))


def of_text(result: dpt.RewriteResult, metric: str) -> float | None:
    """Return the metric of the user's own text; None if it would be slow or has no meaning for one text."""
    if metric == "n_w":
        if not {"alignment", "distribution"} <= result.can:
            return None
        drawn = [i for i, s in enumerate(result.steps) if s.depends_on_original][:WORDS]
        return float(np.mean([result.distribution(i).p_keep() for i in drawn])) if drawn else None
    if metric in ("unchanged", "bleu"):
        return score(metric, [result.original], [result.text])[0]
    return None
