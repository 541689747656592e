"""One total ε over the words of the text: evenly, by public frequency, by public context, or by hand."""

from __future__ import annotations

import math

import streamlit as st

import dptext_core as dpt
from dptext_core.measure import budget
from dptext_core.mechanisms.capabilities import public_context, require_alignment
from dptext_core.privacy.numbers import round_directed

from ...components.text import literal
from ...server.session import session

state = st.session_state

_RULES = {"Even": "uniform", "By frequency": "frequency", "By hand": "hand", "By public context": "public"}
_HELP = (
    "How the total is divided over the words. “By frequency” gives less to words that are rare in public text, and “By "
    "public context” less to words that the kept words predict."
)


def panel(mechanism: dpt.Mechanism, text: str, key: str = "budget") -> tuple[float, ...] | None:
    """Show controls for a total over the words of ``text``. Return one ε for each token, or None if all share one ε."""
    if not st.toggle(
        "One total for all words",
        key=f"{key}_on",
        help="The words share one total instead of each having the same ε.",
    ):
        return None
    try:
        # The number of draws is all that is needed here: no ε of the mechanism is looked at.
        one = mechanism.replace(epsilon=1.0)
        planned = one.plan(text)
        per_unit = one.guarantee(planned).total
        drawn = require_alignment(one, "has no words that could share a total. Turn off the total").spending(planned)
        public = bool(drawn) and public_context(one, planned, drawn[0]) is not None
    except dpt.DPTextError as error:
        st.error(literal(str(error)))
        return None
    start = float(max(0.1, round(_default(mechanism) * per_unit, 1)))
    total = st.number_input("Total ε", min_value=0.01, value=start, key=f"{key}_total", format="%g")
    rules = [r for r in _RULES if _RULES[r] != "public" or public]
    rule = st.segmented_control("Spread", rules, default="Even", required=True, key=f"{key}_rule", help=_HELP)
    try:
        plan = budget.distribute(mechanism, text, total)
        if _RULES[rule] == "hand":
            plan = budget.distribute(mechanism, text, total, "hand", _editor(text, plan, key))
        elif _RULES[rule] == "frequency":
            plan = budget.distribute(mechanism, text, total, "frequency")
        elif _RULES[rule] == "public":
            plan = _by_what_is_public(mechanism, text, total)
    except dpt.DPTextError as error:
        st.error(literal(str(error)))
        return None
    st.dataframe(table(text, plan), hide_index=True, height=min(260, 36 * (1 + len(plan.sampled_tokens)) + 2))
    st.caption(literal(plan.sentence()))
    return plan.epsilons


def _by_what_is_public(mechanism: dpt.Mechanism, text: str, total: float) -> budget.Budget:
    """Return the plan by public context. It needs passes of the model, so it is kept while its inputs are the same."""
    mine, key = session(), (text, mechanism.key, total)
    if mine.public_plan is None or mine.public_plan[0] != key:
        with st.spinner("Reading the public context …"):
            mine.public_plan = key, budget.distribute(mechanism, text, total, "public")
    return mine.public_plan[1]


def _default(mechanism: dpt.Mechanism) -> float:
    epsilon = mechanism.config.epsilon
    return math.fsum(epsilon) / len(epsilon) if isinstance(epsilon, tuple) else epsilon


def _editor(text: str, even: budget.Budget, key: str) -> dict[int, float]:
    """Show the shares entered by hand, by token. Another text or another choice of words resets the table."""
    previous, number_ = session().shares_for.get(key, (None, 0))
    if previous != (text, even.sampled_tokens):
        number_ += 1
        session().shares_for[key] = (text, even.sampled_tokens), number_
    tokens = dpt.Document.parse(text).tokens
    name = f"{key}_hand_{number_}"
    st.data_editor(
        {"word": [tokens[i].text for i in even.sampled_tokens], "share": [math.nan] * len(even.sampled_tokens)},
        column_config={
            "word": st.column_config.TextColumn("word", disabled=True),
            "share": st.column_config.NumberColumn(
                "share of the total, %",
                min_value=0.0,
                max_value=100.0,
                format="%g",
                help="Words with empty cells divide the rest evenly.",
            ),
        },
        hide_index=True,
        num_rows="fixed",
        height=220,
        key=name,
    )
    return shares(state[name].get("edited_rows", {}), even.sampled_tokens)


def shares(edited: dict, drawn: tuple[int, ...]) -> dict[int, float]:
    """Return the entered values (row of the table → new values) as token → share of the total. Emptied cells have no
    share.
    """
    typed = {int(row): change.get("share") for row, change in edited.items()}
    return {drawn[row]: percent / 100 for row, percent in typed.items() if percent is not None}


def table(text: str, plan: budget.Budget) -> dict[str, list]:
    """Return columns: the sampled words, their ε, their shares in percent."""
    tokens = dpt.Document.parse(text).tokens
    return {
        "word": [tokens[i].text for i in plan.sampled_tokens],
        "ε": [round_directed(plan.epsilons[i], 4, up=True) for i in plan.sampled_tokens],
        "share, %": [round(100 * s, 2) for s in plan.shares],
    }
