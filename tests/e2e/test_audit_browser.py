"""The Audit page in a browser: opened by its own address, and a planted fault found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

APP = Path(__file__).resolve().parents[2] / "app.py"
LONG = 60_000


@pytest.mark.slow
def test_its_own_address_opens_it_within_the_app_and_a_planted_fault_is_found(open_app: Callable):
    seen = open_app(APP, query="/audit")
    page = seen.page
    run = page.get_by_role("button", name="Run the audit")
    run.wait_for(timeout=LONG)
    page.get_by_role("link", name="Playground").wait_for(timeout=LONG)
    page.get_by_text("A planted fault", exact=True).click()
    page.get_by_text("halved-sensitivity").or_(page.get_by_role("combobox").first).first.wait_for(timeout=LONG)
    page.locator("[data-testid=stStatusWidget]").wait_for(state="detached", timeout=LONG)
    run.click()
    page.get_by_text("refuted", exact=False).first.wait_for(timeout=LONG)
    # Streamlit looks for its server below the page's address first, which fails: those two requests are its own.
    assert not [f for f in seen.failed if "/_stcore/" not in f] and not seen.external
