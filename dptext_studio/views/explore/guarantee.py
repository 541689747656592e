"""The guarantee of a rewrite in words, and what no ε hides."""

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
    """State which names and dates no ε hides, because the mechanism keeps such words, and why it keeps them.

    It does not point to the blocklist: a list made by looking at the text would reveal something about it.
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
    """Show what a mechanism with a public prior writes without it, at the same ε."""
    plain = run.without_prior(epsilon)
    if plain is None:
        return
    with st.container(border=True):
        at = "the same shares of ε" if run.spread else f"the same ε = {number(epsilon)}"
        st.caption(
            f"Without the public prior, at {at}, with noise of its own. To look at: who releases both spends both."
        )
        st.markdown(literal(plain.text))
        with st.popover("Why it costs nothing", icon=":material/school:"):
            st.markdown(why_it_costs_nothing(result.guarantee))


def why_it_costs_nothing(promise: dpt.Guarantee) -> str:
    """Return a small lesson on public priors, for the kind that is in use."""
    if promise.among:
        by_turns = any(c.kind is ConditionKind.RELEASED_BEFORE for c in promise.among.conditions)
        before = " So is every word that was released before." if by_turns else ""
        public = (
            "**What is public?** The kept words and marks, and their places: the promise holds them fixed, and "
            f"everyone can read them in the released text.{before}\n\n**What is proposed from it?** A language model "
            "that sees only that says which words fit."
        )
    else:
        public = "**What is public?** How frequent words are in other people's texts. That is what is proposed."
    moves = "It moves the proposal: words that are near to yours gain, as without a proposal."
    if promise.notion == "pure":
        moves = "It moves the proposal, by a factor of at most e^(ε/2) for each word up or down."
    return (
        f"{public} This is the same for every private text that the promise compares, so it tells nothing of yours.\n\n"
        f"**What does your text do?** {moves} When ε is small, your text changes almost nothing: the "
        "proposal is drawn. Without a proposal, all words are alike then, and the text is word salad.\n\n"
        "**What does it not do?** A fitting word is not a similar one: at the same chance of keeping the original, no "
        "more of the meaning is kept. And words that are easy to propose are easy to guess, for everyone."
    )


def _all_of(g: dpt.Guarantee, releases: int) -> str:
    """Return ε of several releases together, by optimal composition too where that is smaller."""
    counts, total = DrawCounts(), releases * g.total
    for _ in range(releases):
        counts.add(g)
    return bound(total) + optimal_note(counts.optimal(total))


def guarantee_panel(run: runs.Run, result: dpt.RewriteResult, void: bool) -> None:
    """Show the guarantee in plain words, with its numbers. void: it does not hold, as two versions of it were
    released."""
    g = result.guarantee
    st.subheader("Guarantee")
    before = "Nothing any more, see above. One version on its own: " if void else ""
    (st.warning if void or g.notion == "none" or g.seeded else st.info)(before + literal(g.sentence()))
    if not void and (account := current_ledger().account(run.inputs.text)).void:
        st.caption(literal(f"What you released of this text before has no guarantee: {account.void}."))
    if run.mechanism.uses_epsilon:
        _numbers(run, result)
    st.markdown("**Not protected:** " + literal("; ".join(g.exposed)) + ".")
    if (draws := current_ledger().draws(run.inputs.text)) > 1:
        message = f"**Drawn {draws:,} times** with fresh noise from this text (see Ledger). "
        if g.notion != "none" and not g.seeded:
            message += f"At this setting, one of them spends {bound(g.total)} and all of them {_all_of(g, draws)}. "
        st.markdown(message + "Positions of the slider share their noise: release at most one of each draw.")
    with st.expander("The formal statement"):
        st.markdown("\n\n".join(literal(line) for line in g.lines()))


def _numbers(run: runs.Run, result: dpt.RewriteResult) -> None:
    """Show what one draw and all of them spend."""
    g = result.guarantee
    per, drawn, total = st.columns(3)
    one = g.unit.noun
    per.metric(f"ε per {one}, at most" if run.spread else f"ε per {one}", bound(g.epsilon), help=definition("ε"))
    what = "Words drawn" if "alignment" in result.can else "Pieces drawn"
    spent = sum(u.drawn and u.epsilon > 0 for u in result.units)
    less = "alignment" not in result.can and spent < g.draws
    drawn.metric(what, f"{spent:,} of {g.draws:,}" if less else f"{spent:,}")
    label = "Total ε, worst case" if g.expected is not None else "Total ε"
    total.metric(label, bound(g.total), help=definition("Total ε"))
    if closer := g.extra():
        st.caption(literal(closer))
    if less:
        st.caption("The promise counts what may be drawn, so that it does not tell how much was.")
    if g.expected is not None:
        st.caption(
            f"Expected: {number(g.expected)}. The expected number of draws is (1−D+A)n; the paper prints (A−D)n. "
            "An expectation is information, not a promise."
        )
