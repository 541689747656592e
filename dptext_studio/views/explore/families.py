"""Cards of mechanism families, and the mechanisms without a card."""

from __future__ import annotations

import streamlit as st

import dptext_core as dpt
from dptext_core.mechanisms import recommended
from dptext_lab.results import total_budget

from ...components.shell import draw_when_open
from ...components.text import literal
from ...server import runs
from ...server.session import session
from .layout import WIDE, drawer_button, options_drawer
from .text_input import offer_title

#: Cards of families: the mechanism that each begins with, and what it does in a few words.
FAMILIES = {
    "dp-mlm": ("Language model", "a word that fits the sentence"),
    "custext": ("Neighbours", "a word with a similar meaning"),
    "mahalanobis": ("Noise on vectors", "a word near a noisy point"),
    "dp-sentence": ("Whole sentences", "a public sentence instead"),
}


def family_cards(run: runs.Run) -> None:
    """Show what else could be done with the text: a card for each family, and all the others with a line each."""
    with st.container(key="play_families"):
        bought = total_budget.sentences_by_mechanism(total_budget.bundled())
        *cards, further_, drawers = st.columns([1, 1, 1, 1, 0.6, 1.1], vertical_alignment="center", gap="small")
        offered = [name for name in recommended.ORDER if name in FAMILIES]
        for card, name in zip(cards, offered, strict=True):
            title, does = FAMILIES[name]
            card.button(
                f"**{title}**  \n{does}",
                key=f"play_family_{name}",
                width="stretch",
                type="primary" if run.inputs.mechanism == name else "secondary",
                on_click=choose_mechanism,
                args=(name,),
                help=literal(bought[name]) if name in bought else None,
            )
        others = further_.popover("More", width="stretch", key="play_others", on_change="rerun")
        draw_when_open(others, WIDE, other_mechanisms)
        with drawers, st.container(horizontal=True, gap="small", horizontal_alignment="right"):
            options_drawer()
            drawer_button("Analyses", "play_far_button", "play_far_open")
    if session().chosen:
        st.rerun(scope="app")


def other_mechanisms() -> None:
    """Show the mechanisms without a card, each with a line."""
    for spec in dpt.mechanisms():
        if spec.name not in FAMILIES:
            key = f"play_family_{spec.name}"
            st.button(offer_title(spec), key=key, on_click=choose_mechanism, args=(spec.name,), type="tertiary")
            st.caption(spec.summary)


def choose_mechanism(name: str) -> None:
    """Choose another mechanism by its card. A run of the whole page sets a control outside of the fragment."""
    session().chosen = name
