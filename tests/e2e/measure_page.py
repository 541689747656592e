"""Print how long a visitor waits: first strip, a rewrite asked for 5 s after the page opened, and the next one.

Run, with a server that nobody has visited yet:

    streamlit run app.py --server.headless true &
    python tests/e2e/measure_page.py --url http://localhost:8501
"""

from __future__ import annotations

import argparse
import shutil
import time

from playwright.sync_api import sync_playwright

TEXTS = {
    "a rewrite of 20 tokens, asked for 5 s after the page opened": (
        "My old doctor in Lisbon told my sister last winter that she should move to another city next year."
    ),
    "the next one": "The young lawyer from Oslo wrote a long letter about money to the judge before the trial ended.",
}


def main() -> None:
    ap = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    ap.add_argument("--url", default="http://localhost:8501")
    a = ap.parse_args()
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        start = time.monotonic()
        page.goto(a.url)
        page.locator(".strip .text button").first.wait_for()
        print(f"page to first strip: {time.monotonic() - start:.2f} s")
        while time.monotonic() - start < 5:
            page.wait_for_timeout(50)
        for name, text in TEXTS.items():
            page.get_by_role("textbox", name="Text", exact=True).fill(text)
            asked = time.monotonic()
            page.get_by_role("button", name="Rewrite", exact=True).click()
            page.locator(".strip .text .was", has_text=text.split()[2]).first.wait_for(state="attached")
            print(f"{name}: {time.monotonic() - asked:.2f} s")
            page.wait_for_timeout(2500)
        browser.close()


if __name__ == "__main__":
    main()
