"""Take the pictures of the studio with Debian's Chromium: those of docs/studio.md, and the README's.

Starts a server of its own. Run:  python tests/e2e/take_pictures.py [NAME ...]
"""

from __future__ import annotations

import argparse
import io
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app_page import number
from measure_page import served
from PIL import Image
from playwright.sync_api import Page, sync_playwright

TOP = Path(__file__).resolve().parents[2]
DOCS = TOP / "docs" / "pictures"
LONG = 120_000
#: The word of the first example that is chosen.
WORD = "heart"
#: Bring what is below the title to the top of the screen.
TO_TOP = "e => { e.scrollIntoView({block: 'start'}); document.querySelector('[data-testid=stMain]').scrollBy(0, -70); }"


@dataclass(frozen=True)
class Picture:
    """One picture: what is asked for, what is done there, and how large it is."""

    path: Path
    query: str
    act: Callable[[Page], None]
    width: int = 1280
    height: int = 720
    dark: bool = False
    #: What moves while pictures are taken one after the other; gives them.
    moves: Callable[[Page], Iterator[bytes]] | None = None


def calm(page: Page) -> None:
    page.locator("[data-testid=stStatusWidget]").wait_for(state="detached", timeout=LONG)
    page.wait_for_timeout(1500)


def to_top(page: Page, text: str) -> None:
    page.get_by_text(text, exact=True).first.evaluate(TO_TOP)


def explore(page: Page) -> None:
    page.get_by_role("button", name="Skip", exact=True).click(timeout=LONG)  # the tour
    word = page.locator(".strip .text button", has=page.locator(".was", has_text=WORD)).first
    word.wait_for(timeout=LONG)
    still(page)
    for _ in range(20):  # a draw in which something still stands, to show how that is said
        if page.locator(".strip .chip:not(.gone)").count():
            break
        page.get_by_role("button", name="Rewrite again").click()
        still(page)
    chosen = page.locator(".strip .from")
    if chosen.text_content() != WORD:  # a click on the word that is chosen would free it
        word.click()
    chosen.filter(has_text=WORD).wait_for(state="attached", timeout=LONG)
    if not page.locator(".strip .inspector").is_visible():  # on a phone it is a sheet
        page.locator(".strip .certain").click(timeout=LONG)
    page.locator(".strip .odds li").first.wait_for(timeout=LONG)
    page.locator(".strip .gauge.meant strong", has_text="%").wait_for(timeout=LONG)
    page.get_by_test_id("stMain").evaluate("e => e.scrollTo(0, 0)")  # a click on “Rewrite again” may have moved it


def dragged(page: Page) -> Iterator[bytes]:
    """ε drawn by mouse from the middle to the left, to the right, and back."""
    box = page.locator(".strip input.slider").bounding_box()
    assert box is not None
    at = [0.5 - 0.46 * k / 8 for k in range(9)] + [0.04 + 0.92 * k / 14 for k in range(1, 15)]
    at += [0.96 - 0.46 * k / 8 for k in range(1, 9)]
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * at[0], y)
    page.mouse.down()
    for x in at:
        page.mouse.move(box["x"] + box["width"] * x, y)
        page.wait_for_timeout(200)
        yield page.screenshot()
    page.mouse.up()


def still(page: Page) -> None:
    """Nothing is worked out that would be shown."""
    calm(page)
    page.locator(".st-key-play_stop").wait_for(state="detached", timeout=LONG)


def compare(page: Page) -> None:
    page.locator(".rewrite .word").nth(20).wait_for(timeout=LONG)
    calm(page)
    page.locator(".rewrite .word", has_text="Show").or_(page.locator(".rewrite .word").first).first.click()
    calm(page)
    to_top(page, "How ε is set")


def trade_off(page: Page) -> None:
    page.get_by_text("Read the rewrites of a point").wait_for(timeout=LONG)
    page.get_by_text("Measuring").wait_for(state="detached", timeout=5 * LONG)


def batch(page: Page) -> None:
    page.get_by_role("button", name="Use an example").click(timeout=LONG)
    page.get_by_role("button", name="Rewrite all").wait_for(timeout=LONG)


def lesson(page: Page) -> None:
    page.locator("[role=radiogroup] label").nth(1).click(timeout=LONG)
    page.get_by_role("button", name="Show the answer").click(timeout=LONG)
    page.get_by_test_id("stAlert").wait_for(timeout=LONG)
    calm(page)
    page.get_by_test_id("stAlert").evaluate("e => e.scrollIntoView({block: 'center'})")


def benchmarks(page: Page) -> None:
    page.locator(".js-plotly-plot .main-svg").first.wait_for(timeout=LONG)
    calm(page)
    to_top(page, "What one ε for a whole text preserves")


def findings(page: Page) -> None:
    page.get_by_text("All claims").first.wait_for(timeout=LONG)
    page.locator(".js-plotly-plot .main-svg").first.wait_for(timeout=LONG)


def audit(page: Page) -> None:
    page.get_by_text("A deliberately broken mechanism", exact=True).click(timeout=LONG)
    page.get_by_text("Remove the fault").wait_for(timeout=LONG)
    calm(page)
    page.get_by_role("button", name="Run the audit").click()
    page.get_by_role("button", name="Download the report").wait_for(timeout=LONG)


#: Name → picture. The first is the README's.
PICTURES = {
    "readme": Picture(TOP / "assets" / "pictures" / "explore.gif", "/", explore, moves=dragged),
    "explore": Picture(DOCS / "explore.png", "/", explore),
    "explore-dark": Picture(DOCS / "explore-dark.png", "/", explore, dark=True),
    "explore-phone": Picture(DOCS / "explore-phone.png", "/", explore, 390, 844),
    "compare": Picture(DOCS / "compare.png", "/compare", compare),
    "trade-off": Picture(DOCS / "trade-off.png", "/compare?view=map", trade_off),
    "batch": Picture(DOCS / "batch.png", "/batch", batch),
    "lessons": Picture(DOCS / "lessons.png", f"/learn?lesson={number('one-word')}", lesson),
    "benchmarks": Picture(DOCS / "benchmarks.png", "/benchmarks", benchmarks),
    "findings": Picture(DOCS / "findings.png", "/findings", findings),
    "audit": Picture(DOCS / "audit.png", "/audit", audit),
}


def save(data: bytes, path: Path) -> None:
    """As PNG with a palette: these pictures have few colours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(io.BytesIO(data)) as taken:
        small = taken.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    small.save(path, optimize=True)
    print(f"{path.relative_to(TOP)}: {path.stat().st_size:,} bytes")


def save_moving(taken: Iterator[bytes], path: Path) -> None:
    """As GIF that goes on for ever, all pictures of it in the colours of the first."""
    pictures = [
        Image.open(io.BytesIO(data)).convert("RGB").resize((960, 540), Image.Resampling.LANCZOS) for data in taken
    ]
    # By the spread of colours: the marks are few pixels.
    colours = pictures[0].quantize(64, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    first, *others = [p.quantize(palette=colours, dither=Image.Dither.NONE) for p in pictures]
    times = [1500, *[160] * (len(others) - 1), 1500]
    first.save(path, save_all=True, append_images=others, duration=times, loop=0, optimize=True)
    print(f"{path.relative_to(TOP)}: {path.stat().st_size:,} bytes, {len(pictures)} pictures")


def main() -> None:
    ap = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    ap.add_argument("names", nargs="*", metavar="NAME", help=f"which pictures, else all: {', '.join(PICTURES)}")
    names = ap.parse_args().names or list(PICTURES)
    if unknown := [n for n in names if n not in PICTURES]:
        ap.error(f"There is no picture {unknown[0]}.")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    server = served(TOP / "app.py", port, subprocess.DEVNULL, DPTEXT_JOBS=tempfile.mkdtemp())
    try:
        with sync_playwright() as p:
            browser = p.chromium.launch(
                executable_path=shutil.which("chromium"),
                args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
            )
            for picture in (PICTURES[n] for n in names):
                page = browser.new_page(
                    reduced_motion="reduce",
                    viewport={"width": picture.width, "height": picture.height},
                    color_scheme="dark" if picture.dark else "light",
                )
                page.set_default_timeout(LONG)
                page.goto(f"http://127.0.0.1:{port}{picture.query}")
                picture.act(page)
                calm(page)
                page.mouse.move(picture.width - 2, picture.height - 2)
                page.wait_for_timeout(500)
                if picture.moves:
                    save_moving(picture.moves(page), picture.path)
                else:
                    save(page.screenshot(), picture.path)
                page.close()
            browser.close()
    finally:
        server.terminate()
        server.wait(10)


if __name__ == "__main__":
    main()
