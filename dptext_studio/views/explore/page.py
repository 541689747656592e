"""Explore: type a text, watch its rewrite, drag ε, and inspect every word."""

from __future__ import annotations

from functools import partial

import streamlit as st

import dptext_core as dpt
from dptext_core.measure.coverage import WAITS, coverage_note
from dptext_core.support.assets import examples

from ...components import address, hidden_controls, ledger, links, live_text
from ...components.shell import enter_app, last_page
from ...components.text import literal, too_long
from ...components.token_strip import send_state, token_strip, view_of
from ...figures.token_payload import Payload
from ...figures.token_view import probabilities_at
from ...server import model_warmup, runs
from ...server.session import session
from ..compare import equal_privacy
from . import attackers, belief, evidence, meaning, overlay, polish, risk, tour
from .families import family_cards
from .guarantee import guarantee_panel, note_kept_words, rewrite_without_prior
from .layout import BEFORE, BRING, PAGE, PANELS, PARTS, REWRITE, hide_until_open, options_drawer
from .options import options_column
from .releases import record_copies, rewrite_button, warn_if_void
from .rewriting import (
    accept_run,
    axis_of,
    current_epsilon,
    current_ledger,
    progress_text,
    redraw_if_spent,
    run_at,
    start,
)
from .text_input import headline, keep_what_fits, suit_example, text_box, typing_pause, use_mechanism
from .word import chosen_token, word_panel

#: Up to this many words, the probabilities of all are computed again at each ε if they bend along it; with more words,
#: only those of the chosen one.
WORDS_TOLD = 200

state = st.session_state


def keep_link() -> None:
    """Read the settings of a link; without one, keep the values of the controls."""
    before = last_page()
    if not address.take_link(PAGE) and before not in (None, PAGE):
        set_controls()


def set_controls() -> None:
    """Set the controls to the displayed or running rewrite, because Streamlit forgets them on other pages."""
    mine = session()
    work = mine.at("rewrite")
    inputs = work.request if work.job is not None else None if mine.run is None else mine.run.inputs
    if inputs is None:
        return
    state.update(links.widget_state(inputs.setting, "play"))
    state.play_mechanism, state.play_seeded = inputs.mechanism, inputs.seed is not None
    if inputs.seed is not None:
        state.play_seed = inputs.seed


def follow_link() -> None:
    """Set the controls to a link's settings before they are drawn, and keep the text."""
    mine = session()
    query, mine.query = mine.query, None
    asked, example = links.without_example(query or {})
    setting, problem = links.from_query(asked)
    if query is not None:
        mine.link_problem = problem or ""
    with st.container():  # always drawn, so that the text box does not move and keeps the cursor
        if mine.link_problem:
            st.warning(literal(mine.link_problem))
    if example is not None:
        state.play_text = example.text
    if setting is not None:
        state.update(links.widget_state(setting, "play"))
        state.play_mechanism, state.play_budget_on = setting.mechanism, False
        suit_example(setting.mechanism)
        mine.link, mine.link_new = setting, True


def empty_view() -> None:
    """Show why there is no rewrite, and the last result below, dimmed."""
    text = state.play_text
    if not text.strip():
        st.info("Type a text, or pick an example. Its rewrite appears here, word by word.")
        try:
            drawn_all_the_same = coverage_note(dpt.get_mechanism(state.play_mechanism), text)
        except dpt.DPTextError:  # shown in place of a rewrite
            drawn_all_the_same = ""
        if drawn_all_the_same:
            st.caption(WAITS)
        options_drawer()
        return
    st.error(too_long(text, ", or rewrite it with `python -m dptext_core rewrite --file FILE`"))
    st.button(
        "Shorten the text",
        key="play_shorten",
        type="primary",
        on_click=keep_what_fits,
        args=(text,),
    )
    if session().run is None:
        options_drawer()
    else:
        live_text.dim_other_text(BEFORE, REWRITE)
        with st.container(key=BEFORE):
            result_view()


@st.fragment
def result_view() -> None:
    """Show the strip and its panels. Moving ε or choosing a word reruns only this."""
    run = session().run
    assert run is not None
    axis = axis_of(run.inputs)
    epsilon = current_epsilon(axis)
    if not run.payload["live"] and not run.spread and abs(epsilon - run.payload["eps"]) > 1e-9:
        run = run_at(run, epsilon, axis)
        epsilon = run.payload["eps"]
    session().epsilon = epsilon
    record_copies(view_of(state.get("play_strip")).get("copies", []))
    if redraw_if_spent(run):
        st.rerun(scope="app")
    # In a separate container: otherwise elements below move and appear twice when one comes or goes.
    with st.container():
        if run.note:
            st.warning(literal(run.note))
    result = run.at(epsilon)
    marked = risk.is_marked(view_of(state.get("play_strip")))
    attack = risk.marks(run, result, marked)
    view = view_of(state.get("play_strip"))
    shown: Payload = {**run.payload, "stage": True, "tour": tour.story(run), "attackable": overlay.is_possible(run)}
    shown |= {"tools": state.get("play_tools", False), "mechanism": run.inputs.mechanism}
    if attack is not None:
        shown["attack"] = attack
    token = chosen_token(run, view or None)
    with st.container(key="play_redraw"):
        rewrite_button()
    token_strip(shown, key="play_strip")
    with st.container():
        if marked and attack is not None:
            risk.progress_below(run, result)
        if needed := meaning.need():
            st.caption(needed)
        note_kept_words(run)
        rewrite_without_prior(run, result, epsilon)
        void = warn_if_void(result)
    family_cards(run, result, epsilon, void, tour.button)
    hide_until_open("play_far", "play_far_open")
    with st.container(key="play_far"):
        if state.get("play_far_open"):
            word_panel(run, result, token, axis)
        else:
            for key in ("play_more", "play_statistic"):  # Streamlit forgets controls that are not drawn
                if key in state:
                    state[key] = state[key]
        polish.panel(run, result)
        further_panels(run, result, token, epsilon, void)
    if there := session().bring:
        session().bring = ""
        st.html(BRING.format(there), unsafe_allow_javascript=True)
    update_strip(run, result, token, epsilon)
    for place in (belief, meaning, tour, overlay):
        place.follow()
    example = links.example_to_query(run.inputs.text)
    address.show_query(links.link_of_run(run.inputs, epsilon)[0] | example | hidden_controls.to_query())


def update_strip(run: runs.Run, result: dpt.RewriteResult, token: int | None, epsilon: float) -> None:
    """Send the strip what was computed while it was drawn: probabilities, gauges, and the reader's guesses."""
    view = view_of(state.get("play_strip"))
    few = len(run.payload["tokens"]) <= WORDS_TOLD
    tokens = None if few else [] if token is None else [token]
    send_state(
        run.payload,
        epsilon,
        probabilities_at(result, run.payload, tokens),
        meaning.similarity_of(run, result),
        belief.belief_of(run, result, token, view),
        tour.numbers_of(run, view),
        overlay.guesses_of(run, result, view),
        key="play_strip",
    )


def further_panels(run: runs.Run, result: dpt.RewriteResult, token: int | None, epsilon: float, void: bool) -> None:
    """Show panels that are computed only on request."""
    chosen = st.segmented_control("Analyses", PANELS, key="play_further")
    if chosen == PANELS[0]:
        attackers.panel(run, result, token)
    elif chosen == PANELS[1]:
        equal_privacy.panel(run, result)
    elif chosen == PANELS[2]:
        ledger.panel(current_ledger(), [result])
    elif chosen == PANELS[3]:
        guarantee_panel(run, result, void)
    elif chosen == PANELS[4]:
        evidence.panel(run, result, epsilon)
        st.page_link("pages/benchmarks.py", label="All benchmarks", icon=":material/monitoring:")


def main() -> None:
    mine = session()
    if "play_text" not in state:
        # Streamlit forgets a control's value when another page is shown.
        text = mine.text
        state.play_text = next((e.text for e in examples()), "") if text is None else text
    follow_link()
    if mine.chosen_mechanism:
        state.play_mechanism, mine.chosen_mechanism = mine.chosen_mechanism, ""
        use_mechanism()
    head, editor, right, left = (st.container(key=f"play_{k}") for k in PARTS)
    tour.reserve_header()
    with head:
        headline()
    with editor:
        text_box()
        mine.text = state.play_text
    with left:
        inputs = options_column()
    with right:
        result_column(inputs)
    busy = session().at("rewrite").job is not None
    live_text.send_while_typing("play_text", busy=busy, patient=bool(typing_pause()), shows=BEFORE)
    engine = model_warmup.warm()
    if "masked language model" in dpt.mechanism_class(state.play_mechanism).needs:
        with left:
            st.caption(f"Language model: {literal(model_warmup.where(engine))}")


def result_column(inputs: runs.Inputs | None) -> None:
    """Show the requested rewrite, or why there is none yet."""
    slot = st.empty()
    if inputs is None:
        session().at("rewrite").stop()
        empty_view()
        return
    axis = axis_of(inputs)
    mine = session()
    run, work = mine.run, mine.at("rewrite")
    linked, mine.link_new = mine.link_new, False
    # Inputs with a finished, running or refused rewrite need no new run.
    under_work, refused = work.job is not None, work.error is not None
    known = [work.request] if under_work or refused else []
    known += [] if run is None or under_work else [run.inputs]
    if linked or inputs not in known:
        start(inputs, axis, redraw=False, linked=linked)
    running = work.is_running()
    if not running and (made := work.take_result()) is not None:
        accept_run(made)
    with slot.container():
        if running:
            with st.container(key="play_progress"):
                work.show_progress("play_stop", partial(progress_text, inputs))
        if work.request == inputs and (said := work.failure_text("Stopped.")):
            st.error(literal(said))
            st.button("Try again", key="play_retry", on_click=start, args=(inputs, axis, False))
        if mine.run is not None and running:
            if mine.run.inputs.text == work.request.text:
                live_text.dim(BEFORE)
            else:
                live_text.dim_other_text(BEFORE, REWRITE)
    with st.container():  # always drawn, so that later elements keep their places
        if mine.run is None:
            options_drawer()
    if mine.run is not None:
        # Always in one container, so that clicks are not lost while new rewrites arrive.
        with st.container(key=BEFORE):
            result_view()


def render() -> None:
    """Draw the page."""
    keep_link()
    enter_app(PAGE)
    main()
