"""The drawer with the mechanism, its options, budget, seed and clipping range."""

from __future__ import annotations

import dataclasses
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.mechanisms import recommended
from dptext_core.mechanisms.clipping import Clipping
from dptext_core.models import clip
from dptext_lab.results import clipping

from ... import figures
from ...components import controls
from ...components.charts import chart, dark
from ...components.text import MAX_MB, literal, too_long
from ...figures.glossary import NO_EPSILON, definition
from ...server import runs
from ...server.session import session
from . import budget
from .text_input import offer_title, use_mechanism, use_upload

state = st.session_state


def options_column() -> runs.Inputs | None:
    """Show mechanism and options, and return them. None if there is nothing to rewrite yet."""
    st.subheader("Advanced")
    specs = {s.name: s for s in dpt.mechanisms()}
    first = list(specs).index(state.get("play_mechanism", recommended.ORDER[0]))
    spec = specs[
        st.selectbox(
            "Mechanism",
            list(specs),
            first,
            key="play_mechanism",
            format_func=lambda n: offer_title(specs[n]),
            on_change=use_mechanism,
        )
    ]
    st.caption(spec.summary)
    chosen = controls.options(spec, "play", skip=frozenset({Clipping.name}))
    spec, chosen = public_start(spec, specs, chosen)
    chosen |= clip_control(spec, chosen)
    with st.expander("Budget"):
        if not dpt.mechanism_class(spec.name).uses_epsilon:
            st.caption(NO_EPSILON)
        elif state.play_text.strip():
            try:
                plain = dpt.get_mechanism(spec.name, **chosen)
            except dpt.DPTextError as error:  # options that contradict each other
                st.caption(literal(str(error)))
            else:
                if (spread := budget.panel(plain, state.play_text, "play_budget")) is not None:
                    chosen["epsilon"] = spread
        else:
            st.caption("Type a text to divide one total among its words.")
    seed = None
    with st.expander("Repeatable demonstration"):
        if st.toggle(
            "Use a seed",
            key="play_seeded",
            help="For teaching only. Anyone who knows the seed can reproduce the noise.",
        ):
            seed = int(st.number_input("Seed", value=1, step=1, key="play_seed"))
            st.caption("Seeded runs are not private.")
    with st.expander("Open a file"):
        st.file_uploader(
            "Plain text in UTF-8, or a saved session",
            type=["txt", "md", "json"],
            key="play_upload",
            on_change=use_upload,
            max_upload_size=MAX_MB,
        )
        if session().upload_error:
            st.error(literal(session().upload_error))
    text = state.play_text
    if not text.strip() or too_long(text):
        return None
    return runs.Inputs(text, dpt.Setting.of(spec.name, **chosen).ordered(), seed)


def public_start(
    spec: dpt.MechanismSpec, specs: dict[str, dpt.MechanismSpec], chosen: dict[str, Any]
) -> tuple[dpt.MechanismSpec, dict[str, Any]]:
    """Show the switch for a public prior, if another mechanism uses one, and its option."""
    try:
        start = dpt.get_mechanism(spec.name, **chosen).public_prior
        public = None if start is None else start.from_public()
    except dpt.DPTextError:  # shown in place of the rewrite
        return spec, chosen
    # If it is an option of the same mechanism, it has a separate control.
    if (
        public is None
        or public.name == spec.name
        or not st.toggle(
            "Use a public prior",
            key="play_public",
            help="A language model proposes words that fit the kept words, which are public, and the private text "
                 "shifts the proposal. The guarantee is unchanged for texts with the same kept words.",
        )
    ):
        return spec, chosen
    fields = {f.name for f in dataclasses.fields(public.config)}
    return specs[public.name], {k: v for k, v in chosen.items() if k in fields}


def clip_control(spec: dpt.MechanismSpec, chosen: dict[str, Any]) -> dict[str, Any]:
    """Show the clipping ranges by name, and one slider that moves both ends."""
    if (clipping := dpt.mechanism_class(spec.name).clipping) is None:
        return {}
    try:
        clips = clipping.ranges(chosen)
    except dpt.DPTextError as error:
        st.error(literal(str(error)))
        return {}
    values = controls.option_control(spec, clipping.name, "play") if len(clips) > 1 else {}
    name = values.get(clipping.name, next(iter(clips), ""))
    exact = (clips[name].low, clips[name].high) if clips else (0.0, 15.0)
    if not clips:
        st.caption("No clipping range is published for this model. Set one from your own public texts.")
    low, high = (round(x, 1) for x in exact)
    lowest, highest = (min(c.low for c in clips.values()), max(c.high for c in clips.values())) if clips else exact
    pad = (highest - lowest) / 4
    picked = st.slider(
        "Clipping range",
        round(lowest - pad, 1),
        round(highest + pad, 1),
        (low, high),
        step=0.1,
        key=f"play_clip_{spec.name}_{chosen.get('model', 'bundled')}_{name}",
        help=f"{definition('clipping')} The guarantee is the same for any range that does not depend on the text.",
    )
    if "masked language model" in spec.needs:
        clip_figure()
    if clips and picked == (low, high):
        return values
    # An end that did not move keeps its exact value.
    ends = zip(picked, (low, high), exact, strict=True)
    return values | dict(zip((clipping.low, clipping.high), (e if p == r else p for p, r, e in ends), strict=True))


def clip_figure() -> None:
    """Show the cost of the width of the range, measured on public text, on request."""
    if not (rows := clipping.bundled()):
        return
    if not st.toggle("Compare clipping widths", key="play_clip_costs"):
        return
    chart(
        figures.clipping(rows, dark=dark()),
        key="play_clip_figure",
        alt="Similarity in meaning and probability of an unchanged word over the width of the clipping range, for "
            "several ε",
    )
    st.caption(
        f"{rows[0].texts} sentences of SST-2, {rows[0].words:,} replaced words, with the bundled model. "
        "Ranges start at the mean μ of the scores. With their standard deviation σ, the paper's range ends at μ + "
        f"4σ and the tuned one at μ + {clip.WIDTHS['tuned']:g}σ. `python -m dptext_core bench clipping --data DIR` "
        "repeats the measurement."
    )
