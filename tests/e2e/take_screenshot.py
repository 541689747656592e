"""Take the README's picture of the Playground with Debian's Chromium.

Run:  streamlit run app.py --server.headless true &
      python tests/e2e/take_screenshot.py --url http://localhost:8501 --out assets/pictures/playground.png
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--url", default="http://localhost:8501")
    ap.add_argument("--out", type=Path, required=True)
    ap.add_argument("--width", type=int, default=1440)
    ap.add_argument("--height", type=int, default=900)
    ap.add_argument("--dark", action="store_true")
    ap.add_argument("--word", default="heart", help="the word of the first example to choose")
    a = ap.parse_args()
    with sync_playwright() as p:
        browser = p.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        page = browser.new_page(
            viewport={"width": a.width, "height": a.height}, color_scheme="dark" if a.dark else "light"
        )
        page.goto(a.url)
        word = page.locator(".strip .text button", has=page.locator(".was", has_text=a.word)).first
        word.wait_for(timeout=60_000)
        page.locator("[data-testid=stStatusWidget]").wait_for(state="detached", timeout=60_000)
        if page.locator(".strip .from").inner_text() != a.word:  # a click on the word that is chosen would free it
            word.click()
        page.get_by_text(f"“{a.word}” was drawn").wait_for(timeout=60_000)
        page.wait_for_timeout(1500)
        page.screenshot(path=a.out)
        browser.close()


if __name__ == "__main__":
    main()
