"""The chosen point: its setting and its rewrites."""

from __future__ import annotations

import streamlit as st

import dptext_core as dpt
from dptext_core.measure.trade_off import TradeOffPoint
from dptext_core.privacy.numbers import bound, number

from ...components import links
from ...components.rewrite_view import payload, rewrite_view
from ...figures import side_by_side
from ...server.session import session
from .card_settings import PAGE, add_setting
from .plot_settings import SHOWN

state = st.session_state


def setting_of(point: TradeOffPoint) -> dpt.Setting:
    return point.mechanism.setting


def open_point(point: TradeOffPoint) -> None:
    links.open_explore(setting_of(point))


def point_panel(points: list[TradeOffPoint], text: str) -> None:
    """Show the rewrites of a chosen point."""
    known = {(p.setting, p.epsilon): p for p in sorted(points, key=lambda p: (p.setting, p.epsilon)) if p.texts}
    if state.get("trade_point") not in known:
        state.trade_point = None
    st.subheader("Read the rewrites of a point")
    chosen = st.selectbox(
        "Point",
        list(known),
        index=None,
        key="trade_point",
        placeholder="Click a mark, or choose a point here",
        format_func=lambda k: f"{known[k].label}, ε = {number(k[1])}",
    )
    if chosen is None:
        return
    point = known[chosen]
    texts = point.texts[:SHOWN]
    for k, (place, rewrite) in enumerate(zip(st.columns(len(texts), border=True), texts, strict=True)):
        with place:
            name = f"Draw {k + 1} of {len(point.texts)}"
            st.caption(name)
            number_ = hash((session().plot_request, point.setting, point.epsilon, k)) & 0x7FFFFFFF
            pieces = side_by_side.differences(text, rewrite, point.mechanism.language)
            data = payload(pieces, name=name, copies=number_, button=False)
            if number_ in rewrite_view(data, key=f"trade_view_{k}"):
                record_copies(point, text, rewrite, number_)
    st.caption(
        f"Total ε of one of them, if it were released: {bound(point.total)}. Read these rewrites, but do not release "
        "them: choosing the best of several draws costs privacy for all of them. Explore makes a fresh one."
    )
    with st.container(horizontal=True):
        if st.button("Show side by side", icon=":material/compare_arrows:", key="trade_beside"):
            add_setting(setting_of(point))
            st.switch_page("pages/compare.py")
        if st.button("Open in Explore", icon=":material/edit_note:", key="trade_open"):
            open_point(point)


def record_copies(point: TradeOffPoint, text: str, rewrite: str, number_: int) -> None:
    """Record what was copied in the ledger, as it counts as released."""
    m = point.mechanism
    seed = point.seed
    result = dpt.RewriteResult(
        rewrite, text, (), m.guarantee(text), m.name, m.config, seed, f"trade-off {number_}", pieces=()
    )
    session().ledger.record(result, released=True)
    session().ledger.take(PAGE, "copied text", "rewrite")
