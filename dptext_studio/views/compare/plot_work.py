"""Tasks that measure the points of the trade-off plot."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

import dptext_core as dpt
from dptext_core.measure import trade_off
from dptext_core.measure.trade_off import TradeOffPoint

from ...server.jobs import Work, progress_text
from ...server.plot_request import PlotRequest
from ...server.session import session

#: Metrics that are measured at every point, because they are almost free.
CHEAP = ("unchanged", "bleu", "n_w")
#: Seconds between two updates while points arrive (each delays the task), and until the first one.
EVERY, FIRST_AFTER = 2.0, 1.2


def start_points(tried: PlotRequest) -> None:
    """Measure the points in a thread; they arrive one by one."""
    mine = session()
    cache, run = mine.rewrite_cache, mine.run
    points: list[TradeOffPoint] = []
    mine.points, mine.plot_request = points, tried

    def work(task: dpt.Task) -> None:
        def prepare(m: dpt.Mechanism) -> dpt.Prepared:
            return cache.prepared(tried.text, m, run, task)

        for point in trade_off.tradeoff(
            tried.text,
            tried.mechanisms(),
            None,
            tried.draws,
            CHEAP,
            points=tried.points,
            prepare=prepare,
            task=task,
        ):
            points.append(point)

    mine.at("trade-off more").stop()
    mine.at("trade-off").start(tried, work, "Measuring")


def start_measures(tried: PlotRequest, names: tuple[str, ...]) -> None:
    """Start measuring another metric for the existing points."""
    mine = session()
    cache, run, points = mine.rewrite_cache, mine.run, mine.points

    def work(task: dpt.Task) -> None:
        def prepare(m: dpt.Mechanism) -> dpt.Prepared:
            return cache.prepared(tried.text, m, run, task)

        more = trade_off.add_metrics(
            list(points), names, prepare, fact=tried.fact, alternatives=tried.alternatives, task=task
        )
        for i, point in enumerate(more):
            points[i] = point

    mine.at("trade-off more").start((tried, names), work, "Measuring more")


def missing_values(points: Sequence[TradeOffPoint], names: Sequence[str]) -> tuple[str, ...]:
    """Return the metrics that are missing for some point and were not refused."""
    return tuple(n for n in names if any(not (p.error or p.has(n) or n in p.reasons) for p in points))


def progress_bar(work: Work) -> None:
    bar, stop = st.columns([5, 1], vertical_alignment="center")
    job = work.job
    bar.progress(job.share if job is not None else 0.0, text=progress_text(job) if job is not None else "")
    if stop.button("Stop", key="trade_stop", width="stretch") and job is not None:
        job.task.cancel()
