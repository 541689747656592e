"""A file of the browser edition that does not come: the page says which, why, and what to do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dptext_studio.browser import serve

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = [pytest.mark.browser, pytest.mark.slow]

FAULTS: dict[str, tuple[Callable[[Route], None], str]] = {
    "missing": (lambda r: r.fulfill(status=404, body="no such file"), "is not on the server. Reload this page."),
    "refused": (lambda r: r.abort(), "the server did not answer. Check your connection and reload this page."),
    "broken": (lambda r: r.fulfill(status=503), "the server answered 503. Wait a minute. Reload this page."),
    "other": (lambda r: r.fulfill(body="<!doctype html>"), "does not match this page. Reload this page."),
}


@pytest.fixture(scope="module")
def address(pocket_site: Path) -> Iterator[str]:
    with serve(pocket_site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def status_of(browser: Browser, address: str, routes: dict[str, Callable[[Route], None]], start: str) -> str:
    """What the page says once it says something that begins so."""
    context = browser.new_context(service_workers="block")
    try:
        for path, fault in routes.items():
            context.route(f"**/{path}", fault)
        page = context.new_page()
        page.goto(address)
        end = time.monotonic() + 30
        while not (said := page.inner_text("#status")).startswith(start):
            assert time.monotonic() < end, said
            page.wait_for_timeout(50)
        return said
    finally:
        context.close()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_page_without_its_core_says_what_to_do(browser: Browser, address: str, fault: str) -> None:
    fail, advice = FAULTS[fault]
    status = status_of(browser, address, {"core.json": fail}, "This page could not start.")
    assert "core.json" in status and advice in status and "Failed to fetch" not in status


@pytest.mark.parametrize("fault", FAULTS)
def test_a_mechanism_without_its_files_says_what_to_do(browser: Browser, address: str, fault: str) -> None:
    fail, advice = FAULTS[fault]
    routes = {"model.onnx.gz": fail, "custext-20.bin.gz": fail}
    status = status_of(browser, address, routes, "CusText could not be loaded.")
    assert "custext-20.bin.gz" in status and advice in status and "Failed to fetch" not in status


@pytest.mark.parametrize("script", ["model_worker.js", "runtime/ort.mjs"])
def test_a_model_without_its_scripts_says_what_to_do(browser: Browser, address: str, script: str) -> None:
    status = status_of(browser, address, {script: FAULTS["missing"][0]}, "DP-MLM could not be loaded.")
    assert "Reload this page." in status and "needs no model" in status


def test_a_page_without_one_of_its_scripts_names_that_cause(browser: Browser, address: str) -> None:
    context = browser.new_context(service_workers="block")
    context.route("**/engine.js", FAULTS["missing"][0])
    page = context.new_page()
    page.goto(address)
    page.locator("#idle").wait_for(state="visible", timeout=20_000)
    assert "a file is missing: reload the page" in page.inner_text("#idle")
    context.close()


def test_a_missing_demonstration_does_not_stop_the_page(browser: Browser, address: str) -> None:
    routes = {"first.json": FAULTS["missing"][0], "model.onnx.gz": FAULTS["refused"][0]}
    status = status_of(browser, address, routes, "DP-MLM could not be loaded.")
    assert "needs no model" in status
