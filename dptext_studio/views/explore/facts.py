"""The optimal reader's belief about one fact, or about which of a few texts was rewritten, after several releases."""

from __future__ import annotations

import streamlit as st

import dptext_core as dpt
from dptext_core import attacks
from dptext_core.attacks import which_text
from dptext_core.attacks.alternatives import suggest_alternatives
from dptext_core.attacks.expected_belief import ExpectedSuccess
from dptext_core.attacks.several_releases import RELEASES
from dptext_core.privacy.numbers import percent

from ...components.text import literal, named_words
from ...server import runs
from .attack_work import attack_result, attack_table, known_words, other_texts

KEY = "attack_which"
KINDS = ("Everything except one fact", "A list of texts")
#: The largest number of alternatives: each needs a pass of the model.
MOST = 11
#: The reader's question: its kind, and the fact with its alternatives, or the other texts.
Asked = tuple[str, tuple[str, ...]]


def facts_panel(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """Show the optimal reader's belief after one or more releases, and what the guarantee allows anyone."""
    st.markdown(
        "This reader knows the mechanism, ε and either your text except one fact, or a few possible texts. No reader "
        "with the same knowledge is right more often."
    )
    asked = _fact_request(run, mechanism, result, token)
    if asked is None:
        return
    words = "alignment" in mechanism.can
    most = st.segmented_control(
        "Releases of the same text, at most",
        RELEASES,
        default=4 if words else 1,
        required=True,
        key=f"{KEY}_seen",
        help="1 is the rewrite above; larger numbers add rewrites with fresh noise. Releasing them would also spend "
             "their ε.",
    )

    def work(task: dpt.Task) -> tuple[dpt.Belief, attacks.SeveralReleases]:
        question = _question(mechanism, result, asked, task.child(0, 0.2))
        seen = which_text.collect_rewrites(mechanism, result, most, task=task.child(0.2, 0.4))
        rows = [r for r in RELEASES if r <= most]
        several = attacks.several_releases(question, seen, rows, draws=None if words else 0, task=task.child(0.4, 1))
        return question.answer(seen[0]), several

    result_rows = attack_result(
        "which text",
        (run.number, result.config, asked, most),
        "Weighing the alternatives",
        work,
        ask="Weigh the alternatives" if words else None,
    )
    if result_rows is not None:
        _show(*result_rows)


def _fact_request(run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int) -> Asked | None:
    """Show the controls, and return the request; None while something is missing."""
    words = known_words(run, mechanism, result, KEY)
    if words is None:
        return None
    kind = st.segmented_control(
        "The reader knows", KINDS, default=KINDS[0] if words else KINDS[1], required=True, key=f"{KEY}_kind"
    )
    if kind == KINDS[1]:
        others = other_texts(KEY, "Other possible texts, one per line")
        return (kind, others) if others else None
    if not words:
        st.info("This text has no word with known alternatives. Enter other texts yourself.")
        return None
    chosen = result.units[token].original.casefold() if token < len(result.units) else ""
    if st.session_state.get(f"{KEY}_word") not in words:
        st.session_state.pop(f"{KEY}_word", None)
    fact = st.selectbox(
        "The fact that the reader guesses",
        words,
        index=words.index(chosen) if chosen in words else 0,
        key=f"{KEY}_word",
        help="A word of your text; all its occurrences count.",
    )
    others = _alternatives(run, mechanism, fact)
    return (kind, (fact, *others)) if others else None


def _alternatives(run: runs.Run, mechanism: dpt.Mechanism, fact: str) -> tuple[str, ...]:
    """Ask for the alternatives to a fact, starting with public ones; return none while they are looked up or missing.
    """

    def suggested(_: dpt.Task) -> list[str]:
        try:
            return suggest_alternatives(fact, mechanism)
        except dpt.InputError:  # the visitor names some
            return []

    known = attack_result("alternatives", (run.inputs.setting, fact), "Looking for alternatives", suggested)
    if known is None:
        return ()
    key, state = f"{KEY}_others", st.session_state
    if state.get(f"{key}_of") != fact:
        state[key], state[f"{key}_of"] = ", ".join(known), fact
    named = st.text_input(
        "Alternatives, separated by commas",
        key=key,
        help="Other facts that the reader considers possible, all equally likely. They count as public.",
    )
    others, more = named_words(named, MOST)
    if more:
        st.caption(f"The first {MOST} are used.")
    if not others:
        st.caption("Enter at least one alternative, such as a similar word.")
    return others


def _question(mechanism: dpt.Mechanism, result: dpt.RewriteResult, asked: Asked, task: dpt.Task) -> dpt.BeliefQuestion:
    kind, given = asked
    if kind == KINDS[0]:
        return dpt.BeliefQuestion.make(mechanism, result.original, given[0], given[1:], task=task)
    return dpt.BeliefQuestion.of_texts(mechanism, which_text.listed_lineup(result.original, given).texts, task=task)


def _show(belief: dpt.Belief, several: attacks.SeveralReleases) -> None:
    """Show the belief after the release above, then row by row what more releases and the guarantee allow."""
    certainty = float(belief.certainty)
    draws = belief.releases[0][0].guarantee.draws
    together = "" if draws < 2 else f" This limit adds up all draws that may depend on the fact ({draws:,} in all)."
    values = {
        "Reader’s certainty": (">99%" if 0.99 < certainty < 1 else percent(certainty), "After the release above."),
        "Before": (percent(float(belief.prior.max())), "All alternatives were equally likely."),
        "Limit for this fact": (
            percent(float(belief.ceiling.max())) if belief.is_covered.any() else "no guarantee",
            f"The largest certainty about these alternatives that the guarantee allows.{together}",
        ),
        "Limit for any fact": (
            percent(several.success_bounds[0]) if belief.is_covered.any() else "no guarantee",
            "The total guarantee bounds how often anyone can be right about any fact with this number of alternatives.",
        ),
    }
    with st.container(horizontal=True, gap="large"):
        for label, (value, help_text) in values.items():
            st.metric(label, value, help=help_text, width="content")
    st.markdown(literal(belief.sentence()))
    order = sorted(range(len(belief.prior)), key=lambda j: (-belief.posterior[j], j == 0))
    columns: dict[str, list] = {
        "": ["yours ▶" if j == 0 else "" if several.is_covered[j] else "not covered" for j in order],
        "alternative": [several.alternatives[j] for j in order],
    }
    for r, row in zip(several.releases, several.posterior, strict=True):
        columns[_after(r)] = [float(row[j]) for j in order]
    bar = st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1)
    st.dataframe(columns, hide_index=True, height="content", column_config={_after(r): bar for r in several.releases})
    rows = range(len(several.releases))
    limits = {
        "limit for this fact": [percent(float(several.ceiling[i].max())) for i in rows],
        "limit for any fact": [percent(several.success_bounds[i]) for i in rows],
    }
    expected = [_expected(several.expected_success[i]) if several.expected_success else "not estimated" for i in rows]
    attack_table(
        {
            "releases": [f"{r:,}" for r in several.releases],
            "success on average": expected,
            **(limits if belief.is_covered.any() else {}),
        }
    )
    if several.expected_success:
        st.markdown(literal(several.sentence()))
    st.caption("The additional rewrites are simulated: they are not released and do not count in the ledger.")


def _after(releases: int) -> str:
    return "after one release" if releases == 1 else f"after {releases:,}"


def _expected(success: ExpectedSuccess) -> str:
    if not success.draws:
        return f"{percent(success.value)}, exact"
    low, high = map(percent, success.interval)
    return f"{percent(success.value)} (95% CI {low} to {high})"
