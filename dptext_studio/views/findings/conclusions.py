"""Findings: conclusions in one sentence, each with a figure, its uncertainty, and its rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from dptext_lab.findings import (
    CONTRADICTED,
    INCONCLUSIVE,
    MISSING,
    NOT_COMPARABLE,
    REPLICATED,
    VERDICTS,
    ClaimFinding,
)
from dptext_lab.findings.base import OURS
from dptext_lab.results import authors, total_budget

from ... import figures
from ...components.charts import chart, dark
from ...components.tables import table
from ...components.text import literal
from ...figures.theme import Plot

#: The total ε of a text at which systems are compared.
TOTAL = 50.0


def conclusion(
    key: str, heading: str, sentence: str, sure: str, figure: Plot, rows: Sequence[Mapping[str, Any]], marks: str = ""
) -> None:
    """Show one conclusion. marks: the legend of the figure."""
    st.markdown(f"### {literal(heading)}")
    answer(sentence, sure)
    chart(figure, key=f"conclusion_{key}", alt=f"{sentence} “Rows” has all numbers.")
    if marks:
        st.caption(marks)
    with st.expander("Rows", key=f"conclusion_{key}_rows", on_change="rerun") as place:
        if place.open:
            table([dict(row) for row in rows])


def answer(sentence: str, sure: str) -> None:
    """Show a conclusion in one sentence, and its uncertainty."""
    st.markdown(f"**{literal(sentence)}**")
    st.markdown(f":small[**How sure are we?** {literal(sure)}]")


def authors_sentence(rows: Sequence[authors.AuthorsRow]) -> str:
    """Return how much many texts of an author reveal about who wrote them, with the smallest and the largest share."""
    top = [r for r in authors.strongest(rows) if r.epsilon]
    least, most = min(r.texts for r in top), max(r.texts for r in top)
    one, many = ([r for r in top if r.texts == n] for n in (least, most))
    lowest, highest = (pick(many, key=lambda r: r.success) for pick in (min, max))
    low, high = (pick(r.success for r in one) for pick in (min, max))
    return (
        f"With {most} rewritten texts, an attacker recognises the author {lowest.success:.0%} "
        f"({_system_at_epsilon(lowest)}) to {highest.success:.0%} ({_system_at_epsilon(highest)}) of the time. With "
        f"one text, it is {low:.0%} to {high:.0%}."
    )


def _system_at_epsilon(row: authors.AuthorsRow) -> str:
    return row.system if "ε" in row.system else f"{row.system}, ε = {row.epsilon:g}"


def many_texts() -> None:
    """Show how much many texts of one author reveal, if these results are bundled."""
    rows = authors.bundled()
    if not rows:
        return
    first, most = rows[0], authors.numbers_of_texts(rows)[-1]
    wide = max((r.high - r.low) / 2 for r in authors.strongest(rows) if r.texts == most)
    one, many = (max(r.majority for r in rows if r.texts == n) for n in (first.texts, most))
    conclusion(
        "authors",
        "Do many texts reveal who wrote them?",
        authors_sentence(rows),
        f"One data set of {first.authors} authors, one seed. With {most} texts, the 95% intervals over authors are "
        f"up to ± {100 * wide:.0f} percentage points. Each value is for the stronger of two attackers. Always naming "
        f"the most frequent author is right {one:.0%} of the time for one text and {many:.0%} for {most}.",
        figures.authors(rows, dark=dark()),
        [dataclasses.asdict(r) for r in rows],
    )


def one_total() -> None:
    """Show what a total ε of a text preserves, as one draw for each sentence or word by word, if these results are
    bundled.
    """
    every = total_budget.bundled()
    rows = [r for r in every if r.data == total_budget.SETS[0]]
    said = list(total_budget.sentences_by_mechanism(rows, TOTAL).values())
    if not said:
        return
    shown = [r for r in rows if r.measure == "cosine"]
    halves = [r.half for r in shown if r.total == TOTAL and r.half is not None]
    doubt = (
        f"The 95% intervals over {shown[0].texts} texts are at most ± {max(halves):.2f} in cosine. The model that "
        "measures similarity also chooses the sentences, which favours sampled sentences."
    )
    conclusion(
        "budget",
        "What does one ε for a whole text preserve?",
        f"{said[0]} {total_budget.groups_sentence(rows, TOTAL)}".strip(),
        f"{doubt} {total_budget.label_sentence(every, TOTAL)}".strip(),
        figures.total_budget(shown, dark=dark(), width=450),
        [
            dataclasses.asdict(r)
            for r in every
            if r.measure == "task" or (r.measure == "cosine" and r.data == shown[0].data)
        ],
        "Bands: 95% intervals. Dotted: output that does not depend on the text. CusText has a weaker guarantee: it "
        "protects a word only within its group.",
    )


def papers_claims(findings: Sequence[ClaimFinding]) -> None:
    """Show how many claims of papers have each verdict."""
    of_papers = [f for f in findings if f.of.paper != OURS]
    counts = {v: sum(f.verdict == v for f in of_papers) for v in (*VERDICTS, MISSING)}
    untested = sum(not f.of.is_significance_tested for f in of_papers)
    missing = f" {counts[MISSING]} were not measured." if counts[MISSING] else ""
    conclusion(
        "claims",
        "Do the papers' claims hold here?",
        f"Of {len(of_papers)} claims in papers, our runs replicate {counts[REPLICATED]} and contradict "
        f"{counts[CONTRADICTED]}. {counts[INCONCLUSIVE]} are inconclusive and {counts[NOT_COMPARABLE]} not comparable."
        + missing,
        "Differences count if they are significant (5%, Holm's correction within a claim) and large enough to matter. "
        f"{untested} claims, about speed, memory, closed forms or single runs, have no significance test. Our models "
        "and data differ from the papers', so a verdict is about the direction of an effect.",
        figures.verdicts({v: n for v, n in counts.items() if n or v != MISSING}, dark=dark()),
        [{"claim": f.of.claim, "paper": f.of.paper, "verdict": f.verdict, "effect": f.effect} for f in of_papers],
    )
