"""Benchmarks: how often an author is recognised from one release, and from many together."""

from __future__ import annotations

import streamlit as st

from dptext_core.support.checks import pluralize
from dptext_lab.results import authors

from ...components.tables import table
from ...components.text import literal


def authors_note() -> None:
    """Show how often the author is recognised by the number of texts that are read together, if these results are
    bundled.
    """
    rows = authors.bundled()
    if not rows:
        return
    st.markdown("### Many texts of one author")
    top = {(r.system, r.texts): r for r in authors.strongest(rows)}
    numbers = authors.numbers_of_texts(rows)
    first = rows[0]
    st.caption(
        literal(
            f"An attacker reads several rewritten speeches of one of {first.authors} presidents. Traces of style "
            f"in the texts add up. Guessing is right {first.chance:.0%} of the time. In brackets: "
            "95% intervals."
        )
    )
    table(
        [
            {"system": name}
            | {
                pluralize(n, "text"): f"{r.success:.0%} ({r.low:.0%} to {r.high:.0%})"
                for n in numbers
                if (r := top.get((name, n))) is not None
            }
            for name in dict.fromkeys(r.system for r in rows)
        ],
        height="content",
    )
