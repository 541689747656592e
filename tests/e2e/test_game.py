"""The game against the optimal reader in a browser: by keyboard on a phone, and in class over two pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from dptext_studio import lessons
from dptext_studio.lessons import reader_game
from dptext_studio.server.votes import PARAMETER
from dptext_studio.views.learn.learning import GAME

pytestmark = pytest.mark.browser

APP = Path(__file__).resolve().parents[2] / "app.py"
LONG = 60_000
NUMBER = [one.name for one in lessons.LESSONS].index(GAME) + 1
CHOICES = ".st-key-game_choices button"


def calm(page) -> None:
    from playwright.sync_api import expect

    expect(page.locator("[data-test-script-state]")).to_have_attribute(
        "data-test-script-state", "notRunning", timeout=LONG
    )


#: Of axe-core: what WCAG demands, in the page's own document.
AXE = {"resultTypes": ["violations"], "iframes": False, "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}


def serious(page) -> list[tuple[str, ...]]:
    """What axe-core finds on a page at rest."""
    calm(page)
    found = page.evaluate("options => axe.run(options)", AXE)["violations"]
    return [(v["id"], *n["target"]) for v in found if v["impact"] in ("serious", "critical") for n in v["nodes"]]


@pytest.mark.slow
def test_a_game_by_keyboard_on_a_phone(open_app: Callable) -> None:
    axe = pytest.importorskip("axe_playwright_python.base", reason="pip install axe-playwright-python")
    size = {"width": 390, "height": 844}
    seen = open_app(APP, query=f"/learn?lesson={NUMBER}", viewport=size, color_scheme="dark")
    page, rules = seen.page, reader_game.rules()
    page.evaluate(axe.AXE_SCRIPT)
    rounds = len(rules.epsilons) * rules.rounds_each
    for number in range(1, rounds + 1):
        page.get_by_text(f"Round {number} of {rounds}").wait_for(timeout=LONG)
        page.locator(CHOICES).nth(rules.k - 1).wait_for(timeout=LONG)
        calm(page)
        sizes = page.locator(CHOICES).evaluate_all("all => all.map(e => e.getBoundingClientRect().height)")
        assert len(sizes) == rules.k and min(sizes) >= 44, "a thumb hits them"
        if number == 1:
            assert not serious(page)
        page.keyboard.press(str(number % rules.k + 1))
        page.locator(".st-key-game_next button").wait_for(timeout=LONG)
        page.locator(".bars li.original").wait_for(timeout=LONG)
        calm(page)
        if number == 1:
            assert not serious(page)
        page.keyboard.press("Enter")
    page.locator(".curves circle").first.wait_for(timeout=LONG)
    assert page.locator(".curves > svg circle").count() == 2 * len(rules.epsilons)
    assert not serious(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_role("button", name="Play again").click()
    page.get_by_text(f"Round 1 of {rounds}").wait_for(timeout=LONG)
    calm(page)
    assert not seen.external and not [e for e in seen.errors if "404" not in e]


@pytest.mark.slow
def test_a_phone_follows_the_wall_and_sees_the_answer_with_it(open_app: Callable) -> None:
    teacher = open_app(APP, query="/learn?lesson=1").page
    teacher.get_by_text("For teachers").click()
    teacher.get_by_role("tab", name="Class session").click()
    teacher.get_by_text("Start a class session", exact=True).click()
    teacher.wait_for_url(f"**{PARAMETER}=*", timeout=LONG)
    room = teacher.url.split(f"{PARAMETER}=")[1].split("&")[0]
    teacher.wait_for_function("sessionStorage.getItem('dptext-host')", timeout=LONG)
    calm(teacher)
    teacher.goto(teacher.url.replace("lesson=1", f"lesson={NUMBER}") + "&present=1")
    teacher.get_by_role("heading", level=1).wait_for(timeout=LONG)  # the tab still holds the key
    assert dict(parse_qsl(urlsplit(teacher.url).query)).keys() == {"lesson", PARAMETER, "present"}
    calm(teacher)
    phone = open_app(APP, query=f"/learn?{PARAMETER}={room}", viewport={"width": 390, "height": 844}).page
    phone.get_by_text("plays this game together").wait_for(timeout=LONG)
    teacher.get_by_role("button", name="Next").click()
    phone.locator(CHOICES).first.wait_for(timeout=LONG)
    calm(phone)
    phone.locator(CHOICES).first.click()
    teacher.get_by_text("1 answered.").wait_for(timeout=LONG)
    assert not phone.locator(".bars").count() and not teacher.locator(".bars").count()
    teacher.get_by_role("button", name="Next").click()
    teacher.locator(".bars").first.wait_for(timeout=LONG)
    phone.locator(".bars li.original").first.wait_for(timeout=LONG)
    assert not phone.locator(CHOICES).count()
