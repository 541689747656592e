"""The table of measures below the columns, and notes on what is comparable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from dptext_core.measure.metrics import score
from dptext_core.mechanisms.registry import accounting_unit, mechanism_of
from dptext_core.privacy.numbers import bound, number, percent, scientific, with_minus
from dptext_core.privacy.sentences import DELTA
from dptext_core.text import cells
from dptext_lab.results import curves

from ...components import download, methods_panel
from ...components.text import literal
from ...figures import side_by_side
from ...figures.glossary import definition
from ...server.comparison import Column, ColumnOutcome, ComparisonRequest
from ...server.session import session


def known_similarities(asked: ComparisonRequest, both: Sequence[tuple[Column, ColumnOutcome]]) -> Mapping[str, float]:
    """Return the cosine of each rewrite with the original, as far as it is known.

    Missing values are measured in a thread, after tasks that others wait for.
    """
    cache = session().rewrite_cache
    texts = [o.viewed_rewrite.result.text for _, o in both if o.viewed_rewrite is not None]
    known = {t: c for t in texts if (c := cache.likeness.get((asked.text, t))) is not None}
    work, wanted = session().at("compare likeness"), (asked.text, tuple(texts))
    if len(known) == len(set(texts)):
        work.stop()
    elif work.request != wanted:
        work.start(
            wanted, lambda task: cache.like(asked.text, texts, task), "Measuring the similarity in meaning", last=True
        )
    if work.is_running(0.2):
        work.follow()
    elif work.error is None and isinstance(work.result, list) and work.request == wanted:
        known = dict(zip(texts, work.result, strict=True))
    return known


def measures_table(
    asked: ComparisonRequest,
    both: Sequence[tuple[Column, ColumnOutcome]],
    like: Mapping[str, float],
    unknown: str = "…",
) -> dict[str, list[str]]:
    """Return the table with a row for each setting. like: the cosine of each rewrite with the original, if known.
    unknown: the text of a missing cosine.
    """
    rows = [
        (c, o, o.viewed_rewrite.result, o.figures)
        for c, o in both
        if o.viewed_rewrite is not None and o.figures is not None
    ]
    table: dict[str, list[str]] = {
        "setting": [c.title for c, *_ in rows],
        "ε": [number(o.epsilon or 0) for _, o, *_ in rows],
        "counts": [accounting_unit(c.mechanism) for c, *_ in rows],
        "total ε": [bound(f.total) + _in_brackets(r.guarantee.optimal()) for *_, r, f in rows],
        "unchanged words (N_w)": [estimate_text(f.n_w, "{:.0%}", f) for *_, f in rows],
        "different words (S_w)": [estimate_text(f.s_w, "{:.1f}", f) for *_, f in rows],
        "unchanged": [percent(score("unchanged", [asked.text], [r.text])[0]) for *_, r, _ in rows],
    }
    table["identifying words still visible"] = [
        f"{f.remaining_identifiers[0]:,} of {f.remaining_identifiers[1]:,}" if f.remaining_identifiers[1] else "none"
        for *_, f in rows
    ]
    table["meaning preserved (cosine)"] = [
        with_minus(f"{like[r.text]:.2f}") if r.text in like else unknown for _, _, r, _ in rows
    ]
    return table


def table_download(
    asked: ComparisonRequest, both: Sequence[tuple[Column, ColumnOutcome]], like: Mapping[str, float]
) -> None:
    """Show a download of the table, and the methods paragraph of its settings. like: as for the table."""
    results = [o.viewed_rewrite.result for _, o in both if o.viewed_rewrite is not None and o.figures is not None]
    if not results:
        return

    def content() -> str:
        table = measures_table(asked, both, like, unknown="")
        return cells.to_csv([dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)])

    download.button(
        "Download table",
        content,
        "comparison.csv",
        "text/csv",
        icon=":material/download:",
        on_click="ignore",
        key="compare_csv",
        holds="private",
        help="A CSV file with numbers but no text. Do not publish it for a private text.",
    )
    methods_panel.expander(lambda: [(mechanism_of(r), ()) for r in results], "compare_methods")


def _in_brackets(optimal: float | None) -> str:
    return "" if optimal is None else f" ({bound(optimal)})"


def estimate_text(value: float | None, form: str, found: side_by_side.Figures) -> str:
    return "none" if value is None else ("≈ " if found.draws is not None else "") + form.format(value)


MEASURES_HELP = {
    "ε": definition("ε"),
    "counts": "The guarantee and the unit of ε.",
    "total ε": f"{definition('Total ε')} In brackets: by optimal composition with δ = {scientific(DELTA)}, if smaller.",
    "unchanged words (N_w)": definition("N_w"),
    "different words (S_w)": definition("S_w"),
    "unchanged": "The share of all words that are unchanged in this rewrite, including kept words.",
    "identifying words still visible": (
        "How many of the names, dates, numbers and places that rules find in your text are still visible. Other words "
        "may still reveal facts."
    ),
    "meaning preserved (cosine)": "Similarity in meaning to the original, from a sentence encoder: 1 is identical.",
}


def warn_of_differences(asked: ComparisonRequest) -> None:
    """Show what can be compared and what cannot."""
    names = [c.mechanism for c in asked.columns]
    mixed = len(curves.units(names)) > 1
    kind = asked.target[0] if asked.target else "own"
    if kind in ("epsilon", "total") and mixed:
        st.warning(
            literal(
                curves.units_note(names) + " Choose “Equal strongest attacker” to compare at equal attack success."
            )
        )
    elif kind == "total":
        st.caption("A total counts the budget spent, not the privacy gained.")
    elif kind == "best":
        st.caption(
            "Compared at equal success of the strongest attacker, on the words that all settings replace. This is an "
            "estimate from a few dozen guesses. The guarantees differ: see “counts”."
        )
    elif kind == "n_w":
        st.caption("Equal N_w over the words that all settings replace. The guarantees differ: see “counts”.")
    elif mixed:
        st.caption(literal(curves.units_note(names)))
