"""Hold the site that rewrites in the browser to the core in Firefox, asked over WebDriver BiDi.

Run:  python tests/e2e/check_firefox.py [--firefox /usr/bin/firefox-esr] [--site FOLDER] [--repeats N]

The checks are those of test_pocket.py that only ask the page. Playwright drives a Firefox of its own make alone.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import test_pocket as checks
from browser_texts import HOSTILE, NOTES
from pocket_page import rewrite

import dptext_core as dpt
from dptext_core.mechanisms.detected.flags import flag_tokens
from dptext_core.text.document import Document
from dptext_studio.browser import serve, write_site
from dptext_studio.browser.detection import DETECTORS

LISTENS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
FUNCTION = re.compile(r"(async\s*)?(\(.*?\)|\w+)\s*=>")
#: Seconds for one answer: that of a model waits until it is loaded.
PATIENCE = 120.0


class FirefoxPage:
    """As much of Playwright's page as the checks ask for."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._sent = 0
        self.wrong: list[str] = []
        self.ask("session.new", {"capabilities": {}})
        self.ask("session.subscribe", {"events": ["log.entryAdded"]})
        self._context = self.ask("browsingContext.getTree", {})["contexts"][0]["context"]

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """One command, and its answer. Raises RuntimeError where Firefox refuses it."""
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": params}))
        while True:
            data = json.loads(self._socket.recv(timeout=PATIENCE))
            if data.get("method") == "log.entryAdded" and data["params"]["level"] in ("error", "warn"):
                self.wrong.append(str(data["params"]["text"]))
            if data.get("id") == self._sent:
                break
        if data["type"] != "success":
            raise RuntimeError(f"{method}: {data.get('message')}")
        return data["result"]

    def goto(self, address: str) -> None:
        self.ask("browsingContext.navigate", {"context": self._context, "url": address, "wait": "complete"})

    def evaluate(self, what: str, given: Any = None) -> Any:
        """What an expression is, or a function of what is given; as JSON, which keeps every float."""
        call = f"(({what})({json.dumps(given)}))" if FUNCTION.match(what) else f"({what})"
        expression = f"Promise.resolve({call}).then((x) => JSON.stringify(x === undefined ? null : x))"
        target = {"context": self._context}
        made = self.ask("script.evaluate", {"expression": expression, "target": target, "awaitPromise": True})
        if made["type"] != "success":
            raise RuntimeError(made["exceptionDetails"]["text"])
        return json.loads(made["result"]["value"])

    @staticmethod
    def wait_for_timeout(ms: float) -> None:
        time.sleep(ms / 1000)


@contextmanager
def firefox(program: str) -> Iterator[FirefoxPage]:
    """Firefox without a window, with a profile of its own."""
    with tempfile.TemporaryDirectory() as profile:
        command = [program, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        try:
            address = next((m[1] for line in process.stderr if (m := LISTENS.search(line))), None)
            if address is None:
                raise SystemExit(f"{program} ended without listening.")
            threading.Thread(target=process.stderr.read, daemon=True).start()
            with connect(f"{address}/session", max_size=None) as socket:
                yield FirefoxPage(socket)
        finally:
            process.terminate()
            process.wait(20)


def texts_are_read_alike(page: Any) -> None:
    """The same tokens and flags, by Firefox's own regular expressions."""
    for text in (*HOSTILE, *NOTES):
        document = Document.parse(text)
        tokens = page.evaluate("text => window.dptext.tokens(text)", text)
        assert tokens == [list(pair) for pair in zip(document.words, document.kinds, strict=True)], text
        for name in DETECTORS:
            call = """async ([text, name]) =>
              (await window.dptext.flags(text, name)).map(({ token, kind, form, same }) => [token, kind, form, same])"""
            ours = [[f.token, f.kind, f.form, f.same] for f in flag_tokens(document, name)]
            assert page.evaluate(call, [text, name]) == ours, text


def redactions_are_alike(page: Any) -> None:
    """The same text, with the public clean-up."""
    m = dpt.get_mechanism("redact", recase="public")
    for text in (*HOSTILE, *NOTES):
        assert rewrite(page, text, "redact", 1.0)["text"] == m.rewrite(text).text, text


def hold(page: Any) -> bool:
    """Ask the page all that test_pocket.py asks by its functions; whether all of it holds."""
    runs: list[tuple[str, Any]] = [
        (f.__name__, f)
        for f in (
            texts_are_read_alike,
            redactions_are_alike,
            checks.test_the_law_of_santext_is_the_cores,
            checks.test_the_law_of_the_model_is_the_cores,
            checks.test_the_law_of_the_public_start_is_the_cores,
            checks.test_a_sentence_is_drawn_from_the_law_of_the_core,
            checks.test_sentences_of_a_rewrite_are_those_of_the_bank_with_a_blank_between,
            checks.test_a_text_of_several_windows_is_asked_as_the_core_asks_it,
        )
    ]
    promise = checks.test_the_guarantee_and_what_is_exposed_are_the_cores
    options = checks.test_with_its_options_and_a_list_of_words_a_mechanism_is_that_of_the_core
    runs += [(f"{promise.__name__}[{m}]", lambda p, m=m: promise(p, m)) for m in checks.LARGE]
    runs += [(f"{options.__name__}[{c[0]}, {c[2]}]", lambda p, c=c: options(p, *c)) for c in checks.CHOICES]
    failed = 0
    for name, check in runs:
        try:
            check(page)
            print(f"holds   {name}", flush=True)
        except Exception:  # the next ones are of use too
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc(limit=3)}", flush=True)
    print(f"{len(runs) - failed} of {len(runs)} checks hold; errors and warnings of the page: {len(page.wrong)}")
    for wrong in page.wrong:
        print(f"  {wrong}")
    return not failed


def times(page: Any, repeats: int) -> None:
    """Milliseconds of texts of 20 and 60 words that are all drawn."""
    for n in (20, 60):
        text = " ".join(["doctor", "sister", "letter", "money", "house"] * (n // 5))
        how = {"mechanism": "dp-mlm", "epsilon": 50.0}
        found = [
            page.evaluate("([t, how]) => window.dptext.rewrite(t + ' ', how).then((r) => r.ms)", [text + " " * k, how])
            for k in range(repeats + 1)
        ][1:]
        print(f"{n} words, the model: least {min(found):.0f} ms, median {statistics.median(found):.0f} ms of {repeats}")


def main() -> None:
    ap = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    ap.add_argument("--firefox", default="/usr/bin/firefox-esr")
    ap.add_argument("--site", type=Path, help="a site that was made before")
    ap.add_argument("--repeats", type=int, default=20)
    a = ap.parse_args()
    with tempfile.TemporaryDirectory() as made:
        site = a.site or Path(made)
        if a.site is None:
            write_site(site, shown=[])
        with serve(site) as server, firefox(a.firefox) as page:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
            page.evaluate("window.dptext.ready")
            print(page.evaluate("navigator.userAgent"))
            times(page, a.repeats)
            held = hold(page)
            server.shutdown()
    raise SystemExit(not held)


if __name__ == "__main__":
    main()
