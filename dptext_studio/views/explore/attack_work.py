"""Attacks run in threads, and the tables and controls that their panels share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core import attacks
from dptext_core.attacks import which_text

from ...components.text import literal, too_long
from ...server import runs
from ...server.session import session

#: Seconds that a run of the page waits for a task before it shows progress.
PATIENCE = 0.7
#: The possible numbers of rewrites of one text for the attacker of whole texts.
REWRITES = (1, 2, 4, 8)


def attack_result(name: str, key: tuple, label: str, work: Callable, *, ask: str | None = None, note: str = "") -> Any:
    """Return the result of ``work(task)`` for ``key``, or None until it exists.

    Each name has one job: another key stops the previous one. ask: the label of a button that starts it; without it, it
    starts at once. Errors of the package are shown in place.
    """
    work_place = session().at(f"attack: {name}")
    if work_place.request != key:
        work_place.stop()
        work_place.request = None
        if ask is not None:
            if note:
                st.caption(note)
            if not st.button(ask, key=f"attack_start_{name}"):
                return None
        work_place.start(key, work, label)
    if work_place.is_running(PATIENCE):
        work_place.show_progress(f"attack_stop_{name}")
        return None
    if work_place.error is None:
        return work_place.result
    refused = isinstance(work_place.error, dpt.NoDistribution)
    (st.info if refused else st.error)(literal(work_place.failure_text("Stopped.")))
    if not refused and st.button("Try again", key=f"attack_again_{name}"):
        work_place.request = None
        st.rerun()
    return None


def is_replaced(step: dpt.Step) -> bool:
    """Return True if a word was replaced here; otherwise say so on the page."""
    try:
        attacks.check_sampled(step)
    except dpt.NoDistribution as reason:
        st.caption(literal(str(reason)))
        return False
    return True


def attack_table(columns: dict[str, list], share: str = "") -> None:
    """Show a table. share: the column that is a probability, shown as a bar."""
    bar = st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1)
    st.dataframe(columns, hide_index=True, height="content", column_config={share: bar} if share else None)


def known_words(run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, key: str) -> list[str] | None:
    """Return the words of the text that have known alternatives, rarest first; None while they are looked up."""
    return attack_result(
        f"which words {key}",
        (run.inputs.text, run.inputs.setting),
        "Looking up words",
        lambda task: which_text.content_words(mechanism, result.original),
    )


def other_texts(key: str, label: str) -> tuple[str, ...]:
    """Ask for other texts, one on each line; return none until the input is valid."""
    given = st.text_area(
        label, key=f"{key}_list", height=120, help="Your text is added. The list counts as public because the "
                                                   "attacker knows it."
    )
    others = tuple(line for line in (given or "").splitlines() if line.strip())
    if not others:
        st.caption("Type at least one other text, and press Ctrl+Enter.")
    elif said := too_long(given):
        st.error(said)
        return ()
    return others


def candidate_texts(
    run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, key: str, n: int = which_text.TEXTS
) -> tuple[tuple, Callable[[], attacks.Lineup]] | None:
    """Show controls for the possible original texts. Return the request, and what makes the texts.

    key: the prefix of the controls' keys. n: the number of texts if they are made by exchanging one word.
    """
    words = known_words(run, mechanism, result, key)
    if words is None:
        return None
    kinds = ["All but one word", "Another text" if n == 2 else "A list of texts"]
    default = kinds[0] if words else kinds[1]
    kind = st.segmented_control("The attacker knows", kinds, default=default, required=True, key=f"{key}_kind")
    if kind == kinds[0]:
        if not words:
            st.info("This text has no word with known alternatives. Enter other texts yourself.")
            return None
        if st.session_state.get(f"{key}_word") not in words:
            st.session_state.pop(f"{key}_word", None)
        word = st.selectbox(
            "Word that the attacker does not know",
            words,
            key=f"{key}_word",
            help="The other texts replace it with a nearby word of the word space.",
        )
        return (kind, word), lambda: which_text.lineup(mechanism, result.original, word, n)
    label = "Another text" if n == 2 else "Other possible texts, one per line"
    if not (others := other_texts(key, label)):
        return None
    return (kind, others), lambda: which_text.listed_lineup(result.original, others)
