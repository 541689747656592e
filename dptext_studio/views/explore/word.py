"""Views of the chosen word: candidates, scores and clipping, statistics over ε."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

import dptext_core as dpt
from dptext_core.mechanisms.clipping import ClipCost
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.privacy.numbers import number, percent, with_minus
from dptext_lab.results import deniability

from ... import figures
from ...components.charts import chart, dark
from ...components.text import literal
from ...figures.glossary import definition
from ...server import runs
from ...server.session import session

state = st.session_state
#: Views of a word that every mechanism may have, in addition to its own.
CANDIDATES, OVER_ALL, SCORES = "Candidates", "All ε", "Model scores and clipping"
_STATISTICS = {"N_w": "Unchanged (N_w)", "S_w": "Different words (S_w)"}


def chosen_token(run: runs.Run, view: Mapping[str, Any] | None) -> int | None:
    """Return the word that the browser shows.

    After a new rewrite of the same text, the browser keeps its choice without reporting it; after an edit too, if the
    same word is in its place.
    """
    mine, text, words = session(), run.inputs.text, [t["o"] for t in run.payload["tokens"]]
    place = None if view is None else view["token"]
    is_current = view is not None and (view["run"] == run.number or mine.chosen_in == text)
    if not is_current and place is not None and place < len(words) and "pin" not in run.payload:
        is_current = mine.chosen_word == words[place]
    mine.chosen_in, mine.chosen_word = text if is_current else None, None
    token = place if is_current else run.payload.get("pin")
    if token is None or token >= len(run.result.units):
        return None
    mine.chosen_word = words[token] if is_current else None
    return token


def word_panel(run: runs.Run, result: dpt.RewriteResult, token: int | None, axis: tuple[float, float, float]) -> None:
    """Show views of the chosen word that its card does not show, each computed on request."""
    aligned = "alignment" in result.can
    st.subheader("Word details" if aligned else "Token details")
    units = result.units
    drawn = [i for i, u in enumerate(units) if u.is_sampled]
    if result.no_chances:
        st.caption(result.no_chances)
        return
    if not drawn and not aligned:
        st.caption("No word was sampled: the released text is empty.")
        return
    if not drawn:
        st.caption("No word was sampled. Turn off “Keep stop words” or add more words.")
        return
    token = drawn[0] if token is None else token
    step = units[token]
    if step.action in ("keep", "delete"):
        st.caption(f"No word was sampled for “{literal(step.original or step.text)}”. Choose another one.")
        return
    word = f"“{literal(step.original) or '(added)'}”" if aligned else f"“{literal(step.text)}”"
    did = "replaced" if aligned and step.original else "sampled"
    st.markdown(f"How {word} was {did}:" if step.text or aligned else "How the end of the text was sampled:")
    views = result.views(token)
    logits = result.logits(token)
    clipping = run.mechanism.clipping
    costs = () if logits is None or clipping is None else clipping.costs(logits, step.original or None, step.epsilon)
    titles = [figures.title(v) for v in views]
    names = [CANDIDATES, *titles, *[OVER_ALL] * ("sweep" in result.can), *[SCORES] * bool(costs)]
    if state.get("play_more") not in names:  # of another mechanism
        state.play_more = None
    chosen = st.segmented_control("View", names, key="play_more", label_visibility="collapsed")
    if chosen == CANDIDATES:
        candidates_panel(result.distribution(token), result.similarities(token), "word" if aligned else "token")
    elif chosen == OVER_ALL:
        epsilon_panel(run, result, token, axis)
    elif chosen == SCORES and logits is not None:
        scores_panel(result, token, result.distribution(token), logits, costs)
    elif chosen is not None:
        view = views[titles.index(chosen)]
        chart(figures.draw_view(view, dark=dark()), key=f"play_{type(view).__name__}", alt=figures.caption(view))
        st.caption(literal(figures.caption(view)))


def scores_panel(
    result: dpt.RewriteResult, token: int, d: dpt.TokenDistribution, logits: np.ndarray, costs: Sequence[ClipCost]
) -> None:
    """Show the model's scores at the chosen word with all named clipping ranges, and the cost of each."""
    step = result.units[token]
    marks = {w: float(logits[at[0]]) for w in (step.original, step.text) if w and len(at := d.index(w))}
    if (known := result.candidate(token)) is not None:
        marks = {d.candidates[known]: float(logits[known])}
    aligned = "alignment" in result.can
    used = next(c for c in costs if c.is_used)
    figure = figures.logit_histogram(
        logits,
        used.low,
        used.high,
        marks=marks,
        others={c.name: (c.low, c.high) for c in costs if not c.is_used},
        dark=dark(),
    )
    chart(figure, key="play_histogram", alt="The model's scores, with the clipping ranges of the table below")
    st.dataframe(
        {
            "range": [f"{c.name}{' (used)' if c.is_used else ''}" for c in costs],
            "ends": [with_minus(f"{c.low:.1f} to {c.high:.1f}") for c in costs],
            "tied": [c.tied for c in costs],
            "stays": [percent(c.keep) for c in costs],
        },
        column_config={
            "tied": st.column_config.NumberColumn(
                "tied", help="Words with scores at or above the upper end are indistinguishable."
            ),
            "stays": st.column_config.TextColumn(
                f"{'N_w' if aligned else 'best'} at ε {number(step.epsilon)}",
                help="The probability that the word is unchanged."
                if aligned
                else "The probability of the token with the highest score.",
            ),
        },
        hide_index=True,
    )
    st.caption(f"Shaded: the range in use. {len(logits):,} words have a score. All ranges have the same guarantee.")


def epsilon_panel(run: runs.Run, result: dpt.RewriteResult, token: int, axis: tuple[float, float, float]) -> None:
    """Show N_w and S_w of the chosen word over all ε, next to the mean over 100 words if that is bundled."""
    epsilons = np.geomspace(axis[0], axis[1], 25)
    unchanged, distinct = deniability.channel_curve(result.locked(token)[0], epsilons)
    unit = result.units[token]
    word = (
        f"“{unit.original}”" if unit.original else "the added word" if "alignment" in result.can else f"“{unit.text}”"
    )
    lines = {"N_w": {word: (epsilons, unchanged, None, None)}, "S_w": {word: (epsilons, distinct, None, None)}}
    if (mean := deniability.bundled_curve(run.mechanism)) is not None:
        for name, field in (("N_w", "n_w"), ("S_w", "s_w")):
            low, high = np.transpose(getattr(mean, f"{field}_interval"))
            lines[name][f"mean of {mean.words} words"] = (mean.epsilons, getattr(mean, field), low, high)
    # A token without an original word cannot be unchanged.
    which = "S_w"
    if "alignment" in result.can:
        which = st.segmented_control(
            "Statistic",
            ["N_w", "S_w"],
            default="N_w",
            required=True,
            key="play_statistic",
            format_func=_STATISTICS.__getitem__,
            help="N_w is the probability that the word is unchanged. S_w is the expected number of different words in "
                 "100 draws.",
        )
    y_title, top = (figures.S_W, 100) if which == "S_w" else (figures.N_W, None)
    per = next(option_meta(f).unit for f in dataclasses.fields(result.config) if f.name == "epsilon") or "per word"
    figure = figures.curves(lines[which], y_title, x_title=f"ε {per}", top=top, dark=dark())
    colours = figures.DARK if dark() else figures.LIGHT
    figure.add_vline(x=unit.epsilon, line={"width": 1, "dash": "dot", "color": colours["soft"]})
    chart(figure, key="play_curves", alt=f"{y_title} of {word} over ε")
    if mean is not None:
        st.caption("The mean is bundled; `python -m dptext_core bench deniability` repeats the measurement.")


def candidates_panel(d: dpt.TokenDistribution, similarities: Mapping[str, float] | None, what: str) -> None:
    """Show the most probable words or tokens with their similarity to the original, if words have vectors, and the
    number of all.
    """
    distinct, support = st.columns(2)
    distinct.metric("S_w", f"{d.expected_distinct(100):.1f}", help=definition("S_w"))
    support.metric("95% set", f"{d.support():,}", help=definition("95% set"))
    if d.draws is not None:
        low, high = d.keep_interval()
        st.caption(
            f"Estimated from {d.draws:,} draws: this mechanism has no formula for its probabilities. N_w lies between "
            f"{percent(low)} and {percent(high)} (95% interval)."
        )
    rows = [(w, p) for w, p in d.top(20) if p > 0]
    rest = max(0.0, 1 - sum(p for _, p in rows))
    columns: dict[str, list] = {what: [w or "(nothing)" for w, _ in rows], "probability": [p for _, p in rows]}
    if similarities is not None:
        columns["similarity"] = [similarities.get(w) for w, _ in rows]
    if others := len(d) - len(rows):
        for column, value in zip(columns.values(), (f"{others:,} others", rest, None), strict=False):
            column.append(value)
    st.dataframe(
        columns,
        column_config={
            "probability": st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1),
            "similarity": st.column_config.NumberColumn(
                format="%.2f", help="Cosine similarity to the original word."
            ),
        },
        hide_index=True,
        height=320,
    )
