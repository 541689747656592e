"""All anonymisers on one plot, the protection by name removal, and tools that a visitor adds."""

from __future__ import annotations

from functools import partial

import streamlit as st

import dptext_core as dpt
from dptext_core.data import tables
from dptext_core.measure.scored import ScoredFigure, Scores
from dptext_core.support.checks import pluralize
from dptext_lab.results import anonymisers as results
from dptext_lab.results.data_titles import title as title_of_data

from ... import figures
from ...components.charts import chart, dark
from ...components.sticky_widgets import stay
from ...components.text import literal
from ...figures.anonymisers import NO_GUARANTEE, ScoredTool
from ...server.public_hosting import limits
from ...server.session import session
from ...server.uploads import store_upload

FACTS = {results.IDENTIFYING: "An identifying word", results.OTHER: "Another word"}
#: The number of pairs of one file that are scored: each takes passes of a model.
MOST = 200
#: The place of the scoring task in the session.
PLACE = "scored tool"


def anonymisers_plot(key: str, tools: tuple[ScoredTool, ...] = ()) -> None:
    """Show the finding, the choice of texts and question, and the plot. key: the prefix of its controls' keys."""
    rows = results.bundled()
    sets = results.data_sets(rows)
    if not sets:
        return
    place = st.container()
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        named = stay(f"{key}_data", sets[0])
        data = st.segmented_control("Texts", sets, required=True, format_func=title_of_data, key=named) or sets[0]
        named = stay(f"{key}_fact", results.IDENTIFYING)
        fact = st.segmented_control(
            "The reader guesses", list(FACTS), required=True, format_func=FACTS.__getitem__, key=named
        )
    shown = [row for row in rows if row.data == data]
    place.markdown(" ".join(map(literal, results.finding(shown))))
    chart(
        figures.anonymisers(shown, fact or results.IDENTIFYING, tools, dark=dark()),
        key=f"{key}_plot",
        alt="Certainty of the optimal reader over the meaning preserved, for each anonymiser",
    )
    st.caption(
        literal(
            "A mark is an anonymiser at one ε. Down and to the right is better. Bars: 95% intervals over "
            f"{pluralize(shown[0].texts, 'text')}. The reader knows every other word and chooses among "
            f"{results.ALTERNATIVES} words."
        )
    )


def anonymisers_view() -> None:
    """Show the plot on the page Compare, with a tool that the visitor scored."""
    work, place = session().at(PLACE), st.container()
    with st.expander("Add another tool", expanded=work.job is not None or work.result is not None):
        tool_controls()
    with place:
        anonymisers_plot("compare_anonymisers", (tool_of(*work.result),) if isinstance(work.result, tuple) else ())


def tool_of(name: str, scores: Scores) -> ScoredTool:
    """Return the mark of a tool: its mean cosine, the success of the strongest attacker, and the share of unchanged
    identifying words.
    """
    left = next((row for row in scores.rows if row.name == "identifiers"), None)
    return ScoredTool(name, scores.texts, _ends(scores["cosine"]), _ends(scores.best), _ends(left))


def _ends(found: ScoredFigure | None) -> tuple[float, float, float]:
    """Return a measure and its interval, which is everything if nothing was measured."""
    return (0.0, 0.0, 1.0) if found is None else (found.value, found.low, found.high)


def tool_controls() -> None:
    """Read a file of originals and rewrites, score it next to the page, and show the results."""
    st.caption(
        f"Upload a CSV file with a column of originals and one of rewrites. The first {MOST} rows are scored. "
        "The file is deleted as soon as it is read."
    )
    sent = st.file_uploader("Originals and rewrites", type=["csv"], max_upload_size=limits().upload, key="tool_file")
    work = session().at(PLACE)
    if sent is not None:
        try:
            _choose_columns(sent.name, sent.getvalue())
        except dpt.DPTextError as error:
            st.error(literal(str(error)))
    if work.is_running():
        work.show_progress("tool_stop")
    elif said := work.failure_text("Stopped. Press “Score” to start again."):
        st.error(literal(said))
    elif isinstance(work.result, tuple):
        name, scores = work.result
        st.dataframe(
            {
                "tool": [name],
                "guarantee": [NO_GUARANTEE],
                "meaning preserved": [f"{scores['cosine'].value:.2f}"],
                "recovered by the strongest attacker": ["none" if scores.best is None else f"{scores.best.value:.0%}"],
                "texts": [scores.texts],
            },
            hide_index=True,
        )
        st.caption(
            "The star uses your own texts, so compare it with care. Its certainty is a lower bound: the share of "
            "identifying words that are unchanged, or that attackers recover without knowing the tool."
        )


def _choose_columns(file: str, content: bytes) -> None:
    """Show the columns of a file, and a button that scores them."""
    upload = store_upload(file, content)
    try:
        columns = tables.heading(upload.path)
        if len(columns) < 2:
            raise dpt.InputError("This file has only one column. Upload a file with a column of originals and one "
                                 "of rewrites.")
        left, right = st.columns(2)
        original = left.selectbox("Column of originals", columns, key="tool_original")
        others = [c for c in columns if c != original]
        rewrite = right.selectbox("Column of rewrites", others, key="tool_rewrite")
        name = st.text_input("Name of the tool", "Your tool", max_chars=40, key="tool_name").strip() or "Your tool"
        if st.button("Score", icon=":material/straighten:", key="tool_score"):
            rows = tables.source(upload.path, (original, rewrite)).rows()
            pairs = [(row[original], row[rewrite]) for row, _ in zip(rows, range(MOST), strict=False)]
            pairs = [(a, b) for a, b in pairs if isinstance(a, str) and isinstance(b, str) and a.strip()]
            if not pairs:
                raise dpt.InputError("No row has an original and a rewrite. Choose other columns.")
            session().at(PLACE).start((name, pairs), partial(_score, name, pairs), "Scoring the rewrites")
    finally:
        upload.delete()


def _score(name: str, pairs: list[tuple[str, str]], task: dpt.Task) -> tuple[str, Scores]:
    originals, rewrites = zip(*pairs, strict=True)
    return name, dpt.score(originals, rewrites, task=task)
