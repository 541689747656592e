"""Lessons of the browser edition, its frames in other pages, and what makes it an app of its own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from pocket_page import until

from dptext_core.support.assets import examples
from dptext_studio.exports.gallery import slug
from dptext_studio.lessons import COURSE, LESSONS, Coin

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_the_course_lists_its_lessons_and_one_is_answered(page: Page, address: str) -> None:
    visit = page.context.new_page()
    visit.goto(f"{address}lessons.html")
    visit.locator("#course li").first.wait_for()
    assert visit.locator("#course h2").all_inner_texts() == [part.title for part in COURSE]
    assert visit.locator("#course li a").all_inner_texts() == [one.title for one in LESSONS]
    visit.get_by_role("link", name=Coin.title).click()
    lesson, last = Coin(), 4
    visit.get_by_role("button", name=lesson.control.format_value(last + 1)).click()
    answer, asked = lesson.reveal(lesson.control.values[last]), lesson.ask(lesson.control.values[last])
    assert visit.inner_text("#question") == asked.text and visit.is_hidden("#reveal")
    wrong = (answer.right + 1) % len(asked.answers)
    for chosen, verdict in ((wrong, answer.replies[wrong]), (answer.right, "Right:")):
        visit.locator("#answers button").nth(chosen).click()
        assert visit.inner_text("#verdict").startswith(verdict)
        assert visit.inner_text("#verdict").endswith(asked.answers[answer.right])
    assert visit.locator("#found p").all_inner_texts() == list(answer.measurements)
    assert visit.locator("#figures tbody tr").count() == len(lesson.control.values)
    visit.goto(f"{address}lessons.html?lesson=nobody")
    until(visit, "document.querySelector('#status').textContent.includes('There is no lesson “nobody”')")
    visit.close()


def test_every_lesson_opens_without_an_error(page: Page, address: str) -> None:
    visit = page.context.new_page()
    wrong: list[str] = []
    visit.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    visit.on("pageerror", lambda e: wrong.append(str(e)))
    for lesson in LESSONS:
        visit.goto(f"{address}index.html?lesson={lesson.name}")
        visit.locator("#answers button").first.click()
        visit.locator("#verdict").wait_for()
        assert visit.inner_text("h1") == lesson.title
        assert visit.evaluate("document.documentElement.scrollWidth <= innerWidth"), lesson.name
    visit.close()
    assert wrong == []


@pytest.mark.parametrize(
    "query, figure",
    [(f"text-example={slug(examples()[1])}&mechanism=redact", ".strip .text"), ("lesson=odds", "#shown svg")],
)
def test_a_frame_of_another_page_shows_one_figure(page: Page, address: str, query: str, figure: str) -> None:
    visit = page.context.new_page()
    visit.set_content(f'<iframe src="{address}index.html?{query}" width="800" height="700"></iframe>')
    frame: Any = visit.frame_locator("iframe")
    frame.locator(figure).first.wait_for(state="visible")
    if "mechanism" in query:
        frame.locator(".strip .text", has_text="[").wait_for()
        original = frame.locator("#text").input_value()
        assert original == examples()[1].text and frame.locator("#mechanism").input_value() == "redact"
        assert frame.locator("#whole").get_attribute("href").endswith(query)
    for hidden in ("#up", "#doors", ".k-head", "#mechanism", "#guarantee", "#ledger"):
        assert all(not part.is_visible() for part in frame.locator(hidden).all()), hidden
    visit.close()


def test_an_address_that_names_something_else_is_answered(page: Page, address: str) -> None:
    visit = page.context.new_page()
    visit.goto(f"{address}index.html?mechanism=nobody&text-example=<b>")
    until(visit, "document.querySelector('#asked').textContent.includes('no mechanism “nobody”')")
    assert "no example “<b>”" in visit.inner_text("#asked") and visit.input_value("#mechanism") == "dp-mlm"
    visit.close()


def test_it_can_be_installed_and_its_lessons_are_there_without_a_network(page: Page, address: str) -> None:
    visit = page.context.new_page()
    visit.goto(f"{address}?mechanism=redact")
    visit.evaluate("navigator.serviceWorker.ready.then(() => 1)")
    errors = visit.context.new_cdp_session(visit).send("Page.getInstallabilityErrors")["installabilityErrors"]
    # A visit of a test leaves nothing behind, as a private window.
    assert [e["errorId"] for e in errors if e["errorId"] != "in-incognito"] == []
    page.context.set_offline(True)
    visit.goto(f"{address}lessons.html")
    visit.locator("#course li").first.wait_for()
    visit.goto(f"{address}index.html?lesson=odds")
    visit.locator("#answers button").first.wait_for()
    page.context.set_offline(False)
    visit.close()


def test_every_value_of_a_control_is_on_the_site(pocket_site: Path) -> None:
    made = json.loads(gzip.decompress((pocket_site / "lessons.json.gz").read_bytes()))
    states = [len(one["states"]) for part in made for one in part["lessons"]]
    assert states == [max(1, len(one.control.values)) for one in LESSONS]


def test_a_first_visit_with_dp_mlm_fetches_at_most_40_mb(page: Page, pocket_site: Path) -> None:
    """The files that the summary counts are those that the page asks for."""
    made = json.loads(pocket_site.with_name("made.json").read_text(encoding="utf-8"))
    page.evaluate("window.dptext.rewrite('doctor', {mechanism: 'dp-mlm', epsilon: 50})")
    large = {"data/masked_lm.safetensors.gz", "data/model.onnx.gz", "runtime/ort.wasm.gz", "data/vocabulary.txt.gz"}
    asked = {urlsplit(url).path.strip("/") for url in page.asked}  # type: ignore[attr-defined]
    assert large <= asked and sum(made["files"][path] for path in large) < made["first_visit"] <= 40e6
