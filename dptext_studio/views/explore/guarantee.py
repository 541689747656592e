"""The guarantee of a rewrite in words, and what is visible at every ε."""

from __future__ import annotations

import streamlit as st

import dptext_core as dpt
from dptext_core.privacy.draw_counts import DrawCounts, optimal_note
from dptext_core.privacy.kinds import ConditionKind
from dptext_core.privacy.numbers import bound, number

from ...components.text import literal
from ...figures.glossary import definition
from ...server import runs
from .rewriting import current_ledger


def note_kept_words(run: runs.Run) -> None:
    """Show which names and dates are visible at every ε, because the mechanism keeps such words, and why it keeps them.

    It does not recommend the blocklist: a list made by looking at the text would reveal something about it.
    """
    tokens = run.payload["tokens"]
    words = {
        tokens[k]["o"]: tokens[k]["why"]
        for said in run.payload.get("telling", ())
        for k in said["at"]
        if tokens[k]["a"] == "keep"
    }
    if words:
        them = ", ".join(f"“{w}”" + (f" ({why})" if why else "") for w, why in words.items())
        st.caption(literal(f"Unchanged at every ε: {them}."))


def rewrite_without_prior(run: runs.Run, result: dpt.RewriteResult, epsilon: float) -> None:
    """Show the rewrite of a mechanism without its public prior, at the same ε."""
    plain = run.without_prior(epsilon)
    if plain is None:
        return
    with st.container(border=True):
        at = "the same shares of ε" if run.spread else f"the same ε = {number(epsilon)}"
        st.caption(
            f"Without the public prior, at {at}, with separate noise. If you release both rewrites, both budgets are "
            "spent."
        )
        st.markdown(literal(plain.text))
        with st.popover("Why priors cost no ε", icon=":material/school:"):
            st.markdown(why_it_costs_nothing(result.guarantee))


def why_it_costs_nothing(promise: dpt.Guarantee) -> str:
    """Return a short lesson on public priors, for the kind in use."""
    if promise.among:
        by_turns = any(c.kind is ConditionKind.RELEASED_BEFORE for c in promise.among.conditions)
        before = " Every word already released is public too." if by_turns else ""
        public = (
            "**What is public?** The kept words and punctuation, with their positions: the guarantee treats them as "
            f"fixed, and everyone can read them in the release.{before}\n\n**What does the prior propose?** A "
            "language model that sees only public text proposes words that fit."
        )
    else:
        public = "**What is public?** Word frequencies in other people's texts. These are the proposal."
    moves = "It shifts the proposal towards words close to yours, as it would without a public prior."
    if promise.notion == "pure":
        moves = "It changes the proposed weight of each word by a factor of at most e^(ε/2)."
    return (
        f"{public} This is the same for every private text that the guarantee compares, so it reveals nothing about "
        f"yours.\n\n**What does your text do?** {moves} At small ε, your text has almost no influence, so words are "
        "sampled from the proposal. Without a prior, all words would be about equally likely.\n\n**What does the "
        "prior not do?** It does not preserve more meaning at equal N_w, because a fitting word need not be a similar "
        "word. Words that the model finds likely are also easy to guess."
    )


def _all_of(g: dpt.Guarantee, releases: int) -> str:
    """Return ε of several releases together, also by optimal composition if that is smaller."""
    counts, total = DrawCounts(), releases * g.total
    for _ in range(releases):
        counts.add(g)
    return bound(total) + optimal_note(counts.optimal(total))


def guarantee_panel(run: runs.Run, result: dpt.RewriteResult, void: bool) -> None:
    """Show the guarantee in plain words, with its numbers. void: it no longer holds, because two versions were
    released.
    """
    g = result.guarantee
    st.subheader("Guarantee")
    before = "It no longer applies (see above). For one version alone: " if void else ""
    (st.warning if void or g.notion == "none" or g.seeded else st.info)(before + literal(g.sentence()))
    if not void and (account := current_ledger().account(run.inputs.text)).void:
        st.caption(literal(f"Your earlier releases of this text have no guarantee: {account.void}."))
    if run.mechanism.uses_epsilon:
        _numbers(run, result)
    st.markdown("**Not protected:** " + literal("; ".join(g.exposed)) + ".")
    if (draws := current_ledger().draws(run.inputs.text)) > 1:
        message = f"**This text was rewritten {draws:,} times** with fresh noise (see Ledger). "
        if g.notion != "none" and not g.seeded:
            message += f"At this setting, the total ε is {bound(g.total)} for one and {_all_of(g, draws)} for all. "
        st.markdown(message + "All slider positions share their noise: release at most one version of each draw.")
    with st.expander("The formal statement"):
        st.markdown("\n\n".join(literal(line) for line in g.lines()))


def _numbers(run: runs.Run, result: dpt.RewriteResult) -> None:
    """Show what one draw and all draws spend."""
    g = result.guarantee
    per, drawn, total = st.columns(3)
    one = g.unit.noun
    per.metric(f"ε per {one}, at most" if run.spread else f"ε per {one}", bound(g.epsilon), help=definition("ε"))
    what = "Words sampled" if "alignment" in result.can else "Tokens sampled"
    spent = sum(u.is_sampled and u.epsilon > 0 for u in result.units)
    less = "alignment" not in result.can and spent < g.draws
    drawn.metric(what, f"{spent:,} of {g.draws:,}" if less else f"{spent:,}")
    label = "Total ε, worst case" if g.expected is not None else "Total ε"
    total.metric(label, bound(g.total), help=definition("Total ε"))
    if closer := g.extra():
        st.caption(literal(closer))
    if less:
        st.caption("The guarantee counts the largest possible number of draws, so it does not reveal the actual "
                   "number.")
    if g.expected is not None:
        st.caption(
            f"Expected total ε: {number(g.expected)}. An expectation is not a guarantee. The expected number of draws "
            "is (1 − D + A)n, with the rates of deletion D and addition A; the paper prints (A − D)n."
        )
