"""Controls that a teacher's link hides: ``?hide=mechanism,seed``. This helps a class focus, but is no security feature.

A hidden control still exists and keeps the value from the link, but it is invisible and takes no focus.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import lru_cache

import streamlit as st

import dptext_core as dpt

from ..server.session import session

PARAMETER = "hide"
#: Name in a link → the hidden elements, as CSS selectors, and a description for teachers.
KNOWN: dict[str, tuple[str, str]] = {
    "mechanism": (".st-key-play_mechanism, [class*=st-key-play_family_]", "the choice of the mechanism"),
    "options": (
        '[class*="st-key-play-"], .st-key-play_public, [class*=st-key-play_clip], '
        '[data-testid=stExpander]:has([class*="st-key-play-"]), '
        "[data-testid=stExpander]:has([class*=st-key-play_budget])",
        "all options of the mechanism",
    ),
    "text": (".st-key-play_text, .st-key-play_upload, .st-key-play_edit", "the text box"),
    "examples": (".st-key-play_example", "the examples"),
    "file": ("[data-testid=stExpander]:has(.st-key-play_upload)", "opening a file"),
    "budget": ("[data-testid=stExpander]:has([class*=st-key-play_budget])", "the budget"),
    "seed": ("[data-testid=stExpander]:has(.st-key-play_seeded)", "the repeatable demonstration"),
    "further": (".st-key-play_further, .st-key-play_far_button", "the analysis panels"),
    "control": (".st-key-learn_control", "the control of a lesson"),
    "answer": (".st-key-learn_check", "the answer to a lesson"),
    "door": (".st-key-learn_door", "the link from a lesson to Explore"),
    "lessons": (".st-key-learn_lessons", "the lesson menu"),
    "teacher": (".st-key-learn_teacher", "the panel for teachers"),
}


@lru_cache(maxsize=1)
def _options() -> frozenset[str]:
    """Return the names of mechanisms' options, which are plain words."""
    return frozenset(f.name for s in dpt.mechanisms() for f in dataclasses.fields(s.config_cls)) - {"epsilon"}


def known_names(text: str) -> tuple[str, ...]:
    """Return the valid names of a link; all others are ignored."""
    names = dict.fromkeys(name.strip() for name in text.split(","))
    return tuple(n for n in names if n in KNOWN or n in _options())


def read_address() -> None:
    """Read the controls to hide from the address, if it names any. An empty list shows everything again."""
    if PARAMETER in st.query_params:
        session().hidden_controls = known_names(st.query_params[PARAMETER])


def to_query() -> dict[str, str]:
    """Return the hidden controls as a parameter of the address."""
    return {PARAMETER: ",".join(session().hidden_controls)} if session().hidden_controls else {}


def without_hidden(params: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of an address without this one."""
    return {name: value for name, value in params.items() if name != PARAMETER}


def add_hiding_style() -> None:
    """Hide the controls on the current page."""
    selectors = [
        KNOWN[n][0] if n in KNOWN else f'[class*="st-key-play-"][class*="-{n}"]' for n in session().hidden_controls
    ]
    if selectors:
        st.html(f"<style>{', '.join(selectors)} {{ display: none; }}</style>")
