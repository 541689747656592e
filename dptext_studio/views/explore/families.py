"""Cards of mechanism families, and the mechanisms without a card."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

import dptext_core as dpt
from dptext_lab.results import total_budget

from ...components.shell import draw_when_open
from ...components.text import literal
from ...server import runs
from ...server.session import session
from . import share
from .layout import WIDE, close_more, drawer_button, hide_until_open
from .releases import download_button
from .text_input import offer_title

state = st.session_state
#: Cards of families: the first mechanism of each, and its description in a few words.
FAMILIES = {
    "dp-mlm": ("Language model", "a word that fits the sentence"),
    "custext": ("Neighbours", "a word of similar meaning"),
    "mahalanobis": ("Noise on vectors", "a word near a noisy vector"),
    "dp-sentence": ("Whole sentences", "a public sentence instead"),
    "redact": ("Redaction", "labels instead of names"),
}


def family_cards(
    run: runs.Run, result: dpt.RewriteResult, epsilon: float, void: bool, play_tour: Callable[[], None]
) -> None:
    """Show a card for each family, and two buttons: one to share a rewrite, one for everything else."""
    with st.container(key="play_families"):
        bought = total_budget.sentences_by_mechanism(total_budget.bundled())
        *cards, out, further = st.columns([1] * len(FAMILIES) + [0.55] * 2, vertical_alignment="center", gap="small")
        for card, (name, (title, does)) in zip(cards, FAMILIES.items(), strict=True):
            card.button(
                f"**{title}**  \n{does}",
                key=f"play_family_{name}",
                width="stretch",
                type="primary" if run.inputs.mechanism == name else "secondary",
                on_click=choose_mechanism,
                args=(name,),
                help=literal(bought[name]) if name in bought else None,
            )
        with out, st.container(key="play_does"):
            share.popover(run, result, epsilon, void)
        carded = run.inputs.mechanism in FAMILIES
        others = further.popover(
            "More" if carded else f"**{literal(dpt.mechanism_class(run.inputs.mechanism).title)}**",
            width="stretch",
            type="secondary" if carded else "primary",
            key="play_others",
            on_change="rerun",
        )
        if "play_tools" in state:
            state.play_tools = state.play_tools  # Streamlit forgets controls that are not drawn
        draw_when_open(others, WIDE, partial(more, run, result, play_tour))
        with st.container(key="play_learn"):
            st.page_link("pages/learn.py", label="Learn")
    hide_until_open("play_options", "play_options_open")
    if session().chosen_mechanism:
        st.rerun(scope="app")


def more(run: runs.Run, result: dpt.RewriteResult, play_tour: Callable[[], None]) -> None:
    """Show less frequent controls: the tour, the text's tools, the drawers, and the mechanisms without a card."""
    with st.container(horizontal=True, gap="small"):
        with st.container(key="play_does_more", width="content"):
            download_button(result)
        play_tour()
    st.toggle(
        "Marks, originals and copying",
        key="play_tools",
        help="Controls above the text: mark words, show the originals, or copy the rewrite.",
    )
    with st.container(horizontal=True, gap="small"):
        drawer_button("Advanced", "play_advanced", "play_options_open")
        drawer_button("Analyses", "play_far_button", "play_far_open")
    st.markdown("**Other mechanisms**")
    for spec in dpt.mechanisms():
        if spec.name not in FAMILIES:
            st.button(
                offer_title(spec),
                key=f"play_family_{spec.name}",
                type="primary" if spec.name == run.inputs.mechanism else "tertiary",
                on_click=choose_mechanism,
                args=(spec.name,),
            )
            st.caption(spec.summary)


def choose_mechanism(name: str) -> None:
    """Choose another mechanism by its card. Only a run of the whole page can set a control outside the fragment."""
    session().chosen_mechanism = name
    close_more()
