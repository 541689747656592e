"""What a reader believes, on the first screen: it moves with the slider without the server, by keyboard, on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from app_page import LONG, calm, epsilon_slider, fits_across, idle, opened, painted, settled

pytestmark = pytest.mark.browser

#: The address of the first page, for tests of a phone, which share a page.
PHONE = "/?"
FIXED = (".strip .inspector", ".strip .odds", ".strip .guides", ".strip .dial", ".st-key-play_families")


def places_of(page) -> tuple[tuple[float, ...], ...]:
    """Where the parts are that stay where they are while the slider moves."""
    return tuple(tuple(page.locator(s).bounding_box().values()) for s in FIXED)


def bars_of(page) -> list[str]:
    page.locator(".strip .odds li").first.wait_for(timeout=LONG)
    return page.locator(".strip .odds .word-name").all_inner_texts()


@pytest.mark.slow
def test_a_drag_moves_the_belief_without_the_server_and_nothing_else(open_once: Callable) -> None:
    seen = opened(open_once, viewport={"width": 1280, "height": 720})
    page = seen.page
    settled(page)
    assert bars_of(page) == ["heart", "lung", "kidney", "liver"]
    idle(seen)
    assert page.get_by_role("tab", selected=True).inner_text() == "What a reader believes"
    assert page.get_by_role("heading", name="Can a reader still tell?").is_visible()
    assert "≈" not in page.locator(".strip .sure b").inner_text(), "exact where the slider rests"
    box, before = epsilon_slider(page).bounding_box(), len(seen.frames)
    y, heads, places, orders = box["y"] + box["height"] / 2, set(), set(), set()
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    page.evaluate("() => { window.__dptextStrip.recent.length = 0; }")
    for step in range(12):
        page.mouse.move(box["x"] + box["width"] * (0.5 - 0.04 * step), y)
        painted(page)
        heads.add(page.locator(".strip .sure b").inner_text())
        certainty = page.locator(".strip .certain strong").inner_text().replace(" ", "")
        assert certainty == page.locator(".strip .sure b").inner_text()
        places.add(places_of(page))
        orders.add(tuple(bars_of(page)))
    assert len(seen.frames) == before, "a drag asks no server"
    assert len(heads) > 5 and len(orders) == 1 and len(places) == 1
    spent = sorted(page.evaluate("window.__dptextStrip.recent"))
    assert spent[len(spent) // 2] <= 17
    page.mouse.up()
    page.locator(".strip .sure b").filter(has_not_text="≈").wait_for(timeout=LONG)
    page.wait_for_timeout(700)  # a change is spoken after half a second
    spoken = page.locator(".strip .spoken").text_content()
    assert page.locator(".strip .gauge .unchanged").inner_text() in spoken
    assert f"a reader is {page.locator('.strip .sure b').inner_text()} sure" in spoken
    percents = [v.strip("<>%") for v in page.locator(".strip .word-odds").all_inner_texts()]
    assert 96 <= sum(map(int, percents)) <= 104
    assert re.search(r"a reader is \S+ sure: ", epsilon_slider(page).get_attribute("aria-valuetext"))
    first = page.locator(".strip .odds li").first.text_content()
    assert "before: 25%" in first and "guarantee allows" in first, "a bar has its numbers as text"

    # The other view, by keyboard: the panel keeps its size.
    panel = page.locator(".strip .inspector")
    size = panel.bounding_box()
    page.get_by_role("tab", name="What a reader believes").press("ArrowRight")
    assert page.locator(".strip .how li").first.is_visible() and not page.locator(".strip .odds").is_visible()
    assert page.get_by_role("tab", selected=True).inner_text() == "How it was replaced"
    assert panel.bounding_box() == size
    for word in (".pair .from", ".pair .to"):
        assert page.locator(f".strip {word}").evaluate("e => e.scrollWidth <= e.clientWidth"), "no word is cut"
    page.get_by_role("tab", name="How it was replaced").press("Home")

    # Other possibilities, which the visitor names.
    page.locator(".strip .guides .edit").click()
    page.get_by_label("Alternatives, separated by commas").fill("lung, brain")
    page.get_by_label("Alternatives, separated by commas").press("Enter")
    page.locator(".strip .word-name", has_text="brain").wait_for(timeout=LONG)
    assert bars_of(page) == ["heart", "lung", "brain"] and "brain" not in page.url
    page.locator(".strip .sure .prior", has_text="33%").wait_for()
    assert "are used" not in page.locator(".strip .remark").inner_text()
    page.locator(".strip .guides .edit").click()
    page.get_by_label("Alternatives, separated by commas").fill(", ".join(f"o{k}" for k in range(60)))
    page.get_by_label("Alternatives, separated by commas").press("Enter")
    page.locator(".strip .word-name", has_text="o6").wait_for(timeout=LONG)
    assert bars_of(page) == ["heart", *(f"o{k}" for k in range(7))]
    assert page.locator(".strip .remark").inner_text().startswith("The first 7 alternatives are used.")
    seen.assert_clean()


@pytest.mark.slow
def test_without_a_belief_the_panel_says_why_and_the_gauge_counts_words(open_once: Callable) -> None:
    seen = opened(open_once, viewport={"width": 1280, "height": 720})
    page = seen.page
    settled(page)
    page.locator(".st-key-play_family_mahalanobis button").click()
    page.locator(".strip .no-belief strong", has_text="No exact belief for this mechanism").wait_for(timeout=LONG)
    settled(page)
    assert not any(page.locator(f".strip .{part}").is_visible() for part in ("certain", "odds", "at-most"))
    assert re.fullmatch(r"\d of 8", page.locator(".strip .which-stand strong").inner_text())
    # CusText: what is outside of the set of a word is ruled out, and not covered.
    page.locator(".st-key-play_family_custext button").click()
    page.locator(".strip .odds li.bare").first.wait_for(timeout=LONG)
    assert "The guarantee does not cover" in page.locator(".strip .remark").inner_text()
    assert "no guarantee" in page.locator(".strip .odds li.bare").first.text_content()
    seen.assert_clean()


@pytest.mark.slow
def test_a_mark_on_the_dial_sets_the_largest_epsilon_with_at_most_half_certainty(open_once: Callable) -> None:
    """The first of those that share the page of a phone."""
    seen = opened(open_once, query=PHONE, viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = seen.page
    settled(page)
    mark = page.locator(".strip .at-most")
    for _ in range(8):  # another draw, where this one tells more than half already at the left end, or never
        page.locator(".strip .best", has_text="optimal guess").wait_for(timeout=LONG)
        idle(seen)
        if mark.is_visible():
            break
        page.get_by_role("button", name="Rewrite again").click()
        settled(page)
    assert mark.inner_text() == "at most 50% sure in this draw"
    axis, box, dial = (page.locator(s).bounding_box() for s in (".strip .axis", ".strip .at-most", ".strip .dial"))
    assert dial["x"] <= box["x"] and box["x"] + box["width"] <= dial["x"] + dial["width"] and box["y"] >= dial["y"]
    assert fits_across(page)
    slider = epsilon_slider(page)
    slider.press("ArrowRight")
    painted(page)
    assert mark.bounding_box() == box and page.locator(".strip .axis").bounding_box() == axis, "it stays in its place"
    slider.press("Tab")  # by keyboard, it comes after the slider
    assert mark.evaluate("e => e.getRootNode().activeElement === e")
    mark.press("Enter")
    painted(page)
    at = float(slider.get_attribute("data-eps"))
    assert f"ε = {at:g}:" in mark.get_attribute("title")
    assert slider.evaluate("e => e.getRootNode().activeElement === e")
    idle(seen)
    page.locator(".strip .certain strong").filter(has_not_text="≈").wait_for(timeout=LONG)
    sure = page.locator(".strip .certain strong").inner_text()
    assert 25 <= int(sure.strip("%")) <= 50, "exact, from the server"
    seen.assert_clean()


@pytest.mark.slow
def test_on_a_phone_the_bars_are_the_first_card_of_the_sheet(open_once: Callable) -> None:
    seen = opened(open_once, query=PHONE, viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = seen.page
    settled(page)
    calm(page)
    page.locator(".strip .best", has_text="optimal guess").wait_for(timeout=LONG)
    redraw, key = page.get_by_role("button", name="Rewrite again").bounding_box(), page.locator(".strip .key")
    assert key.bounding_box()["y"] >= redraw["y"] + redraw["height"], "the legend is not behind the button"
    assert key.evaluate("e => e.scrollWidth <= e.clientWidth")
    page.locator(".strip .certain").click()
    bars_of(page)
    painted(page)
    sheet, dial = page.locator(".strip .inspector").bounding_box(), page.locator(".strip .dial").bounding_box()
    tabs, odds = page.locator(".strip .tabs").bounding_box(), page.locator(".strip .odds").bounding_box()
    assert sheet["y"] <= tabs["y"] < odds["y"] and odds["y"] + odds["height"] <= dial["y"] + 1
    assert abs(sheet["y"] + sheet["height"] - dial["y"]) < 2, "it lies on the dial"
    assert not page.locator(".strip .how").is_visible()
    assert fits_across(page)
    names_again(page)
    seen.assert_clean()


@pytest.mark.slow
def test_possibilities_that_were_refused_are_named_again_above_the_dial(open_once: Callable) -> None:
    """Of whole sentences; on a phone, the test of the sheet has them."""
    seen = opened(open_once, viewport={"width": 1280, "height": 720})
    page = seen.page
    settled(page)
    page.locator(".st-key-play_family_dp-sentence button").first.click()
    page.locator(".strip.unaligned").wait_for(timeout=LONG)
    page.locator(".strip .best", has_text="optimal guess").wait_for(timeout=LONG)
    names_again(page)
    seen.assert_clean()


def names_again(page) -> None:
    """Possibilities that are refused are named again, with a button that nothing covers."""
    bars_of(page)
    page.locator(".strip .guides .edit").click()
    page.get_by_label("Alternatives, separated by commas").fill("heart")
    page.get_by_label("Alternatives, separated by commas").press("Enter")
    page.locator(".strip .no-belief strong", has_text="No belief about").wait_for(timeout=LONG)
    page.get_by_role("button", name="Enter alternatives", exact=True).click()
    painted(page)
    apply, dial = page.get_by_role("button", name="Apply"), page.locator(".strip .dial").bounding_box()
    box = apply.bounding_box()
    assert box["y"] + box["height"] <= dial["y"] + 1
    page.get_by_label("Alternatives, separated by commas").fill("lung")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator(".strip .odds .word-name", has_text="lung").wait_for(timeout=LONG)
    page.locator(".strip .odds .word-name", has_text="kidney").wait_for(state="detached", timeout=LONG)
    assert bars_of(page) == ["heart", "lung"]
