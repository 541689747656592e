"""Draw the figure of docs/measurements/public-prior.md from the bundled measurement, with Debian's Chromium.

Run:  python tests/e2e/draw_public_prior.py --out assets/pictures/public_prior.png

It is the figure of the page *Findings*, in its light theme, for one data set.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from dptext_lab.results import public_prior
from dptext_studio import figures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", default="sst2")
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    figure = figures.public_prior(public_prior.bundled(), data=args.data)
    figure.update_layout(width=900, paper_bgcolor="white", plot_bgcolor="white")
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 920, "height": 760})
        page.set_content(figure.to_html(include_plotlyjs=True, config={"displayModeBar": False}))
        page.locator(".js-plotly-plot .legendtext").first.wait_for()
        page.locator(".js-plotly-plot").screenshot(path=args.out)
        browser.close()


if __name__ == "__main__":
    main()
