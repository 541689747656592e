"""The app in a browser: Explore (type, rewrite, drag, choose, download, hostile text), then axe on all pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from app_page import (
    APP,
    LONG,
    calm,
    clean,
    editor,
    editor_is_open,
    epsilon_slider,
    fits_across,
    idle,
    open_drawer,
    open_more,
    opened,
    painted,
    settled,
    show_tools,
    strip_text,
    switch,
    to_page,
    type_text,
)
from playwright.sync_api import Page

pytestmark = pytest.mark.browser

RELEASED = """text => {
  const copy = text.cloneNode(true);
  for (const was of copy.querySelectorAll('.was')) was.remove();
  return copy.textContent;
}"""


#: How far a mark stands from the word that it clings to, at most.
APART = """text => Math.max(...[...text.querySelectorAll('.mark:not(.lead)')].map(
  m => m.getBoundingClientRect().left - m.parentElement.querySelector('.now').getBoundingClientRect().right))"""


@pytest.mark.slow
def test_type_rewrite_drag_choose_download(open_app: Callable) -> None:
    from playwright.sync_api import expect

    seen = opened(open_app, reduced_motion="no-preference")
    page = seen.page
    assert "Halvorsen" in editor(page).input_value()
    open_drawer(page, "Analyses")

    type_text(page, "My doctor in Lisbon treated my sister for diabetes last winter.")
    page.locator(".strip .text .was", has_text="diabetes").wait_for(state="attached", timeout=LONG)
    settled(page)

    # Dragging ε by mouse changes words without a message to the server.
    idle(seen)
    at_default = strip_text(page)
    before = len(seen.frames)
    box = epsilon_slider(page).bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    for x in (0.4, 0.3, 0.2, 0.1, 0.02):
        page.mouse.move(box["x"] + box["width"] * x, y)
    painted(page)
    assert len(seen.frames) == before
    assert strip_text(page) != at_default
    leaves = page.locator(".st-key-play_does")
    expect(leaves).to_have_css("opacity", "0.4")  # it is that of the ε before
    page.mouse.up()
    page.wait_for_url(re.compile(r"epsilon=1[01]"), timeout=LONG)
    settled(page)
    expect(leaves).to_have_css("opacity", "1")
    # The address follows, without a text, and without an entry in the browser's history for every ε.
    page.wait_for_url(re.compile(r"/\?mechanism=dp-mlm&epsilon=1[01](\.\d+)?$"))
    assert page.evaluate("history.length") == 2

    # A word is chosen by mouse, then by keyboard; the panels follow.
    drawn = page.locator(".strip .text button", has_text="diabetes").first
    drawn.click()
    page.get_by_text("How “diabetes” was replaced").wait_for(timeout=LONG)
    settled(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_text("How “winter” was replaced").wait_for(timeout=LONG)
    settled(page)
    chance = page.locator(".strip .chance strong").inner_text()
    epsilon_slider(page).press("End")
    expect(page.locator(".strip .chance strong")).not_to_have_text(chance, timeout=LONG)
    settled(page)
    # A file is at another address after each run of the page: the last one is that of the gauge.
    expect(page.locator(".strip .gauge.meant strong")).not_to_have_text("…", timeout=LONG)
    settled(page)

    open_more(page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download text").click()
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert text.endswith(".") and text.startswith("My ") and len(text.split()) == 11

    # Who downloads at once after moving the dial gets the text in sight, and not that of the ε before.
    for end in ("Home", "End"):
        epsilon_slider(page).press(end)
        open_more(page)
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Download text").click()
        text = Path(waiting.value.path()).read_text(encoding="utf-8")
        assert text.split() == page.locator(".strip .text").evaluate(RELEASED).split(), end
    # A key that comes in between does nothing.
    open_more(page)
    left: list[object] = []
    page.on("download", lambda file: left.append(file))
    page.get_by_role("button", name="Download text").focus()
    moves = "(slider, kind) => slider.dispatchEvent(new Event(kind, { bubbles: true }))"
    epsilon_slider(page).evaluate(f"(slider) => {{ slider.value = slider.min; ({moves})(slider, 'input'); }}")
    page.locator("html[data-behind]").wait_for(state="attached")
    page.keyboard.press("Enter")
    epsilon_slider(page).evaluate(moves, "change")
    page.locator("html:not([data-behind])").wait_for(state="attached")
    settled(page)
    assert not left
    with page.expect_download():
        page.keyboard.press("Enter")
    seen.assert_clean()


def test_the_first_minute(open_app: Callable) -> None:
    seen = opened(open_app, viewport={"width": 1280, "height": 720}, reduced_motion="no-preference")
    page = seen.page
    settled(page)
    assert page.get_by_text("This note reveals that Mrs Halvorsen has heart trouble.").is_visible()
    assert page.locator(".strip .from").text_content() == "heart", "a word that gives it away is chosen"
    # All of it is on the screen: the rewrite, the steps, the slider, the promise and the families.
    assert page.get_by_test_id("stMain").evaluate("e => e.scrollHeight") <= 720
    page.get_by_role("tab", name="How it was replaced").click()
    assert page.locator(".strip .how li").count() == 4 and page.locator(".strip .how li").last.is_visible()
    families = page.locator(".st-key-play_families").bounding_box()
    assert families["y"] + families["height"] <= 720
    assert not editor_is_open(page)

    # From the top of the page to the slider.
    page.keyboard.press("Tab")
    page.get_by_role("link", name="Skip to the slider").press("Enter")
    assert page.evaluate("document.activeElement.shadowRoot?.activeElement?.className") == "slider"
    show_tools(page)
    idle(seen)  # what comes late may move what is below once
    box, below = epsilon_slider(page).bounding_box(), page.locator(".st-key-play_families")
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    places, apart, noise = set(), 0.0, set()
    for step in range(12):
        page.mouse.move(box["x"] + box["width"] * (0.5 - 0.04 * step), y)
        painted(page)
        places.add(below.bounding_box()["y"])
        apart = max(apart, page.locator(".strip .text").evaluate(APART))
        noise.add(page.locator(".strip .how b").nth(4).inner_text())
        # What still stands is counted as it is flagged, and it does not move what is below either.
        alive = page.locator(".strip .chip:not(.gone)").count()
        told = page.locator(".strip .stood strong").inner_text()
        assert sum(int(n) for n in re.findall(r"\d+", told)) == alive <= page.locator(".strip .word.stands").count()
        gauge = page.locator(".strip .which-stand strong").inner_text()
        assert gauge == f"{alive} of {page.locator('.strip .chip').count()}"
    page.mouse.up()
    assert page.locator(".strip .chip").first.inner_text().startswith("Halvorsen")
    # Which words are counted is told over the text, and Escape takes the list away before the chosen word.
    page.locator(".strip .which-stand").click()
    chips = page.locator(".strip .standing .chip")
    assert chips.first.is_visible() and "Halvorsen, name" in chips.first.inner_text()
    page.keyboard.press("Escape")
    assert not chips.first.is_visible() and page.locator(".strip .word[aria-pressed=true]").count() == 1
    page.locator(".strip .tint").select_option("stands")
    assert page.locator(".legend .lg-rest").is_visible() and not page.locator(".legend .lg-keep").is_visible()
    assert not page.locator(".legend .lg-changed").is_visible() and page.locator(".legend .lg-stands").is_visible()
    assert page.locator(".strip .tint option[value=attack]").get_attribute("hidden") is not None, "no figure, no offer"
    page.locator(".strip .tint").select_option("changed")
    assert len(places) == 1, "what stands below moved while ε did"
    assert len(noise) > 5, "the steps follow the dial"
    assert apart < 1.5, "marks stay with their words while originals are shown"

    seen.assert_clean()


def test_a_sheet_of_a_phone_stands_below_its_word_and_gives_way_to_what_is_below_it(open_once: Callable) -> None:
    """The first of those that share this page."""
    seen = opened(open_once, viewport={"width": 390, "height": 844})
    page = seen.page
    settled(page)
    editor(page)  # which takes room above the text
    settled(page)
    word = page.locator(".strip .text button", has=page.locator(".was", has_text="tests"))
    word.evaluate("node => node.scrollIntoView({ block: 'end' })")
    word.evaluate("node => node.click()")  # Playwright's own would scroll
    sheet, share = page.locator(".strip .inspector"), page.get_by_role("button", name="Share")
    page.get_by_role("tab", name="How it was replaced").click()
    page.locator(".strip .inspector .how").wait_for()
    painted(page)
    over, at = sheet.bounding_box(), word.bounding_box()
    assert over and at and over["y"] < 600 and at["y"] > 60 and at["y"] + at["height"] <= over["y"], "it stands above"
    page.get_by_test_id("stMain").evaluate("e => e.scrollTo(0, e.scrollHeight)")
    sheet.wait_for(state="hidden")
    share.scroll_into_view_if_needed()
    share.click(trial=True)
    # A bubble stands beside its question mark.
    page.set_viewport_size({"width": 1280, "height": 720})
    show_tools(page)
    tip = page.locator(".strip .budget .tip")
    for _ in range(20):  # while the page is laid out anew, the mark moves away from the pointer
        tip.hover()
        painted(page)
        if tip.locator(".bubble").is_visible():
            break
    mark, said = tip.bounding_box(), tip.locator(".bubble").bounding_box()
    assert 0 <= said["y"] - mark["y"] < 40 and said["x"] < mark["x"] < said["x"] + said["width"]
    page.set_viewport_size({"width": 1280, "height": 900})
    seen.assert_clean()


@pytest.mark.slow
def test_what_cannot_be_seen_takes_no_focus(open_once: Callable) -> None:
    seen = opened(open_once)
    page = seen.page
    settled(page)
    links = page.get_by_label("Link to heading")
    assert links.count() and not any(links.nth(i).is_visible() for i in range(links.count()))
    # On a phone the pages are in a bar that is shut, and the menu beside it stays within reach.
    page.set_viewport_size({"width": 320, "height": 640})
    pages = page.get_by_test_id("stSidebarNavLink")
    pages.first.wait_for(state="attached")
    assert pages.count() > 3 and not any(pages.nth(i).is_visible() for i in range(pages.count()))
    menu = page.get_by_test_id("stMainMenuButton").bounding_box()
    assert menu and menu["x"] + menu["width"] <= 320
    page.get_by_test_id("stExpandSidebarButton").click()
    pages.first.wait_for()
    page.get_by_test_id("stSidebarCollapseButton").locator("button").click()
    pages.first.wait_for(state="hidden")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_test_id("stTopNavLink").first.wait_for()
    seen.assert_clean()


@pytest.mark.slow
def test_nothing_overflows_on_a_phone(open_once: Callable) -> None:
    seen = opened(open_once)
    page = seen.page
    settled(page)
    page.set_viewport_size({"width": 390, "height": 844})
    ground = "getComputedStyle(document.querySelector('.stApp')).backgroundColor"
    bright = page.evaluate(ground)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(f"({ground} === '{bright}') === {str(scheme == 'light').lower()}", timeout=LONG)
        # The page then reruns, so that figures and popovers also get the new colours.
        page.wait_for_function(f"getComputedStyle(document.documentElement).colorScheme === '{scheme}'", timeout=LONG)
        settled(page)
        painted(page)
        assert fits_across(page), scheme
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_function(f"{ground} === '{bright}'", timeout=LONG)
    seen.assert_clean()


@pytest.mark.slow
def test_one_statement_where_each_word_has_its_own_epsilon(open_once: Callable) -> None:
    seen = opened(open_once)
    page = seen.page
    settled(page)
    open_drawer(page, "Advanced")
    page.get_by_text("Budget", exact=True).first.click()
    settled(page)
    kept = page.get_by_role("switch", name="Keep stop words")
    before = kept.is_checked()
    page.get_by_role("button", name="Help for Keep stop words").click()
    page.wait_for_timeout(300)  # a switch turns at once
    assert kept.is_checked() == before, "who asks for help turns nothing"
    switch(page, "One total for all words", True)
    page.get_by_text("By frequency", exact=True).click()
    page.locator(".strip .spread", has_text="Each word has a separate ε, from").wait_for(timeout=LONG)
    settled(page)
    assert not epsilon_slider(page).is_visible() and not page.locator(".strip .exact").is_visible()
    switch(page, "One total for all words", False)
    page.locator(".strip .exact").wait_for(timeout=LONG)
    assert epsilon_slider(page).is_visible() and not page.locator(".strip .spread").is_visible()
    seen.assert_clean()


def test_hostile_text_is_shown_literally(open_once: Callable) -> None:
    seen = opened(open_once)
    page = seen.page
    hostile = "<img src=x onerror=alert(1)> **bold** [link](http://example.org/a.png) doctor $x$ :smile:"
    page.on("dialog", lambda d: pytest.fail("a script ran"))
    type_text(page, hostile)
    page.locator(".strip .text").get_by_text("onerror", exact=False).first.wait_for(state="attached", timeout=LONG)
    settled(page)
    assert page.locator(".strip .text img, .strip .text strong, .strip .text a").count() == 0
    page.locator(".strip .text button", has_text="doctor").first.click()
    open_drawer(page, "Analyses")
    page.get_by_text("How “doctor” was replaced").wait_for(timeout=LONG)
    assert page.locator("img[src*=example], img[src=x]").count() == 0
    seen.assert_clean()


@pytest.mark.slow
def test_options_bring_their_page_with_them(open_once: Callable) -> None:
    seen = opened(open_once)
    page = seen.page
    type_text(page, "The doctor told my friend everything.")
    page.locator(".strip .text").get_by_text("everything").first.wait_for(timeout=LONG)
    settled(page)
    open_drawer(page, "Advanced")
    page.get_by_text("Repeatable demonstration").click()
    switch(page, "Use a seed", True)
    page.locator(".strip .badge.seeded").wait_for(timeout=LONG)
    switch(page, "Use a seed", False)
    page.locator(".strip .badge.seeded").wait_for(state="hidden", timeout=LONG)
    settled(page)
    seen.assert_clean()


#: Neighbours in the text with nothing between them that stand on different lines, as [one, other].
BROKEN = """() => {
  const roots = [document, ...[...document.querySelectorAll('*')].map(e => e.shadowRoot).filter(Boolean)];
  const words = roots.flatMap(r => [...r.querySelectorAll('.strip .text .word')]);
  const pairs = words.slice(1).map((w, k) => [words[k], w]).filter(([a, b]) => {
    const between = document.createRange();
    between.setStartAfter(a);
    between.setEndBefore(b);
    return between.toString() === '' && a.getBoundingClientRect().bottom <= b.getBoundingClientRect().top;
  });
  return pairs.map(pair => pair.map(w => w.innerText));
}"""


@pytest.mark.slow
def test_a_generator_writes_again_at_another_epsilon_and_shows_what_a_piece_was_drawn_from(open_app: Callable) -> None:
    seen = open_app(APP, query="/?mechanism=dp-prompt&epsilon=100", viewport={"width": 390, "height": 844})
    page = seen.page
    page.locator(".strip.sequential .text button").first.wait_for(timeout=LONG)
    settled(page)
    before = strip_text(page)
    epsilon_slider(page).press("Home")
    page.locator(".strip .hint", has_text="at this ε").wait_for(timeout=LONG)
    page.locator(".strip.sequential:not(.stale)").wait_for(timeout=LONG)
    settled(page)
    assert strip_text(page) != before and page.locator(".strip .exact").input_value() == "5.00"
    assert page.evaluate(BROKEN) == []
    page.locator(".strip .text button").nth(2).click()
    page.get_by_role("tab", name="How it was replaced").click()
    page.locator(".strip .rows .row.released").wait_for(timeout=LONG)
    names = page.locator(".strip .rows .row:not(.others) .name").all_inner_texts()
    assert len([n for n in names if n.strip()]) == 3, "and all others in one row"
    settled(page)
    seen.assert_clean()


@pytest.mark.slow
def test_the_first_page_opens_at_an_earlier_address_without_what_a_link_hides_and_its_last_line_forgets(
    open_app: Callable,
) -> None:
    from playwright.sync_api import expect

    seen = open_app(APP, query="/explore?mechanism=dp-mlm&epsilon=20.5&hide=mechanism,options,seed")
    page = seen.page
    page.locator(".strip .text button").first.wait_for(timeout=LONG)
    calm(page)
    assert page.locator(".strip .exact").input_value().startswith("20.5")
    for wrong in ("Page not found", "This link was not followed"):
        assert page.get_by_text(wrong).count() == 0
    open_drawer(page, "Advanced")  # what few need, and what leads further, stay
    page.get_by_text("Open a file").wait_for(timeout=LONG)
    open_more(page)
    assert page.get_by_role("button", name="Analyses").is_visible()
    page.keyboard.press("Escape")
    for gone in ("Neighbours", "Mechanism", "More options", "Budget", "Clipping range"):
        assert not page.get_by_text(gone, exact=True).first.is_visible(), gone
    for gone in ("Use a public prior", "Compare clipping widths", "Repeatable demonstration"):
        assert not page.get_by_text(gone).first.is_visible(), gone

    settled(page)  # closing “More” reruns the page, which may meet what is typed
    type_text(page, "My doctor paid.")
    page.locator(".strip .text .was", has_text="doctor").wait_for(state="attached", timeout=LONG)
    settled(page)
    foot = page.locator(".st-key-footer")
    foot.get_by_role("button", name="About").click()
    expect(foot.get_by_role("button", name="About")).to_have_attribute("aria-expanded", "true")
    page.get_by_role("radio", name="Licences").click()
    page.get_by_text("The code is under the MIT licence").wait_for(timeout=LONG)
    page.get_by_role("radio", name="Your data").click()
    page.get_by_role("button", name="Delete everything").click()
    page.locator(".strip .text .was", has_text="Halvorsen").wait_for(state="attached", timeout=LONG)
    clean(seen)


#: What a page shows when it is ready, in the order in which a visitor may go through them.
PAGES = {
    "Explore": (".strip .text button", ""),
    "Compare": (".rewrite .word", ""),
    "Batch": ("text=Resume a job", ""),
    "Learn": ("text=Judge for yourself", ""),
    "Benchmarks": (".js-plotly-plot .main-svg", "Research"),
    "Findings": ("text=Which mechanism", "Research"),
    "Audit": ("text=The verdict appears here", "Research"),
}


#: Of axe-core: what WCAG demands, in the page's own document (there are no others).
AXE = {"resultTypes": ["violations"], "iframes": False, "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}


#: Nothing that stands around what leaves the page is dimmed, as it is while a newer rewrite is on its way.
BRIGHT = """() => {
  let bright = true;
  for (let e = document.querySelector(".st-key-play_does"); e; e = e.parentElement)
    bright &&= getComputedStyle(e).opacity === "1";
  return bright;
}"""


def serious(page: Page, title: str) -> list[tuple[str, ...]]:
    """What axe-core finds on a page that has come to rest: what is dimmed has little contrast, on purpose."""
    calm(page)
    page.wait_for_function(BRIGHT, timeout=LONG)
    result = page.evaluate("options => axe.run(options)", AXE)
    return [
        (title, v["id"], node["target"], node["html"][:200])
        for v in result["violations"]
        if v["impact"] in ("serious", "critical")
        for node in v["nodes"]
    ]


@pytest.mark.slow
def test_axe_finds_nothing_serious_on_any_page(open_once: Callable) -> None:
    axe = pytest.importorskip("axe_playwright_python.base", reason="pip install axe-playwright-python")
    seen = opened(open_once)
    page = seen.page
    page.evaluate(axe.AXE_SCRIPT)
    type_text(page, "My doctor paid.")  # which the pages after it take over, so that they are soon done
    page.locator(".strip .text .was", has_text="doctor").wait_for(state="attached", timeout=LONG)
    found = []
    for title, (ready, section) in PAGES.items():
        if title != "Explore":
            to_page(page, title, section)
        page.locator(ready).first.wait_for(timeout=LONG)
        found += serious(page, title)
        if title in ("Batch", "Findings"):  # those that no other test opens on a phone
            page.set_viewport_size({"width": 390, "height": 844})
            painted(page)
            if not fits_across(page):
                found.append((title, "wide"))
            page.set_viewport_size({"width": 1280, "height": 900})
        if title == "Compare":
            page.get_by_role("radio", name="Trade-off plot").click()
            page.locator(".js-plotly-plot .main-svg").first.wait_for(timeout=LONG)
            found += serious(page, "the map")
    assert not found
    clean(seen)
