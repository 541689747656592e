"""The success of the strongest attacker for each setting."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dptext_core.attacks import best
from dptext_core.measure.calibration import TargetFigure, measured_together
from dptext_core.mechanisms.registry import mechanism_of
from dptext_core.privacy.numbers import percent

from ...components.text import literal
from ...server.comparison import Column, ColumnOutcome, ComparisonRequest
from ...server.session import session


def attack_table(asked: ComparisonRequest, both: Sequence[tuple[Column, ColumnOutcome]]) -> None:
    """Show a table. share: the column that is a probability, shown as a bar."""
    able = [
        (c, o.viewed_rewrite)
        for c, o in both
        if o.viewed_rewrite is not None and o.figures is not None and o.figures.words
    ]
    if not able:
        return
    work, key = session().at("compare best"), (asked.text, tuple((c.title, looked.number) for c, looked in able))
    if st.button(
        "Run all attackers",
        icon=":material/search:",
        key="compare_attack",
        help="All attackers on single words read fresh rewrites of each setting. These rewrites are not released.",
    ):
        made = [mechanism_of(looked.result) for _, looked in able]
        work.start(key, lambda task: measured_together(made, "best", asked.text, task=task), "Running all attackers")
    if work.request != key:
        work.stop()
        return
    if work.is_running():
        work.show_progress("compare_attack_stop")
    elif said := work.failure_text("Stopped. Press “Run all attackers” to start again."):
        st.error(literal(said))
    elif work.result is not None:
        pairs = [(c, m) for (c, _), m in zip(able, work.result, strict=True)]
        st.dataframe(
            {
                "setting": [c.title for c, _ in pairs],
                "strongest attacker": [best.title(m.by) if isinstance(m, TargetFigure) else "none" for _, m in pairs],
                "right": [percent(m.value) if isinstance(m, TargetFigure) else "" for _, m in pairs],
                "95% interval": [
                    "{} to {}".format(*map(percent, m.interval)) if isinstance(m, TargetFigure) else ""
                    for _, m in pairs
                ],
            },
            hide_index=True,
            key="compare_attackers",
        )
        st.caption(
            "How often the strongest attacker recovers a word that all settings replace. Intervals are corrected for "
            f"the choice among {', '.join(best.ASKED.values()).lower()}."
        )
        for reason in dict.fromkeys(m for _, m in pairs if isinstance(m, str)):
            st.caption(literal(reason))
