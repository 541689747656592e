"""Fixtures of the browser tests: start a Streamlit page, open it in Chromium, and watch what goes wrong on it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

TOP = Path(__file__).resolve().parents[2]
#: Pages are drawn without an emulated GPU, and those of one context share a process, which keeps Streamlit's scripts
#: compiled: opening a page takes half the time of the processor.
BROWSER_FLAGS = [
    *("--no-sandbox", "--disable-background-networking", "--process-per-site", "--renderer-process-limit=1"),
    *("--disable-gpu", "--disable-software-rasterizer", "--disable-gpu-compositing", "--disable-gpu-rasterization"),
]
START_SECONDS = 60
#: Seconds until work of a closed page stops, and until its session is closed, in the place of the app's own, which
#: tests/pages/test_sessions.py has.
SOON = 0.5, 1.5


@dataclass
class Opened:
    """A page in the browser and what was noticed on it."""

    page: Page
    errors: list[str] = field(default_factory=list)  # console errors and uncaught exceptions
    failed: list[str] = field(default_factory=list)  # requests that failed or were answered with an error
    external: list[str] = field(default_factory=list)  # requests to anywhere but this machine
    frames: list[int] = field(default_factory=list)  # sizes of the websocket messages the browser sent
    clean: bool = False  # whether the test came to its end
    reused: bool = False  # whether another test had the page before

    def assert_clean(self) -> None:
        """No console error, no failed request, nothing asked of another machine."""
        assert self.failed == []
        assert self.errors == []
        assert self.external == []
        self.clean = True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _chromium() -> str:
    found = shutil.which("chromium") or ("/usr/bin/chromium" if Path("/usr/bin/chromium").exists() else None)
    if found is None:
        pytest.skip("Chromium not found: apt-get install chromium")
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One headless Chromium for all tests; skips where Playwright or Chromium is missing."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright not found: pip install playwright")
    path = _chromium()
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=BROWSER_FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def app_url(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Callable[[Path], str]]:
    """``app_url(script)``: address of that Streamlit script, started once a session on a free port; the app's own is
    that of ``own_server``."""
    running: dict[Path, tuple[subprocess.Popen[bytes], str]] = {}
    logs = tmp_path_factory.mktemp("streamlit")

    def start(script: Path) -> str:
        script = Path(script).resolve()
        if script == TOP / "app.py":
            return request.getfixturevalue("own_server")[0]
        if script in running:
            return running[script][1]
        port = _free_port()
        log = logs / f"{script.stem}.log"
        command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
        command += ["--server.address", "127.0.0.1", "--server.headless", "true", "--server.fileWatcherType", "none"]
        path = os.pathsep.join([str(TOP), *filter(None, [os.environ.get("PYTHONPATH")])])
        env = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "false"}
        env["DPTEXT_JOBS"] = str(logs / "jobs")
        with log.open("wb") as sink:
            server = subprocess.Popen(command, cwd=TOP, env=env, stdout=sink, stderr=subprocess.STDOUT)
        url = f"http://127.0.0.1:{port}"
        running[script] = (server, url)
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2):
                    return url
            except OSError:
                if server.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"Streamlit did not start:\n{log.read_text(errors='replace')[-2000:]}")
                time.sleep(0.1)

    yield start
    # Who is asked to end waits for its threads first, for seconds, and nothing is read of it any more.
    for server, _ in running.values():
        server.kill()
    for server, _ in running.values():
        server.wait()


@contextmanager
def harness(
    folder: Path, stop: float, close: float, *options: str, **env: str
) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """The app in a process that can be asked (see memory_harness): its address, and a way to ask."""
    port, ask = _free_port(), _free_port()
    log = folder / "log"
    command = [sys.executable, str(TOP / "tests/e2e/memory_harness.py"), *map(str, (port, ask, stop, close)), *options]
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command,
            cwd=TOP,
            env=os.environ | {"DPTEXT_JOBS": str(folder / "jobs"), "OMP_NUM_THREADS": "1"} | env,
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + START_SECONDS
    try:
        while True:
            try:
                urllib.request.urlopen(f"{url}/_stcore/health", timeout=2).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"The server did not start:\n{log.read_text(errors='replace')[-2000:]}")
                time.sleep(0.2)

        def asked(what: str) -> Any:
            with urllib.request.urlopen(f"http://127.0.0.1:{ask}/{what}", timeout=3 * START_SECONDS) as answer:
                return json.load(answer)

        yield url, asked
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def own_server(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """The app, hosted for oneself, in a process that can be asked; a page that was closed is soon forgotten."""
    with harness(tmp_path_factory.mktemp("own"), *SOON) as found:
        yield found


@pytest.fixture(scope="session")
def shared_context(browser: Browser) -> Iterator[BrowserContext]:
    """One context for all pages: what it has loaded of Streamlit's own files it keeps, as long as a page is open."""
    context = browser.new_context()
    context.new_page()
    yield context
    context.close()


def _open(
    context: BrowserContext,
    url: str,
    query: str = "",
    *,
    viewport: Any = None,
    color_scheme: Any = "light",
    reduced_motion: Any = "reduce",
    permissions: Sequence[str] = (),
    script: str = "",
) -> Opened:
    """A page at that address, watched from the start, in which nothing is stored of the pages before it. script: runs
    before those of the page. reduced_motion: else ε moves by itself once, which takes the processor three seconds."""
    host = urlsplit(url).netloc
    page = context.new_page()
    context.new_cdp_session(page).send(
        "Storage.clearDataForOrigin",
        {"origin": url, "storageTypes": "cookies,local_storage,indexeddb,service_workers,cache_storage"},
    )
    if permissions:
        context.grant_permissions(list(permissions))
    page.set_viewport_size(viewport or {"width": 1280, "height": 900})
    page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
    page.set_default_timeout(30_000)
    if script:
        page.add_init_script(script)
    seen = Opened(page)
    page.on("console", lambda m: seen.errors.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: seen.errors.append(str(e)))
    page.on("requestfailed", lambda r: seen.failed.append(f"{r.url} {r.failure}"))
    page.on("response", lambda r: seen.failed.append(f"{r.url} {r.status}") if r.status >= 400 else None)

    def asked(address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("data", "blob") and parts.netloc != host:
            seen.external.append(address)

    page.on("request", lambda r: asked(r.url))

    def socket_opened(ws: Any) -> None:
        asked(ws.url)
        ws.on("framesent", lambda data: seen.frames.append(len(data)))

    page.on("websocket", socket_opened)
    page.goto(url + query)
    return seen


@pytest.fixture
def open_app(shared_context: BrowserContext, app_url: Callable[[Path], str]) -> Iterator[Callable[..., Opened]]:
    """``open_app(app, query="", **options)``: a fresh page on it, with the options of :func:`_open`."""
    pages: list[Page] = []

    def open_page(app: Path, query: str = "", **options: Any) -> Opened:
        seen = _open(shared_context, app_url(app), query, **options)
        pages.append(seen.page)
        return seen

    yield open_page
    for page in pages:
        page.close()
    if pages:
        shared_context.clear_permissions()


@pytest.fixture(scope="module")
def open_once(shared_context: BrowserContext, app_url: Callable[[Path], str]) -> Iterator[Callable[..., Opened]]:
    """``open_once(app, query="", **options)``: one page for those tests of a file that change nothing but what they
    reset. options: of :func:`_open`, for the first of them.

    A test that did not come to ``assert_clean`` leaves its page to nobody.
    """
    pages: dict[tuple[Path, str], Opened] = {}

    def open_page(app: Path, query: str = "", **options: Any) -> Opened:
        seen = pages.get((app, query))
        if seen is None or not seen.clean:
            if seen is not None:
                seen.page.close()
            seen = pages[app, query] = _open(shared_context, app_url(app), query, **options)
            seen.reused = False
        else:
            seen.reused = True
        seen.clean = False
        return seen

    yield open_page
    for seen in pages.values():
        seen.page.close()


@pytest.fixture(scope="session")
def pocket_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the browser edition, built once for all workers; ``made.json`` beside it is its summary."""
    from dptext_studio.browser import write_site

    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, listed = base / "pocket", base / "made.json"
    try:
        (base / "pocket.building").mkdir()
    except FileExistsError:
        end = time.monotonic() + 240
        while not listed.exists():
            assert time.monotonic() < end, "another worker did not finish the site"
            time.sleep(0.2)
    else:
        made = write_site(folder, shown=["custext"])
        unfinished = base / "made.part"
        unfinished.write_text(json.dumps({"files": made.files, "first_visit": made.first_visit}))
        unfinished.replace(listed)
    return folder


@pytest.fixture(scope="session")
def address(pocket_site: Path) -> Iterator[str]:
    """Where the browser edition is served."""
    from dptext_studio.browser import serve

    listed = json.loads(pocket_site.with_name("made.json").read_text())["files"]
    files = (p for p in pocket_site.rglob("*") if p.is_file())
    assert listed == {p.relative_to(pocket_site).as_posix(): p.stat().st_size for p in files}
    with serve(pocket_site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.fixture(scope="session")
def pocket_visit(browser: Browser, address: str) -> Iterator[Page]:
    """One visit to the browser edition for all files, since its models load for seconds: every error and every request
    is noted."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    made: Any = context.new_page()
    made.asked, made.wrong = [], []
    context.on("request", lambda r: made.asked.append(r.url))
    made.on("console", lambda m: made.wrong.append(m.text) if m.type in ("error", "warning") else None)
    made.on("pageerror", lambda e: made.wrong.append(str(e)))
    made.goto(address)
    made.evaluate("window.dptext.ready")
    yield made
    context.close()


@pytest.fixture(scope="module")
def page(pocket_visit: Page) -> Page:
    """The visit with an open editor, empty lists and a phone's viewport. A test resets the options that it chooses."""
    pocket_visit.set_viewport_size({"width": 390, "height": 844})
    if pocket_visit.is_hidden("#editor"):
        pocket_visit.click("#edit")
    pocket_visit.evaluate("['blocklist', 'allowlist'].forEach((id) => (document.getElementById(id).value = ''))")
    pocket_visit.evaluate("document.querySelector('.strip .tab-belief').click()")
    return pocket_visit
