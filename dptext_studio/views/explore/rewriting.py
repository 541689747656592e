"""Rewrites of the page: their ε, when they start, and when a finished one is shown."""

from __future__ import annotations

import dataclasses

import streamlit as st

import dptext_core as dpt
from dptext_core.measure.ledger import Ledger
from dptext_core.privacy.numbers import number

from ... import precomputed
from ...components.text import literal
from ...components.token_strip import view_of
from ...server import runs
from ...server.session import session
from . import belief, meaning
from .text_input import origin_of

state = st.session_state
#: Seconds that a page waits for a rewrite that needs no model.
PATIENCE_BUNDLED = 10.0


def axis_of(inputs: runs.Inputs) -> tuple[float, float, float]:
    """Return lower end, upper end and default of the ε axis, which includes a link's ε."""
    low, high, default = dpt.mechanism_class(inputs.mechanism).epsilon_range(inputs.options)
    link = session().link
    if link is not None and link.at(None) == inputs.setting and isinstance(link.epsilon, float):
        default = link.epsilon
    return min(low, default), max(high, default), default


def current_epsilon(axis: tuple[float, float, float], inputs: runs.Inputs | None = None) -> float:
    """Return the slider's last ε if it belongs to this axis; otherwise the axis' default.

    inputs: the request. If it matches the displayed run, with or without a public prior, ε is unchanged too.
    """
    run, default = session().run, axis[2]
    if run is not None:
        if (before := axis_of(run.inputs)) != axis:
            if inputs is None or not runs.differs_by_prior(run, inputs):
                return default
            return min(max(current_epsilon(before), axis[0]), axis[1])
        default = run.payload["eps"]
    view = view_of(state.get("play_strip"))
    if run is not None and (asked := run.payload.get("cmd")) is not None and view.get("run", 0) < asked["n"]:
        return asked["eps"]  # the browser has not moved its slider yet, so its value belongs to another axis
    return view.get("eps", default)


def start(inputs: runs.Inputs, axis: tuple[float, float, float], redraw: bool, linked: bool = False) -> None:
    """Start a rewrite, from bundled scores if there are any."""
    mine = session()
    before, number_ = mine.run, mine.next_number()
    if before is not None and current_ledger().spent(before.result.noise_id, inputs.text):
        # No two texts with the same noise may be released.
        redraw = True
    epsilon = axis[2] if linked else current_epsilon(axis, inputs)
    example = origin_of(inputs.text)
    pin = example.sensitive if example else ""

    given = precomputed.load(inputs.text, inputs.setting)
    for place in (belief.PLACE, meaning.PLACE):
        mine.at(place).stop()  # no longer needed for the previous text

    def work(task: dpt.Task):
        made = runs.make_run(
            inputs,
            number_,
            epsilon,
            axis,
            before=before,
            given=given,
            redraw=redraw,
            pin=pin,
            task=task,
        )
        if not linked:
            return made
        # The browser keeps its slider where the user left it; a link moves it.
        return dataclasses.replace(made, payload={**made.payload, "cmd": {"n": number_, "eps": epsilon}})

    mine.at("rewrite").start(inputs, work, "Rewriting")
    if given is not None:
        mine.at("rewrite").wait(PATIENCE_BUNDLED)


def accept_run(run: runs.Run) -> None:
    """Show a finished run, and record it as a draw."""
    session().show(run)
    current_ledger().record(run.result, edited=run.edited)


def redraw_if_spent(run: runs.Run) -> bool:
    """Draw fresh noise if another text was released with the noise of this run. Return True in that case."""
    work = session().at("rewrite")
    if run.inputs.seed is not None or work.job is not None or work.error is not None:
        return False
    if not current_ledger().spent(run.result.noise_id, run.inputs.text):
        return False
    redraw()
    return True


def progress_text(inputs: runs.Inputs) -> str:
    try:
        ready = inputs.setting.make().model_ready
    except dpt.DPTextError:  # shown in place of the rewrite
        ready = True
    return "Rewriting …" if ready else "Loading the language model …"


def redraw() -> None:
    run = session().run
    assert run is not None
    start(run.inputs, axis_of(run.inputs), redraw=True)


def run_at(run: runs.Run, epsilon: float, axis: tuple[float, float, float]) -> runs.Run:
    """Return the run at another ε if that needs a new pass; the previous run if the pass was stopped or refused.

    A long pass continues in a thread, with progress and a button to stop.
    """
    mine = session()
    work = mine.at("rewrite")
    if work.job is not None:  # under way
        return run
    if work.error is not None and mine.requested_epsilon == epsilon:
        st.caption(f"This is the rewrite at ε = {number(run.payload['eps'])}. Move ε to start again.")
        return run
    mine.requested_epsilon = epsilon
    start(run.inputs, axis, redraw=False)
    if work.is_running():
        st.rerun(scope="app")
    if (made := work.take_result()) is None:
        st.error(literal(work.failure_text("Stopped.")))
        return run
    mine.show(made)
    return made


def current_ledger() -> Ledger:
    """Return the ledger of this session."""
    return session().ledger
