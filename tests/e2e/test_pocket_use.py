"""The browser edition as a visitor uses it: examples, options, copies, files and what is missing."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_texts import TEXTS
from pocket_page import law, until

import dptext_core as dpt
from dptext_core.support.assets import examples
from dptext_studio import browser as pocket
from dptext_studio.browser import serve
from dptext_studio.browser.site import OWN_TEXT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_finished_pages_of_the_mechanisms_stand_beside_it_and_work_under_its_policy(page: Page, address: str) -> None:
    visit = page.context.new_page()
    wrong: list[str] = []
    visit.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    visit.goto(f"{address}?mechanism=redact")
    visit.get_by_role("link", name="All examples with every mechanism").click()
    visit.get_by_role("link", name=examples()[0].title).click()
    shown = visit.locator(".strip .text")
    shown.wait_for()
    before = shown.inner_text()
    visit.fill("#exact", "0.9")
    visit.press("#exact", "Enter")
    until(visit, f"document.querySelector('.strip .text').innerText !== {json.dumps(before)}")
    visit.close()
    assert wrong == []


def test_epsilon_is_dragged_without_a_pass_and_a_copy_is_written_down(page: Page) -> None:
    page.select_option("#mechanism", "custext")
    page.fill("#text", TEXTS[0])
    until(page, "document.querySelector('.strip .text').textContent.includes('broken')")
    page.wait_for_timeout(600)  # the choice asks for a rewrite at once, and what is typed for one more
    page.fill("#exact", "28")
    page.press("#exact", "Enter")
    page.fill("#text", TEXTS[0] + " She sleeps.")  # which comes before the view has told of that ε
    until(page, "document.querySelector('.strip .text').textContent.includes('sleeps')")
    until(page, "document.querySelector('#guarantee').textContent.includes('ε = 28 per word')")
    adjacency = dpt.get_mechanism("custext").guarantee(TEXTS[0]).adjacency
    assert page.inner_text("#between") == f"It holds between {adjacency}." and "same kept tokens" in adjacency
    assert "Nothing yet" in page.inner_text("#ledger")
    with page.expect_download() as got:
        page.click("#save")
    saved = Path(got.value.path()).read_text(encoding="utf-8")
    assert saved.startswith("My ") and saved.endswith(".")
    assert "ε = 28" in page.inner_text("#ledger") and "neither has a guarantee" not in page.inner_text("#ledger")
    # Another version from the same noise.
    page.fill("#exact", "2")
    page.press("#exact", "Enter")
    with page.expect_download():
        page.click("#save")
    ledger = page.inner_text("#ledger")
    assert ledger.count("neither has a guarantee") == 2
    assert re.search(r"their total is at most ε = [\d,.]+", ledger, re.MULTILINE)


def test_an_example_is_chosen_and_says_what_it_gives_away(page: Page) -> None:
    page.select_option("#mechanism", "custext")
    for example in examples()[:2]:
        page.get_by_role("button", name=example.title, exact=True).click()
        until(page, f"document.querySelector('#problem').textContent === {json.dumps(example.problem)}")
        # The word that tells most is chosen, so that there is something to be seen beside the text.
        until(page, f"document.querySelector('.strip .pair .from').textContent === {json.dumps(example.sensitive)}")
        assert page.locator("#examples [aria-pressed=true]").all_inner_texts() == [example.title]
    page.fill("#text", TEXTS[0])
    assert page.inner_text("#problem") == OWN_TEXT
    assert page.locator("#examples [aria-pressed=true]").count() == 0
    page.click("#edit")
    assert page.is_hidden("#text")
    page.click("#edit")


def test_how_many_identifying_words_are_left_is_counted_while_epsilon_moves(page: Page) -> None:
    page.select_option("#mechanism", "custext")
    page.fill("#text", "Mrs Halvorsen flew to Lisbon on 3 June, and to Lisbon again.")
    until(page, "document.querySelector('.strip .text').textContent.includes('Lisbon')")
    # Lisbon is one, and the words that are in no vocabulary come out anew whatever ε is.
    until(page, "/^[0-3] of 3$/.test(document.querySelector('.which-stand strong').textContent)")
    page.fill("#exact", "28")
    page.press("#exact", "Enter")
    until(page, "document.querySelector('#guarantee').textContent.includes('ε = 28 per word')")
    # The marks of words and their number are of one picture.
    until(
        page,
        "(parseInt(document.querySelector('.which-stand strong').textContent) > 0) "
        "=== Boolean(document.querySelector('.strip .word.stands'))",
    )


def test_what_is_left_is_counted_in_drawn_sentences_too(page: Page) -> None:
    page.select_option("#mechanism", "dp-sentence")
    page.fill("#text", "Invading Iraq won't be a cakewalk. Mrs Halvorsen paid on Sunday.")  # the first is in the bank
    page.fill("#exact", "200")
    page.press("#exact", "Enter")
    until(page, "document.querySelector('.strip .text').textContent.includes('Iraq')")
    # A sentence of a Sunday may come out.
    until(page, "/^[12] of 3$/.test(document.querySelector('.which-stand strong').textContent)")
    assert page.locator(".strip .stands").count() > 0
    page.fill("#exact", "5")
    page.press("#exact", "Enter")
    until(page, "document.querySelector('.which-stand strong').textContent === '0 of 3'")
    assert page.locator(".strip .stands").count() == 0


def test_options_and_a_list_of_words_are_chosen_on_the_page(page: Page) -> None:
    page.select_option("#mechanism", "dp-sentence")
    page.fill("#text", TEXTS[0])
    page.evaluate("document.querySelector('.k-options').open = true")
    page.select_option("[data-option=slots]", label="3")
    until(page, "document.querySelector('#exposed').textContent.includes('that 3 sentences are sampled, as you set')")
    page.fill("#blocklist", "and one…two")
    until(page, "document.querySelector('#status').textContent.includes('is read as')")
    assert page.is_disabled("#again") and page.is_disabled("#save"), "what stands there was made by the list before"
    assert page.locator("[inert] .strip").count() == 1
    page.fill("#blocklist", "doctor sister")
    until(page, "document.querySelector('#exposed').textContent.includes('the blocklist')")
    assert not {"doctor", "sister"} & set(page.inner_text(".strip .text").lower().split())
    assert page.is_enabled("#again") and page.is_enabled("#save") and page.locator("[inert] .strip").count() == 0
    page.select_option("#mechanism", "custext")
    assert page.is_hidden("#blocklist") and "does not support a blocklist here" in page.inner_text("#blocklist_note")
    page.select_option("[data-option=k]", label="5")
    until(page, "document.querySelector('.strip .text').textContent.includes('Lisbon')")
    page.select_option("[data-option=k]", label="20")
    page.select_option("#mechanism", "dp-sentence")
    page.fill("#blocklist", "")
    page.select_option("[data-option=slots]", index=0)


def test_a_word_of_the_allowlist_is_copied_and_listed(page: Page) -> None:
    page.select_option("#mechanism", "custext")
    assert page.is_hidden("#allowlist")
    page.select_option("#mechanism", "redact")
    page.fill("#text", "Omar Haddad saw Mrs Brandt on Monday.")
    page.fill("#allowlist", "monday, Brandt")
    until(page, "document.querySelector('.strip .text').textContent.includes('Haddad saw Mrs Brandt on Monday')")
    assert page.inner_text(".strip .text .word") == "[NAME]"
    assert "2 words on the allowlist, unchanged and in place" in page.inner_text("#exposed")
    page.fill("#allowlist", "")
    until(page, "!document.querySelector('#exposed').textContent.includes('allowlist')")


@pytest.fixture
def without_model(browser: Browser, address: str) -> Iterator[Page]:
    """A visit from a device on which the model does not load."""
    context = browser.new_context(
        service_workers="block", permissions=["clipboard-read", "clipboard-write"], reduced_motion="reduce"
    )
    for file in ("model.onnx.gz", "masked_lm.safetensors.gz"):
        context.route(f"**/{file}", lambda route: route.abort())
    page = context.new_page()
    page.goto(address)
    until(page, "document.querySelector('#status').textContent.includes('needs no model')")
    yield page
    context.close()


def test_a_device_on_which_the_model_does_not_load_gets_a_word_mechanism_and_is_told(without_model: Page) -> None:
    """There the keyboard is enough, and axe finds nothing serious."""
    axe = pytest.importorskip("axe_playwright_python.base", reason="pip install axe-playwright-python")
    page = without_model
    assert page.input_value("#mechanism") == "custext"
    assert page.locator(".strip .word").count() > 10
    assert page.is_enabled("#again")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the slider"
    # From word to word with the arrows: one stop of the Tab key for all of them.
    stops = []
    while len(stops) < 40 and "save" not in stops:
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.id || document.activeElement.className.split(' ')[0]"))
    assert {"edit", "slider", "exact", "mechanism", "again", "save"} <= set(stops)
    page.focus("#edit")
    page.keyboard.press("Enter")
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("My aunt lives in Lisbon.")
    until(page, "document.querySelector('.strip .text').textContent.includes('aunt')")
    page.click(".k-options summary")
    page.evaluate(axe.AXE_SCRIPT)
    rules = {"resultTypes": ["violations"], "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        found = page.evaluate("rules => axe.run(rules)", rules)["violations"]
        assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found] == []
    # What another mechanism made before does not stand there as if it were of the one that is chosen.
    page.context.route("**/codes.bin.gz", lambda route: route.abort())
    page.select_option("#mechanism", "santext")
    until(page, "document.querySelector('#status').textContent.startsWith('SanText could not be loaded')")
    assert page.is_disabled("#again") and page.is_disabled("#save") and page.locator("[inert] .strip").count() == 1


def test_what_left_is_written_down_at_the_epsilon_of_its_words(without_model: Page) -> None:
    """Whatever stands in the box of ε when the button is pressed, and also where the browser takes its time for a copy
    and another draw has come in the meantime, or another mechanism."""
    page = without_model
    for n, (typed, epsilon) in enumerate([("-1", "8.1"), ("", "8.1"), ("85", "28"), ("12.3456789", "12.4")]):
        for press in ("#save", ".strip .copy"):
            page.click("#again")
            page.fill("#exact", typed)
            if press == "#save":
                with page.expect_download() as got:
                    page.click(press)
                left = Path(got.value.path()).read_text(encoding="utf-8")
            else:
                page.click(press)
                until(page, "document.querySelector('.strip .copy').textContent.startsWith('Copied')")
                left = page.evaluate("navigator.clipboard.readText()")
            rows = 2 * n + (press != "#save") + 1
            until(page, f"document.querySelectorAll('#ledger li').length === {rows + 1}")
            line = page.locator("#ledger li").nth(rows - 1).inner_text()
            assert line.startswith("CusText: ") and f" at ε = {epsilon}, " in line
            page.wait_for_timeout(100)
            # The words of that ε: what is copied once more is the same.
            page.click(".strip .copy")
            page.wait_for_timeout(100)
            assert page.evaluate("navigator.clipboard.readText()") == left
    page.fill("#exact", "20")
    page.press("#exact", "Enter")
    page.click("#again")
    before = page.locator("#ledger li").count()
    page.evaluate(
        """() => Object.defineProperty(navigator, "clipboard", {
          value: { writeText: () => new Promise((done) => (window.allow = done)) },
        })"""
    )
    page.click(".strip .copy")
    page.click("#again")
    page.evaluate("window.allow()")
    until(page, "document.querySelector('#ledger').textContent.includes(' at ε = 20,')")
    page.click(".strip .copy")
    page.select_option("#mechanism", "diffractor")
    until(page, "document.querySelector('#guarantee').textContent.includes('ε = 1.1 per unit')")
    page.evaluate("window.allow()")
    until(page, f"document.querySelectorAll('#ledger li').length === {before + 2}")
    ledger = page.inner_text("#ledger")
    assert ledger.count(" at ε = 20,") == 2 and "neither has a guarantee" not in ledger


def test_a_file_that_is_another_is_refused(browser: Browser, address: str) -> None:
    context = browser.new_context(service_workers="block")
    page = context.new_page()
    for file in ("model.onnx.gz", "masked_lm.safetensors.gz"):
        context.route(f"**/{file}", lambda route: route.abort())
    context.route("**/custext-20.bin.gz", lambda route: route.fulfill(body=b"\0" * 4_343_800))
    page.goto(address)
    until(page, "document.querySelector('#status').textContent.includes('does not match this page')")
    context.close()


def test_what_is_kept_of_a_new_version_is_not_the_browsers_copy_of_the_old_one(
    browser: Browser, tmp_path: Path
) -> None:
    worker = Path(pocket.__file__).with_name("site") / "sw.js"

    def version(name: str) -> None:
        script = f"const VERSION = {json.dumps(name)};\nconst SHELL = ['app.js', 'index.html'];\n"
        (tmp_path / "sw.js").write_text(script + worker.read_text(encoding="utf-8"), encoding="utf-8")
        (tmp_path / "app.js").write_text(f"// {name}", encoding="utf-8")
        (tmp_path / "index.html").write_text('<!doctype html><script src="app.js"></script>', encoding="utf-8")
        # What was changed long ago is kept by browsers for days, unless the server says otherwise.
        for file in tmp_path.iterdir():
            os.utime(file, (time.time() - 1e8 + len(name),) * 2)

    version("old")
    context = browser.new_context()
    page = context.new_page()
    with serve(tmp_path) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        version("newer")
        page.evaluate(
            "navigator.serviceWorker.register('sw.js').then(() => navigator.serviceWorker.ready).then(() => 1)"
        )
        assert page.evaluate("caches.match('app.js').then((kept) => kept.text())") == "// newer"
        server.shutdown()
    context.close()


def test_a_long_rewrite_ends_where_something_else_is_asked_for(page: Page) -> None:
    long = " ".join(f"Word number {n} of a rather long story about gardens and hospitals." for n in range(150))
    page.select_option("#mechanism", "dp-mlm-prior")
    page.fill("#text", long)
    until(page, "document.querySelector('#status').textContent.startsWith('Computing')")
    page.select_option("#mechanism", "custext")
    until(page, "document.querySelector('#guarantee').textContent.includes('only within its group')", 40)


@pytest.mark.slow
def test_the_page_is_heard_while_a_long_text_is_worked_out(page: Page) -> None:
    page.evaluate(
        """() => {
          window.ticks = window.unlocked = 0;
          setInterval(() => {
            if (!document.querySelector("#status").textContent.startsWith("Computing")) return;
            window.ticks += 1;
            const held = document.querySelector("#save").disabled && document.querySelector("[inert] .strip");
            window.unlocked += held ? 0 : 1;
          }, 20);
        }"""
    )
    page.select_option("#mechanism", "santext")
    page.fill(
        "#text", " ".join(f"Word number {n} of a rather long story about gardens and hospitals." for n in range(700))
    )
    until(page, "window.ticks > 3")
    assert page.evaluate("window.unlocked") == 0, "the rewrite of another text"
    page.fill("#text", "My doctor paid for water.")
    # Some of the long text's words have these letters too, where it was done by now.
    few = "document.querySelectorAll('.strip .text .word').length < 10"
    until(page, f"{few} && document.querySelector('.strip .text').textContent.includes('for')", 40)
    assert page.is_enabled("#save") and page.locator("[inert] .strip").count() == 0


def test_the_chances_beside_a_word_are_those_of_its_law(page: Page) -> None:
    page.select_option("#mechanism", "dp-mlm-prior")
    page.fill("#text", TEXTS[0])
    until(page, "document.querySelector('.strip .text').textContent.includes('Lisbon')")
    until(page, "document.querySelector('#guarantee').textContent.includes('ε = 15 per word')")
    for at, word in ((1, "doctor"), (6, "sister"), (3, "Lisbon")):
        page.locator(".strip .text .word", has_text=word).first.click()
        until(page, f"document.querySelector('.strip .pair .from').textContent === '{word}'")
        page.evaluate("document.querySelector('.strip .tab-how').click()")
        page.wait_for_timeout(100)
        found = law(page, TEXTS[0], at, "dp-mlm-prior", 15.0)
        chances = dict(zip(found["candidates"], found["probs"], strict=True))
        rows = [row.split("\n") for row in page.locator(".strip .rows li:visible").all_inner_texts()]
        shown = {words.lower(): float(chance.strip("<>%")) / 100 for words, chance in rows if "others" not in words}
        # The likest, the original and the drawn one, which may be one of the two.
        assert len(shown) >= 2 and max(shown, key=shown.__getitem__) == max(chances, key=chances.__getitem__)
        # As they are rounded for showing.
        half = {
            w: next((u for least, u in ((0.1, 5e-3), (0.01, 5e-4), (1.1e-4, 5e-5)) if c >= least), 1e-4)
            for w, c in shown.items()
        }
        assert {w: c for w, c in shown.items() if abs(c - chances[w]) > 1.01 * half[w]} == {}


def test_a_file_that_is_dropped_takes_the_place_of_the_text(page: Page) -> None:
    drop = """([bytes, name]) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([Uint8Array.from(bytes)], name));
      return document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    }"""
    page.select_option("#mechanism", "custext")
    assert not page.evaluate(drop, [list("My aunt lives in Tromsø.".encode()), "a.txt"]), "the browser would open it"
    until(page, "document.querySelector('.strip .text').textContent.includes('aunt')")
    assert page.input_value("#text") == "My aunt lives in Tromsø."
    for data, name in ((b"\xff\xfe\x00", "<b>x</b>.png"), (b"a" * 100_001, "large.txt")):
        assert not page.evaluate(drop, [list(data), name])
        until(page, f"document.querySelector('#status').textContent.startsWith('“{name}” is not a UTF-8 text file')")
    assert page.input_value("#text") == "My aunt lives in Tromsø."


def test_a_page_that_no_script_starts_says_what_it_needs(browser: Browser, address: str) -> None:
    for scripts in (False, True):
        context = browser.new_context(java_script_enabled=scripts, service_workers="block")
        page = context.new_page()
        page.goto(f"{address}?mechanism=redact")
        page.locator("#idle").wait_for(state="detached" if scripts else "visible", timeout=20_000)
        context.close()
