"""The other pages of the app in a browser: Benchmarks, Learn, Batch and Compare."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from app_page import APP, LONG, calm, clean, fits_across, number, turn

from dptext_studio.lessons import LESSONS

pytestmark = pytest.mark.browser

#: Where the last mark of the first curve of ours lies on the screen.
FIRST_MARK = """g => {
  g.scrollIntoView({block: 'center'});
  const t = g._fullData.find(t => t.type === 'scatter' && t.customdata && t.customdata[0] && t.customdata[0][0]);
  const last = t.x.length - 1, box = g.getBoundingClientRect(), {xaxis, yaxis} = g._fullLayout;
  return [box.left + xaxis._offset + xaxis.d2p(t.x[last]), box.top + yaxis._offset + yaxis.d2p(t.y[last])];
}"""


#: Where the point of the first mechanism with the largest ε lies on the screen, scrolled into sight.
LAST_POINT = """g => {
  g.scrollIntoView({block: 'center'});
  const t = g._fullData.find(t => t.mode === 'lines+markers');
  const last = t.x.length - 1, box = g.getBoundingClientRect(), {xaxis, yaxis} = g._fullLayout;
  return [box.left + xaxis._offset + xaxis.d2p(t.x[last]), box.top + yaxis._offset + yaxis.d2p(t.y[last])];
}"""


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
    assert fits_across(page)
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
    names = ("whole-sentence", "twice", "many-texts", "leaks", "audit", "paper")
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
    page.get_by_role("button", name="Rewrite all rows").click()
    page.get_by_text("Done: 30 rows were rewritten.").wait_for(timeout=LONG)
    calm(page)
    page.get_by_text("Ledger: what was released").click()
    page.get_by_text(re.compile("There are no draws yet|Each row is one draw")).wait_for(timeout=LONG)
    calm(page)
    assert not page.get_by_text("The ledger counts each downloaded file").count()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download", exact=True).click()
    text = Path(waiting.value.path()).read_text(encoding="utf-8-sig")
    page.get_by_text("The ledger counts each downloaded file").wait_for(timeout=LONG)
    assert waiting.value.suggested_filename == "notes-release.csv"
    released = [line.strip('"') for line in text.splitlines()[1:]]
    assert len(released) == 30 and released != [f"My doctor treated my sister on day {i}." for i in range(30)]
    page.get_by_role("button", name="Another file").click()
    page.get_by_role("button", name="Delete and restart").click()

    # On the page and in a spreadsheet.
    hostile = '"<img src=x onerror=alert(1)> www.example.org [l](http://example.org/a.png) $x$ | my doctor"'
    upload(page, "b<i>.csv", f'text,<b>x</b>\n{hostile},=1+1\n"=HYPERLINK(""http://e.org"")",\n'.encode())
    page.on("dialog", lambda d: pytest.fail("a script ran"))
    assert "<img src=x onerror=alert(1)>" in page.locator("table").inner_text()
    assert page.locator("[data-testid=stMain] a[href*=example], [data-testid=stMain] img").count() == 0
    page.get_by_text("Keep this job for 24 hours").click()
    page.get_by_text("to reopen it").wait_for(timeout=LONG)
    page.get_by_role("button", name="Rewrite all rows").click()
    page.get_by_text(re.compile("^Done: ")).wait_for(timeout=LONG)
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
    page.get_by_text(re.compile("^Done: ")).wait_for(timeout=LONG)
    page.get_by_role("button", name="Delete now").click()
    page.get_by_text("Resume a job").wait_for(timeout=LONG)
    clean(seen)


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
    assert fits_across(page)
    clean(seen)


@pytest.mark.slow
def test_points_of_the_trade_off_come_and_one_is_read(open_app: Callable):
    # What needs no model.
    link = "/compare?view=map&1.mechanism=diffractor&2.mechanism=santext&points=3&draws=1&kept=bleu&hidden=n_w"
    seen = open_app(APP, query=link, viewport={"width": 390, "height": 844})
    page = seen.page
    page.get_by_text("Read the rewrites of a point").wait_for(timeout=LONG)
    calm(page)
    assert fits_across(page)
    box, plot = page.get_by_role("textbox", name="Text", exact=True), page.locator(".js-plotly-plot").first
    option = page.get_by_role("combobox", name="Utility")
    assert box.bounding_box()["y"] < plot.bounding_box()["y"] < option.bounding_box()["y"], "before the options"
    x, y = page.locator(".js-plotly-plot").first.evaluate(LAST_POINT)
    page.mouse.click(x, y)
    page.locator(".rewrite .text[tabindex='0']").first.wait_for(timeout=LONG)
    page.get_by_text("but do not release them").wait_for(timeout=LONG)
    assert "hidden=n_w" in page.url and "kept=bleu" in page.url, "the address carries the rest too"
    page.get_by_role("button", name="Show side by side").click()
    page.get_by_role("radio", name="Side by side", checked=True).wait_for(timeout=LONG)
    page.locator(".rewrite").nth(1).locator(".mark").first.wait_for(timeout=LONG)
    calm(page)
    page.get_by_role("radio", name="Trade-off plot").click()
    page.get_by_text("Read the rewrites of a point").wait_for(timeout=LONG)  # the points are still there
    page.wait_for_url(re.compile("view=map"))
    clean(seen)
