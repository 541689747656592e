"""Benchmarks, findings and the way from a point to the Playground, in a browser with the bundled results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

APP = Path(__file__).resolve().parents[2] / "app.py"
LONG = 60_000
#: Where the last mark of the first curve of ours lies on the screen.
FIRST_MARK = """g => {
  const t = g._fullData.find(t => t.type === 'scatter' && t.customdata && t.customdata[0] && t.customdata[0][0]);
  const last = t.x.length - 1, box = g.getBoundingClientRect(), {xaxis, yaxis} = g._fullLayout;
  return [box.left + xaxis._offset + xaxis.d2p(t.x[last]), box.top + yaxis._offset + yaxis.d2p(t.y[last])];
}"""


def calm(page) -> None:
    page.locator("[data-testid=stStatusWidget]").wait_for(state="detached", timeout=LONG)


def clean(seen) -> None:
    # Streamlit looks for its server below the page's address first, which fails: those two requests are its own.
    assert not [f for f in seen.failed if "/_stcore/" not in f] and not seen.external
    assert not [e for e in seen.errors if "404" not in e]


@pytest.mark.slow
def test_a_click_on_a_mark_opens_its_setting_in_the_playground(open_app: Callable):
    seen = open_app(APP, query="/benchmarks")
    page = seen.page
    page.locator(".js-plotly-plot").first.wait_for(timeout=LONG)
    calm(page)
    plot = page.locator(".js-plotly-plot").first
    x, y = plot.evaluate(FIRST_MARK)
    page.mouse.click(x, y)
    button = page.locator("button:not([disabled])", has_text="Open in the Playground")
    button.wait_for(timeout=LONG)
    calm(page)
    assert "--point" in page.locator("code").first.inner_text(), "how the chosen point is measured again"
    button.click()
    page.locator(".strip .text button").first.wait_for(timeout=LONG)
    calm(page)
    assert "mechanism=" not in page.url, "the settings are taken out of the address once they are read"
    assert page.get_by_text("This link was not followed").count() == 0
    clean(seen)


def test_the_findings_are_there_and_the_page_does_not_scroll_sideways(open_app: Callable):
    seen = open_app(APP, query="/findings", viewport={"width": 390, "height": 844})
    page = seen.page
    page.get_by_text("What we found").first.wait_for(timeout=LONG)
    page.get_by_text("Likely reason.").first.wait_for(timeout=LONG)
    calm(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    clean(seen)
