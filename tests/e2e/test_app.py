"""The app in a browser: Explore (type, rewrite, drag, choose, download, hostile text), then its other pages.

One file, so that one server, which takes long to start, serves all of it.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import typed
from playwright.sync_api import Page

from dptext_studio.lessons import LESSONS

pytestmark = pytest.mark.browser

APP = Path(__file__).resolve().parents[2] / "app.py"
LONG = 60_000
#: Where the last mark of the first curve of ours lies on the screen.
FIRST_MARK = """g => {
  g.scrollIntoView({block: 'center'});
  const t = g._fullData.find(t => t.type === 'scatter' && t.customdata && t.customdata[0] && t.customdata[0][0]);
  const last = t.x.length - 1, box = g.getBoundingClientRect(), {xaxis, yaxis} = g._fullLayout;
  return [box.left + xaxis._offset + xaxis.d2p(t.x[last]), box.top + yaxis._offset + yaxis.d2p(t.y[last])];
}"""
#: How far a mark stands from the word that it clings to, at most.
RELEASED = """text => {
  const copy = text.cloneNode(true);
  for (const was of copy.querySelectorAll('.was')) was.remove();
  return copy.textContent;
}"""
APART = """text => Math.max(...[...text.querySelectorAll('.mark:not(.lead)')].map(
  m => m.getBoundingClientRect().left - m.parentElement.querySelector('.now').getBoundingClientRect().right))"""

#: Where the point of the first mechanism with the largest ε lies on the screen, scrolled into sight.
LAST_POINT = """g => {
  g.scrollIntoView({block: 'center'});
  const t = g._fullData.find(t => t.mode === 'lines+markers');
  const last = t.x.length - 1, box = g.getBoundingClientRect(), {xaxis, yaxis} = g._fullLayout;
  return [box.left + xaxis._offset + xaxis.d2p(t.x[last]), box.top + yaxis._offset + yaxis.d2p(t.y[last])];
}"""


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


def epsilon_slider(page):
    return page.locator(".strip input.slider")


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
    page.wait_for_timeout(150)
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
    page.get_by_text("“diabetes” was drawn").wait_for(timeout=LONG)
    settled(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_text("“winter” was drawn").wait_for(timeout=LONG)
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


#: Types into the box as soon as it has its text, long before the rest of the page is there.
EARLY = """
const timer = setInterval(() => {
  const box = document.querySelector(".st-key-play_text textarea");
  if (!box?.value) return;
  clearInterval(timer);
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(box, "My neighbour called.");
  box.dispatchEvent(new Event("input", { bubbles: true }));
}, 1);
"""


@pytest.mark.slow
def test_what_is_typed_before_the_page_is_whole_is_rewritten_too(open_once: Callable) -> None:
    """The first of those that share this page."""
    seen = open_once(APP, query="/?mechanism=custext", script=EARLY)
    seen.page.locator(".strip .text .was", has_text="neighbour").wait_for(state="attached", timeout=LONG)
    seen.assert_clean()


def own_text(open_once: Callable):
    """Explore with 60 words under a mechanism that answers at once, and the cursor behind the last one."""
    seen = opened(open_once, query="/?mechanism=custext")
    page = seen.page
    box = editor(page)
    if seen.reused:
        box.fill("What stood here is gone.")
        page.locator(".strip .text .was", has_text="neighbour").first.wait_for(state="detached", timeout=LONG)
    box.fill(typed.SIXTY)
    page.locator(".strip .text .was", has_text="neighbour").wait_for(state="attached", timeout=LONG)
    settled(page)
    box.click()
    page.keyboard.press("Control+End")
    return seen, box


@pytest.mark.slow
def test_the_rewrite_follows_who_types_and_takes_neither_focus_nor_cursor(open_once: Callable) -> None:
    seen, box = own_text(open_once)
    page = seen.page
    page.locator(".strip .text button", has=page.locator(".was", has_text="clinic")).click()
    settled(page)
    box.click()
    page.keyboard.press("Control+End")
    drawn = page.locator(".strip .text .now").all_inner_texts()
    more = typed.MORE[:17]
    found = typed.watched(page, more)
    assert len(found.ages) > 30 and box.input_value() == typed.SIXTY + more
    assert (found.unknown, found.backwards, found.unfocused) == (0, 0, 0)
    assert page.locator(".strip .text .now").all_inner_texts()[: len(drawn)] == drawn, "what stands before stays drawn"
    assert page.evaluate("(b => b.selectionStart === b.value.length)(document.activeElement)")
    assert page.locator(".strip .from").text_content() == "clinic", "a chosen word stays chosen in its place"
    # While keys were pressed texts were sent; each is in no address.
    assert any(size > len(typed.SIXTY) for size in seen.frames) and "neighbour" not in page.url
    assert page.get_by_role("button", name="Rewrite", exact=True).count() == 0
    seen.assert_clean()


@pytest.mark.slow
def test_the_cursor_stays_in_the_middle_and_the_last_words_can_be_taken_back(open_once: Callable) -> None:
    seen, box = own_text(open_once)
    page = seen.page
    page.keyboard.press("Control+Home")
    for _ in range(3):
        page.keyboard.press("Control+ArrowRight")
    page.keyboard.type("Xylander ")
    page.locator(".strip .text .was", has_text="Xylander").wait_for(state="attached", timeout=LONG)
    settled(page)
    where = page.evaluate("document.activeElement.selectionStart")
    assert box.input_value()[:where].endswith("Xylander ") and where < 60
    page.keyboard.type("Yves ")
    page.locator(".strip .text .was", has_text="Yves").wait_for(state="attached", timeout=LONG)
    for _ in range(len("Xylander Yves ")):
        if box.input_value() != typed.SIXTY:
            page.keyboard.press("Control+z")
    assert box.input_value() == typed.SIXTY
    page.locator(".strip .text .was", has_text="Xylander").wait_for(state="detached", timeout=LONG)
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    seen.assert_clean()


#: What comes first after a text was changed, however busy the machine is: the dimming, or what is sent.
ORDER = """() => {
  window.order = [];
  new MutationObserver((all) => {
    if (all.some((m) => [...m.addedNodes].some((n) => n.textContent?.includes("opacity: 0.45")))) {
      window.order.push("dimmed");
    }
  }).observe(document.head, { childList: true });
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (...data) {
    window.order.push("sent");
    return send.apply(this, data);
  };
}"""


def dimmed_at_once(seen, box) -> None:
    """Where most of the text in the box is deleted, what is shown of it is dimmed before anything is sent. Compare says
    what is to be dimmed to the same script."""
    from playwright.sync_api import expect

    page = seen.page
    opacity = "Number(getComputedStyle(document.querySelector('[class*=st-key-play_before]')).opacity)"
    calm(page)
    page.wait_for_function(f"{opacity} === 1", timeout=LONG)
    idle(seen)
    page.evaluate(ORDER)
    box.select_text()
    page.keyboard.insert_text(typed.SIXTY)
    page.wait_for_function("window.order.includes('sent')", timeout=LONG)
    assert page.evaluate("window.order[0]") == "dimmed", "before anything is sent"
    short = re.compile(r"^[\s\S]{1,700}$")
    expect(page.locator(".strip .text").first).to_have_text(short, use_inner_text=True, timeout=LONG)
    page.wait_for_function(f"{opacity} === 1", timeout=LONG)


@pytest.mark.slow
def test_a_long_text_waits_for_a_longer_pause_or_for_the_keys_that_send_it_and_is_dimmed_where_most_is_deleted(
    open_once: Callable,
) -> None:
    seen, box = own_text(open_once)
    page = seen.page
    box.fill(f"{typed.SIXTY} " * 6)
    page.get_by_text("This text has more than 300 words").wait_for(timeout=LONG)
    page.get_by_text("when you pause for 1.5 seconds").wait_for(timeout=LONG)
    page.locator(".strip .text.long").wait_for(timeout=LONG)
    settled(page)
    idle(seen)
    page.keyboard.press("Control+End")
    before = len(seen.frames)
    page.keyboard.type("Xylander and ", delay=120)
    page.wait_for_timeout(700)
    assert len(seen.frames) == before, "nothing is sent at a short pause"
    page.locator(".strip .text .was", has_text="Xylander").wait_for(state="attached", timeout=LONG)
    settled(page)
    page.keyboard.type("Yves")
    before = len(seen.frames)
    page.keyboard.press("Control+Enter")
    for _ in range(24):  # as long as the pause is not over
        if len(seen.frames) > before:
            break
        page.wait_for_timeout(50)
    assert len(seen.frames) > before, "it was sent at once"
    page.locator(".strip .text .was", has_text="Yves").wait_for(state="attached", timeout=LONG)
    dimmed_at_once(seen, box)
    seen.assert_clean()


@pytest.mark.slow
def test_nothing_is_sent_of_a_word_that_is_still_composed(open_once: Callable) -> None:
    """As with input methods for Chinese, Japanese and Korean, or a dead key."""
    seen, box = own_text(open_once)
    page = seen.page
    client = page.context.new_cdp_session(page)
    idle(seen)
    before = len(seen.frames)
    for letters in ("k", "ka", "kaw", "kawa"):
        client.send("Input.imeSetComposition", {"text": letters, "selectionStart": 0, "selectionEnd": len(letters)})
        page.wait_for_timeout(400)
    assert len(seen.frames) == before and box.input_value().endswith("kawa")
    client.send("Input.insertText", {"text": "kawa"})
    page.locator(".strip .text", has_text="kawa").wait_for(timeout=LONG)
    assert box.input_value() == f"{typed.SIXTY}kawa" and len(seen.frames) > before
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
    for step in range(24):
        page.mouse.move(box["x"] + box["width"] * (0.5 - 0.02 * step), y)
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


def editor_is_open(page) -> bool:
    return page.get_by_role("textbox", name="Text", exact=True).is_visible()


def painted(page) -> None:
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.mark.slow
def test_two_copies_of_one_draw_are_called_out_until_the_next_draw(open_app: Callable) -> None:
    from playwright.sync_api import expect

    seen = opened(open_app, permissions=["clipboard-read", "clipboard-write"])
    page = seen.page
    settled(page)
    show_tools(page)
    page.locator(".strip .copy").click()
    settled(page)
    assert "counts as released" in page.locator(".strip .copy").get_attribute("title")
    assert page.get_by_text("The guarantee no longer holds for this draw").count() == 0
    epsilon_slider(page).press("Home")
    page.locator(".strip .copy").click()
    page.get_by_text("The guarantee no longer holds for this draw").wait_for(timeout=LONG)
    assert page.locator(".strip .copied.caution").is_visible()
    expect(page.locator(".strip .spoken")).to_contain_text("words unchanged")
    page.get_by_role("button", name="Rewrite again").click()
    page.get_by_text("The guarantee no longer holds for this draw").wait_for(state="detached", timeout=LONG)
    settled(page)
    open_drawer(page, "Analyses")
    page.get_by_text("Guarantee", exact=True).first.click()
    page.get_by_role("heading", name="Guarantee", exact=True).wait_for(timeout=LONG)
    page.get_by_text("Drawn 2 times").wait_for(timeout=LONG)
    assert page.locator(".strip .copied").inner_text() == page.locator(".strip .spoken").inner_text() == ""
    # Going to another page and back tells nothing twice.
    to_page(page, "Audit", "Research")
    page.get_by_role("button", name="Run the audit").wait_for(timeout=LONG)
    page.get_by_role("link", name="Explore", exact=True).click()
    page.locator(".strip .text button").first.wait_for(timeout=LONG)
    settled(page)
    open_drawer(page, "Analyses")
    page.get_by_text("Ledger", exact=True).click()
    page.get_by_text("It was drawn 2 times").wait_for(timeout=LONG)
    page.get_by_text("share their noise").first.wait_for(timeout=LONG)
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
        settled(page)
        painted(page)
        wide = page.evaluate("document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth")
        assert wide <= 0, scheme
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
    switch(page, "One total over the words", True)
    page.get_by_text("By frequency", exact=True).click()
    page.locator(".strip .spread", has_text="Each word has its own ε, from").wait_for(timeout=LONG)
    settled(page)
    assert not epsilon_slider(page).is_visible() and not page.locator(".strip .exact").is_visible()
    switch(page, "One total over the words", False)
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
    page.get_by_text("“doctor” was drawn").wait_for(timeout=LONG)
    assert page.locator("img[src*=example], img[src=x]").count() == 0
    seen.assert_clean()


@pytest.mark.slow
def test_empty_emoji_and_endless_text(open_once: Callable) -> None:
    seen = opened(open_once)
    page = seen.page
    type_text(page, "   ")
    page.get_by_text("Type a text, or pick an example").wait_for(timeout=LONG)
    type_text(page, "🙂🙂🙂")
    page.locator(".strip .text", has_text="🙂🙂🙂").wait_for(timeout=LONG)
    settled(page)
    assert page.locator(".strip .word.changed").count() == 0
    type_text(page, "word " * 5000)
    page.get_by_text("This page takes up to 1,000 words and marks").wait_for(timeout=LONG)
    type_text(page, "Back to a short text about my doctor.")
    page.locator(".strip .text .was", has_text="doctor").wait_for(state="attached", timeout=LONG)
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


# --- the other pages, opened by their own address


def idle(seen) -> None:
    """The page has nothing to ask for any more, such as how much meaning each text of the dial keeps."""
    known, since = len(seen.frames), time.monotonic()
    for _ in range(LONG // 250):
        seen.page.wait_for_timeout(250)
        if len(seen.frames) != known:
            known, since = len(seen.frames), time.monotonic()
        elif time.monotonic() - since > 2.5:
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
    # request that becomes a download is aborted as a page.
    known = re.compile(r"/_stcore/|/media/.*ERR_ABORTED")
    assert not [f for f in seen.failed if not known.search(f)] and not seen.external
    assert not [e for e in seen.errors if "404" not in e]


@pytest.mark.slow
def test_a_click_on_a_mark_opens_its_setting_in_explore(open_app: Callable):
    seen = open_app(APP, query="/benchmarks")
    page = seen.page
    plot = page.locator("[class*=st-key-benchmark_] .js-plotly-plot").first
    plot.wait_for(timeout=LONG)
    calm(page)
    x, y = plot.evaluate(FIRST_MARK)
    page.mouse.click(x, y)
    button = page.locator("button:not([disabled])", has_text="Open in Explore")
    button.wait_for(timeout=LONG)
    calm(page)
    assert "--point" in page.locator("code").first.inner_text(), "how the chosen point is measured again"
    button.click()
    page.locator(".strip .text button").first.wait_for(timeout=LONG)
    calm(page)
    assert page.get_by_text("This link was not followed").count() == 0
    setting = re.search(r"\?mechanism=[^#]+", page.url)
    assert setting, "the address carries the setting"
    # Back and forward lead through the pages, and the setting is there again without another draw.
    page.go_back()
    page.locator(".js-plotly-plot").first.wait_for(timeout=LONG)
    calm(page)
    page.go_forward()
    page.locator(".strip .text button").first.wait_for(timeout=LONG)
    calm(page)
    page.wait_for_url(lambda url: url.endswith(setting[0]))
    # So they do from a page that writes an address of its own.
    entries = page.evaluate("history.length")
    page.get_by_role("link", name="Learn", exact=True).first.click()
    page.wait_for_url("**/learn")
    calm(page)
    page.go_back()
    page.locator(".strip .text button").first.wait_for(timeout=LONG)
    calm(page)
    assert page.url.endswith(setting[0]) and page.evaluate("history.length") == entries + 1
    assert not page.get_by_text("Drawn 2 times").count()
    clean(seen)


# --- generators

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
    for gone in ("Neighbours", "Mechanism", "More options", "Budget", "Ends of the range", "Clipping range"):
        assert not page.get_by_text(gone, exact=True).first.is_visible(), gone
    for gone in ("Use a public prior", "Show what the width costs", "Repeatable demonstration"):
        assert not page.get_by_text(gone).first.is_visible(), gone

    type_text(page, "My doctor paid.")
    page.locator(".strip .text .was", has_text="doctor").wait_for(state="attached", timeout=LONG)
    settled(page)
    foot = page.locator(".st-key-footer")
    foot.get_by_role("button", name="Licences").click()
    expect(foot.get_by_role("button", name="Licences")).to_have_attribute("aria-expanded", "true")
    page.get_by_text("The code is under the MIT licence").wait_for(timeout=LONG)
    page.keyboard.press("Escape")
    foot.get_by_role("button", name="Your data").click()
    page.get_by_role("button", name="Forget everything here").click()
    page.locator(".strip .text .was", has_text="Halvorsen").wait_for(state="attached", timeout=LONG)
    clean(seen)


def number(name: str) -> int:
    """The place of a lesson in the course, from 1."""
    return [one.name for one in LESSONS].index(name) + 1


@pytest.mark.slow
def test_a_lesson_from_its_question_to_its_answer_and_on_a_wall(open_app: Callable) -> None:
    seen = open_app(APP, query=f"/learn?lesson={number('vectors')}", viewport={"width": 390, "height": 844})
    page = seen.page
    answer = page.locator("[role=radiogroup] label")
    answer.first.wait_for(timeout=LONG)
    word = page.get_by_role("textbox", name="Your word")
    hostile = "<img src=x onerror=alert(1)>"
    page.on("dialog", lambda d: pytest.fail("a script ran"))
    word.fill(hostile)
    word.press("Enter")
    page.get_by_text("one English word").wait_for(timeout=LONG)
    word.fill("river")
    word.press("Enter")
    page.locator(".bars li.original", has_text="river").wait_for(timeout=LONG)
    assert page.locator("img[src=x]").count() == 0 and "river" not in page.url
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    calm(page)
    answer.first.click()
    page.get_by_role("button", name="Show the answer").click()
    page.get_by_test_id("stAlert").wait_for(timeout=LONG)
    page.locator(".bars li").first.wait_for(timeout=LONG)
    calm(page)
    main = page.get_by_test_id("stMain")
    for to in ("Next:", "Back"):  # each opens at its beginning
        main.evaluate("e => e.scrollTo(0, e.scrollHeight)")
        assert main.evaluate("e => e.scrollTop") > 0
        page.get_by_role("button", name=to).click()
        page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop === 0", timeout=LONG)
        calm(page)

    # On a wall: the keys turn, one thing at a time, and nothing of Streamlit is around it.
    page.get_by_role("button", name="Present").click()
    page.get_by_role("heading", level=1).wait_for(timeout=LONG)
    calm(page)
    assert not page.get_by_test_id("stHeader").is_visible() and "present=1" in page.url
    turn(page, "ArrowRight", page.locator(".bars li.original"))
    turn(page, "PageDown", page.get_by_role("heading", level=3))
    turn(page, "ArrowLeft", page.locator(".bars li.original"))
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Present").wait_for(timeout=LONG)
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert "river" not in kept
    clean(seen)


@pytest.mark.slow
def test_the_highest_slides_fit_on_a_small_wall(open_app: Callable) -> None:
    """Those with the least room left, as they begin; the others have 140 of 720 pixels and more below their figures."""
    names = ("whole-sentence", "twice", "leaks", "audit", "paper")
    high_ones = [number(name) for name in names]
    seen = open_app(APP, query=f"/learn?lesson={high_ones[0]}&present=1", viewport={"width": 1280, "height": 720})
    page, high = seen.page, {}

    def fits(lesson: int, step: str) -> None:
        page.locator(".drawing .part").first.wait_for(timeout=LONG)
        calm(page)
        over = page.get_by_test_id("stMain").evaluate("e => e.scrollHeight - window.innerHeight")
        if over > 0:
            high[lesson, step] = over

    def on(shown) -> None:
        page.get_by_role("button", name="Next").click()
        shown.wait_for(timeout=LONG)
        calm(page)

    for lesson in high_ones:
        page.goto(re.sub(r"lesson=\d+", f"lesson={lesson}", page.url))
        page.get_by_text(f"{lesson} of {len(LESSONS)}").wait_for(timeout=LONG)
        calm(page)
        on(page.locator(".drawing .part").first)
        fits(lesson, "shown")
        on(page.get_by_role("heading", level=3))
        on(page.get_by_test_id("stAlert"))
        fits(lesson, "found")
    assert not high
    clean(seen)


# --- batch


def upload(page, name: str, data: bytes) -> None:
    """Batch takes this file, and rewrites ten rows of it."""
    page.get_by_text("Resume a job").wait_for(timeout=LONG)
    calm(page)
    page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/csv", "buffer": data})
    page.get_by_role("button", name="Rewrite all").wait_for(timeout=LONG)
    calm(page)


@pytest.mark.slow
def test_tables_are_rewritten_and_taken_away_and_hostile_cells_stay_text(open_app: Callable) -> None:
    rows = "".join(f"{i},My doctor treated my sister on day {i}.\n" for i in range(30))
    seen = open_app(APP, query="/batch")
    page = seen.page
    upload(page, "notes.csv", f"id,text\n{rows}".encode())
    assert "My doctor treated my sister on day 0." in page.locator("table").inner_text()
    page.get_by_role("button", name="Rewrite all 30 rows").click()
    page.get_by_text("Done: 30 rows are rewritten.").wait_for(timeout=LONG)
    calm(page)
    page.get_by_text("Ledger: what was released").click()
    page.get_by_text(re.compile("Nothing was drawn yet|A row is what was looked at")).wait_for(timeout=LONG)
    calm(page)
    assert not page.get_by_text("What left a page").count()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download", exact=True).click()
    text = Path(waiting.value.path()).read_text(encoding="utf-8-sig")
    page.get_by_text("What left a page").wait_for(timeout=LONG)
    assert waiting.value.suggested_filename == "notes-release.csv"
    assert text.count("\n") == 31 and "My doctor treated my sister on day 29." not in text
    page.get_by_role("button", name="Another file").click()
    page.get_by_role("button", name="Delete and start again").click()

    # On the page and in a spreadsheet.
    hostile = '"<img src=x onerror=alert(1)> www.example.org [l](http://example.org/a.png) $x$ | my doctor"'
    upload(page, "b<i>.csv", f'text,<b>x</b>\n{hostile},=1+1\n"=HYPERLINK(""http://e.org"")",\n'.encode())
    page.on("dialog", lambda d: pytest.fail("a script ran"))
    assert "<img src=x onerror=alert(1)>" in page.locator("table").inner_text()
    assert page.locator("[data-testid=stMain] a[href*=example], [data-testid=stMain] img").count() == 0
    page.get_by_text("Keep this job for 24 hours").click()
    page.get_by_text("brings it back").wait_for(timeout=LONG)
    page.get_by_role("button", name="Rewrite all 2 rows").click()
    page.get_by_text("Done: 2 rows are rewritten.").wait_for(timeout=LONG)
    calm(page)
    for last in (False, True):
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Download, private").click()
        # One that a redraw of the page overtakes is cancelled, and a person clicks again.
        if waiting.value.failure() is None or last:
            break
        calm(page)
        seen.failed = [f for f in seen.failed if "/media/" not in f]
    text = Path(waiting.value.path()).read_text(encoding="utf-8-sig")
    assert "PRIVATE" in waiting.value.suggested_filename and "\"'=HYPERLINK" in text and ',"=' not in text
    code = page.locator("[data-testid=stCode]").first.inner_text().strip()
    page.reload()
    page.get_by_role("textbox", name="Job code").fill(code)
    page.get_by_role("button", name="Open the job").click()
    page.get_by_text("Done: 2 rows are rewritten.").wait_for(timeout=LONG)
    page.get_by_role("button", name="Delete now").click()
    page.get_by_text("Resume a job").wait_for(timeout=LONG)
    clean(seen)


# --- compare and trade-off


@pytest.mark.slow
def test_two_settings_are_compared_and_a_word_is_chosen_in_both(open_app: Callable) -> None:
    seen = open_app(APP, query="/compare")

    page = seen.page
    words = page.locator(".rewrite .word")
    words.first.wait_for(timeout=LONG)
    box = page.get_by_role("textbox", name="Text", exact=True)
    box.fill("<img src=x onerror=alert(1)> **bold** My doctor $x$")
    page.locator(".rewrite .text", has_text="**").first.wait_for(timeout=LONG)
    calm(page)
    box.press("Control+End")
    page.keyboard.type(" paid.", delay=100)
    page.locator(".rewrite .text", has_text=re.compile(r"\.$")).nth(1).wait_for(timeout=LONG)
    calm(page)
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA", "the rewrites follow, and take no focus"
    assert page.locator(".rewrite .text img, .rewrite .text strong").count() == 0
    assert page.locator(".rewrite").count() == 2
    last = words.last.get_attribute("data-at")
    words.last.click()
    page.locator(f".rewrite .word[data-at='{last}'][aria-pressed=true]").nth(1).wait_for(timeout=LONG)
    calm(page)
    page.get_by_role("button", name="Add a mechanism").click()
    page.locator(".rewrite").nth(2).locator(".mark").first.wait_for(timeout=LONG)
    calm(page)
    assert page.locator(".rewrite [aria-label='Rewrite by SanText']").count() == 1, "the next one, not the first"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    clean(seen)


@pytest.mark.slow
def test_points_of_the_trade_off_come_and_one_is_read(open_app: Callable):
    # What needs no model.
    link = "/compare?view=map&1.mechanism=diffractor&2.mechanism=santext&points=3&draws=1&kept=bleu&hidden=n_w"
    seen = open_app(APP, query=link, viewport={"width": 390, "height": 844})
    page = seen.page
    page.get_by_text("Read the rewrites of a point").wait_for(timeout=LONG)
    calm(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    box, plot = page.get_by_role("textbox", name="Text", exact=True), page.locator(".js-plotly-plot").first
    option = page.get_by_role("combobox", name="Utility")
    assert box.bounding_box()["y"] < plot.bounding_box()["y"] < option.bounding_box()["y"], "before the options"
    x, y = page.locator(".js-plotly-plot").first.evaluate(LAST_POINT)
    page.mouse.click(x, y)
    page.locator(".rewrite .text[tabindex='0']").first.wait_for(timeout=LONG)
    page.get_by_text("to read, not to release").wait_for(timeout=LONG)
    assert "hidden=n_w" in page.url and "kept=bleu" in page.url, "the address carries the rest too"
    page.get_by_role("button", name="Put side by side").click()
    page.get_by_role("radio", name="Side by side", checked=True).wait_for(timeout=LONG)
    page.locator(".rewrite").nth(1).locator(".mark").first.wait_for(timeout=LONG)
    calm(page)
    page.get_by_role("radio", name="Trade-off plot").click()
    page.get_by_text("Read the rewrites of a point").wait_for(timeout=LONG)  # the points are still there
    page.wait_for_url(re.compile("view=map"))
    clean(seen)


# --- accessibility

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
            if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
                found.append((title, "wide"))
            page.set_viewport_size({"width": 1280, "height": 900})
        if title == "Compare":
            page.get_by_role("radio", name="Trade-off plot").click()
            page.locator(".js-plotly-plot .main-svg").first.wait_for(timeout=LONG)
            found += serious(page, "the map")
    assert not found
    clean(seen)
