"""Who closes the page leaves nothing: its work stops within seconds, and later no object holds what was typed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from memory_harness import ENDLESS
from memory_scan import Marker

import dptext_core as dpt

pytestmark = pytest.mark.browser

LONG = 60_000
PATIENCE = 90


@pytest.fixture
def server(own_server) -> tuple[str, Callable[[str], Any]]:
    """Nobody is there."""
    assert until(lambda: own_server[1]("jobs")["sessions"] == 0)
    return own_server


def visit(context, url: str):
    page = context.new_page()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(reduced_motion="reduce")
    page.set_default_timeout(LONG)
    page.goto(url)
    return page


def opened(context, url: str):
    page = visit(context, url)
    page.locator(".strip .text button").first.wait_for(state="attached")
    if page.locator(":root[data-tour]").count():
        page.get_by_role("button", name="Skip", exact=True).click()
    # The box stands empty for a moment, and what is typed into it then would be lost.
    page.wait_for_function("document.querySelector('textarea')?.value")
    return page


def rewrite(page, text: str) -> None:
    box = page.get_by_role("textbox", name="Text", exact=True)
    if not box.is_visible():
        page.get_by_role("button", name="Your text").click()
    box.fill(text)


def drawer(page, name: str, key: str) -> None:
    # What a run draws anew while it goes on may take a click.
    page.locator("[data-test-script-state=notRunning]").wait_for(state="attached")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("button", name=name, exact=True).click()
    page.locator(f".st-key-{key}").wait_for()
    page.keyboard.press("Escape")


def until(met: Callable[[], bool]) -> bool:
    """Whether it was met before patience ran out."""
    deadline = time.monotonic() + PATIENCE
    while not met():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


@pytest.mark.slow
def test_work_stops_when_the_page_is_closed(shared_context, server):
    url, asked = server
    before = asked("jobs")["left"]
    page = opened(shared_context, f"{url}/?mechanism=mvc")
    # Of each word, of which no two are the same, 200 draws are made for what is shown of it.
    rewrite(page, " ".join(dpt.get_mechanism("mvc").by_word.vocabulary.words[5000:5900]))
    page.get_by_test_id("stMainBlockContainer").get_by_role("button", name="Stop", exact=True).wait_for()
    # How much meaning the text before keeps may still be worked out, and is no longer asked for.
    assert (found := asked("jobs"))["running"] in (1, 2) and (found["left"], found["sessions"]) == (before, 1)
    page.close()
    assert until(lambda: asked("jobs")["running"] == 0)
    assert asked("jobs")["left"] > before, "it was stopped, and had not come to its end"


@pytest.mark.slow
def test_the_processor_rests_when_the_page_is_closed(shared_context, server, tmp_path):
    """A file that is still read is read no further."""
    url, asked = server
    page = visit(shared_context, f"{url}/batch")
    page.get_by_text("Resume a job").wait_for()
    path = tmp_path / ENDLESS
    path.write_bytes(b"text,label\n" + b"a,1\n" * 100_000)

    def rests() -> bool:
        before = asked("cpu")
        time.sleep(1)
        return asked("cpu") - before < 0.3

    assert until(rests), "what is read ahead of the first rewrite is"
    before = asked("jobs")["left"]
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_test_id("stMainBlockContainer").get_by_role("button", name="Stop", exact=True).wait_for()
    assert asked("jobs")["running"] == 1
    page.close()
    assert until(lambda: asked("jobs")["running"] == 0)
    assert asked("jobs")["left"] > before, "it was stopped, and had not come to its end"
    assert any(rests() for _ in range(10)), "its session is closed meanwhile"


@pytest.mark.slow
def test_nothing_is_left_when_the_session_has_ended(shared_context, server, tmp_path):
    """Typed text, an upload, every panel; the control is a text that the server was told to keep."""
    url, asked = server
    marker = Marker()
    key = marker.word(0)[:-3][::-1]
    page = opened(shared_context, url)
    word = marker.word(2)
    rewrite(page, f"My doctor {word} treated my sister for {word}.")
    page.locator(".strip .text", has_text="for").wait_for()
    path = tmp_path / "letter.txt"
    path.write_text(f"The letter of {marker.word(3)} to my doctor.", encoding="utf-8")
    drawer(page, "Advanced", "play_options")
    page.get_by_text("Open a file", exact=True).click()
    page.locator("input[type=file]").set_input_files(path)
    page.locator(".strip .text", has_text="letter").or_(page.locator(".strip .text", has_text="The")).first.wait_for()
    drawer(page, "Analyses", "play_far")
    for name in ("Equal privacy", "Ledger", "Benchmarks", "Attacks"):
        page.get_by_role("button", name=name, exact=True).or_(page.get_by_role("radio", name=name, exact=True)).click()
        page.wait_for_timeout(400)  # until the run that the click starts shows itself
        page.locator("[data-testid=stStatusWidget]").wait_for(state="detached")
    page.get_by_role("button", name="Share", exact=True).click()
    page.get_by_role("tab", name="With originals").click()
    # A button that a run of the whole page draws anew has another file, and a click that still asks for the one before
    # gets none: what is worked out beside the page is there, and has been shown.
    assert until(lambda: asked("jobs")["running"] == 0)
    page.wait_for_timeout(1500)
    page.locator("[data-test-script-state=notRunning]").wait_for(state="attached")
    with page.expect_download():
        page.get_by_role("button", name="Report with originals").click()
    held = asked(f"scan/{key}")
    assert set(held) == {"2", "3"}, "while the page is open, its session holds them"
    page.close()
    # A scan stops all else, so that it comes when the session has ended.
    assert until(lambda: asked("jobs")["sessions"] == 0)
    asked(f"plant/{key}")
    control = {"1": {"str in builtins.dict": 1}}
    left: dict[str, Any] = {}

    def gone() -> bool:
        left.clear()
        left.update(asked(f"scan/{key}"))
        return left == control

    found = until(gone)
    print(f"\nobjects that hold it: {sum(sum(k.values()) for k in held.values())} while open, after: {left}")
    assert found and left == control, "the control, and nothing else"
