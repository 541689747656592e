"""Measure the site that rewrites in the browser, beside the core on the same machine: how exact, how fast, how large.

Run:  python tests/e2e/measure_pocket.py --texts 200 [--mechanism NAME …] [--site FOLDER]

Exactness: of each text one draw, at the ends and the default of the mechanism's axis of ε. Times: of texts of 20 and 60
words that are all drawn, the least and the median of repeated runs, on one thread in the browser.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psutil
from playwright.sync_api import Page, sync_playwright
from pocket_page import until

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import dptext_core as dpt
from dptext_core.measure.detection import read_marked
from dptext_core.mechanisms.detected.flags import flag_tokens
from dptext_core.support.assets import assets_folder
from dptext_core.text.document import Document
from dptext_studio.browser import serve, write_site
from dptext_studio.browser.detection import DETECTORS
from dptext_studio.browser.site import MECHANISMS

#: The distribution of a word: SHA-256 of the candidates in order, and ln p as bytes, which is faster.
LAW = """async ([text, i, how]) => {
  const law = await window.dptext.distribution(text, i, how);
  const names = new TextEncoder().encode(law.candidates.join("\\n"));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", names));
  const bytes = new Uint8Array(Float64Array.from(law.log_probs).buffer);
  let packed = "";
  for (let k = 0; k < bytes.length; k += 30000) packed += String.fromCharCode(...bytes.subarray(k, k + 30000));
  return {
    candidates: [...digest].map((b) => b.toString(16).padStart(2, "0")).join(""),
    log_probs: btoa(packed),
  };
}"""
FIRST = """(() => {
  const look = () => {
    if (document.querySelector(".strip .word") && document.querySelector(".strip .slider").offsetParent) {
      window.firstDrag = performance.now();
    } else requestAnimationFrame(look);
  };
  look();
})()"""
NOTES = Path(__file__).resolve().parents[1] / "detectors" / "notes.txt"
WORDS = ["doctor", "hospital", "garden", "sister", "letter", "winter", "money", "street", "village", "teacher"]


def compare(page: Page, name: str, texts: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    axis, uses_epsilon = dpt.get_mechanism(name).epsilon_range(), dpt.mechanism_class(name).uses_epsilon
    rows: dict[float, list[tuple[float, float, float]]] = {}
    promises = 0
    for text in texts:
        at = [{"epsilon": epsilon} if uses_epsilon else {} for epsilon in axis]
        prepared: Any = dpt.get_mechanism(name, **at[2]).prepare(text)
        results = [dpt.get_mechanism(name, **given).rewrite(prepared) for given in at]
        places = [i for i, unit in enumerate(results[0].units) if unit.is_sampled]
        promise = results[2].guarantee
        call = "([text, how]) => window.dptext.rewrite(text, how).then((r) => r.guarantee)"
        made = page.evaluate(call, [text, {"mechanism": name, "epsilon": axis[2]}])
        promises += made["sentence"] == promise.sentence() and made["exposed"] == list(promise.exposed)
        if not places:
            continue
        i = int(rng.choice(places))
        for epsilon, result in zip(axis, results, strict=True):
            ours = result.distribution(i)
            theirs = page.evaluate(LAW, [text, i, {"mechanism": name, "epsilon": epsilon}])
            assert theirs["candidates"] == hashlib.sha256("\n".join(ours.candidates).encode()).hexdigest(), (name, i)
            log_p = np.frombuffer(base64.b64decode(theirs["log_probs"]), np.float64)
            off = np.abs(np.exp(log_p) - ours.probs)
            rows.setdefault(epsilon, []).append((np.abs(log_p - ours.log_probs).max(), off.sum() / 2, off.max()))
    print(f"{name}: same guarantee and exposed list for {promises} of {len(texts)} texts")
    for epsilon, found in rows.items():
        each = np.array(found)
        print(
            f"  ε = {epsilon:g}, {len(each)} draws: |Δ ln p| at most {each[:, 0].max():.2g}; total variation "
            f"{each[:, 1].mean():.2g} on average, {each[:, 1].max():.2g} at most; a chance by {each[:, 2].max():.2g}"
        )


def compare_flags(page: Page, notes: list[str]) -> None:
    """Compare the flags of each detector, with their types, forms and repetitions."""
    call = """async ([text, name]) =>
      (await window.dptext.flags(text, name)).map(({ token, kind, form, same }) => [token, kind, form, same])"""
    for name in DETECTORS:
        ours = [[[f.token, f.kind, f.form, f.same] for f in flag_tokens(Document.parse(n), name)] for n in notes]
        same = sum(page.evaluate(call, [note, name]) == flags for note, flags in zip(notes, ours, strict=True))
        print(f"detector {name}: {sum(map(len, ours))} flags, the same in {same} of {len(notes)} notes")


def compare_stand_ins(page: Page, name: str, notes: list[str]) -> None:
    """Compare one word of each note where a mechanism reads stand-ins, the same ones in both."""
    m: Any = dpt.get_mechanism(name, surrogates=True)
    epsilon, rng, off = m.epsilon_range()[2], np.random.default_rng(1), []
    for k, note in enumerate(notes):
        prepared = m.planned(note)
        words = m.draw(prepared, dpt.NoiseStream(k))
        given = prepared.with_words(words)
        places = [i for i, reason in enumerate(given.reasons) if reason is None]
        if not places:
            continue
        i = int(rng.choice(places))
        how = {"mechanism": name, "epsilon": epsilon, "options": {"surrogates": True}}
        theirs = page.evaluate(LAW, [note, i, {**how, "standIns": {str(t): w for t, w in words.items()}}])
        ours = m.inner.distribution(given, i)
        log_p = np.frombuffer(base64.b64decode(theirs["log_probs"]), np.float64)
        off.append(np.abs(log_p - ours.log_probs).max())
    print(f"{name} with stand-ins, ε = {epsilon:g}, {len(off)} notes: |Δ ln p| at most {max(off):.2g}")


def renderer() -> psutil.Process:
    """Return the process of the page: the one of Chromium's renderers that holds most."""
    found = [p for p in psutil.Process().children(recursive=True) if "--type=renderer" in " ".join(p.cmdline())]
    return max(found, key=lambda p: p.memory_info().rss)


def thread_seconds(process: psutil.Process) -> dict[int, float]:
    """Return the processor time of each thread."""
    return {t.id: t.user_time + t.system_time for t in process.threads()}


def timed(page: Page, words: int, repeats: int) -> None:
    """Compare processor times, which other work on the machine changes little, and the least wall-clock times."""
    m = dpt.get_mechanism("dp-mlm", epsilon=50.0)
    model, whole, core = [], [], []
    process = renderer()
    before = thread_seconds(process)
    for k in range(repeats):
        text = " ".join(WORDS[(k + 3 * i) % len(WORDS)] for i in range(words)) + "."
        call = """async (text) => {
          const start = performance.now();
          const made = await window.dptext.rewrite(text, { mechanism: "dp-mlm", epsilon: 50 });
          return [made.ms, performance.now() - start];
        }"""
        a, b = page.evaluate(call, text)
        start = time.process_time()
        m.rewrite(text)
        core.append(1000 * (time.process_time() - start))
        model.append(a)
        whole.append(b)
    after = thread_seconds(process)
    threads = sorted((1000 * (after[i] - before.get(i, 0.0)) / repeats for i in after), reverse=True)
    print(f"{words} words, processor time of the page: {sum(threads):.0f} ms, its model's thread {threads[0]:.0f} ms")
    print(f"{words} words, processor time of the core: least {min(core):.0f}, median {statistics.median(core):.0f} ms")
    for what, ms in (("the model in the browser", model), ("the rewrite in the browser", whole)):
        print(f"{words} words, {what}: least {min(ms):.0f} ms, median {statistics.median(ms):.0f} ms of {repeats}")


def first_drag(page: Page, address: str) -> None:
    """Print when a slider first stands on the page, and the processor time of its main thread until then."""
    page.add_init_script(FIRST)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(address, wait_until="commit")
    while page.evaluate("window.firstDrag ?? null") is None:
        time.sleep(0.02)
    metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    shown = page.evaluate("window.firstDrag")
    print(f"to the first drag: {shown:.0f} ms, processor time of the page: {1000 * metrics['TaskDuration']:.0f} ms")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--loads", type=int, default=5, help="visits that time the first drag")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--mechanism", action="append", choices=MECHANISMS, help="only this one; may be repeated")
    parser.add_argument("--site", metavar="FOLDER", help="a site that was made before")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    args = parser.parse_args(argv)
    sentences = (assets_folder() / "bank" / "sentences.txt").read_text(encoding="utf-8").splitlines()
    long = [s for s in sentences if len(s.split()) > 7]
    texts = long[:: max(1, len(long) // args.texts)][: args.texts]
    # One that is in the bank has itself to be near to.
    halves = [text.split() for text in texts]
    others = halves[1:] + halves[:1]
    mixed = [" ".join(a[: len(a) // 2] + b[len(b) // 2 :]) for a, b in zip(halves, others, strict=True)]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = Path(args.site or folder)
        if not args.site:
            write_site(site)
        files = {p.relative_to(site).as_posix(): p.stat().st_size for p in site.rglob("*") if p.is_file()}
        for path, size in sorted(files.items(), key=lambda item: -item[1])[:8]:
            print(f"{size / 1e6:6.2f} MB {path}")
        print(f"{sum(files.values()) / 1e6:6.2f} MB in {len(files)} files")
        with serve(site) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            browser = playwright.chromium.launch(executable_path=args.chromium, args=["--no-sandbox"])
            page = browser.new_page()
            asked: set[str] = set()
            page.on("request", lambda r: asked.add(urlsplit(r.url).path.strip("/") or "index.html"))
            address = f"http://127.0.0.1:{server.server_address[1]}/"
            for _ in range(args.loads):
                with browser.new_context() as context:
                    first_drag(context.new_page(), address)
            page.goto(address)
            start = time.perf_counter()
            ask: dict[str, Any] = {"mechanism": "dp-mlm", "epsilon": 50.0}
            page.evaluate("([text, how]) => window.dptext.rewrite(text, how)", [texts[0], ask])
            print(f"from then to the first rewrite by the model: {time.perf_counter() - start:.1f} s")
            until(page, "document.querySelector('#reader').textContent.includes('Over all releases')", 180)
            print(f"on the wire by then: {sum(files.get(path, 0) for path in asked) / 1e6:.1f} MB")
            for words in (20, 60) if args.repeats else ():
                timed(page, words, args.repeats)
            print(f"memory of the page's process: {renderer().memory_info().rss / 1e6:.0f} MB")
            cut = sum(
                page.evaluate("(text) => window.dptext.tokens(text)", t)
                == [list(pair) for pair in zip(Document.parse(t).words, Document.parse(t).kinds, strict=True)]
                for t in texts
            )
            print(f"the same tokens: {cut} of {len(texts)} texts")
            sys.stdout.flush()
            notes = [note.text for note in read_marked(NOTES.read_text(encoding="utf-8").splitlines())]
            compare_flags(page, notes)
            for name in args.mechanism or MECHANISMS:
                if hasattr(dpt.get_mechanism(name).config, "surrogates"):
                    compare_stand_ins(page, name, notes)
                compare(page, name, mixed if name == "dp-sentence" else texts, seed=1)
                sys.stdout.flush()
            browser.close()


if __name__ == "__main__":
    main()
