"""An attacker's success on each word, for the marks of the token view, computed on request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.attacks import risk
from dptext_core.privacy.numbers import number

from ...figures.token_payload import AttackMarks
from ...figures.token_view import attack_marks
from ...server import jobs, runs
from ...server.session import session

PLACE = "risk"


def is_marked(view: Any) -> bool:
    """Return True if the browser shows these marks, according to the session's view."""
    return isinstance(view, Mapping) and view.get("tint") == "attack"


def marks(run: runs.Run, result: dpt.RewriteResult, wanted: bool) -> AttackMarks | None:
    """Return the data of the marks, or why there are none yet.

    None if there is no exact value, or tokens do not correspond to words: then these marks are not offered.
    """
    mechanism = type(run.mechanism)(result.config)
    if "alignment" not in mechanism.can:
        return None
    try:
        risk.check(mechanism)
    except dpt.NoDistribution:
        return None
    if not wanted:
        return {}
    place = session().at(PLACE)
    if not _answers(place, run, result):
        if not risk.is_quick(mechanism, run.prepared):
            return {"why": _ask(mechanism)}
        start(run, result)
    if place.is_running():
        return {"why": "Computing the attacker's guesses …"}
    return attack_marks(result, place.result) if place.error is None else {"why": place.failure_text("Stopped.")}


def progress_below(run: runs.Run, result: dpt.RewriteResult) -> None:
    """Show progress below the marked words, or a button that starts a slow computation."""
    place = session().at(PLACE)
    if place.job is not None:
        place.show_progress("risk_stop")
    elif not _answers(place, run, result) or place.error is not None:
        at = number(result.config.epsilon)
        if st.button(f"Compute at ε = {at}", key="risk_start"):
            start(run, result)
            st.rerun(scope="app")


def start(run: runs.Run, result: dpt.RewriteResult) -> None:
    """Start computing, and replace a computation for another text or ε."""
    mechanism = type(run.mechanism)(result.config)
    low, high = run.payload["lo"], run.payload["hi"]

    def work(task: dpt.Task):
        return risk.word_success(mechanism, run.prepared, low=low, high=high, task=task)

    session().at(PLACE).start(_key(run, result), work, "Computing the optimal guesses")


def _key(run: runs.Run, result: dpt.RewriteResult) -> tuple:
    return run.number, result.config


def _answers(held: jobs.Work, run: runs.Run, result: dpt.RewriteResult) -> bool:
    """Return True if an earlier request covers this one: the same ε, or a result for every ε of the run."""
    if held.request is None or held.request[0] != run.number:
        return False
    everywhere = isinstance(held.result, risk.WordSuccess) and held.result.leads is not None
    return everywhere or held.request[1] == result.config


def _ask(mechanism: dpt.Mechanism) -> str:
    return (
        f"With {mechanism.title}, almost every word is a possible output, and each needs its own optimal guess. "
        "Computing them takes about ten seconds per ε: press the button below the text."
    )
