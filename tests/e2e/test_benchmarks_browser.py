"""Benchmarks, findings and the way from a point to the Playground, in a browser with the bundled results."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

APP = Path(__file__).resolve().parents[2] / "app.py"
LONG = 60_000


def calm(page) -> None:
    page.locator("[data-testid=stStatusWidget]").wait_for(state="detached", timeout=LONG)


def clean(seen) -> None:
    # Streamlit looks for its server below the page's address first, which fails: those two requests are its own.
    assert not [f for f in seen.failed if "/_stcore/" not in f] and not seen.external
    assert not [e for e in seen.errors if "404" not in e]


def test_a_click_on_a_mark_opens_its_setting_in_the_playground(open_app: Callable):
    seen = open_app(APP, query="/benchmarks")
    page = seen.page
    page.locator(".js-plotly-plot").first.wait_for(timeout=LONG)
    calm(page)
    box = page.get_by_role("combobox", name=re.compile("Point"))
    mark = page.locator(".js-plotly-plot").first.locator(
        ".scatterlayer .trace:not(:has(path.js-line)) path.point, path.point"
    )
    mark.first.click(force=True)
    button = page.get_by_role("button", name="Open in the Playground")
    page.wait_for_function(
        "() => [...document.querySelectorAll('button')].some(b => b.innerText.includes('Open in the Playground') && !b.disabled)",
        timeout=LONG,
    )
    calm(page)
    chosen = box.input_value() if box.count() else ""
    button.click()
    page.get_by_role("button", name="Rewrite").wait_for(timeout=LONG)
    page.locator("iframe, .dpts-strip, [data-testid=stBidiComponentRegular]").first.wait_for(timeout=LONG)
    calm(page)
    assert "mechanism=" not in page.url, "the settings are taken out of the address once they are read"
    assert page.get_by_text("This link was not followed").count() == 0
    assert chosen == "" or "ε" in chosen
    clean(seen)


def test_the_findings_are_there_and_the_page_does_not_scroll_sideways(open_app: Callable):
    seen = open_app(APP, query="/findings", viewport={"width": 390, "height": 844})
    page = seen.page
    page.get_by_text("What we found").first.wait_for(timeout=LONG)
    page.get_by_text("Likely reason.").first.wait_for(timeout=LONG)
    calm(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    clean(seen)
