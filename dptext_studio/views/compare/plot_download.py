"""Downloads of the trade-off plot: figure, data and code."""

from __future__ import annotations

import streamlit as st

from dptext_core.measure import trade_off
from dptext_core.measure.trade_off import TradeOffPoint
from dptext_core.mechanisms.recommended import spelled_out

from ... import figures
from ...components import download, methods_panel
from ...exports import FILE
from ...exports.methods import seeded
from ...figures import to_html
from ...server.plot_request import PlotRequest
from ..explore import share
from .plot_settings import query_of
from .plot_work import CHEAP


def download_controls(points: list[TradeOffPoint], tried: PlotRequest, hidden: str, kept: str) -> None:
    """Show downloads of the figure and its data, and code that computes the same points."""
    st.subheader("Downloads")
    dark = st.context.theme.type == "dark"

    def page() -> str:
        return to_html(figures.trade_off(points, hidden, kept, dark=dark), "Trade-off")

    with st.container(horizontal=True):
        if any(p.has(hidden) and p.has(kept) for p in points):
            download.button(
                "Figure (HTML)",
                page,
                "trade-off.html",
                "text/html",
                icon=":material/download:",
                on_click="ignore",
                key="trade_html",
                holds="private",
                help="It works offline and contains no text. The camera icon above the chart saves a PNG.",
            )
        download.button(
            "Data (CSV)",
            trade_off.to_csv(points),
            "trade-off.csv",
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
            key="trade_csv",
            holds="private",
            help="It contains numbers but no text.",
        )
        with st.popover("Link", icon=":material/link:"):
            share.link(query_of(tried, hidden, kept), (), "these settings")
        with st.popover("Code (Python)", icon=":material/code:"):
            st.caption(f"This computes the same points with fresh noise. It reads your text from a file {FILE}.")
            st.code(python_code(tried, hidden, kept), language="python")
    methods_panel.expander(lambda: uses_of(points), "trade_methods", seeded(points[0].seed))
    with st.expander("The numbers"):
        st.dataframe(trade_off.rows(points), hide_index=True, key="trade_table")
    st.caption("These numbers come from your private text. Do not publish them.")


def uses_of(points: list[TradeOffPoint]) -> methods_panel.Uses:
    """Return each setting with its measured values of ε."""
    by_setting: dict[int, list[TradeOffPoint]] = {}
    for point in points:
        by_setting.setdefault(point.setting, []).append(point)
    return [(of[0].mechanism, [p.epsilon for p in of]) for of in by_setting.values()]


def python_code(tried: PlotRequest, hidden: str, kept: str) -> str:
    made = [f"    {spelled_out(setting).call()},\n" for setting in tried.settings]
    wanted = tuple(n for n in dict.fromkeys((kept, hidden, *CHEAP)) if n != "epsilon")
    fact = ""
    if hidden == "certainty":
        fact += f", fact={tried.fact!r}" if tried.fact else ""
        fact += f", alternatives={list(tried.alternatives)!r}" if tried.alternatives else ""
    return (
        f"from pathlib import Path\n\nimport dptext_core as dpt\nfrom dptext_core.measure import trade_off\n\n"
        f"text = Path({FILE!r}).read_text(encoding='utf-8')\n"
        f"settings = [\n{''.join(made)}]\n"
        f"points = list(dpt.tradeoff(text, settings, points={tried.points}, draws={tried.draws}, "
        f"metrics={wanted!r}{fact}))\n"
        "print(trade_off.to_csv(points))\n"
    )
