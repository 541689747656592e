"""Files that stand alone, in a browser, from a disk: ε is dragged in them, and nobody is asked for anything."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from foreign import Latent, Swap

import dptext_core as dpt
from dptext_studio import exports
from dptext_studio.exports.gallery import gallery

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.browser
TEXT = "The doctor sent a letter.</script><img src=x onerror=alert(1)>\nMy sister's water, your music & a garden 🙂."


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    dpt.register(Swap)
    dpt.register(Latent)
    yield
    dpt.unregister(Swap.name)
    dpt.unregister(Latent.name)


@pytest.fixture
def page(shared_context: BrowserContext) -> Iterator[Page]:
    """A page on which every request but that for its own files fails the test, as every error does."""
    made = shared_context.new_page()
    made.wrong = []  # type: ignore[attr-defined]
    made.on("console", lambda m: made.wrong.append(m.text) if m.type in ("error", "warning") else None)
    made.on("pageerror", lambda e: made.wrong.append(str(e)))
    made.on("dialog", lambda d: made.wrong.append("a script of the text ran"))
    made.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else made.wrong.append(r.url))
    yield made
    assert made.wrong == []
    made.close()


def words(page: Page) -> list[str]:
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.locator(".strip .text .word .now").all_inner_texts()


def test_epsilon_is_dragged_in_a_file_and_the_words_are_those_of_a_sweep(page: Page, tmp_path: Path) -> None:
    m = Swap.create(epsilon=2.0)
    stream, prepared = dpt.NoiseStream(3), m.prepare(TEXT)
    file = tmp_path / exports.file_name("inspection", "slider", "html")
    file.write_text(exports.inspection(m.rewrite(prepared, stream=stream)), encoding="utf-8")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(file.as_uri())
    assert page.locator(".p-mark").first.inner_text() == exports.PRIVATE

    def expected(epsilon: float) -> list[str]:
        result = m.replace(epsilon=epsilon).rewrite(prepared, stream=stream)
        return [s.replacement for s in result.steps if any(c.isalnum() for c in s.original)]

    assert words(page) == expected(2.0)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_label("Privacy budget ε").scroll_into_view_if_needed()
    box = page.locator(".strip input.slider").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    seen = set()
    for share in (0.3, 0.05, 0.6, 0.97):
        page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)
        shown = words(page)
        epsilon = float(page.locator(".strip .exact").input_value())
        assert shown == expected(epsilon)
        seen.add(tuple(shown))
    page.mouse.up()
    assert len(seen) > 2
    assert page.locator("img").count() == 0 and "onerror=alert" in words(page)
    page.locator(".strip .word").nth(1).click()
    page.locator(".strip .rows .row:visible").nth(3).wait_for()


def test_the_pages_of_a_gallery_lead_to_each_other_and_share_their_script(page: Page, tmp_path: Path) -> None:
    gallery(tmp_path, [Swap.name, Latent.name], ["review"])
    page.goto((tmp_path / "index.html").as_uri())
    page.locator(f"#{Swap.name}").get_by_role("link", name="Review").click()
    page.locator(".strip .exact").wait_for()
    page.get_by_role("link", name="All examples").click()
    page.locator(f"#{Latent.name}").get_by_role("link", name="Review").click()
    page.locator(".strip .spread", has_text="another ε needs a new pass").wait_for()
    assert not page.locator(".strip .slider").is_visible()
