"""Who closes the page leaves nothing: its work stops within seconds, and later no object holds what was typed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import START_SECONDS, TOP, _free_port
from memory_scan import Marker

from pages.ui import sessions

pytestmark = pytest.mark.e2e

LONG = 60_000
HARNESS = Path(__file__).with_name("memory_harness.py")
CLOSE = sessions.STOP + 3


@pytest.fixture(scope="module")
def server(browser, tmp_path_factory) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """Its address, and a way to ask its process (see memory_harness)."""
    port, ask = _free_port(), _free_port()
    log = tmp_path_factory.mktemp("leaving") / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, str(HARNESS), str(port), str(ask), str(CLOSE)],
            cwd=TOP, stdout=sink, stderr=subprocess.STDOUT,
        )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + START_SECONDS
    try:
        while True:
            try:
                urllib.request.urlopen(f"{url}/_stcore/health", timeout=2).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"The server did not start:\n{log.read_text(errors='replace')[-2000:]}")
                time.sleep(0.2)

        def asked(what: str) -> Any:
            with urllib.request.urlopen(f"http://127.0.0.1:{ask}/{what}", timeout=60) as answer:
                return json.load(answer)

        yield url, asked
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def opened(browser, url: str):
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(LONG)
    page.goto(url)
    page.locator(".strip .text button").first.wait_for()
    return page


def rewrite(page, text: str) -> None:
    page.get_by_role("textbox", name="Text", exact=True).fill(text)
    page.get_by_role("button", name="Rewrite", exact=True).click()


def share_of_a_core(asked: Callable[[str], Any], seconds: float) -> float:
    start, before = time.monotonic(), asked("cpu")
    time.sleep(seconds)
    return (asked("cpu") - before) / (time.monotonic() - start)


def test_work_stops_when_the_page_is_closed(browser, server):
    url, asked = server
    page = opened(browser, url)
    page.get_by_text("ready, on the processor").or_(page.get_by_text("loads in the background")).first.wait_for()
    rewrite(page, " ".join(f"doctor{i} treated sister{i} there." for i in range(225)))
    page.get_by_test_id("stMainBlockContainer").get_by_role("button", name="Stop", exact=True).wait_for()
    assert share_of_a_core(asked, 2.0) > 0.4, "the work is under way"
    page.context.close()
    time.sleep(sessions.STOP + 3)
    assert share_of_a_core(asked, 2.0) < 0.2, "and has stopped long before its end"


def test_nothing_is_left_when_the_session_has_ended(browser, server, tmp_path):
    """Typed text, an upload, every panel; the control is a text that the server was told to keep."""
    url, asked = server
    marker, control = Marker(), Marker()
    scan = f"scan/{marker.word(0)[:-3][::-1]}"
    page = opened(browser, url)
    # Asked before there is anything, so that what the scan itself brings is there.
    assert asked(scan) == {}
    word = marker.word(2)
    rewrite(page, f"My doctor {word} treated my sister for {word}.")
    page.locator(".strip .text", has_text="for").wait_for()
    path = tmp_path / "letter.txt"
    path.write_text(f"The letter of {marker.word(3)} to my doctor.", encoding="utf-8")
    page.get_by_text("Open a file", exact=True).click()
    page.locator("input[type=file]").set_input_files(path)
    page.locator(".strip .text", has_text="letter").or_(page.locator(".strip .text", has_text="The")).first.wait_for()
    for name in ("Same privacy elsewhere", "Ledger", "Benchmarks", "What an attacker gets"):
        page.get_by_role("button", name=name, exact=True).or_(page.get_by_role("radio", name=name, exact=True)).click()
        page.wait_for_timeout(1500)
    page.locator("[data-testid=stStatusWidget]").wait_for(state="detached")
    held = asked(scan)
    assert set(held) == {"2", "3"}, "while the page is open, its session holds them"
    page.context.close()
    deadline = time.monotonic() + CLOSE + 15
    while (left := asked(scan)) and time.monotonic() < deadline:
        time.sleep(1)
    print(f"\nobjects that hold it: {sum(sum(k.values()) for k in held.values())} while open, {left or 0} after")
    assert left == {}
    key = control.word(0)[:-3][::-1]
    asked(f"plant/{key}")
    assert asked(f"scan/{key}") == {"1": {"str in builtins.dict": 1}}, "the control"
