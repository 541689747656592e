"""Findings: five conclusions with a figure and their uncertainty each, and the papers' claims below."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dptext_core import DPTextError
from dptext_core.measure.metrics import measure
from dptext_core.text.cells import to_csv
from dptext_lab.findings import (
    CONTRADICTED,
    INCONCLUSIVE,
    MISSING,
    NOT_COMPARABLE,
    REPLICATED,
    ClaimFinding,
    Runs,
    bundled,
    tables,
)
from dptext_lab.results import leaderboard, leaderboard_text
from dptext_lab.results import summary as results
from dptext_lab.results.data_titles import title as title_of_data

from ... import figures
from ...components import download
from ...components.charts import chart, dark
from ...components.shell import enter_app
from ...components.sticky_widgets import stay
from ...components.style import add_style
from ...components.text import literal
from .certainty import certainty_question
from .conclusions import answer, many_texts, one_total, papers_claims

ICONS = {
    REPLICATED: (":material/check_circle:", "green"),
    CONTRADICTED: (":material/cancel:", "red"),
    INCONCLUSIVE: (":material/help:", "gray"),
    NOT_COMPARABLE: (":material/contrast:", "orange"),
    MISSING: (":material/pending:", "gray"),
}
#: What a verdict means, of a claim and our runs.
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


# --- the question ---------------------------------------------------------------------------------------------------


def question(rows: leaderboard.Rows) -> None:
    """Show which mechanism preserves the most at equal privacy: a sentence, its uncertainty, and the leaderboard."""
    sets = rows.data_sets()
    if not sets:
        return
    st.markdown("### Which mechanism preserves the most at equal success of an attacker?")
    place = st.container()
    with st.expander("Another data set, judge, or level of privacy", key="found_choice"):
        data, judge, privacy, at, every, stop_words = choice(rows, sets)
    ranking = leaderboard.board(rows, data, judge, privacy, at, stop_words, every)
    name = title_of_data(data)
    with place:
        sentence, doubt = leaderboard_text.answer(ranking, name)
        answer(sentence, doubt)
        others = filter(None, (leaderboard_text.agreement(rows, ranking), *leaderboard_text.elsewhere(rows, ranking)))
        if lines := "\n".join(f"- {literal(line)}" for line in others):
            st.markdown(lines)
        if ranking.entries:
            figure = figures.leaderboard(ranking, dark=dark())
            chart(figure, key="found_board", alt=f"{sentence} The table below has all numbers.")
            st.caption(literal(legend(ranking)))
    with st.expander("The table, and files for a paper"):
        st.dataframe(leaderboard_text.display_rows(ranking), hide_index=True)
        files("board", to_csv(leaderboard_text.table(ranking)), leaderboard_text.to_latex(ranking, name))
    with st.expander("The order by every judge", key="found_judges", on_change="rerun") as place:
        if place.open:
            places, alike = leaderboard_text.rankings(rows, ranking)
            st.dataframe(places, hide_index=True)
            gaps = "None: this judge has no measured point. " * any(None in p.values() for p in places)
            if said := gaps + leaderboard_text.correlation_text(ranking, alike):
                st.caption(literal(said))
    st.caption(
        "You can add your own mechanism: docs/development/contributed_results.md in the repository explains how."
    )


def choice(rows: leaderboard.Rows, sets: Sequence[str]) -> tuple[str, str, str, float, bool, bool]:
    """Return data set, judge, measure of privacy, its level, whether all settings are shown, and whether stop words
    stay."""
    left, middle, right = st.columns(3)
    data = left.selectbox("Data set", sets, format_func=title_of_data, key=stay("found_data"))
    judge = middle.selectbox(
        "Judged by",
        rows.judges(data),
        format_func=lambda m: measure(m).title,
        key=stay(f"found_judge_{data}"),
        help="The utility measure and the model that judges it.",
    )
    privacy = right.selectbox(
        "Same privacy",
        rows.measures(data),
        format_func=lambda m: measure(m).title,
        key=stay(f"found_privacy_{data}"),
        help="What is equal for all mechanisms: how often a word is unchanged, or how often an attacker succeeds.",
    )
    levels = rows.levels(data, privacy)

    # The middle level, where there is something to compare; else the one at which most can be.
    def settings(x: float) -> int:
        return len(leaderboard.board(rows, data, judge, privacy, x, True, False).entries)

    first = levels[1] if settings(levels[1]) > 1 else max((levels[1], *levels), key=settings)
    key = stay(f"found_level_{data}_{privacy}", first)
    at = st.segmented_control(
        "Level",
        levels,
        default=first,
        required=True,
        format_func=lambda x: leaderboard_text.level_text(privacy, x),
        key=key,
    )
    left, right = st.columns(2)
    every = left.toggle("All settings of each mechanism", key=stay("found_every", False))
    drawn = right.toggle(
        "Stop words are replaced too",
        key=stay("found_stop_words", False),
        help="Only settings that replace the same words are compared.",
    )
    return data, judge, privacy, at, every, not drawn


def legend(found: leaderboard.Board) -> str:
    marks = ["Bars: 95% intervals."]
    if any(e.is_significant for e in found.entries):
        marks.append("Grey: significantly less than the first (corrected for the number of comparisons).")
    if any(e.between for e in found.entries):
        marks.append("Hollow: interpolated between two measured points.")
    if found.whole is not None:
        marks.append("Dotted: original text.")
    if judge := measure(found.judge).judge:
        marks.append(f"The judge is {judge}.")
    if once := [e.label for e in found.entries if e.seeds == 1]:
        marks.append(f"One seed only: {', '.join(once)}.")
    marks += [leaderboard_text.unknown_words_text(found), leaderboard_text.refused_text(found)]
    if found.left_out:
        marks.append(f"No measured point nearby: {leaderboard_text.join_names(found.left_out)}.")
    return " ".join(filter(None, marks))


def files(name: str, csv: str, latex: str) -> None:
    with st.container(horizontal=True):
        for label, text, ending, kind in (("CSV", csv, "csv", "text/csv"), ("LaTeX", latex, "tex", "text/x-tex")):
            download.button(
                label,
                text,
                f"{name}.{ending}",
                kind,
                on_click="ignore",
                key=f"found_{name}_{ending}",
                icon=":material/download:",
                holds="nothing",
            )


# --- the claims -----------------------------------------------------------------------------------------------------


def row(finding: ClaimFinding, whole: results.Results) -> None:
    """Show one line of the table of claims, and what opens under it."""
    icon, colour = ICONS[finding.verdict]
    effect = literal(finding.effect) if finding.effect else "–"
    label = f":{colour}-badge[{icon} {finding.verdict}] **{literal(finding.of.claim)}** :gray[{effect}]"
    place = st.expander(label, key=f"{CLAIM}{finding.name}", on_change="rerun")
    if place.open:
        with place:
            detail(finding, whole)


def detail(finding: ClaimFinding, whole: results.Results) -> None:
    """Show what the paper says, what decides, the numbers, and what would change the verdict."""
    of = finding.of
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
    if finding.rows and st.toggle(f"Show the {finding.rows:,} rows behind it", key=f"found_rows_{finding.name}"):
        st.dataframe(tables.listing(of.look(Runs(whole.rows, whole.gates)).rows), hide_index=True)


def claims(all_of_them: Sequence[ClaimFinding], whole: results.Results) -> None:
    st.markdown("### Claims of the papers and our results")
    st.caption(
        "The effect is the median difference, with its range over several comparisons. The verdict counts "
        "significant differences: open a claim to see them. Models, classifiers or data differ from each paper's, so "
        "“replicated” is about the direction of an effect."
    )
    counts = {v: sum(f.verdict == v for f in all_of_them) for v in MEANS}
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        chosen = st.pills(
            "Verdict",
            [v for v in MEANS if counts[v]],
            selection_mode="multi",
            key=stay("found_verdict"),
            format_func=lambda v: f"{v} ({counts[v]})",
            label_visibility="collapsed",
            help="  \n".join(f"**{v}**: {MEANS[v]}" for v in MEANS if counts[v]),
        )
        with st.popover("Files", icon=":material/download:"):
            files("claims", tables.as_csv(all_of_them), tables.as_latex(all_of_them))
    with st.container(key="claims_head"):
        st.caption("*Verdict* *Claim* *Effect: median (least to most)*")
    shown = [f for f in all_of_them if not chosen or f.verdict in chosen]
    for paper in dict.fromkeys(f.of.paper for f in shown):
        st.markdown(f"**{literal(paper)}**")
        with st.container(gap="xsmall"):
            for finding in shown:
                if finding.of.paper == paper:
                    row(finding, whole)


def main() -> None:
    st.markdown("## Findings")
    try:
        measured = results.bundled()
        all_of_them = bundled()
        rows = leaderboard.bundled()
    except DPTextError as error:
        st.error(literal(str(error)))
        return
    if measured is None:
        st.info(
            "There are no benchmark results. `python -m dptext_core bench run --grid full --data DIR --out FILE` "
            "makes them; `--grid full --merge FILE --summary assets/benchmarks/results.json` adds them to this page."
        )
        return
    add_style(__file__, "page.css")
    certainty_question()
    question(rows)
    one_total()
    many_texts()
    counts = {v: sum(f.verdict == v for f in all_of_them) for v in MEANS}
    papers_claims(counts, [{"claim": f.of.claim, "paper": f.of.paper, "verdict": f.verdict} for f in all_of_them])
    claims(all_of_them, measured)
    about = measured.about
    st.caption(
        literal(
            "Every number above is computed from the bundled results. A difference counts if it is significant after "
            f"correction for all comparisons of its claim (Holm, 5%) and large enough to matter. {about['points']:,} "
            f"runs, seeds {', '.join(map(str, about['seeds']))}. The Benchmarks page lists exclusions under “How it "
            "was measured”."
        )
    )


def render() -> None:
    """Draw the page."""
    enter_app("findings")
    with st.container(key="findings_page"):
        main()
