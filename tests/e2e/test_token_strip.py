"""The token strip in a browser: ε moves with no message to the server, and what is shown agrees with the scores."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from strip_harness import (
    HI,
    HOSTILE,
    LIST_HI,
    LIST_LO,
    LIST_UNIT,
    LO,
    N_CANDIDATES,
    VOCABULARY,
    CountedChannel,
    ListChannel,
    list_payload,
    make_payload,
)

if TYPE_CHECKING:
    from conftest import Opened
    from playwright.sync_api import Page

HARNESS = Path(__file__).with_name("strip_harness.py")
QUIET_MS = 500  # longer than the strip waits before it sends

Open = Callable[..., "Opened"]


def released(token: dict[str, Any], eps: float) -> str:
    """The word of a token at ε, read from the payload independently of the strip's code; "" where it is deleted."""
    if token["a"] == "delete":
        return ""
    if token["a"] == "keep":
        return str(token["o"])
    winner = [k for start, k in token["flips"] if start <= eps][-1]
    word = str(token["c"][winner])
    return word[:1].upper() + word[1:] if token["cap"] else word


def changed(tokens: list[dict[str, Any]], eps: float) -> int:
    """How many original words do not stand in the text at ε, case aside."""
    return sum(t["a"] != "insert" and released(t, eps).lower() != t["o"].lower() for t in tokens)


def text_at(payload: dict[str, Any], eps: float) -> str:
    """The whole text at ε."""
    return "".join(t["pre"] + released(t, eps) for t in payload["tokens"]) + payload["tail"]


def heard(page: Page) -> dict[str, Any] | None:
    """The view that Python printed."""
    match = re.search(r"view (null|\{.*?\}) heard", page.get_by_text(re.compile("^view ")).inner_text())
    assert match
    return json.loads(match[1])


def await_view(page: Page, eps: float | None = None, token: int | None = None, run: int = 1) -> None:
    """Wait until Python has printed this view (any ε where none is given)."""
    number = r"[\d.]+" if eps is None else re.escape(json.dumps(eps))
    view = rf'view \{{"run": {run}, "eps": {number}, "token": {json.dumps(token)}\}} heard'
    page.get_by_text(re.compile(view)).wait_for()


def await_text(page: Page, selector: str, text: str, whole: bool = True) -> None:
    """Wait until the element says this: painting waits for the next frame."""
    pattern = rf"^\s*{re.escape(text)}\s*$" if whole else re.escape(text)
    page.locator(selector).filter(has_text=re.compile(pattern)).first.wait_for(state="visible" if text else "attached")


def start(open_app: Open, query: str = "", **options: Any) -> Opened:
    """Open the harness and wait until the words stand there and the page is quiet.

    A page that another test had (see ``open_once``) gets its first ε back, and no word is pinned.
    """
    opened = open_app(HARNESS, query, **options)
    page = opened.page
    page.locator(".text .word").first.wait_for()
    page.get_by_text(re.compile("^view ")).wait_for()
    first = 1.0 if "lists" in query else 50.0
    if opened.reused:
        page.mouse.move(1, 1)
        pinned = page.locator(".text .word[aria-pressed='true']")
        if pinned.count():
            pinned.first.press("Escape")
            pinned.wait_for(state="detached")
        set_eps(page, first)
        told = heard(page)
        if told is not None and (told["eps"], told["token"]) != (first, None):  # a message leaves only with news
            await_view(page, first, run=told["run"])
    # Streamlit says here that no script runs; what the page sends, it has sent.
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    painted(page)
    return opened


def painted(page: Page) -> None:
    """The next frame has come: what changed before is on the screen."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def shown_words(page: Page) -> list[str]:
    """The words of the strip after the next frame."""
    painted(page)
    return page.locator(".text .now").all_inner_texts()


def expected_words(payload: dict[str, Any], eps: float) -> list[str]:
    """The words that are buttons: everything but the kept symbol."""
    tokens = [t for t in payload["tokens"] if t.get("why") != "symbol"]
    return [released(t, eps) or "·" for t in tokens]


def grab(page: Page, at: float) -> tuple[float, float, float]:
    """Press the mouse on the slider at a share of its way; returns left edge, width and height of the point."""
    box = page.get_by_role("slider").bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + at * box["width"], y)
    page.mouse.down()
    return box["x"], box["width"], y


@pytest.mark.slow
@pytest.mark.browser
def test_drag_changes_words_and_sends_one_message_after_release(open_once: Open) -> None:
    opened = start(open_once)
    page, payload = opened.page, make_payload()[0]
    assert shown_words(page) == expected_words(payload, 50.0)
    assert heard(page) is None

    page.evaluate("window.__dptextStrip.recent.length = 0")
    sent = len(opened.frames)
    left, width, y = grab(page, 0.5)
    for step in range(30):
        page.mouse.move(left + width * (0.5 - 0.01 * step), y)
        page.wait_for_timeout(20)
    page.wait_for_timeout(500)
    during = float(page.get_by_role("spinbutton").input_value())
    assert LO < during < 25
    assert shown_words(page) == expected_words(payload, during)
    page.mouse.move(left + width * 0.3, y, steps=5)
    assert len(opened.frames) == sent, "a message left while dragging"

    page.mouse.up()
    await_view(page)
    page.wait_for_timeout(QUIET_MS)
    assert len(opened.frames) == sent + 1
    view = heard(page)
    assert view is not None and view["run"] == 1 and view["token"] is None
    assert float(page.get_by_role("spinbutton").input_value()) == view["eps"]
    assert shown_words(page) == expected_words(payload, view["eps"])
    total = sum(t["a"] != "insert" and t["o"] != "🙂" for t in payload["tokens"])
    count = changed(payload["tokens"], view["eps"])
    assert page.locator(".count").inner_text().startswith(f"{count} of {total} words changed")

    # 8 ms is the aim; on a shared machine single frames are interrupted, so the slowest tenth is left out.
    recent = page.evaluate("window.__dptextStrip.recent")
    assert len(recent) > 10
    assert float(np.median(recent)) < 8
    assert float(np.quantile(recent, 0.9)) < 24
    opened.assert_clean()


def shown_rows(page: Page) -> dict[str, str]:
    rows = page.locator(".rows .row:visible")
    names = [re.sub(r"\s+no\. .*", "", name).strip() for name in rows.locator(".name").all_inner_texts()]
    return dict(zip(names, rows.locator(".value").all_inner_texts(), strict=True))


def shown_bars(page: Page) -> list[float]:
    """How full the bars are, 0 to 1: the chances with all their digits."""
    styles = page.locator(".rows .row:visible .track i").evaluate_all("bars => bars.map(bar => bar.style.clipPath)")
    return [1 - float(re.findall(r"[\d.]+%?", style)[1].strip("%")) / 100 for style in styles]


def is_written(text: str, p: float, off: float = 2e-5) -> bool:
    """Whether a percentage on the page is p, within its last digit and ``off``."""
    if text.startswith("<"):
        return p < 0.00011
    if text.startswith(">"):
        return p > 0.999
    digits = len(text.partition(".")[2].rstrip("%"))
    return abs(float(text.rstrip("%")) - 100 * p) <= 0.51 * 10**-digits + 100 * off


@pytest.mark.slow
@pytest.mark.browser
def test_chosen_word_shows_its_distribution(open_once: Open) -> None:
    opened = start(open_once)
    page = opened.page
    payload, scores = make_payload()
    tokens = payload["tokens"]
    i = next(k for k, t in enumerate(tokens) if t["o"] == "doctor")
    page.locator(f".word[data-i='{i}']").click()
    full = scores[i]
    assert full is not None
    for eps in (5.0, 33.3, 120.0):
        set_eps(page, eps)
        p = np.exp(eps * (full - full.max()))
        p /= p.sum()
        by_name = {name: float(p[rank - 1]) for name, rank in zip(tokens[i]["c"], tokens[i]["rank"], strict=True)}
        rows = shown_rows(page)
        others = rows.pop(f"{N_CANDIDATES - 9:,} others")
        names = [name.removeprefix("▸ ") for name in rows]
        assert len(names) == 9
        assert released(tokens[i], eps) in names and "doctor" in names
        chances = [by_name[name] for name in names]
        assert chances == sorted(chances, reverse=True)
        for name, text, chance in zip(names, rows.values(), chances, strict=True):
            assert is_written(text, chance), (eps, name, text, chance)
        assert is_written(others, 1 - sum(chances)), (eps, others)
        assert is_written(page.locator(".chance strong").inner_text(), by_name["doctor"])
    await_view(page, 120.0, token=i)

    # Words marked by their chance: a bar as long as it is, where the originals are known.
    page.locator(".tint").select_option("stays")
    painted(page)
    bar = page.locator(f".word[data-i='{i}']").evaluate("n => n.style.getPropertyValue('--p')")
    assert float(bar) == pytest.approx(by_name["doctor"], abs=1e-3)
    assert page.locator(".legend .lg-chance").is_visible() and not page.locator(".legend .lg-changed").is_visible()

    # By what an attacker would get, which is known at one ε here: dimmed at others, and told with the word.
    page.locator(".tint").select_option("attack")
    page.locator(".strip.by-risk.risk-away").wait_for()
    assert "1.0% of the time (always “man”)" in page.locator(".legend .lg-risk").inner_text()
    set_eps(page, 50.0)
    page.locator(".strip.by-risk:not(.risk-away)").wait_for()
    word = page.locator(f".word[data-i='{i}']")
    assert word.evaluate("n => n.style.getPropertyValue('--r')") == "0.250"
    assert "an attacker recovers it 25% of the time" in (word.get_attribute("aria-label") or "")
    assert page.locator(".risk strong").inner_text() == "25%"
    page.locator(".tint").select_option("changed")
    assert "attacker" not in (word.get_attribute("aria-label") or "")
    set_eps(page, 120.0)

    # A click on the lane goes to an ε at which that word wins.
    segment = page.locator(".lane .segment").first
    segment.click()
    painted(page)
    assert released(tokens[i], float(page.get_by_role("spinbutton").input_value())) == segment.inner_text()

    # Keyboard: Escape frees, arrows walk, Enter pins.
    page.locator(f".word[data-i='{i}']").focus()
    page.keyboard.press("Escape")
    await_text(page, ".note", "Point at a word", whole=False)
    page.keyboard.press("Home")
    await_text(page, ".note", "kept as it is: stop word. It is visible to everyone.")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    await_text(page, ".from", "second")
    page.locator(".word[data-i='2'][aria-pressed='true']").wait_for()
    page.keyboard.press("End")
    await_view(page, token=2)
    assert page.locator(".from").inner_text() == "second", "a pin holds while the focus walks on"
    page.keyboard.press("Escape")

    lisbon = next(k for k, t in enumerate(tokens) if t["o"] == "Lisbon")
    page.locator(f".word[data-i='{lisbon}']").click()
    await_text(page, ".chance strong", "0%")
    await_text(page, ".note", "never remains unchanged", whole=False)
    page.locator(".word.gone").first.click()
    await_text(page, ".from", "woman")
    await_text(page, ".to", "deleted")
    page.locator(".word.added").first.click()
    await_text(page, ".note", "added by the mechanism", whole=False)
    opened.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
def test_slider_and_exact_input_by_keyboard(open_once: Open) -> None:
    opened = start(open_once)
    page, payload = opened.page, make_payload()[0]
    slider, exact = page.get_by_role("slider"), page.get_by_role("spinbutton")
    sent = len(opened.frames)
    slider.focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    await_view(page)
    page.wait_for_timeout(QUIET_MS)
    assert len(opened.frames) == sent + 1, "a burst of keys is one message"
    view = heard(page)
    assert view is not None
    assert view["eps"] == pytest.approx(50 * (HI / LO) ** (8 / 236), rel=0.006)
    assert str(slider.get_attribute("aria-valuetext")).startswith(f"ε {exact.input_value()}, ")

    exact.fill("33.333")
    exact.press("Enter")
    await_view(page, 33.333)
    assert shown_words(page) == expected_words(payload, 33.333)
    exact.fill("9999")
    exact.press("Enter")
    await_view(page, HI)
    await_text(page, ".limit", "ε goes from 5 to 500 here")
    exact.fill("33.333")
    exact.press("Enter")
    await_text(page, ".limit", "")

    page.get_by_role("button", name="ε = 20").click()
    await_view(page, 20.0)
    page.get_by_role("button", name="New run").click()
    # The browser's own ε outlives a new run.
    await_view(page, 20.0, run=2)
    opened.assert_clean()


def mixture(channel: ListChannel, eps: float) -> dict[str, float]:
    """The chances under two-sided geometric noise on one of the lists, ends clamped, summed noise by noise."""
    p = dict.fromkeys(VOCABULARY, 0.0)
    reach = np.arange(-4000, 4001)
    noise = (math.exp(eps) - 1) / (math.exp(eps) + 1) * np.exp(-eps * np.abs(reach))
    for own, order in zip(channel.own, channel.lists, strict=True):
        for place, q in zip(np.clip(own + reach, 0, len(VOCABULARY) - 1), noise, strict=True):
            p[VOCABULARY[order[place]]] += q / len(channel.lists)
    return p


def set_eps(page: Page, eps: float) -> None:
    page.get_by_role("spinbutton").fill(str(eps))
    page.get_by_role("spinbutton").press("Enter")
    painted(page)


@pytest.mark.slow
@pytest.mark.browser
def test_channels_that_are_no_score_table(open_once: Open) -> None:
    opened = start(open_once, "?variant=lists")
    page, payload = opened.page, list_payload()
    assert page.locator(".unit").inner_text() == LIST_UNIT
    assert sum("lp" in t for t in payload["tokens"]) > 30
    tokens = payload["tokens"]
    for word, between in (("river", (0.137, 2.345)), ("feather", (0.52, 7.77)), ("second", (0.304, 1.1))):
        i = next(k for k, t in enumerate(tokens) if t["o"] == word)
        channel = ListChannel(word)
        page.locator(f".word[data-i='{i}']").click()
        await_text(page, ".from", word)
        # Between the points of the grid, at both ends, and where the released word has just changed.
        moments = [0.1, *between, 10.0, *(1.001 * e for e, _ in tokens[i]["flips"][1:2])]
        for eps in [float(f"{m:.4g}") for m in moments]:
            set_eps(page, eps)
            p = mixture(channel, eps)
            rows, bars = shown_rows(page), shown_bars(page)
            names = [name.removeprefix("▸ ") for name in rows][:-1]
            assert list(rows)[-1] == f"{len(VOCABULARY) - 9:,} others"
            assert len(names) == 9 and word in names and released(tokens[i], eps) in names
            exact = [*(p[name] for name in names), 1 - sum(p[name] for name in names)]
            assert bars == pytest.approx(exact, abs=0.002), (word, eps)
            for text, chance in zip(rows.values(), exact, strict=True):
                assert is_written(text, chance, 0.002), (word, eps, text, chance)
            assert is_written(page.locator(".chance strong").inner_text(), p[word], 0.002)
            chances = [p[name] for name in names[:8]]
            assert chances == pytest.approx(sorted(chances, reverse=True), abs=1e-3), "most likely first"
            best = sorted(p.values(), reverse=True)[:7]
            assert sorted(chances, reverse=True)[:7] == pytest.approx(best, abs=1e-3), (
                "none that is likelier is left out"
            )
            assert shown_words(page) == expected_words(payload, eps)
        # The line of the chart passes where the chances are.
        path = page.locator(".chart .line").get_attribute("d")
        points = [[float(x) for x in part.split(",")] for part in re.findall(r"[\d.]+,[-\d.]+", str(path))]
        assert len(points) > 150
        for x, y in points[::40]:
            eps = LIST_LO * (LIST_HI / LIST_LO) ** (x / 1000)
            assert abs((100 - y) / 100 - mixture(channel, eps)[word]) < 0.002
    opened.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
def test_flips_of_a_channel_stand_where_the_payload_has_them(open_once: Open) -> None:
    opened = start(open_once, "?variant=lists")
    page, tokens = opened.page, list_payload()["tokens"]
    i = max(range(len(tokens)), key=lambda k: len(tokens[k].get("flips", [])))
    page.locator(f".word[data-i='{i}']").click()
    for k, (eps, at) in enumerate(tokens[i]["flips"][1:6], start=1):
        before = tokens[i]["flips"][k - 1][1]
        for shift, place in ((-1e-4, before), (1e-4, at)):
            set_eps(page, float(f"{eps * (1 + shift):.6g}"))
            assert page.locator(".to").inner_text() == tokens[i]["c"][place]
    assert page.locator(".lane .segment").count() == len(tokens[i]["flips"])
    opened.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
def test_estimated_chances_say_so(open_once: Open) -> None:
    opened = start(open_once, "?variant=lists")
    page, tokens = opened.page, list_payload()["tokens"]
    i = next(k for k, t in enumerate(tokens) if t["o"] == "nurse")
    page.locator(f".word[data-i='{i}']").click()
    await_text(page, ".note", "estimated from 1,000 draws", whole=False)
    assert "was never sampled shows < 0.1%" in page.locator(".note").inner_text()
    channel = CountedChannel("nurse")
    grid = np.geomspace(LIST_LO, LIST_HI, list_payload()["lp_grid"])
    none = 0
    for j in (4, 13, 20, 27, 39):
        eps = float(f"{grid[j]:.6g}")
        set_eps(page, eps)
        p = dict(zip(channel.candidates, channel.at(eps).probs, strict=True))
        rows = shown_rows(page)
        assert rows.popitem()[0] == "16 others"
        for name, text in rows.items():
            chance = p[name.removeprefix("▸ ")]
            if chance == 0:
                assert text == "< 0.1%"
                none += 1
            elif chance == 1:
                assert text == ">99.9%"
            else:
                assert re.fullmatch(r"\d+(\.\d)?%", text), "no more digits than 1,000 draws can tell"
                assert is_written(text, chance, 6e-4), (eps, name, text, chance)
    assert none > 5
    # Where counts differ between two points of the grid, the straight line between them is shown.
    set_eps(page, float(f"{math.sqrt(grid[20] * grid[21]):.6g}"))
    keep = [channel.at(float(e)).probs[0] for e in grid[20:22]]
    assert abs(keep[0] - keep[1]) > 0.005
    assert is_written(page.locator(".chance strong").inner_text(), sum(keep) / 2, 1e-3)
    # A word from a channel with nothing to estimate says nothing of it.
    page.locator(".word[data-i='1']").click()
    await_text(page, ".from", "table")
    assert not page.locator(".note").is_visible()
    opened.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
def test_what_becomes_impossible_leaves_no_waves(open_once: Open) -> None:
    opened = start(open_once, "?variant=lists")
    page, tokens = opened.page, list_payload()["tokens"]
    i = next(k for k, t in enumerate(tokens) if t["o"] == "gate")
    page.locator(f".word[data-i='{i}']").click()
    for eps in (0.3, 1.0, 1.45, 1.72, 2.5, 3.0, 9.0):
        set_eps(page, eps)
        rows = [name.removeprefix("▸ ") for name in shown_rows(page)]
        first = max(0.0, 0.5 - eps / 4)
        assert dict(zip(rows, shown_bars(page), strict=True)) == pytest.approx(
            {"amber": first, "birch": 0.3, "gate": 0.7 - first}, abs=0.002
        )
    opened.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
def test_words_outside_the_vocabulary_say_why(open_once: Open) -> None:
    opened = start(open_once, "?variant=lists")
    page, tokens = opened.page, list_payload()["tokens"]
    place = {t["o"]: k for k, t in enumerate(tokens)}
    page.locator(f".word[data-i='{place['zorblax']}']").click()
    await_text(page, ".note", "“zorblax”: not in the vocabulary. The probabilities are the same at every ε.")
    assert page.locator(".chance strong").inner_text() == "0%"
    page.locator(f".word[data-i='{place['glimmer']}']").click()
    await_text(page, ".to", "[MASK]")
    await_text(page, ".note", "“glimmer”: not in the vocabulary. The probabilities are the same at every ε.")
    assert list(shown_rows(page)) == ["[MASK]"]
    page.locator(f".word[data-i='{place['stood']}']").click()
    await_text(page, ".note", "deleted: not in the vocabulary", whole=False)
    assert page.locator(".word.fixed").all_inner_texts() == [
        f"{released(tokens[place[w]], 1.0)}\n{w}" for w in ("zorblax", "glimmer")
    ]
    assert "replaced at every ε" in page.locator(".legend").inner_text()
    opened.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
def test_dragging_over_channels_sends_nothing_and_keeps_up(open_once: Open) -> None:
    opened = start(open_once, "?variant=lists")
    page, payload = opened.page, list_payload()
    tokens = payload["tokens"]
    i = next(k for k, t in enumerate(tokens) if t["o"] == "feather")
    page.locator(f".word[data-i='{i}']").click()
    await_view(page, token=i)
    page.evaluate("window.__dptextStrip.recent.length = 0")
    sent = len(opened.frames)
    left, width, y = grab(page, 0.5)
    for step in range(40):
        page.mouse.move(left + width * (0.5 - 0.012 * step), y)
        page.wait_for_timeout(20)
    page.wait_for_timeout(QUIET_MS)
    assert len(opened.frames) == sent, "a message left while dragging"
    eps = float(page.get_by_role("spinbutton").input_value())
    assert LIST_LO <= eps < 0.2
    assert shown_words(page) == expected_words(payload, eps)
    page.mouse.up()
    await_view(page, token=i)
    page.wait_for_timeout(QUIET_MS)
    assert len(opened.frames) == sent + 1
    recent = page.evaluate("window.__dptextStrip.recent")
    assert len(recent) > 10
    assert float(np.median(recent)) < 8
    opened.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
def test_text_is_literal_and_copied_as_shown(open_app: Open) -> None:
    opened = start(open_app, "?variant=seeded", permissions=["clipboard-read", "clipboard-write"])
    page, payload = opened.page, make_payload()[0]
    set_eps(page, HI)
    words = shown_words(page)
    assert HOSTILE in words and "**bold**" in words and "שלום" in words
    assert page.locator(".text img, .text b, .text strong").count() == 0
    assert page.evaluate("window.hurt") is None
    assert page.get_by_text("demonstration, not private", exact=True).is_visible()
    page.get_by_role("button", name="Copy text").click()
    page.locator(".copied", has_text="Copied at ε 500").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == text_at(payload, HI)
    assert "not private" in page.locator(".copied").inner_text()

    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true})")
    page.get_by_role("spinbutton").fill("20")
    page.get_by_role("spinbutton").press("Enter")
    page.get_by_role("button", name=re.compile("Copy text|Copied")).click()
    page.locator(".copied", has_text="Copied at ε 20").wait_for()
    opened.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
def test_a_copy_is_told_once_and_two_versions_of_one_run_are_warned_of(open_app: Open) -> None:
    opened = start(open_app, permissions=["clipboard-read", "clipboard-write"])
    page = opened.page
    copy = page.locator(".copy")
    # A copy is told once however often it is made.
    for _ in range(3):
        copy.click()
        page.wait_for_timeout(200)
    page.locator(".copied", has_text="Copied at ε 50.").wait_for()
    assert "neither has a guarantee" not in page.locator(".copied").inner_text()
    await_copies(page, ("run 1", 1, 50))
    page.get_by_role("slider").fill("60")
    copy.click()
    page.locator(".copied", has_text="neither has a guarantee").wait_for()
    await_view(page)
    await_copies(page, ("run 1", 1, 50), ("run 1", 1, float(page.get_by_role("spinbutton").input_value())))
    page.get_by_role("button", name="New run").click()
    await_view(page, run=2)
    # What was said about two copies of one draw is not said of the next, from its first moment on.
    assert page.locator(".copied").inner_text() == ""
    copy.click()
    page.locator(".copied", has_text="Copied at ε").wait_for(state="attached")
    assert "neither has a guarantee" not in page.locator(".copied").inner_text()
    eps = float(page.get_by_role("spinbutton").input_value())
    await_copies(page, ("run 1", 1, 50), ("run 1", 1, eps), ("run 2", 2, eps))
    opened.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
def test_on_another_axis_the_same_epsilon_is_filled_up_to_its_thumb(open_once: Open) -> None:
    opened = start(open_once)
    page = opened.page
    slider = page.get_by_role("slider")
    page.get_by_role("button", name="Other axis").click()
    page.wait_for_function(
        "e => Number(e.getAttribute('aria-valuenow') ?? e.value) / e.max < 0.45", arg=slider.element_handle()
    )
    painted(page)
    assert float(page.get_by_role("spinbutton").input_value()) == 50.0
    at = math.log(50.0 / LO) / math.log(4 * HI / LO)
    share = slider.evaluate("e => e.valueAsNumber / e.max")
    assert share == pytest.approx(at, abs=1e-3)
    assert float(slider.evaluate("e => e.style.getPropertyValue('--at')")) == pytest.approx(share, abs=1e-9)
    opened.assert_clean()


def await_copies(page: Page, *copies: tuple[str, int, float]) -> None:
    """Wait until Python has printed exactly these copies."""
    told = re.escape(json.dumps([[draw, run, float(eps)] for draw, run, eps in copies]))
    page.get_by_text(re.compile(f"^copies {told}$")).wait_for()


@pytest.mark.slow
@pytest.mark.browser
def test_words_copied_by_hand_are_told_like_those_of_the_button(open_app: Open) -> None:
    opened = start(open_app, permissions=["clipboard-read", "clipboard-write"])
    page = opened.page
    # What is copied beside the words is no release.
    page.locator(".rule").click(click_count=3)
    page.keyboard.press("Control+c")
    page.wait_for_timeout(QUIET_MS)
    assert "counts as a release" in page.evaluate("navigator.clipboard.readText()")
    await_copies(page)
    told: list[tuple[str, int, float]] = []
    for run, way in enumerate(("from outside", "everything"), start=1):
        if run > 1:
            page.get_by_role("button", name="New run").click()
            page.locator(".copied", has_text=re.compile("^$")).wait_for(state="attached")
            page.locator(".copy", has_text="Copy text").wait_for()
        page.evaluate("navigator.clipboard.writeText('nothing')")
        word = page.locator(".text .word.changed").first.inner_text().split("\n")[0]
        if way == "everything":
            page.locator("body").press("Control+a")
        else:
            a, b = page.get_by_text(re.compile("^view ")).bounding_box(), page.locator(".bar h3").bounding_box()
            assert a and b
            page.mouse.move(a["x"] + a["width"] - 3, a["y"] + a["height"] / 2)
            page.mouse.down()
            page.mouse.move(b["x"] + 3, b["y"] + 3, steps=8)
            page.mouse.up()
        page.keyboard.press("Control+c")
        told.append((f"run {run}", run, 50))
        await_copies(page, *told)
        page.locator(".copied", has_text="Copied at ε 50").wait_for(state="attached")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert word in copied and "doctor" not in copied.split(), (way, "the original words stay behind")
        page.locator(".copy").click()
        page.locator(".copy", has_text="Copied").wait_for()
        assert copied == page.evaluate("navigator.clipboard.readText()"), (way, "as the button copies it")
    opened.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme", "query"), [(390, "light", ""), (320, "dark", "?variant=lists")])
def test_narrow_screens_and_contrast(open_app: Open, width: int, scheme: str, query: str) -> None:
    opened = start(open_app, query, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = opened.page
    page.get_by_role("spinbutton").fill("6")
    page.get_by_role("spinbutton").press("Enter")
    page.locator(".word").nth(2).click()
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.mouse.move(1, 1)
    # What sticks out of the strip sideways, whether or not an ancestor cuts it off.
    wide = """strip => {
      const edge = strip.getBoundingClientRect();
      return [...strip.querySelectorAll('.word, .row, .head *, .bar *, .ends *, .legend *, .pair, .chance')]
        .filter(e => e.checkVisibility({visibilityProperty: true}))
        .filter(e => e.getBoundingClientRect().right > edge.right + 6).map(e => e.className || e.tagName);
    }"""
    assert page.locator(".strip").evaluate(wide) == []
    colours = """strip => {
      const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
      const paint = (stack) => {
        canvas.fillStyle = '#fff'; canvas.fillRect(0, 0, 1, 1);
        for (const c of stack) { canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); }
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
      };
      const base = getComputedStyle(strip).getPropertyValue('--st-background-color');
      return ['.label', '.exact', '.count', '.count strong', '.line-tag', '.share-tag', '.segment', '.segment.same',
        '.ticks span', '.ends span', '.bar h3', '.toggle', '.tint', '.tip', '.rule', '.copy', '.word.keep',
        '.word.changed .now', '.pinned .was', '.legend li', '.place', '.pin', '.from', '.to', '.chance strong',
        '.name span', '.value', '.others'].map(q => {
        const e = strip.querySelector(q);
        if (!e) return [q, null, null];
        const stack = [];
        for (let n = e; n instanceof Element; n = n.parentElement) stack.unshift(getComputedStyle(n).backgroundColor);
        if (q === '.share-tag') stack.push(getComputedStyle(strip.querySelector('.share')).fill);
        stack.unshift(base);
        return [q, paint([...stack, getComputedStyle(e).color]), paint(stack)];
      });
    }"""
    for name, ink, paper in page.locator(".strip").evaluate(colours):
        if ink is None:
            assert name == ".segment.same", name
            continue
        assert contrast(ink, paper) >= 4.5, (name, ink, paper)
    opened.assert_clean()


def contrast(a: list[int], b: list[int]) -> float:
    """WCAG contrast ratio of two sRGB colours (0 to 255)."""

    def light(rgb: list[int]) -> float:
        parts = [c / 255 for c in rgb]
        linear = [c / 12.92 if c <= 0.04045 else math.pow((c + 0.055) / 1.055, 2.4) for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(a), light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.slow
@pytest.mark.browser
def test_sequential_text_dims_and_asks_once(open_app: Open) -> None:
    opened = start(open_app, "?variant=sequential")
    page, (payload, scores) = opened.page, make_payload()
    sent = len(opened.frames)
    left, width, y = grab(page, 0.5)
    page.mouse.move(left + width * 0.25, y, steps=6)
    page.wait_for_timeout(300)
    assert page.get_by_text("release to rewrite at this ε").is_visible()
    assert page.locator(".copy").is_disabled()
    assert shown_words(page) == expected_words(payload, 50.0)
    assert len(opened.frames) == sent
    page.mouse.up()
    await_view(page)
    await_text(page, ".hint", "")
    page.wait_for_timeout(QUIET_MS)
    assert len(opened.frames) == sent + 1
    view = heard(page)
    assert view is not None
    assert shown_words(page) == expected_words(payload, view["eps"])
    assert page.locator(".copy").is_enabled()

    i = next(k for k, t in enumerate(payload["tokens"]) if t["o"] == "doctor")
    page.locator(f".word[data-i='{i}']").click()
    await_text(page, ".from", "doctor")
    full = scores[i]
    assert full is not None
    p = np.exp(view["eps"] * (full - full.max()))
    assert is_written(page.locator(".chance strong").inner_text(), float(p[0] / p.sum()))
    await_view(page, view["eps"], token=i)
    opened.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
def test_new_data_clear_a_failure(open_app: Open) -> None:
    opened = open_app(HARNESS, "?variant=broken")
    page = opened.page
    page.get_by_role("alert").filter(has_text="The live view stopped").wait_for()
    page.get_by_text("Repair").click()
    page.locator(".text .word").first.wait_for()
    assert not page.get_by_role("alert").is_visible()
    assert shown_words(page) == expected_words(make_payload()[0], 50.0)
    opened.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
def test_long_text_stays_usable(open_app: Open) -> None:
    opened = start(open_app, "?variant=long")
    page = opened.page
    assert page.locator(".text .word").count() > 2500
    page.evaluate("window.__dptextStrip.recent.length = 0")
    left, width, y = grab(page, 0.6)
    page.mouse.move(left + width * 0.2, y, steps=40)
    page.mouse.up()
    recent = page.evaluate("window.__dptextStrip.recent")
    assert len(recent) >= 5
    assert float(np.median(recent)) < 24
    tokens = make_payload(60)[0]["tokens"]
    view_eps = float(page.get_by_role("spinbutton").input_value())
    assert page.locator(".count strong").inner_text() == f"{changed(tokens, view_eps):,}"
    opened.assert_clean()


@pytest.mark.parametrize(
    ("raw", "view"),
    [
        ({"run": 3, "eps": 50, "token": None}, {"run": 3, "eps": 50.0, "token": None, "copies": []}),
        (
            {"run": 3.0, "eps": 22.6, "token": 4, "copies": [["a", 3, 50], ["b", 4.0, 2.5]], "tint": "attack"},
            {"run": 3, "eps": 22.6, "token": 4, "copies": [("a", 3, 50.0), ("b", 4, 2.5)], "tint": "attack"},
        ),
        (
            {"run": 3, "eps": 5.0, "copies": ["abc", [1, 2, 3], ["a", True, 5], ["a", 1, math.nan], ["a", 1], None]},
            {"run": 3, "eps": 5.0, "token": None, "copies": []},
        ),
        ({"run": 3, "eps": 5.0, "copies": "abc"}, {"run": 3, "eps": 5.0, "token": None, "copies": []}),
        (None, None),
        ({"run": 3}, None),
        ({"run": "3", "eps": 1.0, "token": None}, None),
        ([3, 50.0, None], None),
        ({"run": math.inf, "eps": 1.0}, None),
        (
            {"run": 3, "eps": 5.0, "fact": "heart", "others": [["heart", "lung, liver"], ["a"], 3, ["b", "x" * 401]]},
            {"run": 3, "eps": 5.0, "token": None, "copies": [], "fact": "heart", "others": {"heart": "lung, liver"}},
        ),
        ({"run": 3, "eps": 5.0, "fact": 3, "others": "no"}, {"run": 3, "eps": 5.0, "token": None, "copies": []}),
        ({"run": 3, "eps": math.nan}, None),
        ({"run": 3, "eps": 10**400}, None),
        ({"run": 3, "eps": 5.0, "token": math.nan}, {"run": 3, "eps": 5.0, "token": None, "copies": []}),
    ],
)
def test_view_is_read_defensively(raw: Any, view: dict[str, Any] | None) -> None:
    from dptext_studio.components.token_strip import _read_view

    assert _read_view(raw) == (None if view is None else {"tint": "", "fact": "", "others": {}, "step": 0} | view)
