"""Controls of the columns, and a shared slider if a measure is equal for all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

import dptext_core as dpt
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.mechanisms.registry import accounting_unit, fields_of
from dptext_core.privacy.numbers import number

from ...components import controls
from ...components.sticky_widgets import stay
from ...components.text import literal
from ...figures.glossary import NO_EPSILON, definition
from ...server.comparison import Column
from .card_settings import SHARES, remove_column

state = st.session_state

STEPS = 61


def column_controls(id_: int, setting: dpt.Setting, mode: str, more: bool) -> Column:
    """Show the controls of one column, and return their values."""
    specs = {s.name: s for s in dpt.mechanisms()}
    name = st.selectbox(
        "Mechanism",
        list(specs),
        list(specs).index(state[f"compare{id_}_mechanism"]),
        key=f"compare{id_}_mechanism",
        format_func=lambda n: specs[n].title,
        label_visibility="collapsed",
    )
    with st.container(horizontal=True):
        with st.popover("Options", icon=":material/tune:", key=f"compare{id_}_tune"):
            st.caption(specs[name].summary)
            chosen = controls.options(specs[name], f"compare{id_}")
        if more:
            st.button("Remove", icon=":material/close:", key=f"compare{id_}_close", on_click=remove_column, args=(id_,))
    if name == setting.mechanism:  # set by a link or another page, without a control here
        apart = {f.name for f in fields_of(name).values() if option_meta(f).has_own_control}
        chosen = {k: v for k, v in setting.options.items() if k in apart} | chosen
    uses_epsilon = dpt.mechanism_class(name).uses_epsilon
    st.caption(literal(f"ε counts: {accounting_unit(name)}.") if uses_epsilon else NO_EPSILON)
    epsilon = None
    if mode == "own":
        low, high, default = dpt.mechanism_class(name).epsilon_range(chosen)
        now = setting.epsilon if name == setting.mechanism and isinstance(setting.epsilon, float) else default
        low, high = min(low, now), max(high, now)  # a calibrated ε may lie outside the slider's range
        epsilon = now
        if uses_epsilon:
            epsilon = epsilon_slider("Privacy budget ε", low, high, now, f"compare{id_}_eps_{name}_{low:g}_{high:g}")
    return Column(id_, dpt.Setting(name, chosen, epsilon))


def epsilon_slider(label: str, low: float, high: float, now: float, key: str, symbol: str = "ε") -> float:
    """Show a slider over ε on a logarithmic axis; its value need not be one of its marks."""
    now = min(max(state.get(key, now), low), high)
    marks = {float(f"{e:.3g}") for e in np.geomspace(low, high, STEPS)}
    epsilons = sorted({e for e in marks if low <= e <= high} | {now, low, high})
    state[key] = now
    return st.select_slider(label, epsilons, format_func=number, key=key, help=definition(symbol))


def target_controls(mode: str, drafts: Sequence[dpt.Setting], text: str) -> tuple[str, float] | None:
    """Show the shared slider if a measure is equal for all."""
    if mode == "own":
        return None
    if mode in SHARES:
        label, first = SHARES[mode]
        share = st.slider(
            label,
            5,
            95,
            first,
            step=5,
            format="%d%%",
            key=stay(f"compare_{mode}", first),
            help="Each mechanism gets the ε at which N_w has this value, over the words that all mechanisms replace."
            if mode == "n_w"
            else "Each mechanism gets the ε at which the attacker recovers this share, among the words that "
                 "all mechanisms replace. This takes half a minute, or a few minutes for language models.",
        )
        return mode, share / 100
    drafts = [s for s in drafts if dpt.mechanism_class(s.mechanism).uses_epsilon] or drafts
    ranges = [dpt.mechanism_class(s.mechanism).epsilon_range(s.options) for s in drafts]
    if mode == "epsilon":
        ends = min(r[0] for r in ranges), max(r[1] for r in ranges)
        return mode, epsilon_slider("ε of each draw, the same for all", *ends, ranges[0][2], stay("compare_epsilon"))
    totals = []
    for setting, (low, high, default) in zip(drafts, ranges, strict=True):
        try:
            m = setting.make()
            totals.append([m.replace(epsilon=e).guarantee(text).total for e in (low, high, default)])
        except dpt.DPTextError:  # shown in its column
            continue
    totals = [t for t in totals if t[0] > 0 and np.isfinite(t[1])]
    if not totals:
        st.caption("None of these mechanisms has a total ε on this text. Choose another mechanism.")
        return None
    ends = min(t[0] for t in totals), max(t[1] for t in totals)
    return mode, epsilon_slider(
        "Total ε of the text, the same for all", *ends, totals[0][2], stay("compare_total"), "Total ε"
    )
