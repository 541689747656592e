"""How well classifiers distinguish two texts by their rewrites: results, and bundled pairs for the settings of a page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.attacks import two_texts
from dptext_core.attacks.two_texts import PAIRS, DistinguishabilityFinding
from dptext_core.privacy.numbers import at_least, bound, percent, with_minus

from ...components.sticky_widgets import stay
from ...components.text import literal
from ...figures.glossary import definition
from ...server.session import session

_BOUND = "A measured lower bound on ε for these two texts. It is no guarantee: other classifiers may detect more."


def show(found: DistinguishabilityFinding) -> None:
    """Show one result."""
    right, advantage, least, most = st.columns(4)
    right.metric("Success", percent(found.success), help="Guessing is right 50% of the time.")
    advantage.metric("Advantage", with_minus(f"{found.advantage:.2f}"), help=definition("advantage"))
    least.metric("ε at least", at_least(found.epsilon), help=definition("ε at least"))
    most.metric("Detectable from draws", at_least(found.largest_bound), help=definition("detectable ε"))
    st.dataframe(
        {
            "classifier": [c.title for c in found.classifiers],
            "advantage": [with_minus(f"{c.advantage:.2f}") for c in found.classifiers],
            "first text recognised": [percent(c.tpr) for c in found.classifiers],
            "other text mistaken for it": [percent(c.fpr) for c in found.classifiers],
        },
        hide_index=True,
    )
    (st.error if found.exceeds else st.markdown)(literal(found.sentence()))


@dataclass(frozen=True)
class Subject:
    """A setting to test. key: identifies its inputs. make: returns the mechanism."""

    title: str
    key: Any
    make: Callable[[], dpt.Mechanism]


def panel(subjects: Sequence[Subject], place: str) -> None:
    """Show a bundled pair for each of these settings on request. place: names the task and the controls."""
    st.caption(
        "Can classifiers distinguish two public texts by their rewrites? They train on one half of the rewrites and "
        "are tested on the other. This works for every mechanism."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.segmented_control(
            "How distinguishable they are",
            two_texts.DISTANCES,
            required=True,
            format_func=str.capitalize,
            key=stay(f"{place}_pair", two_texts.DISTANCES[0]),
        )
        pressed = st.button("Distinguish the texts", icon=":material/compare:", key=f"{place}_start")
    pair = next(p for p in PAIRS if p.distance == chosen)
    st.markdown(literal(f"“{pair.first}”") + "  \n" + literal(f"“{pair.second}”"))
    work = session().at(f"two texts: {place}")
    asked = pair, tuple(s.key for s in subjects)
    if pressed:
        work.start((*asked, subjects), lambda task: _measured(subjects, pair, task), "Distinguishing the texts")
    if work.is_running():
        work.show_progress(f"{place}_stop")
    elif said := work.failure_text("Stopped. Press “Distinguish the texts” to start again."):
        st.error(literal(said))
    elif work.result is not None:
        if work.request[:2] != asked:
            st.warning("This table is for the previous settings. Press “Distinguish the texts” to update it.")
        _table(work.request[2], work.result)


def _measured(
    subjects: Sequence[Subject], pair: two_texts.Pair, task: dpt.Task
) -> list[DistinguishabilityFinding | str]:
    out: list[DistinguishabilityFinding | str] = []
    for k, subject in enumerate(subjects):
        try:
            out.append(two_texts.measure(subject.make(), pair, task=task.child(k, k + 1, len(subjects))))
        except dpt.Cancelled:
            raise
        except dpt.DPTextError as error:
            out.append(str(error))
    return out


def _table(subjects: Sequence[Subject], found: Sequence[DistinguishabilityFinding | str]) -> None:
    rows = [(s, f) for s, f in zip(subjects, found, strict=True) if isinstance(f, DistinguishabilityFinding)]
    if rows:
        st.dataframe(
            {
                "setting": [s.title for s, _ in rows],
                "advantage": [with_minus(f"{f.advantage:.2f}") for _, f in rows],
                "95% interval": [with_minus("{:.2f} to {:.2f}".format(*f.interval)) for _, f in rows],
                "best classifier": [f.best.title for _, f in rows],
                "ε at least": [at_least(f.epsilon) for _, f in rows],
                "detectable ε": [at_least(f.largest_bound) for _, f in rows],
                "guaranteed ε": [
                    bound(f.allowed_loss) if math.isfinite(f.allowed_loss) else "nothing" for _, f in rows
                ],
                "rewrites of each": [f"{f.draws:,}" for _, f in rows],
            },
            hide_index=True,
            key="told_apart_table",
            column_config={
                name: st.column_config.Column(help=definition(name))
                for name in ("advantage", "ε at least", "detectable ε")
            },
        )
        st.caption(_BOUND)
    for subject, one in zip(subjects, found, strict=True):
        if isinstance(one, str):
            st.caption(literal(f"{subject.title}: {one}"))
        elif one.exceeds:
            st.error(literal(f"{subject.title}: {one.sentence()}"))
