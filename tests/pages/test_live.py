"""A text that is rewritten while it is typed: places keep their noise, and what is released has noise of its own."""

from __future__ import annotations

import itertools
import json
import threading
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import dptext_core as dpt
from dptext_studio.components import live_text
from dptext_studio.figures import token_view
from dptext_studio.server import runs
from dptext_studio.server.jobs import Work

TOP = Path(__file__).resolve().parents[2]
TEXT = "My doctor told the lawyer that her son sold an old house in Lisbon last winter"


def run_of(name: str, text: str, before: runs.Run | None = None, **given) -> runs.Run:
    axis = dpt.mechanism_class(name).epsilon_range({})
    return runs.make_run(runs.Inputs(text, dpt.Setting(name), None), 1, axis[2], axis, before=before, **given)


def drawn(run: runs.Run, before: int) -> list[str]:
    return [s.text for s in run.result.steps if s.index is not None and s.index < before]


def test_another_draw_of_a_text_is_not_searched_for_identifiers_again(monkeypatch):
    searched, find = [], token_view.find_pii
    monkeypatch.setattr(token_view, "find_pii", lambda text, *more: (searched.append(text), find(text, *more))[1])
    text = "Anna went to Lisbon on Monday."
    first = run_of("custext", text, redraw=False)
    again = run_of("custext", text, first)
    other = run_of("custext", "Anna went to Oslo.", again)
    assert searched == [text, "Anna went to Oslo."]
    assert [t["text"] for t in first.payload["telling"]] == ["Anna", "Lisbon", "Monday"]
    assert [t["text"] for t in again.payload["telling"]] == ["Anna", "Lisbon", "Monday"]
    assert [t["text"] for t in other.payload["telling"]] == ["Anna", "Oslo"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["custext", "diffractor"])
def test_a_place_keeps_its_noise_while_a_text_is_edited_behind_it(name):
    first = run_of(name, TEXT, redraw=False)
    tokens = len(TEXT.split())
    longer = run_of(name, f"{TEXT} and left", first, redraw=False)
    assert drawn(longer, tokens) == drawn(first, tokens), "typing at the end"
    cut = TEXT.split().index("sold")
    middle = run_of(name, longer.inputs.text.replace("sold", "quickly sold"), longer, redraw=False)
    assert drawn(middle, cut) == drawn(first, cut), "typing in the middle: what stands before it"
    assert middle.result.noise_id == first.result.noise_id and middle.edited == longer.inputs.text
    again = run_of(name, TEXT, middle, redraw=True)
    assert again.result.noise_id != first.result.noise_id


def test_a_model_draws_each_place_with_its_own_noise_whatever_stands_behind_it():
    first = run_of("dp-mlm", "My doctor told the lawyer", redraw=False)
    longer = run_of("dp-mlm", "My doctor told the lawyer everything", first, redraw=False)
    streams = [
        {s.index: r.result.locked(i)[1].gumbel(4).tolist() for i, s in enumerate(r.result.steps) if s.is_sampled}
        for r in (first, longer)
    ]
    assert len(streams[0]) > 1 and streams[0].items() <= streams[1].items()


@pytest.mark.parametrize(
    ("before", "after", "edited"),
    [
        ("M", "My", True),
        ("My doctor", "My", True),
        (TEXT, f"{TEXT}!", True),
        (TEXT, f"Now {TEXT}", True),
        (TEXT, TEXT.replace("sold", "quickly sold"), True),
        (TEXT, TEXT, False),
        (TEXT, "", False),
        ("  ", TEXT, False),
        (TEXT, "My brother drives again after his fall in the mountains", False),
        ("The doctor paid.", "The lawyer never came to court.", False),
    ],
)
def test_an_edit_is_told_from_another_text(before, after, edited):
    assert runs.is_edit(before, after) is edited


def test_what_takes_long_waits_and_says_so():
    assert live_text.pause_reason("a short text", None) == live_text.pause_reason("a short text", 0.4) == ""
    assert "took 3.2 seconds" in live_text.pause_reason("a short text", 3.21)
    long = live_text.pause_reason("word " * (live_text.WORDS + 1), 0.1)
    assert (
        f"more than {live_text.WORDS} words" in long
        and "Ctrl+Enter" in long
        and f"{live_text.LONG_PAUSE:g} seconds" in long
    )


def test_a_rewrite_takes_as_long_as_its_draws_do_too(monkeypatch):
    def after(name: str, before: runs.Run | None, *took: float) -> float | None:
        """Seconds of a run by a clock that goes on by so much between the looks at it."""
        clock = iter([0.0, *itertools.accumulate(took)])
        monkeypatch.setattr(runs.time, "monotonic", lambda: next(clock))
        try:
            return run_of(name, TEXT, before).seconds
        finally:
            monkeypatch.undo()

    first = run_of("custext", "My doctor")
    assert after("custext", first, 0.1, 6.0) == pytest.approx(6.1), "as where each word is asked for after the other"
    assert after("diffractor", first, 0.1) == pytest.approx(0.1), "its list may have been read"
    again = run_of("custext", "My doctor", first)
    assert again.seconds == first.seconds


def test_newer_work_takes_the_place_of_older_and_its_answer_alone_is_seen():
    work, hold = Work(), threading.Event()

    def slow(task):
        hold.wait(5)
        return "old"

    work.start("old text", slow, "x")
    old = work.job
    work.start("new text", lambda task: "new", "x")
    assert old is not None and old.task.cancelled and not work.is_running(5)
    hold.set()
    assert old.wait(5) and not work.is_running(0)
    assert (work.request, work.take_result(), work.error) == ("new text", "new", None)


# --- on the page


def app(text: str, mechanism: str = "custext") -> AppTest:
    at = AppTest.from_file(TOP / "app.py", default_timeout=120)
    at.session_state["play_far_open"] = True
    at.session_state["play_text"] = text
    at.session_state["play_mechanism"] = mechanism
    return settle(at)


def settle(at: AppTest) -> AppTest:
    at.run()
    while (job := at.session_state["session"].at("rewrite").job) is not None:
        assert job.wait(100), "the rewrite did not end"
        at.run()
    assert not at.exception
    return at


def typed(at: AppTest, text: str) -> runs.Run:
    at.text_area(key="play_text").set_value(text)
    return settle(at).session_state["session"].run


def told(at: AppTest, run: runs.Run) -> None:
    """The browser tells of a copy of this run."""
    view = {"run": run.number, "eps": run.result.config.epsilon, "token": None}
    copy = [run.result.noise_id, run.number, run.result.config.epsilon]
    at.session_state["play_strip"] = {"view": view | {"copies": [copy]}}


def test_the_ledger_holds_one_draw_of_what_is_typed_and_nothing_released():
    at = app("My doctor")
    for n in range(3, 8):
        typed(at, " ".join(TEXT.split()[:n]))
    book = at.session_state["session"].ledger
    (entry,) = book.entries
    assert not entry.released and len(book.accounts()) == 1 and book.draws(1) == 1
    assert not any("Drawn" in m.value and "times" in m.value for m in at.markdown)


def test_what_is_released_after_an_edit_has_noise_of_its_own_and_adds_up():
    at = app(TEXT)
    first = at.session_state["session"].run
    told(at, first)
    settle(at)
    second = typed(at, f"{TEXT} and left")
    assert second.result.noise_id != first.result.noise_id
    told(at, second)
    settle(at)
    (account,) = at.session_state["session"].ledger.accounts()
    assert account.releases == 2 and not account.void
    assert account.totals[0].epsilon == pytest.approx(first.result.guarantee.total + second.result.guarantee.total)


def test_a_copy_that_is_told_late_makes_the_newer_text_draw_afresh():
    at = app(TEXT)
    first = at.session_state["session"].run
    second = typed(at, f"{TEXT} and left")
    assert second.result.noise_id == first.result.noise_id
    told(at, first)
    third = settle(at).session_state["session"].run
    assert third.inputs == second.inputs and third.result.noise_id != first.result.noise_id
    book = at.session_state["session"].ledger
    (entry,) = (e for e in book.entries if e.released)
    assert entry.noise_id == first.result.noise_id and not book.spent(third.result.noise_id, second.inputs.text)


def test_a_chosen_word_stays_chosen_while_it_stands_in_its_place():
    at = app(TEXT)

    def word() -> str:
        return next(m.value for m in at.markdown if m.value.startswith("How “")).split("“")[1].split("”")[0]

    place = TEXT.split().index("lawyer")
    number = at.session_state["session"].run.number
    at.session_state["play_strip"] = {"view": {"run": number, "eps": 8.1, "token": place}}
    settle(at)
    assert word() == "lawyer"
    typed(at, f"{TEXT} and left")
    assert word() == "lawyer"
    typed(at, f"Yes: {TEXT} and left")
    assert word() != "lawyer", "another word stands there"
    typed(at, f"{TEXT} and left")
    assert word() != "lawyer", "the browser has forgotten it too"


def test_the_page_asks_for_a_long_pause_where_answers_take_long(monkeypatch):
    at = app("My doctor paid.")

    def asked() -> dict:
        parts = [json.loads(c.proto.json) for c in at.get("bidi_component") if '"pause"' in c.proto.json]
        assert len(parts) == 1
        return parts[0]

    def told(text: str) -> dict:
        return {"box": "play_text", "size": len(text), "busy": False, "shows": "play_before"}

    assert asked() == told("My doctor paid.") | {"pause": 250.0, "along": True}
    assert not [b for b in at.button if b.label == "Rewrite"]
    monkeypatch.setattr(live_text, "SECONDS", 0.0)
    typed(at, "My doctor paid again.")
    at.run()
    assert asked() == told("My doctor paid again.") | {"pause": 1500.0, "along": False}
    assert any("The next one starts when you stop typing" in c.value for c in at.caption)
