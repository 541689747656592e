"""The pages' own pieces, and the Playground run by Streamlit's AppTest (which runs no JavaScript)."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import dptext_core as dpt
from dptext_core import first_sight
from pages.ui.jobs import Job
from pages.ui.text import decode, literal

TOP = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"\x89PNG\r\n\x1a\n\x00", "UTF-8"),
        (b"abc\x00def", "binary"),
        ("Zoë".encode("latin-1"), "UTF-8"),
        ("cut off é".encode()[:-1], "UTF-8"),
        (b"a" * 1_000_001, "1 MB"),
    ],
)
def test_a_file_that_is_no_text_says_what_to_do(data, message):
    with pytest.raises(dpt.InputError, match=message):
        decode(data, "notes.txt")


def test_text_files_are_read():
    assert decode("\ufeffZoë\r\n".encode()) == "Zoë\r\n"
    assert decode("Zoë".encode("utf-16")) == "Zoë"


def test_markup_is_escaped():
    shown = literal("**b** [x](y) <img src=x> `c` $m$ :smile: ![p](http://e.org)")
    for mark in "*[]<>`$:!(":
        assert f"\\{mark}" in shown and shown.count(mark) == shown.count("\\" + mark)


def test_a_job_gives_its_result_its_error_or_stops():
    done = Job(lambda progress, cancel: 5, "x")
    assert done.wait(5) and done.result == 5

    def fails(progress, cancel):
        raise dpt.ConfigError("no")

    failed = Job(fails, "x")
    assert failed.wait(5) and isinstance(failed.error, dpt.ConfigError)

    started = threading.Event()

    def endless(progress, cancel):
        started.set()
        for i in range(10_000):
            progress(i, 10_000)
            time.sleep(0.01)

    job = Job(endless, "x")
    started.wait(5)
    assert not job.wait(0) and 0 <= job.share < 1
    job.cancel.set()
    assert job.wait(5) and isinstance(job.error, dpt.Cancelled)


def app() -> AppTest:
    return AppTest.from_file(TOP / "app.py", default_timeout=120)


def settle(at: AppTest) -> AppTest:
    """Run until no job is under way."""
    at.run()
    end = time.monotonic() + 100
    while "play_job" in at.session_state and at.session_state["play_job"] is not None:
        assert time.monotonic() < end, "the rewrite did not end"
        time.sleep(0.2)
        at.run()
    assert not at.exception
    return at


def payload(at: AppTest) -> dict:
    return json.loads(at.get("bidi_component")[0].proto.json)


def test_the_first_page_shows_a_rewrite_before_any_model_is_loaded():
    at = app().run()
    assert not at.exception
    shown = payload(at)
    assert shown["tokens"] and shown["run"] == 1
    assert any(t["a"] == "replace" for t in shown["tokens"])


def test_the_bundled_scores_are_those_of_the_bundled_model():
    text = json.loads(json.dumps(first_sight._read()[0]["text"]))
    given = first_sight.load(text, "dp-mlm", {})
    assert given.document == dpt.Document.parse(text)
    m = dpt.get_mechanism("dp-mlm")
    keys = [(i, False) for i in given.targets[:4]]
    assert given.logits(keys) == pytest.approx(m.prepare(text).logits(keys), abs=0.3)
    assert m.distribution(given, given.targets[0]).candidates == dpt_candidates()
    assert first_sight.load(text + " ", "dp-mlm", {}) is None
    assert first_sight.load(text, "dp-mlm", {"order": "sequential"}) is None


def dpt_candidates():
    from dptext_core import models

    return models.load_masked_lm("bundled").candidates


def test_typing_rewrites_and_the_panel_follows_the_choice():
    at = settle(app())
    at.text_area(key="play_text").set_value("My doctor paid.")
    settle(at)
    shown = payload(at)
    assert [t["o"] for t in shown["tokens"]] == ["My", "doctor", "paid", "."]
    at.session_state["play_strip"] = {"view": {"run": shown["run"], "eps": 12.0, "token": 1}}
    at.run()
    assert not at.exception
    text = " ".join(m.value for m in at.markdown)
    assert "“doctor” →" in text
    assert any(m.label.startswith("N_w") for m in at.metric)
    assert next(m for m in at.metric if m.label == "Total ε").value == "24"


def test_empty_text_says_what_to_do():
    at = app()
    at.session_state["play_text"] = "  "
    at.run()
    assert not at.exception and "Type a text" in at.info[0].value


def test_every_mechanism_renders_its_controls():
    for spec in dpt.mechanisms():
        at = settle(app())
        at.selectbox(key="play_mechanism").set_value(spec.name)
        settle(at)
        assert payload(at)["tokens"]


def test_the_sequential_order_asks_the_server_for_another_epsilon():
    at = settle(app())
    at.text_area(key="play_text").set_value("My doctor paid my sister.")
    at.selectbox(key="play-dp-mlm-order").set_value("sequential")
    settle(at)
    shown = payload(at)
    assert not shown["live"] and shown["eps"] == 50.0
    at.session_state["play_strip"] = {"view": {"run": shown["run"], "eps": 20.0, "token": 1}}
    at.run()
    assert not at.exception
    assert payload(at)["eps"] == 20.0 and payload(at)["run"] > shown["run"]
    assert next(m for m in at.metric if m.label == "ε per word").value == "20"


def test_draw_again_counts_what_releasing_would_spend():
    at = settle(app())
    first = payload(at)
    at.button(key="play_again").click()
    settle(at)
    assert payload(at)["run"] > first["run"]
    assert [t.get("flips") for t in payload(at)["tokens"]] != [t.get("flips") for t in first["tokens"]]
    assert any("Drawn 2 times" in m.value for m in at.markdown)


def test_moving_the_clipping_range_keeps_the_scores():
    at = settle(app())
    prepared = at.session_state["play_run"].prepared
    at.slider(key="play_clip_bundled").set_value((0.0, 5.0))
    settle(at)
    run = at.session_state["play_run"]
    assert run.prepared is prepared and run.mechanism.config.clip_max == 5.0
    at.slider(key="play_clip_bundled").set_value((-1.9, 5.0))
    settle(at)
    exact = dpt.get_mechanism("dp-mlm").config.clip_min
    assert at.session_state["play_run"].mechanism.config.clip_min == exact, "an end that was not moved stays exact"


def broken(*_):
    raise dpt.Busy("The model is busy: try **again**.")


def test_an_error_is_explained_and_nothing_is_lost(monkeypatch):
    at = settle(app())
    before = payload(at)
    monkeypatch.setattr(dpt.mechanism_class("dp-mlm"), "_prepare", broken)
    at.text_area(key="play_text").set_value("Another text about my doctor.")
    settle(at)
    assert "try **again**" in at.error[0].value.replace("\\", "") and payload(at)["tokens"] == before["tokens"]
    monkeypatch.undo()
    at.button(key="play_rewrite").click()
    settle(at)
    assert not at.error and payload(at)["tokens"][0]["o"] == "Another"


def test_a_page_that_was_asked_for_by_its_address_opens_in_the_app():
    at = app()
    at.session_state["app_wanted"] = "audit"
    at.run()
    assert not at.exception and at.markdown[0].value == "## Audit"
    assert "app_wanted" not in at.session_state
