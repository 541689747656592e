"""What we found: the papers' claims held against our own runs, made anew from the results at each visit."""

from __future__ import annotations

import streamlit as st

from dptext_core import DPTextError, figures
from dptext_core.evaluation import results
from dptext_core.evaluation.findings import AGREES, DISAGREES, MISSING, OPEN, PARTLY, Finding, findings
from dptext_core.mechanisms import codec
from pages.ui.charts import chart, dark
from pages.ui.shell import compact, within_app
from pages.ui.stay import stay
from pages.ui.text import literal

ICONS = {
    AGREES: (":material/check_circle:", "green"),
    PARTLY: (":material/contrast:", "orange"),
    DISAGREES: (":material/cancel:", "red"),
    OPEN: (":material/help:", "gray"),
    MISSING: (":material/pending:", "gray"),
}
HEADINGS = {
    AGREES: "Our runs agree",
    PARTLY: "Our runs agree in part",
    DISAGREES: "Our runs disagree",
    OPEN: "Differences within the intervals",
    MISSING: "Not measured yet",
}


def show(finding: Finding) -> None:
    icon, colour = ICONS[finding.verdict]
    with st.container(border=True):
        st.markdown(f"### {literal(finding.claim)}")
        st.markdown(f":{colour}-badge[{icon} {HEADINGS[finding.verdict]}]")
        st.caption(literal(finding.source))
        for line in finding.numbers:
            st.markdown("- " + literal(line))
        if finding.reason:
            st.markdown("**Likely reason.** " + literal(finding.reason))
        if finding.figure and st.toggle("Show the figure", key=f"found_{finding.figure}"):
            figure = getattr(figures, finding.figure)(finding.drawn, dark=dark())
            chart(figure, key=f"found_{finding.figure}_figure", alt=f"What the lines above say: {finding.claim}")
        if finding.rows:
            with st.expander(f"The {len(finding.rows):,} rows it stands on"):
                st.dataframe(
                    [
                        {
                            "mechanism": r.mechanism,
                            "options": codec.describe(r.options, r.mechanism),
                            "ε": r.epsilon, "data": r.data, "metric": r.metric, "value": r.value,
                            "low": r.low, "high": r.high, "n": r.n, "seeds": r.seeds, "point": r.point,
                        }
                        for r in finding.rows
                    ],
                    hide_index=True,
                )  # fmt: skip


def main() -> None:
    st.markdown("## What we found")
    st.caption("Claims of the papers, held against our own runs. Every number below is made from the bundled results.")
    try:
        found = results.bundled()
        all_of_them = [] if found is None else findings(found.rows, found.gates)
    except DPTextError as error:
        st.error(literal(str(error)))
        return
    if found is None:
        st.info(
            "No benchmark results are here. `python -m dptext_core bench run --grid full --data DIR --out FILE` makes "
            "them; `--grid full --merge FILE --summary assets/benchmarks/results.json` puts them where this page looks."
        )
        return
    counts = {v: sum(f.verdict == v for f in all_of_them) for v in HEADINGS}
    chosen = st.pills(
        "Verdict", [v for v in HEADINGS if counts[v]], selection_mode="multi", key=stay("found_verdict"),
        format_func=lambda v: f"{HEADINGS[v]} ({counts[v]})", label_visibility="collapsed",
    )  # fmt: skip
    for finding in all_of_them:
        if not chosen or finding.verdict in chosen:
            show(finding)
    about = found.about
    st.caption(
        literal(f"{about['points']:,} runs, seeds {', '.join(map(str, about['seeds']))}. Left out: {about['cut']}")
    )


within_app("findings")
compact("60rem")
main()
