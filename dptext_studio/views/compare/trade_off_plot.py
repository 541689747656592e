"""The trade-off plot: utility over privacy of many settings on your text, as they are measured."""

from __future__ import annotations

import importlib
from functools import partial

import streamlit as st

from dptext_core.measure import trade_off, trade_off_advice
from dptext_core.measure.trade_off import TradeOffPoint
from dptext_core.measure.trade_off_advice import Advice
from dptext_core.support.checks import pluralize

from ... import figures
from ...components import address, hidden_controls
from ...components.shell import three_places
from ...components.sticky_widgets import stay
from ...components.text import literal
from ...server.jobs import POLL_SECONDS
from ...server.plot_request import PlotRequest
from ...server.session import session
from .certainty import about, chosen_fact, fact_controls
from .plot_axes import HIDDEN, HIDDEN_HELP, KEPT, LIMITS
from .plot_download import download_controls
from .plot_settings import query_of, settings_controls
from .plot_work import CHEAP, EVERY, FIRST_AFTER, missing_values, progress_bar, start_measures, start_points
from .point_panel import open_point, point_panel, setting_of

state = st.session_state
# plotly inspects its loaded modules, and would find half of them while a thread loads a model.
importlib.import_module("pandas")


def choose_point(key: str) -> None:
    """Choose the point of the mark that was clicked."""
    for mark in state[key].selection.points:
        if isinstance(named := mark.get("customdata"), list) and len(named) > 1:
            state.trade_point = (int(named[0]), float(named[1]))


def plot(points: list[TradeOffPoint], hidden: str, kept: str, advice: Advice | None, live: bool, early: bool) -> None:
    shown = [p for p in points if p.has(hidden) and p.has(kept)]
    if not shown and (not live or hidden == "epsilon"):
        st.info(
            "The first points appear here in a moment."
            if live
            else "There are no measurements for this choice. Choose another measure, or more mechanisms."
        )
        return
    best = advice.best if advice and not early else None
    figure = figures.trade_off(
        points,
        hidden,
        kept,
        chosen=state.get("trade_point"),
        best=None if best is None else (best.setting, best.epsilon),
        limit=advice.limit if advice else None,
        dark=st.context.theme.type == "dark",
    )
    config = {
        "displaylogo": False,
        "toImageButtonOptions": {"format": "png", "filename": "trade-off", "scale": 2},
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "zoom2d", "pan2d"],
    }
    alt = f"{trade_off.metric_info(kept).title} over privacy; “The numbers” below has a table"
    if live:
        st.plotly_chart(figure, theme=None, config=config, key="trade_live", alt=alt)
    else:
        st.plotly_chart(
            figure,
            theme=None,
            config=config,
            key="trade_figure",
            on_select=partial(choose_point, "trade_figure"),
            selection_mode="points",
            alt=alt,
        )
    if not shown:
        st.caption("The first marks appear in a moment. The axes do not change.")
        return
    message = (
        "A mark is a mechanism at one ε. Filled marks are on the Pareto front (bold line): no other mark is better "
        "on both axes. Vertical bars: one standard deviation of the draws"
    )
    across = any(p.value(hidden).draws for p in shown if hidden != "epsilon")
    message += "; horizontal bars: 95% intervals of privacy." if across else "."
    if advice and across:
        message += " Pale marks have intervals that cross the limit, so the advice below excludes them."
    st.caption(f"{message} Every mark uses fresh noise.")
    fact = next((p.fact for p in shown if p.fact is not None), None)
    if hidden == "certainty" and fact is not None:
        st.caption(literal(f"{trade_off.metric_info(hidden).title}: {about((fact.word, *fact.alternatives))}"))


def advice_panel(points: list[TradeOffPoint], hidden: str, kept: str) -> Advice | None:
    """Show the chosen limit and the recommended setting; None if nothing was measured."""
    if hidden == "epsilon":
        return None
    ask = {
        "certainty": "Largest certainty of the optimal reader",
        "best": "Largest share of replaced words that the strongest attacker recovers",
        "n_w": "Largest probability that a word is unchanged",
        "bayes": "Largest share of replaced words that the optimal attacker guesses",
        "two_texts": "Largest share of rewrites that classifiers attribute correctly",
        "unchanged": "Largest share of all words that are unchanged",
    }[hidden]
    limit = st.slider(ask, 1, 99, LIMITS[hidden], format="%d%%", key=stay(f"trade_limit_{hidden}", LIMITS[hidden]))
    return trade_off_advice.advise(points, hidden, limit / 100, kept)


def advice_text(advice: Advice, live: bool, early: bool) -> None:
    if early:
        st.info("The advice appears when each mechanism has some points.")
        return
    (st.success if advice.best else st.warning)(literal(advice.sentence(so_far=live)))
    if doubt := advice.doubt():
        st.markdown(literal(doubt))
    if not advice.points:
        return
    st.caption(
        f"This is based only on your text, with {pluralize(advice.points, 'point')}{' so far' if live else ''} and "
        f"{pluralize(advice.draws, 'draw')} at each. The best of many points looks "
        "better than it is, so redraw to check it. The guarantee for one ε differs between mechanisms."
    )
    if advice.best is None:
        return
    with st.container(horizontal=True):
        if st.button("Open in Explore", icon=":material/edit_note:", key="trade_open_best"):
            open_point(advice.best)
        if advice.rivals and st.button("Compare next best", icon=":material/compare_arrows:", key="trade_compare"):
            session().compare([setting_of(p) for p in (advice.best, *advice.rivals[:2])])
            st.switch_page("pages/compare.py")


def cost_note() -> None:
    with st.expander("Does viewing cost privacy?"):
        st.markdown(
            "**Draws do not**, as long as you release at most one rewrite with fresh noise.\n\n**The choice may.** "
            "These numbers depend on your private text, so your choice of settings reveals a little about it. No ε "
            "covers that. To be safe, choose the settings on a similar public text."
        )


def plot_view(tried: PlotRequest, hidden: str, kept: str) -> None:
    """Show points, advice and their details; rerun every second while points arrive."""
    mine = session()
    works = mine.at("trade-off"), mine.at("trade-off more")
    was = [w.job is not None for w in works]
    running = [w.is_running(0) for w in works]
    if any(a and not b for a, b in zip(was, running, strict=True)):
        st.rerun(scope="app")  # the live measurement has ended
    live, points = any(running), list(mine.points)
    if live:
        progress_bar(works[0] if running[0] else works[1])
    for work, said in zip(works, ("The existing points remain.", "The existing measurements remain."), strict=True):
        if message := work.failure_text(f"Stopped. {said} Press “Rewrite again” to start again."):
            st.warning(literal(message))
    early = live and not trade_off_advice.has_enough_points(points, len(tried.settings), tried.points, hidden, kept)
    place = st.container()
    st.markdown("### Which mechanism and ε should I start with?")
    advice = advice_panel(points, hidden, kept)
    with place:
        plot(points, hidden, kept, advice, live, early)
    if advice is not None:
        advice_text(advice, live, early)
    else:
        st.caption("Choose a measure other than “ε alone” under “Privacy” to get advice.")
    address.show_query(query_of(tried, hidden, kept) | hidden_controls.to_query())
    reasons = {p.label: p.error or p.reasons.get(hidden, "") or p.reasons.get(kept, "") for p in points}
    for reason in dict.fromkeys(r for r in reasons.values() if r):
        st.caption(literal(reason))
    if not running[0] and points:
        point_panel(points, tried.text)
    if not live and points:
        download_controls(points, tried, hidden, kept)


def trade_off_view(text: str) -> None:
    """Show the trade-off plot of a text: its settings, its points as they arrive, and the advice."""
    _, right, left = three_places("trade")
    with left:
        settings, points, draws = settings_controls()
        utility = st.selectbox(
            "Utility",
            KEPT,
            format_func=lambda n: trade_off.metric_info(n).title,
            key=stay("trade_kept"),
            help="How useful the rewrite still is. The cosine of a sentence encoder compares meanings.",
        )
        hidden = st.selectbox(
            "Privacy", list(HIDDEN), format_func=HIDDEN.__getitem__, key=stay("trade_hidden"), help=HIDDEN_HELP
        )
        if hidden == "certainty":
            fact_controls(text, beside=False)
        again = st.button(
            "Rewrite again", icon=":material/casino:", width="stretch", key="trade_again", help="Redraw every point."
        )
        cost_note()
    with right:
        if not settings:
            st.info("Choose a mechanism.")
            return
        mine = session()
        before = mine.plot_request
        asked_about = chosen_fact(text)
        draw = (before.draw if before else 0) + again
        tried = PlotRequest(text, settings, points, draws, draw, asked_about.word, asked_about.alternatives)
        work, after = mine.at("trade-off"), mine.at("trade-off more")
        if tried != before:
            start_points(tried)
            while (
                not mine.points
                and work.job is not None
                and work.job.age < FIRST_AFTER
                and not work.job.wait(POLL_SECONDS)
            ):
                state.get("session")  # lets a run of the page end if another one is needed
        if not work.is_running(0) and work.error is None:
            wanted = missing_values(mine.points, [n for n in (utility, hidden) if n not in ("epsilon", *CHEAP)])
            if wanted and after.request != (tried, wanted):
                start_measures(tried, wanted)
        under_way = work.job is not None or after.job is not None
        st.fragment(plot_view, run_every=EVERY if under_way else None)(tried, hidden, utility)
