"""Measure Explore: what a visitor waits for, what the server spends, and what is sent, for common actions.

Starts a server of its own and a Chromium, and prints a table. Linux. Run:

    python tests/e2e/measure_page.py [--first | --typing | --seen] [--markdown] [--app PATH]

With ``--first``, only what a new visitor with an empty cache waits for: until something is seen, and until the note
can be read. With ``--typing``, only how old the rewrite is that stands beside a text of 60 words while it is
typed on at 5 characters a second. With ``--seen``, only how much there is to read and to use when the page opens.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tools"), str(TOP / "tests" / "e2e")]

import typed  # noqa: E402
from measure_reruns import TEXTS  # noqa: E402  the same texts with and without a browser

#: Once the server has spent less than this in the last second, it has answered.
QUIET = 0.012
#: Streamlit says so while a script runs.
BUSY = "[data-testid=stApp][data-test-script-state=running]"


@dataclass
class Row:
    """Of one action: seconds until its answer is seen, the server's CPU seconds, bytes of messages to the browser."""

    name: str
    waited: list[float] = field(default_factory=list)
    spent: list[float] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)


def cpu(pid: int) -> float:
    """CPU seconds of all threads of another process."""
    return time.clock_gettime((~pid << 3) | 2)


class Meter:
    def __init__(self, pid: int):
        self.pid, self.received, self.loaded = pid, 0, 0
        self.rows: dict[str, Row] = {}

    def watch(self, page: Page) -> None:
        """Count what comes to this page."""

        def opened(socket_: Any) -> None:
            socket_.on("framereceived", lambda data: self._count(data))

        page.on("websocket", opened)
        network = page.context.new_cdp_session(page)
        network.send("Network.enable")
        network.on("Network.loadingFinished", lambda e: self._load(int(e["encodedDataLength"])))

    def _count(self, data: str | bytes) -> None:
        self.received += len(data)

    def _load(self, size: int) -> None:
        self.loaded += size

    def quiet(self, page: Page) -> None:
        """Wait until the server has nothing more to do."""
        while True:
            before = cpu(self.pid)
            page.wait_for_timeout(1000)
            if cpu(self.pid) - before < QUIET:
                return

    def measure(self, name: str, page: Page, act: Callable[[], Any], seen: Callable[[], Any]) -> None:
        self.quiet(page)
        row = self.rows.setdefault(name, Row(name))
        spent, sent, start = cpu(self.pid), self.received, time.monotonic()
        act()
        seen()
        row.waited.append(time.monotonic() - start)
        self.quiet(page)
        row.spent.append(cpu(self.pid) - spent)
        row.sent.append(self.received - sent)


def idle(page: Page) -> None:
    """The script has begun to run, and has ended; some answers need none."""
    with suppress(Exception):
        page.locator(BUSY).wait_for(timeout=300)
    page.locator(BUSY).wait_for(state="detached", timeout=120_000)


def visit(page: Page, url: str) -> None:
    page.goto(url)
    page.locator(".strip .text button").first.wait_for(state="attached", timeout=120_000)
    if page.locator(":root[data-tour]").count():
        page.get_by_role("button", name="Skip", exact=True).click()
    page.locator(".strip .text button").first.wait_for(timeout=120_000)


#: Milliseconds since the visit began: until something is seen, and now.
PAINTED = "[performance.getEntriesByName('first-contentful-paint')[0]?.startTime, performance.now()]"


def first_paint(page: Page, url: str) -> tuple[float, float]:
    """Seconds until something is seen, and until the note of the tour can be read."""
    page.goto(url, wait_until="commit")
    page.locator(".tour-text, .strip .text button").first.wait_for(timeout=120_000)
    page.wait_for_function("document.querySelector('textarea')?.value", timeout=120_000)
    painted, now = page.evaluate(PAINTED)
    return painted / 1000, now / 1000


def visits(new_page: Callable[[], Page], url: str, rounds: int) -> None:
    """Print what new visitors wait for, each with an empty cache; the first one of a server warms it up."""
    seen = []
    for _ in range(1 + rounds):
        page = new_page()
        seen.append(first_paint(page, url))
        page.wait_for_timeout(3000)
        page.context.close()
    for name, k in (("something is seen", 0), ("the note can be read", 1)):
        times = sorted(s[k] for s in seen[1:])
        print(f"{name:<30}{statistics.median(times):.2f} s ({times[0]:.2f} to {times[-1]:.2f}, {rounds} visitors)")


#: What can be seen of the page, in its shadow trees too: words, controls (none within another), words of the rewrite
#: (each a button), and marks of help; on the screen, and on the page as far as it can be scrolled.
COUNTS = """() => {
  const found = {screen: [0, 0, 0, 0], page: [0, 0, 0, 0]};
  const count = (box, what, n = 1) => {
    if (!box.width || !box.height) return;
    found.page[what] += n;
    if (box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth) found.screen[what] += n;
  };
  const USED = "button, a[href], input:not([type=hidden]), select, textarea, summary, [role=slider], [role=combobox]";
  const HELP = ".tip, [data-testid=stTooltipIcon]:not(:has([data-testid^=stBaseButton]))";
  const walk = (node, within) => {
    if (node.nodeType === Node.TEXT_NODE) {
      const words = node.data.split(/\\s+/).filter((w) => /[\\p{L}\\p{N}]/u.test(w)).length;
      const range = document.createRange();
      range.selectNodeContents(node);
      if (words) count(range.getBoundingClientRect(), 0, words);
      return;
    }
    if (node instanceof Element) {
      if (/^(STYLE|SCRIPT|TITLE|TEMPLATE)$/.test(node.tagName) || node.matches("[data-testid=stIconMaterial]")) return;
      if (!node.checkVisibility({visibilityProperty: true, opacityProperty: true})) {
        if (getComputedStyle(node).display !== "contents" && !node.matches("input")) return;
      }
      const box = node.getBoundingClientRect();
      if (node.matches(HELP)) [within] = [true, count(box, 3)];
      else if (!within && node.matches(USED)) {
        within = true;
        count((node.closest("label") ?? node).getBoundingClientRect(), node.matches(".word") ? 2 : 1);
      }
      for (const child of node.shadowRoot?.childNodes ?? []) walk(child, within);
    }
    for (const child of node.childNodes) walk(child, within);
  };
  walk(document.body, false);
  return found;
}"""


def counts(page: Page) -> None:
    """Print how much there is to read and to use when the page has opened."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    page.wait_for_timeout(3000)
    for place, seen in page.evaluate(COUNTS).items():
        words, controls, drawn, helps = seen
        print(f"{place:<8}{words} words, {controls} controls and {drawn} words that can be chosen, {helps} help marks")


def ages(page: Page, pid: int, rounds: int, per_second: float = 5.0) -> None:
    """Print how old what is shown is while a text of 60 words is typed on, under quick mechanisms and a model."""
    page.get_by_role("button", name="Your text").click()
    box = page.get_by_role("textbox", name="Text", exact=True)
    for title in ("CusText", "1-Diffractor", "DP-MLM"):
        choose_mechanism(page, title)
        idle(page)
        seen, spent, took = [], 0.0, 0.0
        for _ in range(rounds):
            box.fill(typed.SIXTY)
            shows(page, "neighbour")()
            Meter(pid).quiet(page)
            box.click()
            page.keyboard.press("Control+End")
            before, begun = cpu(pid), time.monotonic()
            seen.append(typed.watched(page, per_second=per_second))
            spent, took = spent + cpu(pid) - before, took + time.monotonic() - begun
        every = typed.Watched(
            [age for s in seen for age in s.ages],
            sum(s.unknown for s in seen),
            sum(s.backwards for s in seen),
            sum(s.unfocused for s in seen),
            statistics.median(s.settled for s in seen),
        )
        print(
            f"{title:<14}age of what is shown: median {every.age(0.5):.2f} s, 95% {every.age(0.95):.2f} s; after the "
            f"last key {every.settled:.2f} s; {spent / took:.2f} of a processor; {len(every.ages):,} looks, of them "
            f"{every.backwards} at an older text after a newer one, {every.unfocused} without the focus"
        )


#: Frames from now on, and which parts of the page move or change their size; the words of the note are none of them.
WATCH = """() => {
  const PARTS = [".strip .slider", ".strip .text", ".strip .how", ".st-key-play_head", ".st-key-play_does",
    ".st-key-play_families"];
  // The token view stands in a shadow tree.
  const find = (part, top = document) => {
    const found = top.querySelector(part);
    if (found) return found;
    for (const node of top.querySelectorAll("*")) {
      const within = node.shadowRoot && find(part, node.shadowRoot);
      if (within) return within;
    }
    return null;
  };
  const nodes = new Map(PARTS.map((part) => [part, find(part)]));
  for (const [part, node] of nodes) if (!node) throw new Error(`there is no ${part}`);
  const first = {};
  window.dragged = {frames: [], moved: [], on: true};
  let at = performance.now();
  const look = (now) => {
    window.dragged.frames.push(now - at);
    at = now;
    for (const [part, node] of nodes) {
      const box = node.getBoundingClientRect();
      const place = [box.x, box.y, box.width, box.height].map(Math.round).join();
      first[part] ??= place;
      if (place !== first[part] && !window.dragged.moved.includes(part)) window.dragged.moved.push(part);
    }
    if (window.dragged.on) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""


def drags(page: Page, url: str, rounds: int) -> None:
    """Print how long frames take while ε is dragged for two seconds, and what moves of the page meanwhile."""
    for name in ("dp-mlm", "custext"):
        visit(page, f"{url}/?mechanism={name}")
        page.wait_for_timeout(8000)  # until the meaning preserved is there
        idle(page)
        box = page.locator(".strip input.slider").bounding_box()
        assert box
        y, frames, moved = box["y"] + box["height"] / 2, [], set()
        for _ in range(rounds):
            page.mouse.move(box["x"] + 0.1 * box["width"], y)
            page.mouse.down()
            page.evaluate(WATCH)
            for step in range(60):
                page.mouse.move(box["x"] + (0.1 + 0.8 * step / 60) * box["width"], y)
                page.wait_for_timeout(30)
            value = page.evaluate("() => { window.dragged.on = false; return window.dragged; }")
            page.mouse.up()
            idle(page)
            frames += value["frames"][1:]
            moved |= set(value["moved"])
        frames.sort()
        print(
            f"{name:<10}{len(frames):,} frames: median {statistics.median(frames):.1f} ms, 95% "
            f"{frames[int(0.95 * len(frames))]:.1f} ms, longest {frames[-1]:.1f} ms; "
            f"moved: {', '.join(moved) or 'nothing'}"
        )


def type_text(page: Page, text: str) -> None:
    box = page.get_by_role("textbox", name="Text", exact=True)
    if not box.is_visible():
        page.get_by_role("button", name="Your text").click()
    box.fill(text)
    page.keyboard.press("Control+Enter")


def shows(page: Page, word: str) -> Callable[[], None]:
    return lambda: page.locator(".strip .text .was", has_text=word).first.wait_for(state="attached", timeout=120_000)


def choose_mechanism(page: Page, title: str) -> None:
    box = page.get_by_role("combobox", name="Mechanism").first
    if not box.is_visible():
        page.get_by_role("button", name="More", exact=True).click()
        page.get_by_role("button", name="Advanced", exact=True).click()
    box.click()
    page.keyboard.type(title)
    page.keyboard.press("Enter")


def drag(page: Page, share: float) -> None:
    box = page.locator(".strip input.slider").bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * share, y, steps=8)
    page.mouse.up()


def tab(page: Page, name: str) -> Callable[[], None]:
    return lambda: page.get_by_text(name, exact=True).first.click()


def actions(meter: Meter, page: Page, rounds: int) -> None:
    """The common actions of one visitor, after the page is there."""

    done = partial(idle, page)
    for drawer in ("Advanced", "Analyses"):
        page.get_by_role("button", name="More", exact=True).click()
        page.get_by_role("button", name=drawer, exact=True).click()
        done()
    for k in range(rounds):
        now, then = (TEXTS[(2 * k + i) % len(TEXTS)] for i in (0, 1))  # each another than the one before
        words = page.locator(".strip .text button")
        again = page.get_by_role("button", name="Rewrite again")
        meter.measure("20 words with DP-MLM", page, partial(type_text, page, now), shows(page, now.split()[2]))
        meter.measure("draw again", page, again.click, done)
        meter.measure("move ε and let go", page, partial(drag, page, 0.3 + 0.1 * k), done)
        meter.measure("choose a word", page, words.nth(2).click, done)
        meter.measure("view: over all ε", page, tab(page, "All ε"), done)
        meter.measure("view: scores and clipping", page, tab(page, "Model scores and clipping"), done)
        meter.measure("move ε with that view open", page, partial(drag, page, 0.4 + 0.1 * k), done)
        meter.measure("view: candidates", page, tab(page, "Candidates"), done)
        tab(page, "Candidates")()  # closes it, where it can be closed
        meter.measure("panel: what an attacker gets", page, tab(page, "Attacks"), done)
        meter.measure("panel: ledger", page, tab(page, "Ledger"), done)
        meter.measure("close the panel", page, tab(page, "Ledger"), done)
        meter.measure("change to CusText", page, partial(choose_mechanism, page, "CusText"), done)
        meter.measure("20 words with CusText", page, partial(type_text, page, then), shows(page, then.split()[2]))
        meter.measure("change to DP-MLM", page, partial(choose_mechanism, page, "DP-MLM"), done)
    meter.measure("another example", page, page.get_by_text("Review", exact=True).first.click, done)


def served(app: Path, port: int, log: Any, **environment: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "streamlit", "run", str(app), "--server.port", str(port)]
    command += ["--server.address", "127.0.0.1", "--server.headless", "true", "--server.fileWatcherType", "none"]
    server = subprocess.Popen(
        command, cwd=app.parent, env=os.environ | environment, stdout=log, stderr=subprocess.STDOUT
    )
    for _ in range(600):
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2):
            return server
        time.sleep(0.1)
    server.kill()
    raise SystemExit("The server did not start.")


def main() -> None:
    ap = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    ap.add_argument("--app", type=Path, default=TOP / "app.py", help="another copy of the app, to compare with")
    ap.add_argument("--at", default="/", help="with --seen: the address of the page")
    ap.add_argument("--rounds", type=int, default=3, help="how often each action is done; the table has medians")
    ap.add_argument("--markdown", action="store_true")
    only = ap.add_mutually_exclusive_group()
    only.add_argument("--first", action="store_true", help="only what new visitors wait for")
    only.add_argument("--seen", action="store_true", help="only what stands on the page when it opens")
    only.add_argument("--typing", action="store_true", help="only how old what is shown is while somebody types")
    only.add_argument("--drag", action="store_true", help="only the frames while ε is dragged, and what moves")
    a = ap.parse_args()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    url = f"http://127.0.0.1:{port}"
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with tempfile.TemporaryFile() as log:
        server = served(a.app.resolve(), port, log)
        try:
            with sync_playwright() as p:
                browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
                view: Any = {"width": 1280, "height": 720}
                if a.first:
                    visits(lambda: browser.new_context(viewport=view).new_page(), url, a.rounds)
                    return
                if a.seen:
                    page = browser.new_context(viewport=view, reduced_motion="reduce").new_page()
                    page.set_default_timeout(120_000)
                    visit(page, url + a.at)
                    counts(page)
                    return
                if a.typing:
                    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
                    page.set_default_timeout(120_000)
                    visit(page, url)
                    ages(page, server.pid, a.rounds)
                    return
                if a.drag:
                    page = browser.new_context(viewport=view).new_page()
                    page.set_default_timeout(120_000)
                    drags(page, url, a.rounds)
                    return
                meter = Meter(server.pid)
                loads = []
                for k in range(1 + a.rounds):
                    context = browser.new_context(viewport={"width": 1280, "height": 720})
                    page = context.new_page()
                    page.set_default_timeout(60_000)
                    meter.watch(page)
                    meter.loaded = 0
                    name = "the first visit of a server" if k == 0 else "a new visitor"
                    meter.measure(name, page, partial(visit, page, url), partial(idle, page))
                    loads.append(meter.loaded)
                    if k < a.rounds:
                        context.close()
                print(f"files that a new visitor's browser loads: {loads[-1] / 1e6:.1f} MB")
                actions(meter, page, a.rounds)
                browser.close()
        finally:
            server.terminate()
            server.wait(10)
    head = ("action", "waited, s", "server's CPU, s", "sent, kB")
    table = [
        (
            r.name,
            f"{statistics.median(r.waited):.2f}",
            f"{statistics.median(r.spent):.2f}",
            f"{statistics.median(r.sent) / 1000:.0f}",
        )
        for r in meter.rows.values()
    ]
    if a.markdown:
        for row in (head, ("---", "---:", "---:", "---:"), *table):
            print("| " + " | ".join(row) + " |")
    else:
        for row in (head, *table):
            print(f"{row[0]:<32}" + "".join(f"{cell:>18}" for cell in row[1:]))


if __name__ == "__main__":
    main()
