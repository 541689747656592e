"""The case study below its lesson: your own sentence in the words of a pre-training set, and results on a whole set."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

import dptext_core as dpt
from dptext_lab.measurements import case_study_demo
from dptext_lab.results import case_study as core

from ...components.charts import chart, dark
from ...components.sticky_widgets import stay
from ...components.tables import table
from ...components.text import literal
from ...figures import case_study as figure_of
from ...server.session import session

LONGEST = 500


def epsilon_name(epsilon: float | None) -> str:
    return "∞: no noise" if epsilon is None else core.epsilon_text(epsilon)


def request(pretrained: str) -> case_study_demo.Question:
    text = st.text_area("A sentence", case_study_demo.EXAMPLE, max_chars=LONGEST, height=70, key=stay("case_text"))
    epsilons = {epsilon_name(e): e for e in reversed(core.EPSILONS)}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        epsilon = st.select_slider(
            "Privacy budget ε",
            list(epsilons),
            value=epsilon_name(1000.0),
            key=stay("case_epsilon"),
            help="ε of the whole sentence. Without noise there is no guarantee.",
        )
        again = st.button(
            "Rewrite again", icon=":material/refresh:", key="case_again", help="Each rewrite spends its own ε."
        )
    before = session().at("case").request
    draw = (0 if before is None else before.draw) + again
    return case_study_demo.Question(text.strip(), pretrained, epsilons[epsilon], draw)


def show(asked: case_study_demo.Question, result: dpt.RewriteResult) -> None:
    with st.container(border=True):
        st.caption(literal(f"Rewritten by the model that was pre-trained on {core.SETS[asked.pretrained]}"))
        st.markdown(f"### {literal(result.text) or '(nothing)'}")
    guarantee = result.guarantee
    (st.warning if guarantee.notion == "none" else st.info)(literal(guarantee.sentence()))
    if (folder := case_study_demo.data_folder()) is None:
        st.caption(literal(case_study_demo.WITHOUT_DATA))
        return
    nearest(asked, result, folder)


def nearest(asked: case_study_demo.Question, result: dpt.RewriteResult, folder: Path) -> None:
    """Show the training sentence that the rewrite repeats, which is looked up after the rewrite is shown because it is
    slow.
    """
    work = session().at("case_nearest")
    if work.request is not result:
        work.start(
            result,
            lambda task: case_study_demo.nearest_sentence(result.text, asked.pretrained, folder, task),
            "Searching the pre-training set for the nearest sentence",
        )
    if work.is_running():
        work.show_progress("case_nearest_stop")
        return
    if said := work.failure_text("Stopped. The next rewrite restarts the search."):
        st.error(literal(said))
    elif (match := work.result) is not None:
        with st.container(border=True):
            same = "word for word" if match.same else f"cosine {match.cosine:.2f}"
            st.caption(literal(f"{case_study_demo.NEAREST} ({same})"))
            st.markdown(f"### {literal(match.text)}")
        st.caption(
            "The guarantee covers the rewritten sentence. Nothing protects the sentences of the pre-training set."
        )


def live(pretrained: str) -> None:
    asked = request(pretrained)
    work = session().at("case")
    if not asked.text:
        work.stop()
        work.request = None
        session().at("case_nearest").stop()
        st.info("Type a sentence. Its rewrite appears here.")
        return
    if work.request != asked:
        session().at("case_nearest").stop()
        work.start(asked, lambda task: case_study_demo.rewrite_question(asked, task), "Rewriting")
    if work.is_running():
        work.show_progress("case_stop")
    elif said := work.failure_text("Stopped. Press “Rewrite again” to start again."):
        st.error(literal(said))
    elif work.result is not None:
        show(asked, work.result)


def measured_panel() -> None:
    try:
        study = core.bundled()
    except dpt.DPTextError as error:
        st.error(literal(str(error)))
        return
    if not study:
        st.info(
            "There are no results yet. `python -m dptext_core case-study --data FOLDER --out FOLDER --summary "
            "assets/benchmarks/case_study.json` produces them."
        )
        return
    st.caption(
        "An intent classifier is trained on rewritten sentences and tested on original ones. A model pre-trained on "
        "the same sentences preserves their intents, without noise or at large ε. Other models write in the style "
        "and words of their own set."
    )
    chart(
        figure_of(study, dark=dark()),
        key="case_figure",
        alt="Macro F1 (intent) over ε, for both data sets; the table below has the numbers",
    )
    heading, *rows = core.table(study)
    table([dict(zip(heading, row, strict=True)) for row in rows], height=240, key="case_table")
    for note in core.notes(study):
        st.markdown("- " + literal(note))
    st.code(study["about"]["command"], language="sh")


def panel(pretrained: str) -> None:
    """Show both parts, each computed when it is opened. pretrained: the pre-training set of the lesson."""
    for key, label, icon, part in (
        ("case_live", "Try your own sentence", "edit_note", lambda: live(pretrained)),
        ("case_measured", "Case study: results on both data sets", "monitoring", measured_panel),
    ):
        with st.expander(label, icon=f":material/{icon}:", key=key, on_change="rerun") as opened:
            if opened.open:
                part()
