"""An optimal reader's belief about one fact of the text, the same fact for all settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.privacy.numbers import percent

from ...components.sticky_widgets import stay
from ...components.text import literal, named_words
from ...server.chosen_fact import ChosenFact
from ...server.comparison import Column, ColumnOutcome, ComparisonRequest
from ...server.session import session
from ..explore.text_input import origin_of

PLACE = "compare belief"
#: Controls of the fact and its alternatives, and the largest number of alternatives.
FACT, ALTERNATIVES, MOST = "compare_fact", "compare_alternatives", 11

state = st.session_state


def follow_explore() -> None:
    """Empty the boxes after a new choice on Explore, so that it counts. Call it before they are drawn."""
    mine = session()
    if mine.compared_fact != mine.explored_fact:
        mine.compared_fact = mine.explored_fact
        state[FACT] = state[ALTERNATIVES] = ""


def default_fact(text: str) -> ChosenFact:
    """Return the fact that was chosen on Explore for this text, or its first one there; empty if there is none."""
    explored, origin = session().explored_fact, origin_of(text)
    if explored is not None and explored[0] == text:
        return explored[1]
    return ChosenFact(origin.sensitive if origin else "")


def fact_controls(text: str, beside: bool = True) -> None:
    """Show boxes for the fact and its alternatives, side by side or below each other. Empty boxes use what
    Explore uses.
    """
    default = default_fact(text)
    fact, others = st.columns([1, 2]) if beside else (st, st)
    fact.text_input(
        "Fact that the reader guesses",
        key=stay(FACT),
        placeholder=default.word or "the rarest word",
        help="A word of your text, or several consecutive words. If empty, the word in the placeholder is used.",
    )
    known = () if (state.get(FACT) or "").strip() else default.alternatives or ()
    others.text_input(
        "Alternatives, separated by commas",
        key=stay(ALTERNATIVES),
        placeholder=", ".join(known) or "similar words from public lists",
        help="Other facts that the reader considers possible, all equally likely. They count as public.",
    )


def chosen_fact(text: str) -> ChosenFact:
    """Return the fact from the controls."""
    word, named = ((state.get(key) or "").strip() for key in (FACT, ALTERNATIVES))
    others, _ = named_words(named, MOST)
    default = default_fact(text)
    return ChosenFact(word or default.word, others or (None if word else default.alternatives))


def known_beliefs(
    asked: ComparisonRequest, both: Sequence[tuple[Column, ColumnOutcome]]
) -> Mapping[int, dpt.Belief | str] | None:
    """Return the belief of each column, or why it has none, by the column's number; None while they are computed in a
    thread.
    """
    columns = [(c, o.viewed_rewrite.result) for c, o in both if o.viewed_rewrite is not None]
    work = session().at(PLACE)
    fact = chosen_fact(asked.text)
    wanted = (asked.text, fact, tuple((c.setting.at(r.config.epsilon), r.noise_id) for c, r in columns))
    if work.request != wanted:
        start(wanted, columns, fact)
    if work.is_running(0.2):
        work.follow()
    elif work.request == wanted and isinstance(work.result, list):
        return {c.id: belief for (c, _), belief in zip(columns, work.result, strict=True)}
    elif said := work.failure_text("Stopped."):
        return {c.id: said for c, _ in columns}
    return None


def start(wanted: Any, columns: Sequence[tuple[Column, dpt.RewriteResult]], fact: ChosenFact) -> None:
    """Start computing the beliefs, and replace a running computation."""
    cache = session().rewrite_cache
    mechanisms = [dpt.mechanism_class(c.mechanism).of_config(r.config) for c, r in columns]

    def work(task: dpt.Task) -> list[dpt.Belief | str]:
        return cache.beliefs([r for _, r in columns], mechanisms, fact.word, fact.alternatives, task)

    session().at(PLACE).start(wanted, work, "Computing the reader's certainty", last=True)


def certainty_line(found: dpt.Belief | str | None) -> str:
    """Return one line about the certainty for a column, as Markdown."""
    if found is None:
        return "Reader’s certainty: …"
    if isinstance(found, str):
        return "Reader’s certainty: unknown"
    guess, sure, before = int(found.guess), float(found.certainty), percent(float(found.prior.max()))
    said = ">99%" if 0.99 < sure < 1 else percent(sure)
    wrong = f", wrong guess “{literal(found.alternatives[guess])}”" if guess else ""
    bare = [f"“{literal(w)}”" for w, covered in zip(found.alternatives, found.is_covered, strict=True) if not covered]
    outside = f"  \n{', '.join(bare)}: not covered by the guarantee" if bare else ""
    if not found.is_covered.any():
        outside = "  \nNo guarantee limits this."
    return f"Reader’s certainty: **{said}** ({before} before){wrong}{outside}"


def fact_note(beliefs: Mapping[int, dpt.Belief | str] | None) -> None:
    """Show what the reader knows and guesses, and why some columns have no certainty."""
    if named_words(state.get(ALTERNATIVES) or "", MOST)[1]:
        st.caption(f"The first {MOST} alternatives are used.")
    known = list((beliefs or {}).values())
    if one := next((b for b in known if not isinstance(b, str)), None):
        st.caption(literal(f"Reader’s certainty: {about(one.alternatives)}"))
    for reason in dict.fromkeys(b for b in known if isinstance(b, str)):
        st.caption(literal(reason))


def about(words: Sequence[str]) -> str:
    """Return a sentence about the alternatives that a reader considers, the original first."""
    first, *others = (f"“{w}”" for w in words)
    return f"a reader knows the mechanism and every other word, and guesses among {first} and {', '.join(others)}."
