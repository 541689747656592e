"""Typing into Explore in a browser: the rewrite follows, and takes neither the focus nor the cursor."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import typed
from app_page import APP, LONG, calm, editor, idle, opened, settled

pytestmark = pytest.mark.browser

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


#: How many milliseconds after the last change of the text something is sent, for each message: by the page's own clock,
#: since keys take longer to arrive on a busy machine.
PAUSES = """() => {
  window.pauses = [];
  let last = performance.now();
  document.addEventListener("input", () => { last = performance.now(); }, true);
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (...data) {
    window.pauses.push(performance.now() - last);
    return send.apply(this, data);
  };
}"""
#: Milliseconds for which a long text waits, less what a clock may round away.
PAUSE = 1450


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
    # Of its length, or of the last rewrite, which takes long too on a busy machine.
    page.get_by_text("when you stop typing for 1.5 seconds").wait_for(timeout=LONG)
    page.locator(".strip .text.long").wait_for(timeout=LONG)
    settled(page)
    idle(seen)
    page.keyboard.press("Control+End")
    page.evaluate(PAUSES)
    page.keyboard.type("Xylander and ", delay=120)
    page.wait_for_function("window.pauses.length", timeout=LONG)
    assert page.evaluate("window.pauses[0]") >= PAUSE, "nothing is sent at a short pause"
    page.locator(".strip .text .was", has_text="Xylander").wait_for(state="attached", timeout=LONG)
    settled(page)
    idle(seen)
    page.evaluate("() => { window.pauses.length = 0; }")
    page.keyboard.type("Yves")
    page.keyboard.press("Control+Enter")
    page.wait_for_function("window.pauses.length", timeout=LONG)
    assert page.evaluate("window.pauses[0]") < PAUSE, "it was sent at once"
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
    for letters in ("k", "kawa"):
        client.send("Input.imeSetComposition", {"text": letters, "selectionStart": 0, "selectionEnd": len(letters)})
        page.wait_for_timeout(400)
    assert len(seen.frames) == before and box.input_value().endswith("kawa")
    client.send("Input.insertText", {"text": "kawa"})
    page.locator(".strip .text", has_text="kawa").wait_for(timeout=LONG)
    assert box.input_value() == f"{typed.SIXTY}kawa" and len(seen.frames) > before
    seen.assert_clean()
