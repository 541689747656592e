"""Home: what this is on one screen, with an example that is alive and three doors."""

from __future__ import annotations

import streamlit as st

import dptext_core as dpt
from pages.ui import model
from pages.ui.glimpse import glimpse
from pages.ui.shell import compact, within_app
from pages.ui.text import literal

#: The doors: title, what is behind it, its pages as (file, label).
DOORS = (
    ("Try", "Your own text: ask of every word why it is there, and what an attacker finds out.",
     (("pages/playground.py", "Open the Playground"),)),
    ("Learn", "Lessons of two minutes, each with a question: for yourself, or for a class.",
     (("pages/learn.py", "First lesson"), ("pages/case_study.py", "Case study"))),
    ("Research", "Mechanisms measured, claims of papers checked, promises put to the test.",
     (("pages/benchmarks.py", "Benchmarks"), ("pages/findings.py", "What we found"), ("pages/audit.py", "Audit"))),
)  # fmt: skip


def main() -> None:
    st.markdown("## Hide what a text tells, and keep what it says")
    st.markdown(
        "Whoever reads this note knows that Mrs Halvorsen is ill. DP-Text Studio draws other words in the place of "
        "hers, with a promise that can be proved: **differential privacy**. One number, ε, says how much. Drag it."
    )
    left, right = st.columns([1.7, 1], gap="large")
    with left:
        try:
            glimpse(key="home_glimpse")
        except dpt.DPTextError as error:
            st.error(literal(str(error)))
        st.caption(
            "The note is made up. Words in italics were drawn; underlined ones were drawn and are the original again; "
            "all others are never changed, and everyone can read them."
        )
    with right:
        for title, behind, pages in DOORS:
            with st.container(border=True, gap="xsmall"):
                st.markdown(f"**{title}.** {behind}")
                with st.container(horizontal=True, gap="xsmall"):
                    for file, label in pages:
                        st.page_link(file, label=label, icon=":material/arrow_forward:", width="content")
        st.caption("Everything runs on this machine, offline: no text leaves it.")
    model.warm()


within_app("home")
compact()
main()
