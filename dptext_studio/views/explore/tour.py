"""The tour of the first screen: its start, its text, and its numbers, which a thread computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.mechanisms import recommended
from dptext_core.support.assets import examples

from ...figures.tour_view import Card, TourNumbers, TourStory, tour_groups, tour_numbers
from ...server import runs
from ...server.session import session
from .families import FAMILIES
from .layout import close_more
from .text_input import use_text

state = st.session_state
PLACE = "tour"
#: The last step in which the tour shows its own note.
COVERED = 3
#: Families that the last step offers.
OFFERED = ("dp-mlm", "dp-sentence")
DOORS: tuple[Card, ...] = (
    {"title": "Your text", "does": "Try your own text", "press": ".st-key-play_edit button"},
    {"title": "How does it work?", "does": "Short lessons, starting now", "press": ".st-key-play_learn a"},
)


def begin() -> None:
    """Start the tour on the first example, with the first recommended mechanism."""
    mine, note = session(), examples()[0].text
    mine.tours += 1
    if state.get("play_text") != note:
        use_text(note)
    mine.chosen_mechanism = recommended.ORDER[0]  # a run of the whole page, which the text needs, too
    close_more()


def reserve_header() -> None:
    """Keep the height of the tour's header on a narrow screen, where the tour begins automatically."""
    mine = session()
    begins = mine.run is None and not mine.tours and mine.link is None and state.play_text == examples()[0].text
    st.html(f"<style>:root {{ --play-head: {'10.6rem' if begins else '0'}; }}</style>")


def button() -> None:
    """Show the button that repeats the tour."""
    st.button(
        "Tour",
        icon=":material/play_arrow:",
        key="play_tour",
        on_click=begin,
        help="See in five steps what differential privacy does to a text.",
    )


def story(run: runs.Run) -> TourStory:
    """Return the tour's data for the browser. It starts automatically once, on a first visit without a link."""
    mine = session()
    if run.number == 1 and not mine.tours and mine.link is None and _is_tours(run):
        mine.tours = 1
    cards: list[Card] = []
    for name in OFFERED:
        title, does = FAMILIES[name]
        press = f".st-key-play_family_{name} button"
        cards.append({"title": title, "does": does, "press": press, "on": run.inputs.mechanism == name})
    made: TourStory = {"n": mine.tours, "cards": cards, "doors": list(DOORS)}
    if _is_tours(run):
        made |= tour_groups(run.result, run.payload["pin"])  # type: ignore[typeddict-item]
    return made


def numbers_of(run: runs.Run, view: Mapping[str, Any]) -> TourNumbers | None:
    """Return the tour's numbers after it was started; they are computed during its first step."""
    place, key = session().at(PLACE), run.inputs.setting
    if not _is_tours(run) or not 1 <= view.get("step", 0) <= COVERED:
        place.drop()
        return None
    if place.request != key:
        place.start(key, lambda task: _work(run, task), "Preparing the tour")
    if place.is_running(patience=0.0):
        return None
    return place.result if place.error is None else None


def follow() -> None:
    """Rerun the page when the numbers are ready. Until then the tour shows dots."""
    session().at(PLACE).follow()


def _work(run: runs.Run, task: dpt.Task) -> TourNumbers:
    token = run.payload["pin"]
    fact = run.result.steps[token].original
    question = dpt.BeliefQuestion.make(run.mechanism, run.inputs.text, fact, task=task.child(0, 0.6))
    return tour_numbers(question, token, task.child(0.6, 1))


def _is_tours(run: runs.Run) -> bool:
    """Return True if the tour can show this run: its own text, word by word, with a sampled fact, beliefs, and a
    movable ε.
    """
    ready = run.payload["live"] and not run.spread and not run.payload["belief"]["why"]
    pin = run.payload.get("pin")
    return run.inputs.text == examples()[0].text and ready and pin is not None and run.result.units[pin].is_sampled
