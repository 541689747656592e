"""Findings: five conclusions, each with a figure and its uncertainty, and the papers' claims."""

from __future__ import annotations

import streamlit as st

from dptext_core import DPTextError
from dptext_lab.findings import bundled
from dptext_lab.results import leaderboard
from dptext_lab.results import summary as results

from ...components.shell import enter_app
from ...components.style import add_style
from ...components.text import literal
from .board import question
from .certainty import certainty_question
from .claims import claims
from .conclusions import many_texts, one_total, papers_claims


def main() -> None:
    st.markdown("## Findings")
    try:
        measured = results.bundled()
        all_of_them = bundled()
        rows = leaderboard.bundled()
    except DPTextError as error:
        st.error(literal(str(error)))
        return
    if measured is None:
        st.info(
            "There are no benchmark results. `python -m dptext_core bench run --grid full --data DIR --out FILE` "
            "makes them; `--grid full --merge FILE --summary assets/benchmarks/results.json` adds them to this page."
        )
        return
    add_style(__file__, "page.css")
    certainty_question()
    question(rows)
    one_total()
    many_texts()
    papers_claims(all_of_them)
    claims(all_of_them, measured)
    about = measured.about
    st.caption(
        literal(
            "Every number on this page is computed from bundled results. The benchmark has "
            f"{about['points']:,} runs with the seeds {', '.join(map(str, about['seeds']))}; under “How it was "
            "measured”, its page lists what was excluded. Certainty, the total ε of a text, many texts of one author "
            "and some claims were measured separately."
        )
    )


def render() -> None:
    """Draw the page."""
    enter_app("findings")
    with st.container(key="findings_page"):
        main()
