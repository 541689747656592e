"""Findings: the table of claims with filters by verdict and paper, and the details of each."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dptext_core.support.checks import pluralize
from dptext_lab.findings import (
    CONTRADICTED,
    INCONCLUSIVE,
    MISSING,
    NOT_COMPARABLE,
    REPLICATED,
    ClaimFinding,
    Runs,
    tables,
)
from dptext_lab.findings.base import OURS
from dptext_lab.results import summary as results

from ... import figures
from ...components.charts import chart, dark
from ...components.sticky_widgets import stay
from ...components.tables import table
from ...components.text import literal
from .board import files

ICONS = {
    REPLICATED: (":material/check_circle:", "green"),
    CONTRADICTED: (":material/cancel:", "red"),
    INCONCLUSIVE: (":material/help:", "gray"),
    NOT_COMPARABLE: (":material/contrast:", "orange"),
    MISSING: (":material/pending:", "gray"),
}
#: The meaning of each verdict for a claim and our runs.
MEANS = {
    REPLICATED: "At least half of the comparisons support the claim significantly.",
    CONTRADICTED: "Over 5% of the comparisons contradict the claim significantly, a number in it is wrong, or the "
                  "difference is too small to matter.",
    INCONCLUSIVE: "Too few comparisons are significant. More texts or seeds could decide.",
    NOT_COMPARABLE: "The result depends on a setting that the claim does not state, or models and data differ too "
                    "much.",
    MISSING: "No row was measured. The claim shows the command that measures it.",
}
CLAIM = "claim_"


def row(finding: ClaimFinding, whole: results.Results) -> None:
    """Show one line of the table of claims, and its details."""
    icon, colour = ICONS[finding.verdict]
    effect = literal(finding.effect) if finding.effect else "–"
    label = f":{colour}-badge[{icon} {short(finding.verdict)}] **{literal(finding.of.claim)}** :gray[{effect}]"
    place = st.expander(label, key=f"{CLAIM}{finding.name}", on_change="rerun")
    if place.open:
        with place:
            detail(finding, whole)


def detail(finding: ClaimFinding, whole: results.Results) -> None:
    """Show the paper's statement, the test, the numbers, and what would change the verdict."""
    of = finding.of
    st.caption(f"**{finding.verdict[0].upper()}{finding.verdict[1:]}.** {MEANS[finding.verdict]}")
    if of.quote:
        st.markdown(f"> “{literal(of.quote)}”  \n> :small[{literal(of.source)}]")
    elif of.place:
        st.caption(literal(of.source))
    st.markdown(
        f"**Test, fixed in advance.** {literal(of.test.quantity)} Expected: "
        f"{literal(of.test.direction[0].lower() + of.test.direction[1:])} Smallest effect that matters: "
        f"{literal(of.test.least)}."
    )
    if finding.numbers:
        st.markdown("\n".join("- " + literal(line) for line in finding.numbers))
    for heading, said in (
        ("Differences from the paper.", of.differences),
        ("Contradictions within the paper.", finding.itself),
        ("Likely reason.", finding.reason),
        ("What could change the verdict.", of.turns),
    ):
        if said:
            st.markdown(f"**{heading}** {literal(said)}")
    if finding.missing:
        st.markdown("**How to measure it.**")
        st.code(f"python -m dptext_core {finding.missing}", language="sh", wrap_lines=True)
    if finding.figure and st.toggle("Show the figure", key=f"found_{finding.figure}"):
        drawn = of.look(Runs(whole.rows, whole.gates)).drawn
        figure = getattr(figures, finding.figure)(drawn, dark=dark())
        chart(figure, key=f"found_{finding.figure}_figure", alt=f"Figure for the claim: {of.claim}")
    rows = pluralize(finding.rows, "row")
    if finding.rows and st.toggle(f"Show the {rows} behind it", key=f"found_rows_{finding.name}"):
        table(tables.listing(of.look(Runs(whole.rows, whole.gates))))


def short(verdict: str) -> str:
    """Return a verdict without its explanation in brackets."""
    return verdict.partition(" (")[0]


def claims(all_of_them: Sequence[ClaimFinding], whole: results.Results) -> None:
    """Show every claim with its verdict and effect; verdicts and papers filter them."""
    st.markdown("### All claims")
    ours = sum(f.of.paper == OURS for f in all_of_them)
    st.caption(
        f"Papers make {len(all_of_them) - ours} of these claims, and we make {ours}. Effect: the median difference, "
        "with the smallest and largest. Open a claim for its test, its numbers and their rows. Models and data differ "
        "from the papers', so a verdict is about the direction of an effect."
    )
    counts = {v: sum(f.verdict == v for f in all_of_them) for v in MEANS}
    papers = list(dict.fromkeys(f.of.paper for f in all_of_them))
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        verdicts = st.pills(
            "Verdict",
            [v for v in MEANS if counts[v]],
            selection_mode="multi",
            key=stay("found_verdict"),
            format_func=lambda v: f"{short(v)} ({counts[v]})",
            help="Whether our measurements support the claim. Open a claim for the meaning of its verdict.",
        )
        sources = st.pills("Paper", papers, selection_mode="multi", key=stay("found_paper"))
        with st.popover("Files", icon=":material/download:"):
            files("claims", tables.as_csv(all_of_them), tables.as_latex(all_of_them))
    with st.container(key="claims_head"):
        st.caption("*Verdict* *Claim* *Effect: median (smallest to largest)*")
    shown = [f for f in all_of_them if f.verdict in (verdicts or MEANS) and f.of.paper in (sources or papers)]
    if not shown:
        st.info("No claim has this verdict and paper. Remove a filter.")
    for paper in dict.fromkeys(f.of.paper for f in shown):
        st.markdown(f"**{literal(paper)}**")
        with st.container(gap="xsmall"):
            for finding in shown:
                if finding.of.paper == paper:
                    row(finding, whole)
