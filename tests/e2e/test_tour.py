"""The tour of the first screen, the attack over the text, and ε in words, by pointer, touch and keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from app_page import LONG, calm, editor, epsilon_slider, fits_across, idle, opened, painted, settled

pytestmark = [pytest.mark.browser, pytest.mark.slow]

#: Parts that keep their places and sizes through all steps.
PARTS = (".strip .reader .bar", ".strip .inspector", ".strip .dial", ".strip .gauge.told", ".strip .gauge.meant")
#: What takes a click or the keyboard on the first screen, outside of the navigation and the footer; a group of
#: words or tabs, between which arrow keys move, counts once.
CONTROLS = """() => {
  const found = [];
  const visit = (root) => {
    for (const e of root.querySelectorAll('*')) {
      if (e.shadowRoot) visit(e.shadowRoot);
      if (!e.matches('button, input, select, textarea, a[href], [role=tab]')) continue;
      if (e.closest('[data-testid=stHeader], [data-testid=stSidebar], [class*=st-key-footer], footer')) continue;
      if (e.disabled || e.tabIndex < 0) continue;
      if (!e.checkVisibility({ visibilityProperty: true })) continue;
      const box = e.getBoundingClientRect();
      if (box.width && box.top > 48 && box.bottom < innerHeight - 40) found.push(e.innerText || e.ariaLabel || e.type);
    }
  };
  visit(document);
  return found;
}"""


#: The places that the dial has had since, while another rewrite was on its way.
WATCH = """() => {
  window.tops = new Set();
  const look = () => {
    const dial = [...document.querySelectorAll('*')]
      .map((e) => e.shadowRoot?.querySelector('.strip .dial')).find(Boolean);
    if (dial) window.tops.add(Math.round(dial.getBoundingClientRect().top));
    window.watch = requestAnimationFrame(look);
  };
  look();
}"""


def places(page) -> tuple:
    return tuple(tuple(round(v) for v in page.locator(s).bounding_box().values()) for s in PARTS)


def step_is(page, k: int) -> None:
    page.locator(f":root[data-tour='{k}']").wait_for(state="attached", timeout=LONG)
    painted(page)


def percent_of(text: str) -> int:
    return int(re.search(r"(\d+)%", text)[1])


def test_five_steps_by_pointer_with_the_numbers_of_the_package(open_app: Callable) -> None:
    seen = opened(open_app, tour=True, viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    page = seen.page
    step_is(page, 1)
    assert page.get_by_role("heading", name="Tap everything that identifies her.").is_visible()
    assert not page.get_by_role("heading", name="Can a reader still tell?").is_visible()
    page.wait_for_timeout(500)  # the room for the text is tried out
    at = {places(page)}
    # 1. What identifies her.
    note = page.locator(".tour-text")
    for word in ("Halvorsen", "brother", "Seen"):
        note.get_by_role("button", name=word, exact=True).click()
    painted(page)
    assert page.locator(".tour-centre b").inner_text() == "2 of 12 words found"
    assert note.locator(".found").all_inner_texts() == ["Halvorsen", "brother"]
    page.get_by_role("button", name="Show what I missed").click()
    assert note.locator(".missed").count() == 10
    # 2. Redaction copies the fact.
    page.get_by_role("button", name="Next").click()
    step_is(page, 2)
    page.locator(".tour-panel .guess .word-odds", has_text="100%").wait_for(timeout=LONG)
    assert page.locator(".tour-panel .word-odds").all_inner_texts() == ["100%", "0%", "0%", "0%"]
    assert note.locator(".crossed").count() == 9
    assert page.locator(".tour-aside").inner_text() == "3 of these 12 words still visible"
    assert page.locator(".tour-centre b").inner_text() == "9 of 12 words crossed out"
    assert 50 < percent_of(page.locator(".meant strong").inner_text()) < 95
    at.add(places(page))
    page.get_by_role("button", name="Show the original").click()
    painted(page)
    assert note.locator(".crossed").count() == 0
    assert [page.locator(f".{gauge} strong").first.inner_text() for gauge in ("told", "meant")] == ["100%", "100%"]
    assert page.locator(".tour-aside").inner_text() == "the reader sees every word"
    assert page.locator(".tour-centre b").inner_text() == "nothing crossed out"
    at.add(places(page))
    # 3. One word drawn, twice.
    page.get_by_role("button", name="Next").click()
    step_is(page, 3)
    page.get_by_role("button", name="Sample again").click()
    history = page.locator(".tour-history b").all_inner_texts()
    assert len(history) == 2 and note.locator(".drawn").inner_text() == history[1]
    own, other = (float(v.split()[0]) for v in page.locator(".tour-lot b").all_inner_texts())
    assert own / other < 2.72 and other / own < 2.72 and "2.7 times" in page.locator(".tour-limit").inner_text()
    assert page.locator(".tour-centre b").inner_text() == "At ε = 1, 50:50 becomes at most 73:27."
    at.add(places(page))
    # 4. The slider.
    page.get_by_role("button", name="Next").click()
    step_is(page, 4)
    assert epsilon_slider(page).is_visible() and not note.is_visible()
    at.add(places(page))
    page.locator(".strip .odds li").first.wait_for(timeout=LONG)
    # 5. The challenge, and the doors.
    page.get_by_role("button", name="Next").click()
    step_is(page, 5)
    at.add(places(page))
    assert len(at) == 1, at
    page.locator(".strip .best", has_text="below 50%").wait_for(timeout=LONG)
    page.evaluate(WATCH)
    page.get_by_role("button", name="Whole sentences a public sentence instead").click()
    page.locator(".strip.unaligned").wait_for(timeout=LONG)
    assert page.evaluate("cancelAnimationFrame(window.watch), window.tops.size") == 1, "the progress moves nothing"
    assert page.locator(":root[data-tour='5']").count() == 1, "the challenge goes on"
    page.get_by_role("button", name="Your text Try your own text").click()
    page.get_by_role("textbox", name="Text", exact=True).wait_for(timeout=LONG)
    settled(page)
    editor(page).fill("My doctor in Lisbon treated my sister for diabetes last winter.")
    page.locator(".strip .before", has_text="Lisbon").wait_for(timeout=LONG)
    assert page.get_by_role("heading", name="Keep the reader below 50%").is_visible()
    page.get_by_role("button", name="Finish").click()
    assert page.locator(":root[data-tour]").count() == 0
    seen.assert_clean()


def test_by_keyboard_and_remembered_until_it_is_played_again(open_app: Callable) -> None:
    seen = opened(open_app, tour=True, viewport={"width": 1280, "height": 720})
    page = seen.page
    step_is(page, 1)
    word = page.locator(".tour-text button").first
    word.focus()
    word.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator(".tour-text [aria-pressed=true]").count() == 1
    page.locator(":root[data-tour='1']").wait_for(state="attached")  # arrow keys within the text are the text's
    page.get_by_role("button", name="Show what I missed").focus()
    page.keyboard.press("ArrowRight")
    step_is(page, 2)
    assert page.evaluate("document.activeElement !== document.body"), "the focused control is gone, the focus is not"
    page.keyboard.press("ArrowRight")
    step_is(page, 3)
    page.keyboard.press("ArrowLeft")
    step_is(page, 2)
    page.keyboard.press("Escape")
    page.locator(":root:not([data-tour])").wait_for(state="attached")
    assert epsilon_slider(page).evaluate("e => e.getRootNode().activeElement === e")
    calm(page)
    page.get_by_test_id("stHeader").get_by_role("link", name="Learn", exact=True).click()
    page.locator(".strip").wait_for(state="detached", timeout=LONG)
    page.get_by_test_id("stHeader").get_by_role("link", name="Explore", exact=True).click()
    page.locator(".strip .text button").first.wait_for(timeout=LONG)
    settled(page)
    assert page.locator(":root[data-tour]").count() == 0, "it was skipped in this session"
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("button", name="Tour", exact=True).click()
    step_is(page, 1)
    page.get_by_role("button", name="Tour", exact=True).wait_for(state="detached", timeout=LONG)
    assert page.evaluate("document.activeElement !== document.body"), "the focus is not lost with the menu"
    assert page.locator(".tour-text .found").count() == 0
    seen.assert_clean()


def test_on_a_phone_by_touch(open_app: Callable) -> None:
    seen = opened(open_app, tour=True, viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = seen.page
    step_is(page, 1)
    page.locator(".tour-text").get_by_role("button", name="Halvorsen").click()
    page.locator(".tour-peek").click()
    painted(page)
    sheet, dial = (page.locator(s).bounding_box() for s in (".strip .inspector", ".strip .dial"))
    assert page.locator(".tour-groups li").first.is_visible() and sheet["y"] + sheet["height"] <= dial["y"] + 1
    for k in (2, 3, 4, 5):
        page.get_by_role("button", name="Next").click()
        step_is(page, k)
        assert fits_across(page)
        parts = (".tour h1", ".tour .nav", ".strip .reader .bar")
        title, nav, text = (page.locator(s).first.bounding_box() for s in parts)
        assert title["y"] + title["height"] <= nav["y"] and nav["y"] + nav["height"] <= text["y"]
    seen.assert_clean()


def test_the_attack_lies_over_the_words_and_goes_with_them(open_app: Callable) -> None:
    seen = opened(open_app, viewport={"width": 1280, "height": 720})
    page = seen.page
    settled(page)
    page.locator(".strip .edit").first.wait_for(timeout=LONG)
    assert len(page.evaluate(CONTROLS)) <= 16, page.evaluate(CONTROLS)
    before = places(page)
    assert page.locator(".strip .gauge button:disabled").count() == 2
    assert page.locator(".strip .gauge button:disabled:not([title=''])").count() == 0, "they are text, without a hint"
    page.get_by_role("button", name="Show the attack").click()
    key = page.locator(".strip .key")
    key.filter(has_text=re.compile(r"recovered \d+ of \d+ words\.")).wait_for(timeout=LONG)
    n, of = map(int, re.search(r"recovered (\d+) of (\d+)", key.inner_text()).groups())
    assert page.locator(".strip .word.named").count() == n <= of
    assert places(page) == before
    slider = epsilon_slider(page)
    slider.press("ArrowLeft")
    painted(page)
    assert page.locator(".strip .word.named").count() == 0, "guesses of another text are gone"
    page.get_by_role("button", name="Hide the attack").click()
    key.filter(has_text="orange = replaced").wait_for(timeout=LONG)
    # ε in words follows the dial.
    words = page.locator(".odds-words")
    slider.press("Home")
    painted(page)
    assert words.inner_text().startswith("For one word, 50:50 becomes at most 99.995:0.005.")
    slider.press("End")
    painted(page)
    assert "73:27" in words.inner_text() and "ε = 250" in words.inner_text()
    idle(seen)
    page.locator(".strip .certain strong").filter(has_not_text="…").wait_for(timeout=LONG)
    # Another mechanism: its ε is another scale, and the same certainty is offered.
    page.locator(".st-key-play_family_custext button").click()
    match = page.get_by_role("button", name="Match the reader’s certainty")
    match.wait_for(timeout=LONG)
    match.click()
    painted(page)
    assert words.inner_text().startswith("For words that share a set, ")
    seen.assert_clean()


def test_choosing_and_freeing_a_word_moves_nothing_and_names_one_word_everywhere(open_app: Callable) -> None:
    seen = opened(open_app, viewport={"width": 1280, "height": 720})
    page = seen.page
    settled(page)
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("button", name="Analyses").click()
    page.locator(".st-key-play_far").wait_for(timeout=LONG)
    page.wait_for_function("document.activeElement.matches('.st-key-play_far')", timeout=LONG)
    page.get_by_role("button", name="Analyses", exact=True).wait_for(state="detached", timeout=LONG)
    settled(page)
    idle(seen)  # the drawer is scrolled into sight when it is drawn
    page.get_by_test_id("stMain").evaluate("e => e.scrollTo(0, 0)")
    page.get_by_role("tab", name="How it was replaced").click()
    settled(page)
    at = {places(page)}
    words = page.locator(".strip .text button.word")
    for k in (1, 2, 4):
        words.nth(k).click()
        painted(page)
        at.add(places(page))
        chosen = page.locator(".strip .pair .from").inner_text()
        page.locator(".st-key-play_far", has_text=f"“{chosen}”").wait_for(timeout=LONG)
        settled(page)
        at.add(places(page))
    assert len(at) == 1, at
    page.locator(".strip .pin").click()
    idle(seen)
    assert page.locator(".strip .pair .from").inner_text() == chosen
    assert f"“{chosen}”" in page.locator(".st-key-play_far").inner_text()
    seen.assert_clean()
