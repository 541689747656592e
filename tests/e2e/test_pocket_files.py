"""A file of the browser edition that does not come: the page says which, why, and what to do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = [pytest.mark.browser, pytest.mark.slow]

FAULTS: dict[str, tuple[Callable[[Route], None], str]] = {
    "missing": (lambda r: r.fulfill(status=404, body="no such file"), "is not on the server. Reload this page."),
    "refused": (lambda r: r.abort(), "the server did not answer. Check your connection and reload this page."),
    "broken": (lambda r: r.fulfill(status=503), "the server answered 503. Wait a minute. Reload this page."),
    "other": (lambda r: r.fulfill(body="<!doctype html>"), "does not match this page. Reload this page."),
}


#: The largest file, which a test does without where no model runs.
NO_WEIGHTS: dict[str, Callable[[Route], None]] = {"masked_lm.safetensors.gz": lambda route: route.abort()}


def status_of(browser: Browser, address: str, routes: dict[str, Callable[[Route], None]], start: str) -> str:
    """What the page says once it says something that begins so."""
    context = browser.new_context(service_workers="block")
    try:
        for path, fault in {**NO_WEIGHTS, **routes}.items():
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


def test_a_page_without_its_core_says_what_to_do(browser: Browser, address: str) -> None:
    fail, advice = FAULTS["missing"]
    status = status_of(browser, address, {"core.json": fail}, "This page could not start.")
    assert "core.json" in status and advice in status


def test_a_mechanism_without_its_files_says_what_to_do(browser: Browser, address: str) -> None:
    fail, advice = FAULTS["refused"]
    routes = {"model.onnx.gz": fail, "custext-20.bin.gz": fail}
    status = status_of(browser, address, routes, "CusText could not be loaded.")
    assert "custext-20.bin.gz" in status and advice in status


def test_every_fault_of_a_file_says_what_to_do(browser: Browser, address: str) -> None:
    """Of a packed file, whose hash is known, and of one of JSON."""
    call = """async (packed) => {
      const { content, json } = await import("./files.js");
      const { files } = await (await fetch("core.json")).json();
      return (packed ? content(files.list) : json("first.json")).then(() => "", (e) => e.message);
    }"""
    context = browser.new_context(service_workers="block")
    page = context.new_page()
    page.goto(f"{address}lessons.html")
    for fail, advice in FAULTS.values():
        for file in ("first.json", "list.txt.gz"):
            context.route(f"**/{file}", fail)
            said = page.evaluate(call, file == "list.txt.gz")
            assert file in said and advice in said and "Failed to fetch" not in said
            context.unroute(f"**/{file}")
    context.close()


@pytest.mark.parametrize("script", ["model_worker.js", "runtime/ort.mjs"])
def test_a_model_without_its_scripts_says_what_to_do(browser: Browser, address: str, script: str) -> None:
    routes = {script: FAULTS["missing"][0], "masked_lm.safetensors.gz": lambda route: route.continue_()}
    status = status_of(browser, address, routes, "DP-MLM could not be loaded.")
    assert "Reload this page." in status and "needs no model" in status


def test_a_page_without_one_of_its_scripts_names_that_cause(browser: Browser, address: str) -> None:
    context = browser.new_context(service_workers="block")
    context.route("**/engine.js", FAULTS["missing"][0])
    page = context.new_page()
    page.goto(f"{address}?mechanism=redact")
    page.locator("#idle").wait_for(state="visible", timeout=20_000)
    assert "a file is missing: reload the page" in page.inner_text("#idle")
    context.close()


def test_a_missing_demonstration_does_not_stop_the_page(browser: Browser, address: str) -> None:
    routes = {"first.json": FAULTS["missing"][0], "model.onnx.gz": FAULTS["refused"][0]}
    status = status_of(browser, address, routes, "DP-MLM could not be loaded.")
    assert "needs no model" in status
