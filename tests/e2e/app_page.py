"""What the browser tests of the app do on its pages: type, open, wait until a page is calm."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from dptext_studio.lessons import LESSONS

APP = Path(__file__).resolve().parents[2] / "app.py"


LONG = 60_000


def strip_text(page) -> str:
    return page.locator(".strip .text").inner_text()


def opened(open_app: Callable, tour: bool = False, **options):
    """Explore, with a rewrite: a fresh page, or with ``open_once`` perhaps that of another test's. tour: whether the
    tour, which begins by itself, goes on."""
    seen = open_app(APP, **options)
    seen.page.locator(".strip .text button").first.wait_for(state="attached", timeout=LONG)
    if not tour and seen.page.locator(":root[data-tour]").count():
        seen.page.get_by_role("button", name="Skip", exact=True).click()
    if not seen.reused:
        # The box stands empty for a moment, and what is typed into it then would be lost.
        seen.page.wait_for_function("document.querySelector('textarea')?.value", timeout=LONG)
    return seen


def editor(page):
    """The box with the text, which is opened where it is shut; a page that is being made may open it by itself."""
    from playwright.sync_api import TimeoutError as Late

    box = page.get_by_role("textbox", name="Text", exact=True)
    for _ in range(5):
        if box.is_visible():
            return box
        # A click that meets a redraw may be lost, and a button that is not there yet takes none.
        with suppress(Late):
            page.get_by_role("button", name="Your text").click(timeout=3000)
            box.wait_for(timeout=15_000)
    box.wait_for(timeout=LONG)
    return box


def open_more(page) -> None:
    """Open what few need at first. A click may be lost in a redraw: then it stays shut."""
    from playwright.sync_api import TimeoutError as Late

    button = page.get_by_role("button", name="Download text")
    for _ in range(4):
        if button.is_visible():
            return
        page.get_by_role("button", name="More", exact=True).click()
        with contextlib.suppress(Late):
            button.wait_for(timeout=LONG // 4)
            return
    button.wait_for(timeout=LONG)


def show_tools(page) -> None:
    """Show marks, originals and copying above the text."""
    open_more(page)
    switch(page, "Marks, originals and copying", True)
    page.keyboard.press("Escape")
    page.locator(".strip .copy").wait_for(timeout=LONG)


def open_drawer(page, name: str) -> None:
    """Open “Advanced” or “Analyses”. As with a switch, a click may be lost in a redraw: then it stays shut."""
    from playwright.sync_api import expect

    place = page.locator({"Advanced": ".st-key-play_options", "Analyses": ".st-key-play_far"}[name])
    if place.is_visible():  # another test opened it
        return
    for _ in range(3):
        open_more(page)
        page.get_by_role("button", name=name, exact=True).click()
        with suppress(AssertionError):
            expect(place).to_be_visible(timeout=20_000)
            page.keyboard.press("Escape")
            return
    pytest.fail(f"“{name}” cannot be opened")


def type_text(page, text: str) -> None:
    """It is sent by itself."""
    editor(page).fill(text)


def settled(page) -> None:
    """Nothing runs, and the rewrite of the text before is gone."""
    calm(page)
    page.locator(".st-key-play_stop").first.wait_for(state="detached", timeout=LONG)


def to_page(page, title: str, section: str = "") -> None:
    """Choose a page in the navigation."""
    bar = page.get_by_test_id("stHeader")
    if not section:
        bar.get_by_role("link", name=title, exact=True).click()
        return
    bar.get_by_text(section, exact=True).click()
    page.get_by_role("menuitem", name=title, exact=True).click()


def switch(page, label: str, on: bool) -> None:
    """Set a switch. A click that meets a redraw of the controls may be lost on a busy machine: then it is as it was."""
    from playwright.sync_api import expect

    box = page.get_by_test_id("stCheckbox").filter(has_text=label)
    for _ in range(5):
        box.get_by_text(label).click()
        with suppress(AssertionError):
            expect(box.locator("input")).to_be_checked(checked=on, timeout=2000)
            return
    pytest.fail(f"“{label}” cannot be set")


def fits_across(page) -> bool:
    """Whether neither the page nor the part that scrolls is wider than the screen."""
    script = "[document.documentElement, document.querySelector('[data-testid=stMain]')]"
    return page.evaluate(f"{script}.every((e) => e.scrollWidth <= e.clientWidth)")


def epsilon_slider(page):
    return page.locator(".strip input.slider")


def editor_is_open(page) -> bool:
    return page.get_by_role("textbox", name="Text", exact=True).is_visible()


def painted(page) -> None:
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def idle(seen) -> None:
    """Wait until the page has nothing more to ask for, such as how much meaning each text of the dial keeps.

    Work under way is asked for every second at first, and a gauge without a figure waits for it.
    """
    known, since = len(seen.frames), time.monotonic()
    unknown = seen.page.locator(".strip .gauge strong:visible", has_text="…")
    for _ in range(LONG // 100):
        seen.page.wait_for_timeout(100)
        if len(seen.frames) != known or unknown.count():
            known, since = len(seen.frames), time.monotonic()
        elif time.monotonic() - since > 1.5:
            return
    raise AssertionError("the page goes on asking")


def calm(page) -> None:
    """Nothing runs: Streamlit's sign of it comes late, and what it tells tests at once."""
    from playwright.sync_api import expect

    page.locator("[data-testid=stStatusWidget]").first.wait_for(state="detached", timeout=LONG)
    state = "data-test-script-state"
    expect(page.locator(f"[{state}]")).to_have_attribute(state, "notRunning", timeout=LONG)


def turn(page, key: str, shown) -> None:
    """Press a key of the presenter until what it turns to is there: one that is pressed before the page listens is
    lost, and a person presses it again."""
    from playwright.sync_api import TimeoutError as Late

    for wait in (LONG / 4, LONG / 4, LONG):
        page.keyboard.press(key)
        try:
            shown.wait_for(timeout=wait)
            break
        except Late:
            if wait == LONG:
                raise
    calm(page)


def clean(seen) -> None:
    # Streamlit looks for its server below the page's address first, which fails: those two requests are its own. A
    # request that becomes a download is aborted as a page, and one for the page's icon when the page is left early.
    known = re.compile(r"/_stcore/|(/media/|/favicon).*ERR_ABORTED")
    assert not [f for f in seen.failed if not known.search(f)] and not seen.external
    assert not [e for e in seen.errors if "404" not in e]


def number(name: str) -> int:
    """The place of a lesson in the course, from 1."""
    return [one.name for one in LESSONS].index(name) + 1
